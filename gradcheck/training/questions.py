"""A part that reads the gradient of a leaf, as a question like that of any other problem.

`x.grad` at the end of a program is the gradient of the sum of all that went back since it was last
cleared. With that sum as the function, a formula for it is held against the closed form at further
points, and explained, as it is where the problem is an expression.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, fields, replace

import numpy as np
from flint import arb

from gradcheck.engine.tape import Leaf, Step, reachable
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError
from gradcheck.language import Budget, Program, check_program
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.run import run
from gradcheck.numbers.ball import balls
from gradcheck.opinions.opinion import Case, contract
from gradcheck.opinions.tape import Record, replay
from gradcheck.ops import BY_SPELLING
from gradcheck.problem.record import Input, Part, Point, Problem
from gradcheck.training.decimals import exact_array, exactly
from gradcheck.training.ledger import BackwardCall, Holder, Span
from gradcheck.training.recorder import Recorder, context
from gradcheck.training.trace import names_after
from gradcheck.values import Array, Numbers, Params, Routine
from gradcheck.verdict.passes import value_of

RELATIVE, ABSOLUTE = 1e-9, 1e-12  # of a sum of gradients in float64
ROUNDED = 1e-13  # relative: what a few hundred operations on floats may lose
KEPT = 64  # cases that are remembered
TAKEN_OUT = (".item()", ".tolist()", ".detach()")
OTHER = "what is read is not the gradient of values that went back"
MOVED = "a leaf was stepped before its gradient was taken"


@dataclass(frozen=True, eq=False)
class GradientRead:
    """The gradient that a part reads: by the leaf `name`, of the sum of `summands`.

    A summand is a recorded value and its cotangent (None: 1); `leaves` are those below, by name.
    Not `exact` is what holds a number that was computed: it is known as a float only.
    """

    name: str
    summands: tuple[tuple[Record, Array | None], ...]
    leaves: Mapping[str, Step]
    exact: bool

    def value(self, k: int, kind: str, given: Params, at: Callable[[Span], None]) -> Numbers:
        """The k-th value on numbers of a kind; `at` hears which part of the text is evaluated."""
        record = self.summands[k][0]
        known = {step: given[name] for name, step in self.leaves.items()}
        return replay(exactly(record, kind) if self.exact else record, known, kind, at)


@dataclass(frozen=True, eq=False, kw_only=True)
class GradientQuestion(Problem):
    """One part of a program that goes back by itself, as a problem of its own.

    `whole` is that program, `read` the part, `events` how many backward calls its gradient is of.
    What is not `exact` proves nothing beyond the digits of a float.
    """

    whole: Problem
    read: Part
    events: int
    exact: bool
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

        def at(span: Span) -> None:
            place[0] = span

        def function(kind: str, inputs: Params) -> Numbers:
            if len(found.summands) == 1:
                return found.value(0, kind, inputs, at)
            pieces = [
                contract(found.value(k, kind, inputs, at), None if g is None else lift(g))
                for lift in [KINDS[kind].lift]
                for k, (_, g) in enumerate(found.summands)
            ]
            return sum(pieces[1:], pieces[0])

        cotangent = found.summands[0][1] if len(found.summands) == 1 else None
        return Case(function, point, self.wrt, cotangent, self.seed, lambda: place[0])


def _raising(error: GradcheckError) -> Routine:
    def function(kind: str, inputs: Params) -> Numbers:
        raise error

    return function


def question(problem: Problem, part: Part, point: Point) -> GradientQuestion | None:
    """The question of a part; None where it reads something else."""
    for whole in (_with_followed_constants(problem), problem):
        try:
            found = gradient_read(whole, part, point)
        except GradcheckError:
            continue
        leaves = [n for n, entry in problem.inputs.items() if entry.requires_grad]
        others = [name for name in leaves if name in found.leaves and name != found.name]
        own = {each.name: getattr(problem, each.name) for each in fields(Problem)}
        own["wrt"] = (found.name, *others)
        own["parts"] = (replace(part, name=found.name, ask=None),)
        events = len(found.summands)
        return GradientQuestion(**own, whole=whole, read=part, events=events, exact=found.exact)
    return None


def _with_followed_constants(problem: Problem) -> Problem:
    """The program with its constants followed too, of the shapes of what it is differentiated by.

    An answer may be the derivative by one of them.
    """
    shapes = {entry.shape for entry in problem.inputs.values() if entry.requires_grad}
    inputs = {
        name: replace(entry, requires_grad=entry.requires_grad or entry.shape in shapes)
        for name, entry in problem.inputs.items()
    }
    return replace(problem, inputs=inputs)


def with_written_leaves(problem: Problem, point: Point) -> Problem:
    """The problem with the leaves that its text makes out of numbers among its inputs.

    `x = tensor(2.0, requires_grad=True)` is a way to say where a function is differentiated.
    """
    recorder, _ = _run_recorded(problem, point)
    found = dict[str, Input]()
    for k, leaf in enumerate(recorder.made_of_numbers):
        name = recorder.ledger.enter(leaf).name
        if name not in (*problem.inputs, *found) and _is_name(name):
            with suppress(GradcheckError):
                value = exact_array(recorder.numbers[k])
                found[name] = Input(name, value, value.shape, True, k)
    return replace(problem, inputs={**problem.inputs, **found}) if found else problem


# -- what a part reads ---------------------------------------------------------------------------


def gradient_read(problem: Problem, part: Part, point: Point) -> GradientRead:
    """Run a program and find the sum whose gradient a part reads; GradcheckError where none is."""
    recorder, names = _run_recorded(problem, point)
    holder, calls = _source(recorder, _value(problem, part, names, recorder))
    if not calls:
        raise GradcheckError(OTHER)
    pieces = [piece for call in calls for piece in call.roots]
    leaves = _leaves(recorder, [record for record, _ in pieces], point)
    if holder.name not in leaves or not leaves.keys() <= problem.inputs.keys():
        raise GradcheckError(OTHER)
    above = [(record.above(leaves.values()), _cotangent(g)) for record, g in pieces]
    try:
        for record, _ in above:
            exactly(record, "ball")
        known = [(record, None if g is None else exact_array(g)) for record, g in above]
    except GradcheckError:
        return GradientRead(holder.name, tuple(above), leaves, exact=False)
    return GradientRead(holder.name, tuple(known), leaves, exact=True)


def _leaves(recorder: Recorder, records: Sequence[Record], point: Point) -> dict[str, Step]:
    """The leaves below some values by name; GradcheckError where one was stepped before."""
    found: dict[str, Step] = {}
    for step in reachable([record.root for record in records]):
        if isinstance(step, Leaf):
            name = recorder.ledger.name_of(step)
            if found.setdefault(name, step) is not step:
                raise GradcheckError(OTHER)
    for name, step in found.items():
        pieces = [(record, None) for record in records]
        if name in point and not _is_at(value_of(step, pieces, name), point[name]):
            raise GradcheckError(MOVED)
    return found


def _is_at(held: Array, given: Numbers) -> bool:
    return np.array_equal(held, np.asarray(given, dtype=np.float64).reshape(held.shape))


def _cotangent(g: Numbers) -> Array | None:
    """None for the 1 that a single number begins with."""
    given = np.asarray(g, dtype=np.float64)
    return None if not given.shape and given == 1.0 else given


def _run_recorded(problem: Problem, point: Point) -> tuple[Recorder, dict[str, Numbers]]:
    recorder = Recorder()
    with _without_warnings():
        return recorder, names_after(problem, point, recorder)[0]


def _is_name(name: str) -> bool:
    """Whether a leaf has a name by which an answer can call it."""
    return name.isidentifier() and BY_SPELLING.get(name, name) not in VOCABULARY.functions


def _value(problem: Problem, part: Part, names: Params, recorder: Recorder) -> Numbers:
    """What a part reads, before numbers are taken out of it."""
    with _without_warnings():
        if part.ask is None:
            return names[part.name].grad
        ask = _unwrap(part.ask, names)
        with recorder.watching():
            return run(ask, names, KINDS["tensor"], Budget(), context=context(recorder)).value


def _without_warnings() -> AbstractContextManager[None]:
    """PyTorch's warnings are noted where a program is traced, and not said again."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def _unwrap(ask: Program, names: Params) -> Program:
    """`x.grad.item()` as `x.grad`."""
    text = ask.source.strip()
    bare_text = next((text.removesuffix(end) for end in TAKEN_OUT if text.endswith(end)), text)
    if bare_text == text:
        return ask
    return check_program(bare_text, declared=tuple(names), vocabulary=VOCABULARY)


def _source(recorder: Recorder, value: Numbers) -> tuple[Holder, list[BackwardCall]]:
    """The leaf whose gradient a value is, and the calls whose gradients it adds up."""
    if not isinstance(value, Tensor):
        raise GradcheckError(OTHER)
    holder = next((h for h in recorder.ledger.holders if h.tensor._grad is value), None)
    calls = [] if holder is None else [*_since_cleared(recorder, holder)]
    for result, call, x in recorder.taken:
        if result is value:
            holder, calls = recorder.ledger.enter(x), [call]
    if holder is None or not (holder.tensor.is_leaf and holder.tensor.requires_grad):
        raise GradcheckError(OTHER)
    step = holder.tensor._step()
    total = sum((call.landed[step] for call in calls), np.zeros(holder.tensor.shape))
    room = RELATIVE * np.max(np.abs(total), initial=0.0) + ABSOLUTE
    if not np.all(np.isfinite(total)) or np.any(np.abs(bare(value) - total) > room):
        raise GradcheckError(OTHER)
    return holder, calls


def _since_cleared(recorder: Recorder, holder: Holder) -> Iterator[BackwardCall]:
    """The backward calls that added to a `.grad` after it was last cleared."""
    lines = [entry for entry in recorder.ledger.entries if entry.leaf is holder]
    last = max((k + 1 for k, entry in enumerate(lines) if entry.verb == "clear"), default=0)
    return (recorder.calls[e.event] for e in lines[last:] if e.event is not None)


# -- what a program names ------------------------------------------------------------------------


def numbers_named(problem: Problem, point: Point) -> dict[str, Array]:
    """The tensors and numbers that a program's names hold at its end, as floats."""
    _, names = _run_recorded(problem, point)
    kinds = (Tensor, float, np.floating)
    return {n: np.array(bare(v), dtype=float) for n, v in names.items() if isinstance(v, kinds)}


def balls_named(problem: Problem, point: Point) -> dict[str, Numbers]:
    """The same in balls at the precision that is set.

    What follows from the inputs is derived from them anew; anything else is as wide as a float is.
    """
    recorder, names = _run_recorded(problem, point)
    found = {}
    for name, value in names.items():
        if isinstance(value, Tensor):
            found[name] = _derive(recorder, value, point)
        elif isinstance(value, float | np.floating):
            found[name] = _about(np.asarray(value))
    return found


def _derive(recorder: Recorder, value: Tensor, point: Point) -> Numbers:
    """A tensor from the exact inputs, where what was recorded leads back to them alone."""
    try:
        if not value.requires_grad:
            return _about(np.asarray(bare(value)))
        record = recorder.observer.record(value._step())
        leaves = _leaves(recorder, [record], point)
        given = {step: balls(point[name]) for name, step in leaves.items()}
        return replay(exactly(record.above(given), "ball"), given, "ball")
    except (GradcheckError, KeyError):
        return _about(np.asarray(bare(value)))


def _about(value: Array) -> Numbers:
    """Floats as the numbers that they were written as, or else as wide as their rounding."""
    try:
        return balls(exact_array(value))
    except GradcheckError:
        out = np.empty(value.shape, dtype=object)
        for index, each in np.ndenumerate(value):
            out[index] = arb(float(each), ROUNDED * abs(float(each)))
        return balls(out)
