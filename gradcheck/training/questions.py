"""A part that reads the gradient of a leaf, as a question like that of any other problem.

`x.grad` at the end of a program is the gradient of the sum of all that went back since it was last
cleared. With that sum as the function, a formula for it is held against the closed form at further
points, and explained, as it is where the problem is an expression.
"""

import ast
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction

import numpy as np
from flint import arb

from gradcheck.engine.tape import Leaf, Step, list_reachable
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.errors import GradcheckError
from gradcheck.language.kinds import CONSTANTS, KINDS, VOCABULARY, NumberKind
from gradcheck.language.program import check_program
from gradcheck.numbers.ball import balls, each
from gradcheck.numbers.run import silence_warnings
from gradcheck.opinions.opinion import Case, contract
from gradcheck.opinions.tape import Record, replay
from gradcheck.ops import BY_SPELLING
from gradcheck.problem.record import Input, Part, Path, Point, Problem, is_training
from gradcheck.training.ledger import BackwardCall, GradLedger, Holder, Span
from gradcheck.training.run import LoopRun
from gradcheck.values import Array, Numbers, Params
from gradcheck.verdict.passes import find_value

RELATIVE, ABSOLUTE = 1e-9, 1e-12  # of a sum of gradients in float64
ROUNDED = 1e-13  # relative: what a few hundred operations on floats may lose
DIGITS = 15  # that a float64 keeps of any decimal
SMALL = 1_000  # of a denominator
KEPT = 64  # cases that are remembered
BRANCHES = (ast.If, ast.IfExp, ast.While, ast.BoolOp)
NUMBERS = (Tensor, np.ndarray, np.floating, float, int)  # that a program's names may hold
TAKEN_OUT = (".item()", ".tolist()", ".detach()")
OTHER = "what is read is not the gradient of values that went back"
MOVED = "a leaf was stepped before its gradient was taken"
BLURRED = "what is read is known to the digits of a float only"


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

    def value(self, kind: str, given: Params, at: Callable[[Span], None]) -> Numbers:
        """The sum on numbers of a kind; `at` hears which part of the text is evaluated."""
        known = {step: given[name] for name, step in self.leaves.items()}
        records = [make_exact(r, kind) if self.exact else r for r, _ in self.summands]
        values = [replay(record, known, kind, at) for record in records]
        if len(values) == 1:
            return values[0]
        weights = [None if g is None else KINDS[kind].lift(g) for _, g in self.summands]
        first, *others = map(contract, values, weights)
        return sum(others, first)


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

    def name_path(self, point: Point, conditions: Path) -> Path:
        """By the operations that went back there: comparisons were made of floats."""
        if not any(isinstance(node, BRANCHES) for node in ast.walk(self.program.tree)):
            return conditions
        summands = read_gradient(self.whole, self.read, point).summands
        return tuple(f"{n.op.name} {n.span}" for record, _ in summands for n in record.nodes)

    def _case(self, point: Point) -> Case:
        place = deque[Span]([None], maxlen=1)
        found: GradientRead | GradcheckError
        try:
            found = read_gradient(self.whole, self.read, point)
            if self.exact and not found.exact:  # at a point of no decimals
                raise GradcheckError(BLURRED)
            cotangent = found.summands[0][1] if len(found.summands) == 1 else None
        except GradcheckError as error:
            found, cotangent = error, None

        def function(kind: str, inputs: Params) -> Numbers:
            if isinstance(found, GradcheckError):
                raise found
            return found.value(kind, inputs, place.append)

        return Case(function, point, self.wrt, cotangent, self.seed, lambda: place[0])


def make_question(problem: Problem, part: Part, point: Point) -> GradientQuestion | None:
    """The question of a part; None where it reads something else.

    The program's constants of the shapes of what it is differentiated by are followed too: an
    answer may be the derivative by one of them.
    """
    shapes = {entry.shape for entry in problem.inputs.values() if entry.requires_grad}
    followed = {
        name: replace(entry, requires_grad=entry.requires_grad or entry.shape in shapes)
        for name, entry in problem.inputs.items()
    }
    for whole in (replace(problem, inputs=followed), problem):
        with suppress(GradcheckError):
            found = read_gradient(whole, part, point)
            leaves = [n for n, entry in problem.inputs.items() if entry.requires_grad]
            others = [name for name in leaves if name in found.leaves and name != found.name]
            own = {each.name: getattr(problem, each.name) for each in fields(Problem)}
            own["wrt"] = (found.name, *others)
            own["parts"] = (replace(part, name=found.name),)
            known = (each for each in problem.known_answers if part.name in each.answer)
            own["known_answers"] = tuple(
                replace(each, answer={found.name: each.answer[part.name]}) for each in known
            )
            count = len(found.summands)
            return GradientQuestion(**own, whole=whole, read=part, events=count, exact=found.exact)
    return None


def add_written_leaves(problem: Problem, point: Point) -> Problem:
    """The problem with the leaves that its text makes out of numbers among its inputs.

    `x = tensor(2.0, requires_grad=True)` is a way to say where a function is differentiated.
    """
    end, found = _run(problem, point), dict[str, Input]()
    for k, (leaf, numbers) in enumerate(end.written):
        name = end.ledger.enter(leaf).name
        function = BY_SPELLING.get(name, name) in VOCABULARY.functions
        if name.isidentifier() and not function and name not in (*problem.inputs, *found):
            with suppress(GradcheckError):
                found[name] = Input(name, read_decimals(numbers), numbers.shape, True, k)
    return replace(problem, inputs={**problem.inputs, **found}) if found else problem


def _run(problem: Problem, point: Point) -> LoopRun:
    """PyTorch's warnings are noted where a program is traced, and not said again."""
    with silence_warnings(UserWarning):
        return LoopRun(problem, point, GradLedger()).execute()


# -- what a part reads ---------------------------------------------------------------------------


def read_gradient(problem: Problem, part: Part, point: Point) -> GradientRead:
    """Run a program and find the sum whose gradient a part reads; GradcheckError where none is."""
    end = _run(problem, point)
    holder, calls = _find_source(end, _read(part, end))
    pieces = [piece for call in calls for piece in call.roots]
    leaves = _find_leaves(end.ledger, [record for record, _ in pieces], point)
    if holder.name not in leaves or not leaves.keys() <= problem.inputs.keys():
        raise GradcheckError(OTHER)
    above = [(record.above(leaves.values()), _find_cotangent(g)) for record, g in pieces]
    exact = False
    with suppress(GradcheckError):
        for record, _ in above:
            make_exact(record, "ball")
        above = [(record, None if g is None else read_decimals(g)) for record, g in above]
        exact = True
    return GradientRead(holder.name, tuple(above), leaves, exact)


def _find_leaves(ledger: GradLedger, records: Sequence[Record], point: Point) -> dict[str, Step]:
    """The leaves below some values by name; GradcheckError where one was stepped before."""
    found: dict[str, Step] = {}
    for step in list_reachable([record.root for record in records]):
        if isinstance(step, Leaf):
            name = ledger.name_of(step)
            if found.setdefault(name, step) is not step:
                raise GradcheckError(OTHER)
    for name, step in found.items():
        if name in point:
            held = find_value(step, [(record, None) for record in records], name)
            given = np.asarray(point[name], dtype=np.float64).reshape(held.shape)
            if not np.array_equal(held, given):
                raise GradcheckError(MOVED)
    return found


def _find_cotangent(g: Numbers) -> Array | None:
    """None for the 1 that a single number begins with."""
    given = np.asarray(g, dtype=np.float64)
    return None if not given.shape and given == 1.0 else given


def _read(part: Part, end: LoopRun) -> Numbers:
    """What a part reads, before numbers are taken out of it: `x.grad` of `x.grad.item()`."""
    with silence_warnings(UserWarning):
        if part.ask is None:
            return end.look_up(part.name)
        ask, text = part.ask, part.ask.source.strip()
        taken = next((end for end in TAKEN_OUT if text.endswith(end)), "")
        if taken:
            whole = text.removesuffix(taken)
            ask = check_program(whole, declared=tuple(end.names), vocabulary=VOCABULARY)
        return end.look_up(ask)


def _find_source(end: LoopRun, value: Numbers) -> tuple[Holder, list[BackwardCall]]:
    """The leaf whose gradient a value is, and the calls whose gradients it adds up.

    Those are the calls that added to its `.grad` after that was last cleared.
    """
    if not isinstance(value, Tensor):
        raise GradcheckError(OTHER)
    ledger, calls = end.ledger, list[BackwardCall]()
    holder = next((h for h in ledger.holders if h.tensor._grad is value), None)
    for entry in ledger.entries:
        if holder is not None and entry.leaf is holder:
            if entry.verb == "clear":
                calls = []
            elif entry.event is not None:
                calls.append(ledger.calls[entry.event])
    for result, call, x in end.taken:
        if result is value:
            holder, calls = ledger.enter(x), [call]
    if holder is None or not (holder.tensor.is_leaf and holder.tensor.requires_grad):
        raise GradcheckError(OTHER)
    step = holder.tensor._step()
    total = sum((call.landed[step] for call in calls), np.zeros(holder.tensor.shape))
    room = RELATIVE * np.max(np.abs(total), initial=0.0) + ABSOLUTE
    if not calls or not np.isfinite(room) or np.any(np.abs(unwrap(value) - total) > room):
        raise GradcheckError(OTHER)
    return holder, calls


# -- the numbers of a text as they were written: 0.1 is a tenth, and not the float beside it -------


def make_exact(record: Record, kind: str) -> Record:
    """The same record with each float of the text as the number that it was written as.

    Raises GradcheckError on a float of which that cannot be told: it was computed, and rounded.
    """
    if kind in ("tensor", "float"):
        return record
    numbers, given = KINDS[kind], dict(record.given)
    for node in record.nodes:
        found = given[node]
        pairs = zip(node.edges, found.operands, strict=True)
        operands = tuple(v if edge is not None else _lift(v, numbers) for edge, v in pairs)
        params = {n: _lift(v, numbers) for n, v in found.params.items()}
        given[node] = replace(found, operands=operands, params=params)
    return replace(record, given=given)


def _lift(value: Numbers, kind: NumberKind) -> Numbers:
    """Floats as numbers of a kind, in lists too; others as they are."""
    if type(value) in (list, tuple):
        return type(value)(_lift(each, kind) for each in value)
    kinds = float | np.ndarray | np.floating
    if not isinstance(value, kinds) or np.asarray(value).dtype.kind != "f":
        return value
    if np.ndim(value):
        return kind.lift(read_decimals(np.asarray(value)))
    if np.isinf(value):  # what masks scores
        return kind.constant("inf") * int(np.sign(value))
    try:
        return kind.lift(read_fraction(float(value)))
    except GradcheckError:
        for name, (constant, *_) in CONSTANTS.items():  # a small multiple of pi or e
            times = Fraction(float(value) / constant).limit_denominator(SMALL)
            if float(times) * constant == value:
                return kind.constant(name) * kind.lift(times)
        raise


def read_decimals(value: Array) -> Array:
    """The decimals that floats were written as; raises GradcheckError where they are none."""
    return each(lambda number: read_fraction(float(number)), value)


def read_fraction(value: float) -> Fraction:
    """A float as the decimal of at most 15 digits that it was written as, or as a small fraction.

    So many digits come back from a float64 as they went in. Of the numbers below 1,000 that are
    computed otherwise, one in 10^9 is a float of a fraction whose denominator is below 1,000.
    """
    if not np.isfinite(value):
        raise GradcheckError(f"{value} is no number")
    text = repr(value)
    digits = text.partition("e")[0].replace(".", "").lstrip("-0")
    if len(digits.rstrip("0")) <= DIGITS:
        return Fraction(text)
    small = Fraction(value).limit_denominator(SMALL)
    if float(small) != value:
        raise GradcheckError(f"{text} was computed, and is known to the digits of a float only")
    return small


# -- what a program names ------------------------------------------------------------------------


def list_shapes(problem: Problem, point: Point) -> dict[str, tuple[int, ...]]:
    """The shapes of the numbers that a program's names hold at its end."""
    training = is_training(problem)
    end = _run(problem, point) if training else problem.outcome_on("float", point)
    return {name: np.shape(v) for name, v in end.names.items() if isinstance(v, NUMBERS)}


def read_balls(problem: Problem, point: Point) -> dict[str, Numbers]:
    """The same in balls at the precision that is set.

    What follows from the inputs is derived from them anew; anything else is as wide as a float is.
    """
    end, found = _run(problem, point), dict[str, Numbers]()
    for name, value in end.names.items():
        if isinstance(value, Tensor) and value.requires_grad:
            with suppress(GradcheckError, KeyError):
                record = end.ledger.observer.record(value._step())
                leaves = _find_leaves(end.ledger, [record], point)
                given = {step: balls(point[leaf]) for leaf, step in leaves.items()}
                found[name] = replay(make_exact(record.above(given), "ball"), given, "ball")
        if isinstance(value, NUMBERS) and name not in found:
            found[name] = _widen_floats(np.asarray(unwrap(value)))
    return found


def _widen_floats(value: Array) -> Numbers:
    """Floats as the numbers that they were written as, or else as wide as their rounding."""
    try:
        return balls(read_decimals(value))
    except GradcheckError:
        return balls(each(lambda number: arb(number, ROUNDED * abs(number)), value))
