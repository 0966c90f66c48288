"""Every pass back of a script as a question to the three opinions.

What the engine brought to the leaves must be the gradient that the opinions find of what the tape
recorded. Few passes of each line are judged, for a loop asks the same again and again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcheck.engine.recording import watched
from gradcheck.engine.tape import Leaf, Step
from gradcheck.engine.tensor import bare
from gradcheck.errors import GradcheckError
from gradcheck.opinions.differences import differences
from gradcheck.opinions.limits import CONFIRMING, DIRECTIONS
from gradcheck.opinions.opinion import Case, Opinion
from gradcheck.opinions.replay import Observer, Record, replay
from gradcheck.opinions.reverse import reverse
from gradcheck.scripts.names import LeafNames
from gradcheck.verdict.consult import VERDICTS, Verdict, consult, read

Array = np.ndarray[Any, Any]
A_LINE = 3  # passes that begin in one line and are judged
ALTOGETHER = 60
IN_VAIN = 5_000_000  # entries copied since the last pass that was kept: then copying ends
EXACT = 4_000  # operations: with more, floats alone are asked
LARGE = 100_000  # operations: with more, two directions are enough
MOST = 10_000_000  # operations of one evaluation, of all passes that are judged together
RELATIVE = 1e-9
_ZERO: Array = np.zeros(())
TOO_LONG = "more than {:,} operations: exact numbers would take long, floats judge it"


@dataclass(frozen=True, eq=False)
class BackwardPass:
    """One pass back: its line, the roots with their cotangents, and what came to which leaf."""

    line: int
    roots: tuple[tuple[Record, Any], ...]
    landed: Mapping[Step, Array]
    names: Mapping[Step, str]


@dataclass(frozen=True, eq=False)
class JudgedPass:
    """A pass back and what the opinions come to."""

    call: BackwardPass
    verdict: Verdict


@dataclass(frozen=True)
class ScriptJudgement:
    """All that was judged; `calls` counts the passes of each line, judged or not."""

    judged: tuple[JudgedPass, ...]
    calls: Mapping[int, int]

    @property
    def verdict(self) -> str:
        """The gravest verdict of all; agreement where nothing goes back."""
        return max((j.verdict.verdict for j in self.judged), key=VERDICTS.index, default="agree")


@dataclass
class PassRecorder:
    """Follows a script while it runs, and keeps the passes that are to be judged."""

    where: Callable[[], tuple[int, LeafNames]]
    observer: Observer = field(default_factory=Observer)
    kept: list[BackwardPass] = field(default_factory=list)
    calls: Counter[int] = field(default_factory=Counter)
    missed: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.watching = watched(self.observer.observe, None, self.walked)

    def walked(self, roots: Sequence[tuple[Step, Any]], landed: Mapping[Step, Any]) -> None:
        """One pass back is over, and nothing has been added to a `.grad`."""
        line, names = self.where()
        self.calls[line] += 1
        observer = self.observer
        enough = self.calls[line] - self.missed[line] > A_LINE or len(self.kept) >= ALTOGETHER
        if enough or observer.idle:
            self.missed[line] += observer.idle and not enough
            observer.idle = enough and (observer.idle or observer.copied > IN_VAIN)
            return
        observer.copied = 0
        arrived = {step: np.array(bare(g), dtype=np.float64) for step, g in landed.items()}
        records = tuple((self.observer.record(step), bare(g)) for step, g in roots)
        named = {step: names.of(step) for step in arrived}
        self.kept.append(BackwardPass(line, records, arrived, named))


def judge(recorder: PassRecorder, tell: Callable[[str], None]) -> ScriptJudgement:
    """Ask the opinions about every pass that was kept; `tell` hears how far it is."""
    judged, spent = list[JudgedPass](), 0
    for k, call in enumerate(recorder.kept):
        spent += sum(record.work for record, _ in call.roots)
        if judged and spent > MOST:
            break
        tell(f"judging pass {k + 1} of {len(recorder.kept)}, line {call.line}")
        with np.errstate(all="ignore"):
            judged.append(max((JudgedPass(call, v) for v in _verdicts(call)), key=_gravity))
    return ScriptJudgement(tuple(judged), dict(recorder.calls))


def _gravity(judged: JudgedPass) -> int:
    return VERDICTS.index(judged.verdict.verdict)


def _verdicts(call: BackwardPass) -> Iterator[Verdict]:
    """Of the leaves together; of each intermediate value as a variable of its own."""
    leaves = [step for step in call.landed if isinstance(step, Leaf)]
    others = [step for step in call.landed if not isinstance(step, Leaf)]
    for targets in ([leaves] if leaves or not others else []) + [[step] for step in others]:
        try:
            yield _verdict(call, targets)
        except (GradcheckError, ArithmeticError, TypeError, ValueError, RuntimeError) as error:
            yield Verdict("undecided", None, {}, {}, notes=(str(error),))


def _verdict(call: BackwardPass, targets: Sequence[Step]) -> Verdict:
    case, work = _case(call, targets)
    if work > EXACT:
        few = CONFIRMING if work > LARGE else DIRECTIONS
        closed = Opinion("symbolic", abstains=TOO_LONG.format(EXACT))
        found = read(case, [reverse(case), closed, differences(case, directions=few)])
    else:
        found = consult(case, write=True)
    off = _off(call, targets, found)
    if off and VERDICTS.index(found.verdict) < VERDICTS.index("dissent"):
        return replace(found, verdict="dissent", notes=(*found.notes, off))
    return found


def _case(call: BackwardPass, targets: Sequence[Step]) -> tuple[Case, int]:
    """The function whose gradient this pass takes, where the leaves were; how long it takes."""
    pieces = [(record.above(targets), g) for record, g in call.roots]
    work = sum(record.work for record, _ in pieces)
    if work > MOST:
        raise GradcheckError(f"more than {MOST:,} operations: not judged")
    inputs = {call.names[t]: _value_of(t, pieces, call) for t in targets}
    steps = {call.names[t]: t for t in targets}
    alone = len(pieces) == 1
    cotangent = np.asarray(pieces[0][1], dtype=np.float64) if alone else None
    plain = cotangent is not None and not cotangent.shape and cotangent == 1.0

    def function(kind: str, given: Mapping[str, Any]) -> Any:
        if work > EXACT and kind in ("ball", "symbolic"):
            raise GradcheckError(TOO_LONG.format(EXACT))
        leaves = {steps[name]: value for name, value in given.items()}
        values = [replay(record, leaves, kind) for record, _ in pieces]
        if alone:
            return values[0]
        return sum((np.sum(v * g) for v, (_, g) in zip(values, pieces, strict=True)), 0.0)

    return Case(function, inputs, tuple(inputs), None if plain else cotangent), work


def _value_of(target: Step, pieces: Sequence[tuple[Record, Any]], call: BackwardPass) -> Array:
    """What a leaf held when it was used; GradcheckError where it was stepped between two uses."""
    held = [
        np.array(value, dtype=np.float64)
        for record, _ in pieces
        for node in record.nodes
        for edge, value in zip(node.edges, record.given[node].operands, strict=True)
        if edge is target
    ]
    if not held:
        return np.array(bare(target.variable), np.float64) if isinstance(target, Leaf) else _ZERO
    if any(not np.array_equal(held[0], other, equal_nan=True) for other in held[1:]):
        raise GradcheckError(f"{call.names[target]} was written between two of its uses")
    return held[0]


def _off(call: BackwardPass, targets: Sequence[Step], found: Verdict) -> str:
    """What came to a leaf and is not its gradient; "" where all is well."""
    for target in targets:
        name, g = call.names[target], call.landed[target]
        part = found.parts.get(name)
        if part is None or part.gradient is None or part.verdict != "agree":
            continue
        due, error = part.gradient.value, part.gradient.error
        room = RELATIVE * np.max(np.abs(due), initial=0.0) + 1e-12 + error
        if due.shape != g.shape or np.any(np.abs(due - g) > room):
            return f"what came to {name} is not this gradient"
    return ""
