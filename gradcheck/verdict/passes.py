"""A pass back over the tape as a question to the three opinions.

What the engine brought to the leaves must be the gradient that the opinions find of what the tape
recorded. A value in the middle that a gradient was asked for is a variable of its own.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gradcheck.engine.tape import Leaf, Node, Step
from gradcheck.engine.tensor import unwrap
from gradcheck.errors import GradcheckError
from gradcheck.opinions import limits
from gradcheck.opinions.differences import differences
from gradcheck.opinions.opinion import Case, Opinion
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.opinions.tape import Record, replay
from gradcheck.values import Array, Numbers, Params
from gradcheck.verdict.blame import blame
from gradcheck.verdict.consult import (
    VERDICTS,
    Verdict,
    consult,
    judge_tied,
    overrule,
    read,
    step_aside,
)

Piece = tuple[Record, Numbers]
Uses = list[tuple[Node, int]]  # the nodes that read a leaf, and as which operand
TOO_LONG = (
    f"more than {limits.EXACT_WORK:,} operations: exact numbers would take long, floats judge it"
)
UNSEEN = "a value was written behind the tape's back (`.data`): it is not on record"
BESIDE = "only at this point and not beside it, where branches may meet"
UNDECIDABLE = (GradcheckError, ArithmeticError, TypeError, ValueError, RuntimeError)


@dataclass(frozen=True, eq=False)
class BackwardPass:
    """One pass back: where it was called (a line, or a stretch of the text), and its number.

    `roots` are what it began from, with their cotangents; `landed` is what came to which step,
    `hooked` whether it went through hooks.
    """

    place: Numbers
    roots: tuple[Piece, ...]
    landed: Mapping[Step, Array]
    names: Mapping[Step, str]
    number: int = 0
    hooked: bool = False

    @property
    def work(self) -> int:
        """About how many operations on numbers one evaluation takes."""
        return sum(record.work for record, _ in self.roots)


@dataclass(frozen=True, eq=False)
class JudgedPass:
    """A pass back and what the opinions come to; `case` is the question, None where there is none.

    Of several questions in it, the one with the gravest end.
    """

    call: BackwardPass
    case: Case | None
    verdict: Verdict

    @property
    def label(self) -> str:
        return f"backward call {self.call.number + 1}"

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.case is None else self.case.wrt

    @cached_property
    def written(self) -> Verdict:
        """The verdict with the closed forms written out."""
        if self.case is None or "symbolic" not in self.verdict.opinions:
            return self.verdict
        closed = symbolic(self.case)
        return replace(self.verdict, opinions={**self.verdict.opinions, "symbolic": closed})


def judge_pass(call: BackwardPass, *, write: bool = True) -> JudgedPass:
    """The three opinions on one pass; closed forms are written out where `write` says so.

    The leaves are asked about together; each intermediate value is a variable of its own.
    """
    leaves: list[Step] = [step for step in call.landed if isinstance(step, Leaf)]
    alone: list[list[Step]] = [[step] for step in call.landed if not isinstance(step, Leaf)]
    with np.errstate(all="ignore"):
        judged = [_judge(call, each, write) for each in ([leaves] * bool(leaves) + alone or [[]])]
    return max(judged, key=lambda each: VERDICTS.index(each.verdict.verdict))


def _judge(call: BackwardPass, targets: Sequence[Step], write: bool) -> JudgedPass:
    case = None
    try:
        case, work = make_question(call, targets)
        verdict = _consult(case, work, write)
    except UNDECIDABLE as error:
        return JudgedPass(call, case, Verdict("undecided", None, {}, {}, remarks=(str(error),)))
    off = _describe_off(call, targets, verdict)
    if off and VERDICTS.index(verdict.verdict) < VERDICTS.index("dissent"):
        grave, note = ("dissent", off) if _is_whole(call) else ("undecided", UNSEEN)
        if call.hooked:
            grave, note = verdict.verdict, f"{off}: a hook changed what went back"
        verdict = replace(verdict, verdict=grave, remarks=(*verdict.remarks, note))
    return JudgedPass(call, case, verdict)


def _is_whole(call: BackwardPass) -> bool:
    given = (record for record, _ in call.roots if record.root in record.given)
    pairs = ((replay(each, {}, "float"), each.given[each.root].value) for each in given)
    return all(np.allclose(*pair, limits.REPLAYED, equal_nan=True) for pair in pairs)


def _consult(case: Case, work: int, write: bool) -> Verdict:
    if work <= limits.EXACT_WORK:
        return consult(case, write=write)
    few = limits.CONFIRMING if work > limits.LONG_WORK else limits.DIRECTIONS
    closed = Opinion("symbolic", abstains=TOO_LONG)

    def ask(at: Case) -> Verdict:
        return read(at, [reverse(at), closed, differences(at, directions=few)])

    found = ask(case)
    if found.verdict != "dissent":
        return found
    if tied := judge_tied(case, found.opinions["reverse"]):
        return tied
    beside = step_aside(case)  # what is wrong is wrong there too
    if ask(beside).verdict != "agree":
        return replace(found, suspects=blame(beside).suspects)
    odd = [each for each in found.entries if each.verdict == "dissent"]
    return overrule(found, odd, "undecided", BESIDE)


def make_question(call: BackwardPass, targets: Sequence[Step]) -> tuple[Case, int]:
    """The function whose gradient this pass takes, where the leaves were; how long it takes."""
    pieces = [(record.above(targets), g) for record, g in call.roots]
    work = sum(record.work for record, _ in pieces)
    if work > limits.MOST_WORK:
        raise GradcheckError(f"more than {limits.MOST_WORK:,} operations: not judged")
    pieces, inputs, steps = _split_versions(call, targets, pieces)
    alone, place = len(pieces) == 1, deque[Numbers]([None], maxlen=1)
    cotangent = np.asarray(pieces[0][1], dtype=np.float64) if alone else None
    plain = cotangent is not None and not cotangent.shape and cotangent == 1.0

    def function(kind: str, given: Params) -> Numbers:
        if work > limits.EXACT_WORK and kind in ("ball", "symbolic"):
            raise GradcheckError(TOO_LONG)
        leaves = {steps[name]: value for name, value in given.items()}
        values = [replay(record, leaves, kind, place.append) for record, _ in pieces]
        if alone:
            return values[0]
        return sum((np.sum(v * g) for v, (_, g) in zip(values, pieces, strict=True)), 0.0)

    contracted = None if plain else cotangent
    case = Case(function, inputs, tuple(inputs), contracted, call.number, lambda: place[0])
    return case, work


def find_value(target: Step, pieces: Sequence[Piece], name: str) -> Array:
    """What a leaf held when it was used; GradcheckError where it was stepped between two uses."""
    (value, _), *others = _find_values(target, pieces)
    if others:
        raise GradcheckError(f"{name} was written between two of its uses")
    return value


def _find_values(target: Step, pieces: Sequence[Piece]) -> list[tuple[Array, Uses]]:
    """The values of a leaf at its uses, in their order, and the uses of each."""
    found: list[tuple[Array, Uses]] = []
    for node in dict.fromkeys(node for record, _ in pieces for node in record.nodes):
        for slot, edge in enumerate(node.edges):
            if edge is not target:
                continue
            record = next(record for record, _ in pieces if node in record.given)
            value = np.array(record.given[node].operands[slot], dtype=np.float64)
            if not found or not np.array_equal(found[-1][0], value, equal_nan=True):
                found.append((value, []))
            found[-1][1].append((node, slot))
    unused = unwrap(target.variable) if isinstance(target, Leaf) else 0.0
    return found or [(np.array(unused, np.float64), [])]


def _split_versions(
    call: BackwardPass, targets: Sequence[Step], pieces: list[Piece]
) -> tuple[list[Piece], dict[str, Array], dict[str, Step]]:
    """The variables by name; a leaf that was written between two uses is one a version."""
    inputs: dict[str, Array] = {}
    steps: dict[str, Step] = {}
    versions: dict[tuple[Node, int], Step] = {}
    for target in targets:
        *older, (latest, _) = _find_values(target, pieces)
        for number, (value, uses) in enumerate(older):
            name = f"{call.names[target]} (version {number})"
            inputs[name], steps[name] = value, Leaf()
            versions |= dict.fromkeys(uses, steps[name])
        inputs[call.names[target]], steps[call.names[target]] = latest, target
    return [(replace(record, versions=versions), g) for record, g in pieces], inputs, steps


def _describe_off(call: BackwardPass, targets: Sequence[Step], found: Verdict) -> str:
    """What came to a leaf and is not its gradient; "" where all is well."""
    for target in targets:
        name, g = call.names[target], call.landed[target]
        older = f"{name} (version "
        parts = [p for n, p in found.parts.items() if n == name or n.startswith(older)]
        gradients = [p.gradient for p in parts if p.gradient is not None and p.verdict == "agree"]
        if not parts or len(gradients) < len(parts):
            continue
        due = sum((g.value for g in gradients[1:]), gradients[0].value)
        mine = found.opinions["reverse"].gradients
        error = sum(g.error for g in (*gradients, *(mine[p.name] for p in parts if p.name in mine)))
        room = limits.REPLAYED * np.max(np.abs(due), initial=0.0) + 1e-12 + error
        if due.shape != g.shape or np.any(np.abs(due - g) > room):
            return f"what came to {name} is not this gradient"
    return ""
