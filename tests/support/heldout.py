"""The held-out answers put to the diagnosis, and what came of it."""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from gradcheck.diagnosis import Diagnosis, Prepared, explain, prepare
from gradcheck.diagnosis.explain import CONSISTENT
from tests.support.mutated import (
    Answered,
    Tree,
    derivative,
    double,
    drawn,
    expression,
    points,
    single,
    text,
    values,
)
from tests.support.school import case

CLOSE = 1e-6
PER_FUNCTION = 8


@dataclass
class Tally:
    """How many answers of a kind were put, and how many had each outcome."""

    put: int = 0
    named: int = 0
    claimed: int = 0
    unique: int = 0
    consistent: int = 0
    seconds: list[float] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, str, str, Any]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Problem:
    """A function drawn, its points, its right derivative, and every mistake made in it."""

    tree: Tree
    at: list[dict[str, float]]
    right: list[float]
    prepared: Prepared


def problems(seed: int, count: int) -> Iterator[Problem]:
    """Functions whose derivative has a value at all points."""
    rng = random.Random(seed)
    while count:
        tree = drawn(rng)
        at = points(rng)
        right = values(derivative(tree), at)
        if right is None or not expression(tree).free_symbols or not all(map(abs, right)):
            continue
        cases = [case(text(tree), point, ["x"]) for point in at]
        yield Problem(tree, at, right, prepare(cases))
        count -= 1


def asked(problem: Problem, answer: Sequence[float | None]) -> tuple[Diagnosis, float]:
    """What is said of an answer by its values, and how long that took."""
    start = time.perf_counter()
    found = explain(problem.prepared, "x", [None if a is None else np.asarray(a) for a in answer])
    return found, time.perf_counter() - start


def put(tally: Tally, problem: Problem, each: Answered) -> None:
    """One wrong answer; those that are right after all, or have no value, are passed over."""
    answer = values(each.answer, problem.at)
    simpler = [problem.right, *(values(one, problem.at) for one in each.alone)]
    if answer is None or any(
        one is not None and np.allclose(answer, one, rtol=CLOSE, atol=0) for one in simpler
    ):
        return
    found, seconds = asked(problem, answer)
    tally.put += 1
    tally.seconds.append(seconds)
    told = (*found.hypotheses, *found.beneath)
    ids = [set(h.ids) for h in told]
    # One mistake that gives what two gave is the better story: fewest mistakes win.
    fewer = len(each.ids) > 1 and any(h.with_ is None for h in found.hypotheses)
    named = fewer or any(all(names & said for names in each.ids) for said in ids)
    tally.named += named
    tally.unique += found.certainty == "unique"
    if not named:
        tally.missed[each.name] += 1
        tally.examples.append(
            (text(problem.tree), str(each.answer), each.name, sorted(map(sorted, ids)))
        )


def held_out(seed: int, count: int, per_function: int = PER_FUNCTION) -> tuple[Tally, Tally, Tally]:
    """One mistake, two mistakes, and no mistake, over drawn functions."""
    rng = random.Random(seed + 1)
    one, two, right = Tally(), Tally(), Tally()
    for problem in problems(seed, count):
        every = list(single(problem.tree))
        for each in rng.sample(every, min(per_function, len(every))):
            put(one, problem, each)
        for _ in range(2):
            both = double(problem.tree, rng)
            if both is not None:
                put(two, problem, both)
        found, _ = asked(problem, problem.right)
        right.put += 1
        right.claimed += bool(found.hypotheses)
    return one, two, right


# -- answers that no mistake gave --------------------------------------------------------------

SIMPLE = (
    "x", "2*x", "x**2", "1/x", "sin(x)", "cos(x)", "exp(x)", "log(x)", "sqrt(x)", "3*x**2",
    "x*sin(x)", "exp(2*x)", "x + 1", "x**3 - x", "1/(x + 1)", "sin(2*x)", "5*x**4", "x*exp(x)",
)  # fmt: skip


def unrelated(
    problem: Problem, other: Problem, rng: random.Random
) -> Iterator[tuple[str, list[float | None]]]:
    """Wrong answers of no particular origin: (kind, values at the points; None: not known)."""
    right, rest = problem.right, [None] * (len(problem.at) - 1)
    noise = rng.choice([1e-3, 1e-2, 0.1, 1.0])
    yield "formula plus noise", [r + noise * rng.gauss(0, 1) * max(1, abs(r)) for r in right]
    theirs = values(derivative(other.tree), problem.at)
    if theirs is not None:
        yield "another problem's formula", [*theirs]
        yield "another problem's number", [theirs[0], *rest]
    simple = values(sympy.sympify(rng.choice(SIMPLE)), problem.at)
    assert simple is not None
    yield "simple formula", [*simple]
    yield "simple formula's number", [simple[0], *rest]
    yield "small integer", [float(rng.randint(-12, 12)), *rest]
    yield "small constant", [float(rng.randint(-9, 9))] * len(right)
    yield "number near", [round(right[0] * (1 + rng.uniform(-0.3, 0.3)), 2), *rest]


def accused(seed: int, count: int) -> dict[str, Tally]:
    """What is said of unrelated answers, by their kind."""
    rng = random.Random(seed + 2)
    found: dict[str, Tally] = defaultdict(Tally)
    earlier: list[Problem] = []
    for problem in problems(seed, count):
        for kind, answer in unrelated(problem, rng.choice(earlier or [problem]), rng):
            known = [(a, r) for a, r in zip(answer, problem.right, strict=True) if a is not None]
            if not all(abs(a - r) <= CLOSE * abs(r) for a, r in known):
                _put_unrelated(found[kind], problem, answer)
        earlier.append(problem)
    return dict(found)


def _put_unrelated(tally: Tally, problem: Problem, answer: list[float | None]) -> None:
    """A claim is a mistake that is named, unless it is said to be consistent and no more."""
    said, seconds = asked(problem, answer)
    tally.put += 1
    tally.seconds.append(seconds)
    tally.consistent += CONSISTENT in said.remarks
    tally.claimed += bool(said.hypotheses) and CONSISTENT not in said.remarks
    tally.unique += said.certainty == "unique"
    if said.hypotheses:
        ids = [h.ids for h in said.hypotheses]
        tally.examples.append((text(problem.tree), str(answer[:2]), said.certainty, ids))


HEADS = ("named", "claim", "unique", "weak")


def table(one: Tally, two: Tally, right: Tally, others: Mapping[str, Tally]) -> str:
    """The outcomes, a line a kind; `ms` is the median for an answer."""
    lines = [f"{'answers':28}{'put':>7}" + "".join(f"{head:>8}" for head in HEADS) + f"{'ms':>7}"]
    of_mistakes = {"one mistake": one, "two mistakes": two, "right": right}
    for name, tally in {**of_mistakes, **others}.items():
        counts = (tally.named, tally.claimed, tally.unique, tally.consistent)
        shares = "".join(f"{count / max(tally.put, 1):8.1%}" for count in counts)
        ms = 1e3 * float(np.median(tally.seconds)) if tally.seconds else 0.0
        lines.append(f"{name:28}{tally.put:7}{shares}{ms:7.2f}")
    return "\n".join(lines)
