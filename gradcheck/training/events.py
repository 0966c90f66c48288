"""Every backward call as a question of its own, put to the three opinions.

An event is a function of the leaves as they are at that moment. The closed form and the
differences never see the tape; what the engine added to the ledger must be what they find.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import Case
from gradcheck.training.forms import Array, Lost, Root, Span, cut, evaluate, in_order, roots
from gradcheck.training.recorder import BackwardCall
from gradcheck.verdict.consult import VERDICTS, Verdict, consult

RELATIVE = 1e-9
VIEWS = "a value changed behind the program's back (a write through a view): it is not followed"


@dataclass(frozen=True, eq=False)
class Event:
    """One backward call; `case` is its question, or None, and then `why` says why not."""

    number: int
    value: Array
    span: Span
    case: Case | None
    names: Mapping[str, Root] = field(default_factory=dict)
    why: str = ""

    @property
    def label(self) -> str:
        """What the event is called, counted as a reader does."""
        return f"backward call {self.number + 1}"


@dataclass(frozen=True, eq=False)
class Judged:
    """An event and what the three opinions come to."""

    event: Event
    verdict: Verdict


def event(called: BackwardCall) -> Event:
    """A backward call as a question."""
    lost = [term for term in in_order(called.term) if isinstance(term, Lost)]
    why = called.why or (lost[0].why if lost else "")
    if why:
        return Event(called.number, called.value, called.span, None, why=why)
    names = _named(called)
    spans = _Place()

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        given = {root: inputs[name] for name, root in names.items()}
        return evaluate(called.term, kind, given, spans.put)

    case = Case(
        function,
        {name: root.value for name, root in names.items()},
        tuple(names),
        called.cotangent if called.value.shape else None,
        called.number,
        spans.get,
    )
    return Event(called.number, called.value, called.span, case, names)


def judged(called: BackwardCall) -> Judged:
    """The three opinions on one event; of several questions in it, the one with the worst end."""
    answers = map(_answered, _questions(called))
    return max(answers, key=lambda each: VERDICTS.index(each.verdict.verdict))


def _questions(called: BackwardCall) -> Iterator[BackwardCall]:
    """What arrived at the leaves; what arrived at each intermediate value, taken as a variable."""
    if called.arrived or not called.within:
        yield called
    for each in called.within:
        term = cut(called.term, each.at, each.root)
        yield replace(called, term=term, arrived={each.root.owner: each.g}, within=())


def _answered(called: BackwardCall) -> Judged:
    """The three opinions on one question, held against what the engine found."""
    found = event(called)
    if found.case is None:
        return Judged(found, _silent(found.why))
    try:
        verdict = consult(_scaled(found.case, called), write=False)
    except (GradcheckError, ValueError, ArithmeticError) as error:
        return Judged(found, _silent(str(error)))
    if _strayed(called, verdict):
        return Judged(found, _silent(VIEWS))
    why = _off(found, called, verdict)
    if why and VERDICTS.index(verdict.verdict) < VERDICTS.index("dissent"):
        verdict = replace(verdict, verdict="dissent", notes=(*verdict.notes, why))
    return Judged(found, verdict)


def _scaled(case: Case, called: BackwardCall) -> Case:
    """A scalar that goes back with another cotangent than 1 is scaled by it."""
    if called.cotangent is None or called.value.shape:
        return case
    factor = float(called.cotangent)
    inner = case.function
    return replace(case, function=lambda kind, inputs: inner(kind, inputs) * factor)


def _strayed(called: BackwardCall, verdict: Verdict) -> bool:
    """Whether the form has another value than the program had: it was not followed to the end."""
    if verdict.value is None or verdict.verdict == "dissent":
        return False
    factor = 1.0 if called.value.shape or called.cotangent is None else float(called.cotangent)
    due = verdict.value.value
    room = RELATIVE * np.max(np.abs(due), initial=0.0) + 1e-12 + verdict.value.error
    return bool(np.any(np.abs(called.value * factor - due) > room))


def _off(found: Event, called: BackwardCall, verdict: Verdict) -> str:
    """What the ledger got and the opinions do not find; "" where all is well."""
    due: dict[Any, Array] = {}
    for name, root in found.names.items():
        part = verdict.parts[name].gradient
        if part is None:
            continue
        owner = root.owner
        due[owner] = due.get(owner, np.zeros(root.value.shape)) + part.value
    for leaf, g in called.arrived.items():
        expected = due.get(leaf)
        if expected is None:
            continue
        room = RELATIVE * np.max(np.abs(expected), initial=0.0) + 1e-12
        if expected.shape != g.shape or np.any(np.abs(expected - g) > room):
            return f"what the engine added to {leaf.name}.grad is not this gradient"
    return ""


def _named(called: BackwardCall) -> dict[str, Root]:
    """The leaves of an event by name; further versions of one leaf get a number."""
    names: dict[str, Root] = {}
    for root in sorted(roots(called.term), key=lambda r: -r.version):
        name = root.owner.name or "an intermediate value"
        names[name if name not in names else f"{name} (version {root.version})"] = root
    return names


def _silent(why: str) -> Verdict:
    return Verdict("undecided", None, {}, {}, notes=(why,))


class _Place:
    """Which part of the text is being evaluated."""

    def __init__(self) -> None:
        self.span: Span = None

    def put(self, span: Span) -> None:
        self.span = span

    def get(self) -> Span:
        return self.span
