"""Exercises: candidates that were solved, are short enough, and reveal what they are meant to."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, product
from random import Random

import numpy as np
import sympy

from gradcheck.diagnosis import Diagnosis, Made, explain
from gradcheck.diagnosis.line import BITS, ScalarLine, rerun
from gradcheck.errors import GradcheckError
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, make_key
from gradcheck.mistakes.calculus import constant_added
from gradcheck.mistakes.whole_answer import brackets_missing
from gradcheck.numbers.closed import spell
from gradcheck.numbers.run import precision
from gradcheck.numbers.symbolic import Symbolic, take_slope, write_out
from gradcheck.opinions.limits import READABLE
from gradcheck.opinions.symbolic import symbolic
from gradcheck.practice.drawing import (
    LEVELS,
    LONGEST_ANSWER,
    LONGEST_FUNCTION,
    RULES,
    Candidate,
    count_operations,
    draw_candidate,
    write_down,
)
from gradcheck.problem import ProblemSet, load_text

ROUNDS = 2  # in which no rule gives a new problem, after which there are none
TRIES = 60  # candidates for one problem
LOOKED = 20  # candidates of one kind and level, where a certain mistake has to show
BRACKETS = re.compile(r"(?<!\w)\(([^()]*)\)")  # those of no call, around no others
CONSTANT = 2.0  # that is added to a derivative
FAULTS = (GradcheckError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def is_named(ready: Key, mistake: str) -> bool:
    """Whether the mistake can be made here, and every answer that it gives is named after it."""
    if mistake == brackets_missing.id:
        return any(_without_brackets(ready, text) for text in _write_right(ready).values())
    made = list_acts(ready, mistake)
    return bool(made) and all(
        mistake in list_named(d) for each in made for d in _describe(ready, each)
    )


def is_alone(ready: Key, made: Made) -> bool:
    """Whether nothing that tells as much gives the same answer."""
    said = list(_describe(ready, made))
    own = {made.mistake.id}
    return bool(said) and all({h.mistake.id for h in each.hypotheses} == own for each in said)


def list_acts(ready: Key, mistake: str) -> list[Made]:
    """The ways to make a mistake at one place that show in this problem."""
    if mistake == constant_added.id:  # the only one that is looked for, not made
        right = ready.mistaken.right
        return [
            Made(constant_added, None, [{n: g + CONSTANT for n, g in at.items()} for at in right])
        ]
    made = [m for m in ready.mistaken.made if m.mistake.id == mistake and not m.everywhere]
    return [m for m in made if all(np.all(np.isfinite(a)) for at in m.at for a in at.values())]


def list_named(found: Diagnosis | None) -> set[str]:
    """The mistakes that a diagnosis names alone, in either family's words."""
    fitting = () if found is None else (*found.hypotheses, *found.beneath)
    return {h.mistake.id for h in fitting if h.with_ is None}


def _describe(ready: Key, made: Made) -> Iterator[Diagnosis]:
    for part in ready.mistaken.right[0]:
        found = explain(ready.mistaken, part, [at[part] for at in made.at])
        if found != Diagnosis():
            yield found


SMALLEST, LARGEST = 1e-4, 9_999  # of a slope at the given point
# Answers to the first of several parts, from the right answers to all.
WHOLE: Mapping[str, Callable[[Sequence[str]], str]] = {
    "wrong-variable": lambda right: right[-1],
    "partial-as-total": lambda right: " + ".join(f"({text})" for text in right),
    "factor-two": lambda right: f"2 * ({right[0]})",
}


@dataclass(frozen=True, eq=False)
class Exercise:
    """A problem that may be set: its text is that of a problem file with its self-tests."""

    candidate: Candidate
    ready: Key
    entry: str

    @cached_property
    def set(self) -> ProblemSet:
        """The set of this problem alone, as it would be read from a file."""
        return load_text(self.entry)

    def names_alone(self, mistake: str) -> bool:
        """Whether some answer that the mistake gives is given by no other mistake."""
        if mistake == brackets_missing.id:
            return is_named(self.ready, mistake)
        return any(is_alone(self.ready, made) for made in list_acts(self.ready, mistake))


def make_exercise(drawn: Candidate, id: str) -> Exercise | None:
    """The candidate as an exercise; None where it is too long, in doubt, or hides its mistakes."""
    if count_operations(drawn.program) > LONGEST_FUNCTION[drawn.level]:
        return None
    try:
        ready = make_key(load_text(write_down(drawn, id)).problems[0])
        right = _write_right(ready)
        long = max(map(count_operations, right.values())) > LONGEST_ANSWER[drawn.level]
        if long or not _is_judged_right(ready, right) or _is_odd(ready):
            return None
        if not all(is_named(ready, mistake) for mistake in drawn.kind.mistakes):
            return None
    except (GradcheckError, ArithmeticError, ValueError):
        return None
    wrong = list(_list_wrong(ready, drawn.kind.mistakes, right))
    if not wrong or len({text for _, text, _ in wrong}) < len(wrong):
        return None  # two mistakes of the rule give one answer
    return Exercise(drawn, ready, write_down(drawn, id, right, wrong))


def _is_odd(ready: Key) -> bool:
    """Whether a slope at the given point is 0, or has more digits than anybody writes."""
    slopes = ready.mistaken.right[0].values()
    return any(np.any((np.abs(g) > LARGEST) | (np.abs(g) < SMALLEST)) for g in slopes)


def _is_judged_right(ready: Key, right: Mapping[str, str]) -> bool:
    named = [(part, right.get(part.name)) for part in ready.problem.parts]
    return all(text and judge(ready, part, text).verdict == "right" for part, text in named)


# -- right and wrong answers -----------------------------------------------------------------------


def _write_right(ready: Key) -> dict[str, str]:
    """The derivative by each input as a text; empty where there is none to be written."""
    if any(ready.problem.inputs[name].shape for name in ready.problem.wrt):
        return _write_arrays(ready)
    forms = symbolic(ready.case(0)).closed
    return {name: str(np.asarray(form).item()) for name, form in forms.items() if form is not None}


def _write_arrays(ready: Key) -> dict[str, str]:
    """The gradients of arrays as NumPy text, all or none."""
    from gradcheck.texts.forms import write_formulas  # noqa: PLC0415

    judged = ready.verdicts[0].opinions["reverse"].gradients
    found = write_formulas(ready.problem, ready.points[0], judged).texts
    return dict(found) if len(found) == len(ready.problem.wrt) else {}


def _list_wrong(
    ready: Key, mistakes: Sequence[str], right: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """(part, answer, mistake): a text for each mistake that has one and is named in it."""
    part = ready.problem.parts[0]
    used: set[str] = set()
    for mistake in mistakes:
        texts = list(_list_texts(ready, mistake, list(right.values())))
        for text in sorted(texts, key=used.__contains__):
            if mistake in list_named(judge(ready, part, text).diagnosis):
                yield part.name, text, mistake
                used.add(text)
                break


def _list_texts(ready: Key, mistake: str, right: Sequence[str]) -> Iterator[str]:
    """Answers to the first part that the mistake gives: of a rule on the line, or of the whole."""
    if mistake in WHOLE:
        yield WHOLE[mistake](right)
    if len(ready.mistaken.alone) == 1:  # one path, by one input
        yield from filter(None, map(write_mistaken, list_acts(ready, mistake)))


def _without_brackets(ready: Key, right: str) -> bool:
    """Whether the right answer without one pair of its brackets is found to be just that."""
    for pair in BRACKETS.finditer(right):
        text = f"{right[: pair.start()]}{pair[1]}{right[pair.end() :]}"
        said = judge(ready, ready.problem.parts[0], text).diagnosis
        if list_named(said) == {brackets_missing.id}:
            return True
    return False


# -- what somebody would write who makes a mistake -------------------------------------------------


def write_mistaken(made: Made) -> str:
    """The wrong derivative as a text; empty where it cannot be written down."""
    place = made.place
    if place is None or len(place.ks) != 1 or place.line.size != 1:
        return ""
    try:
        with precision(BITS):
            [[wrong]] = rerun(_remember_making(place.line), {place.ks[0]: made.mistake.wrong})[-1]
            found = write_out(Symbolic.exactly(1) * wrong, READABLE)
        return "" if found is None or found.has(sympy.nan, sympy.zoo, sympy.I) else spell(found)
    except FAULTS:
        return ""


def _remember_making(line: ScalarLine) -> ScalarLine:
    y, given, f, x = (
        each[..., :1].astype(object) for each in (line.y, line.given, line.f, line.x[:1])
    )
    for k, node in enumerate(line.nodes):
        y[k, 0] = node
        if line.entry[k] is not None:
            x[0, 0] = node
        for i, a in enumerate(node.args):
            given[k, i, 0] = a if isinstance(a, Symbolic) else Symbolic.exactly(a)
            f[k, i, 0] = take_slope(node, i)
    return replace(line, y=y, given=given, f=f, x=x)


# -- exercises by rule and level, and the one in which a given mistake shows alone -----------------


def generate_exercises(
    rules: Sequence[str] = (), level: int | None = None, seed: int = 0, reveals: str = ""
) -> Iterator[Exercise]:
    """Exercises until no more is found, the rules in turn; no function comes twice.

    `level` None goes up from 1 to 3 and starts again. `reveals` is a mistake that each must name.
    Raises GradcheckError where a rule is unknown.
    """
    for name in (name for name in rules if name not in RULES):
        raise GradcheckError(f"no rule is called {name} - one of {', '.join(RULES)}")
    revealing = [rule for rule, kinds in RULES.items() if any(k.knows(reveals) for k in kinds)]
    chosen = rules or revealing or list(RULES)
    levels = LEVELS if level is None else (level,)
    seen: set[str] = set()
    vain = 0
    turns = ((rule, each) for each in cycle(levels) for rule in chosen)
    for number, (rule, each) in enumerate(turns):
        made = _generate_one(rule, each, f"{seed}/{number}", reveals, seen)
        if made is not None:
            seen.add(made.candidate.program)
            yield made
        vain = 0 if made is not None else vain + 1
        if vain > ROUNDS * len(chosen) * len(levels):
            return


def next_problem(mistake: str, seed: int = 0) -> ProblemSet | None:
    """A set of one problem in which this mistake shows, and no other gives the same answer.

    Parameters
    ----------
    mistake
        The id of a mistake.
    seed
        The same seed gives the same problem.

    Returns
    -------
    ProblemSet or None
        None for a mistake that no rule's problems show alone (those of training loops, and most of
        backprop).

    Examples
    --------
    >>> practice = next_problem("missing-inner-derivative")
    >>> [problem.program.source for problem in practice.problems]
    ['log(4*x + 7)']
    """
    random = Random(f"gradcheck-next/{mistake}/{seed}")
    kinds = [kind for kinds in RULES.values() for kind in kinds if kind.knows(mistake)]
    random.shuffle(kinds)
    for level, kind in product(LEVELS, kinds):
        for _ in range(LOOKED):
            drawn = draw_candidate(kind, level, random)
            made = make_exercise(drawn, f"{kind.rule}-{random.getrandbits(32):08x}")
            if made is not None and made.names_alone(mistake):
                return made.set
    return None


def _generate_one(
    rule: str, level: int, name: str, reveals: str, seen: set[str]
) -> Exercise | None:
    random = Random(f"gradcheck-practice/{rule}/{level}/{name}")
    kinds = [kind for kind in RULES[rule] if kind.knows(reveals)] or RULES[rule]
    for _ in range(TRIES):
        drawn = draw_candidate(random.choice(kinds), level, random)
        if drawn.program in seen:
            continue
        made = make_exercise(drawn, f"{rule}-{level}-{random.getrandbits(24):06x}")
        if made is not None and (not reveals or is_named(made.ready, reveals)):
            return made
    return None
