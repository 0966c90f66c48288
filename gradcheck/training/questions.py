"""A part that reads the gradient of a leaf, as a question like that of any other problem.

`x.grad` at the end of a program is the gradient of the sum of all that went back since it was last
cleared. With that sum as the function, a formula for it is held against the closed form at further
points, and explained, as it is where the problem is an expression.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from gradcheck.engine.tensor import bare
from gradcheck.errors import GradcheckError
from gradcheck.language import Budget, Program, check_program
from gradcheck.language.kinds import ALIASES, CONSTANTS, KINDS, VOCABULARY
from gradcheck.language.running.run import run
from gradcheck.opinions.opinion import Case, contracted
from gradcheck.problem.record import Input, Part, Point, Problem
from gradcheck.training.forms import (
    Array,
    Lost,
    Root,
    Span,
    Term,
    evaluate,
    exactly,
    fraction,
    in_order,
    roots,
)
from gradcheck.training.layers import context
from gradcheck.training.ledger import Holder
from gradcheck.training.recorder import BackwardCall, Recorder
from gradcheck.training.trace import names_after
from gradcheck.training.traced import Traced

RELATIVE, ABSOLUTE = 1e-9, 1e-12  # of a sum of gradients in float64
KEPT = 64  # cases that are remembered
TAKEN_OUT = (".item()", ".tolist()", ".detach()")
OTHER = "what is read is not the gradient of values that went back"
MOVED = "a leaf was stepped before its gradient was taken"


@dataclass(frozen=True, eq=False)
class Read:
    """The gradient that a part reads: by the leaf `name`, of the sum of `summands`.

    A summand is a form and its cotangent (None: 1). `variables` are the leaves in them by name.
    """

    name: str
    summands: tuple[tuple[Term, Array | None], ...]
    variables: Mapping[str, Root]


@dataclass(frozen=True, eq=False, kw_only=True)
class GradientQuestion(Problem):
    """One part of a program that goes back by itself, as a problem of its own.

    `whole` is that program, `read` the part, `events` how many backward calls its gradient is of.
    """

    whole: Problem
    read: Part
    events: int
    known: dict[int, tuple[Point, Case]] = field(default_factory=dict)

    def case(self, point: Point) -> Case:
        """The question at a point: the program is run there, and says what went back."""
        if id(point) not in self.known:
            if len(self.known) >= KEPT:
                self.known.clear()
            self.known[id(point)] = point, self._case(point)
        return self.known[id(point)][1]

    def _case(self, point: Point) -> Case:
        place: list[Span] = [None]
        try:
            found = gradient_read(self.whole, self.read, point)
        except GradcheckError as error:
            return Case(_raising(error), point, self.wrt, None, self.seed)

        def function(kind: str, inputs: Mapping[str, Any]) -> Any:
            given = {root: inputs[name] for name, root in found.variables.items()}
            pieces = [_piece(*each, kind, given, place) for each in found.summands]
            return sum(pieces[1:], pieces[0])

        return Case(function, point, self.wrt, None, self.seed, lambda: place[0])


def _raising(error: GradcheckError) -> Callable[..., Any]:
    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        raise error

    return function


def _piece(
    term: Term, cotangent: Array | None, kind: str, given: Mapping[Root, Any], place: list[Span]
) -> Any:
    """One of the values that went back, as a number of a kind; `place` hears where it is."""

    def at(span: Span) -> None:
        place[0] = span

    value = evaluate(term, kind, given, at)
    return contracted(value, None if cotangent is None else KINDS[kind].lift(cotangent))


def question(problem: Problem, part: Part, point: Point) -> GradientQuestion | None:
    """The question of a part; None where it reads something else, or a number is not exact."""
    try:
        found = gradient_read(problem, part, point)
    except GradcheckError:
        return None
    others = [name for name in problem.inputs if name in found.variables and name != found.name]
    own = {each.name: getattr(problem, each.name) for each in fields(Problem)}
    own["wrt"] = (found.name, *others)
    own["parts"] = (replace(part, name=found.name, ask=None),)
    events = len(found.summands)
    return GradientQuestion(**own, whole=problem, read=part, events=events)


def with_written_leaves(problem: Problem, point: Point) -> Problem:
    """The problem with the leaves that its text makes out of numbers among its inputs.

    `x = tensor(2.0, requires_grad=True)` is a way to say where a function is differentiated.
    """
    recorder, _ = _ran(problem, point)
    found = dict[str, Input]()
    for k, leaf in enumerate(recorder.made_of_numbers):
        if leaf.name not in (*problem.inputs, *found) and _is_name(leaf.name):
            with suppress(GradcheckError):
                value = exact_array(recorder.numbers[k])
                found[leaf.name] = Input(leaf.name, value, value.shape, True, k)
    return replace(problem, inputs={**problem.inputs, **found}) if found else problem


def exact_array(value: Array) -> Array:
    """The decimals that floats were written as; raises GradcheckError where they are none."""
    out = np.empty(value.shape, dtype=object)
    for index, each in np.ndenumerate(value):
        out[index] = fraction(float(each))
    return out


# -- what a part reads ---------------------------------------------------------------------------


def gradient_read(problem: Problem, part: Part, point: Point) -> Read:
    """Run a program and find the sum whose gradient a part reads; GradcheckError where none is."""
    recorder, names = _ran(problem, point)
    leaf, calls = _source(recorder, _value(problem, part, names, recorder))
    lost = [term for call in calls for term in in_order(call.term) if isinstance(term, Lost)]
    if not calls or lost or any(call.why for call in calls):
        raise GradcheckError(OTHER)
    found = {root for call in calls for root in roots(call.term)}
    if any(root.version for root in found):
        raise GradcheckError(MOVED)
    variables = {root.owner.name: root for root in found}
    complete = len(variables) == len(found) and leaf.name in variables
    if not complete or not variables.keys() <= problem.inputs.keys():
        raise GradcheckError(OTHER)
    summands = tuple((exactly(call.term), _exact_cotangent(call)) for call in calls)
    return Read(leaf.name, summands, variables)


def _ran(problem: Problem, point: Point) -> tuple[Recorder, dict[str, Any]]:
    """A run, and all variables after it; PyTorch's warnings are told elsewhere."""
    recorder = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return recorder, names_after(problem, point, recorder)


def _exact_cotangent(call: BackwardCall) -> Array | None:
    return None if call.cotangent is None else exact_array(call.cotangent)


def _is_name(name: str) -> bool:
    """Whether a leaf has a name by which an answer can call it."""
    taken = name in CONSTANTS or ALIASES.get(name, name) in VOCABULARY.functions
    return name.isidentifier() and not taken


def _value(problem: Problem, part: Part, names: Mapping[str, Any], recorder: Recorder) -> Any:
    """What a part reads, before numbers are taken out of it."""
    if part.ask is None:
        return names[part.name].grad
    ask = _unwrapped(part.ask, names)
    return run(ask, names, recorder, Budget(), context=context(recorder)).value


def _unwrapped(ask: Program, names: Mapping[str, Any]) -> Program:
    """`x.grad.item()` as `x.grad`."""
    text = ask.source.strip()
    bare_text = next((text.removesuffix(end) for end in TAKEN_OUT if text.endswith(end)), text)
    if bare_text == text:
        return ask
    return check_program(bare_text, declared=tuple(names), vocabulary=VOCABULARY)


def _source(recorder: Recorder, value: Any) -> tuple[Holder, list[BackwardCall]]:
    """The leaf whose gradient a value is, and the calls whose gradients it adds up."""
    if not isinstance(value, Traced):
        raise GradcheckError(OTHER)
    leaf, calls = value.of, [] if value.of is None else [*_since_cleared(recorder, value.of)]
    for result, call, x in recorder.taken:
        if result is value:
            leaf, calls = x, [call]
    if leaf is None or not recorder.ledger.is_leaf(leaf):
        raise GradcheckError(OTHER)
    total = sum((call.arrived[leaf] for call in calls), np.zeros(leaf.t.shape))
    room = RELATIVE * np.max(np.abs(total), initial=0.0) + ABSOLUTE
    if not np.all(np.abs(bare(value.t) - total) <= room):
        raise GradcheckError(OTHER)
    return leaf, calls


def _since_cleared(recorder: Recorder, leaf: Holder) -> Iterator[BackwardCall]:
    """The backward calls that added to a `.grad` after it was last cleared."""
    lines = [entry for entry in recorder.ledger.entries if entry.leaf is leaf]
    last = max((k + 1 for k, entry in enumerate(lines) if entry.verb == "clear"), default=0)
    return (recorder.calls[e.event] for e in lines[last:] if e.event is not None)
