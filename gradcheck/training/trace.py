"""A program with backward calls, run once on the engine: events, ledger, and what is asked."""

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from itertools import islice
from types import SimpleNamespace

import numpy as np

from gradcheck.engine.autograd import grad as engine_grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import MAKERS, Generator, Maker, filling
from gradcheck.engine.layers import APPLIED, LAYERS, LOSSES
from gradcheck.engine.modules import Module, Sequential, mark
from gradcheck.engine.optimizers import SGD, Adam, clip_grad_norm_, clip_grad_value_
from gradcheck.engine.recording import MODE, enable_grad, no_grad, watching
from gradcheck.engine.tape import Leaf, Step, reachable
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Budget, executing
from gradcheck.language.kinds import KINDS
from gradcheck.language.run import run
from gradcheck.opinions.tape import Observer, Record
from gradcheck.ops.row import Op
from gradcheck.problem.draw import SCALES, decimals
from gradcheck.problem.record import Part, Point, Problem
from gradcheck.problem.section import ERROR
from gradcheck.training.ledger import (
    RIGHT,
    BackwardCall,
    GradientLedger,
    Holder,
    LedgerEntry,
    LedgerVerbs,
)
from gradcheck.training.outputs import Output, as_value, finite, snapshot
from gradcheck.values import Array, Numbers, Params, Routine

CHUNK = 250  # numbers that are handled in the time of an operation on one number
ROOMY = Budget()
TRIES = 8
SAMPLES = 4
UNITS = 8.0
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(eq=False)
class Recorder:
    """What a run on the engine leaves behind.

    `taken` are the gradients that `grad(...)` gave, each with its call and what it is a gradient
    by; `made_of_numbers` the leaves that the text makes out of numbers, `numbers` those, `moved`
    others in their place.
    """

    ledger: GradientLedger = field(default_factory=GradientLedger)
    recorded: dict[str, list[Numbers]] = field(default_factory=dict)
    taken: list[tuple[Numbers, BackwardCall, Tensor]] = field(default_factory=list)
    made_of_numbers: list[Tensor] = field(default_factory=list)
    numbers: list[Array] = field(default_factory=list)
    moved: Mapping[int | None, Array] = field(default_factory=dict)
    generator: Generator = field(default_factory=Generator)
    observer: Observer = field(default_factory=lambda: Observer(executing))

    def watching(self) -> AbstractContextManager[None]:
        """While a program runs; a disturbance of every forward value goes on."""
        return watching(self._observe, MODE.disturb, self._walked, self.ledger)

    @property
    def calls(self) -> list[BackwardCall]:
        return self.ledger.calls

    def leaf(self, values: Numbers, name: str = "") -> Tensor:
        """A new leaf; of those without a name, which the text writes, some may be `moved`."""
        if not name:
            values = self.moved.get(len(self.made_of_numbers), values)
            self.numbers.append(np.array(values, dtype=np.float64))
        found = tensor(np.array(values, dtype=np.float64), requires_grad=True)
        self.ledger.enter(found).name = name
        if not name:
            self.made_of_numbers.append(found)
        return found

    def grad(
        self, outputs: Numbers, inputs: Numbers, grad_outputs: Numbers = None, **kwargs: Numbers
    ) -> Numbers:
        """`grad(outputs, inputs)`: a backward call that leaves the ledger alone."""
        wrt = list(inputs) if type(inputs) in (list, tuple) else [inputs]
        for x in wrt:
            if isinstance(x, Tensor):
                self.ledger.enter(x)
        found = engine_grad(outputs, inputs, grad_outputs, **kwargs)
        self.taken += [(g, self.calls[-1], x) for x, g in zip(wrt, found, strict=True)]
        return found

    def record(self, **values: Numbers) -> None:
        """`record(norm=...)`: one entry of a trace a call."""
        for name, value in values.items():
            self.ledger.spend(1 + np.size(bare(value)) // CHUNK)
            self.recorded.setdefault(name, []).append(snapshot(value))

    def _observe(self, node: Numbers, out: Numbers, operands: Sequence[Numbers]) -> None:
        self.ledger.spend(1 + sum(map(np.size, map(bare, operands))) // CHUNK)
        for each in operands:
            if isinstance(each, Tensor) and each._tracked and each._node is None:
                self.ledger.enter(each)
        self.observer.observe(node, out, operands)

    def _walked(
        self, roots: Sequence[tuple[Step, Numbers]], landed: Mapping[Step, Numbers]
    ) -> None:
        """A pass back is over, and nothing has been added to a `.grad` of a leaf."""
        self.ledger.spend(len(reachable([step for step, _ in roots])))
        pieces = tuple((self.observer.record(step), np.array(bare(g))) for step, g in roots)
        arrived, number = self.ledger.arrivals(landed), len(self.calls)
        values, (top, _) = [np.array(_value_at(record)) for record, _ in pieces], pieces[0]
        if len(pieces) == 1:
            value, divisor = values[0], _divisor(top)
        else:  # each contracted with its cotangent
            summands = [np.sum(v * g) for v, (_, g) in zip(values, pieces, strict=True)]
            value, divisor = np.asarray(sum(summands)), 1.0
        made = getattr(top.root, "span", None)
        call = BackwardCall(executing(), pieces, arrived, {}, number, value, divisor, made)
        self.calls.append(call)


def _value_at(record: Record) -> Numbers:
    root = record.root
    return bare(root.variable) if isinstance(root, Leaf) else record.given[root].value


def _divisor(record: Record) -> float:
    """The k of `loss / k`, or of `loss * (1 / k)`; 1 where the loss is not divided."""
    root = record.root
    if isinstance(root, Leaf) or len(root.edges) != 2 or root not in record.given:
        return 1.0
    numbers = [
        float(value)
        if edge is None and isinstance(value, int | float | np.ndarray | np.number)
        and np.ndim(value) == 0 else None
        for edge, value in zip(root.edges, record.given[root].operands, strict=True)
    ]  # fmt: skip
    if root.op.name == "divide" and numbers[1]:
        return numbers[1]
    factor = numbers[0] or numbers[1]
    return 1.0 / factor if root.op.name == "multiply" and factor else 1.0


# -- what training programs have beyond arithmetic: PyTorch's words, meaning the engine's own ------


def context(recorder: Recorder) -> Mapping[str, Routine]:
    makers = {**MAKERS, **recorder.generator.makers()}
    return {
        **{name: partial(_make, recorder, maker) for name, maker in makers.items()},
        **filling(recorder.generator),
        **APPLIED,
        **LOSSES,
        **{name: partial(_make_layer, recorder, make) for name, make in LAYERS.items()},
        "Sequential": Sequential,
        "SGD": partial(_call, SGD),
        "Adam": partial(_call, Adam),
        "clip_grad_norm_": clip_grad_norm_,
        "clip_grad_value_": clip_grad_value_,
        "manual_seed": recorder.generator.manual_seed,
        "no_grad": no_grad,
        "enable_grad": enable_grad,
        "record": recorder.record,
        "grad": recorder.grad,
        "tensor": partial(_make_tensor, recorder),
        "Tensor": lambda data: tensor(data, np.float64),
        "Parameter": lambda data, requires_grad=True: mark(
            recorder.leaf(bare(data)) if requires_grad else tensor(bare(data))
        ),
    }


def _make(recorder: Recorder, maker: Maker, *args: Numbers, **kwargs: Numbers) -> Numbers:
    """`ones(3, 3, requires_grad=True)`: a leaf, or a constant; whole numbers stay an array."""
    requires_grad = kwargs.pop("requires_grad", False)
    made = maker(*map(bare, args), **{name: bare(value) for name, value in kwargs.items()})
    if requires_grad:
        return recorder.leaf(made)
    return tensor(made) if made.dtype.kind == "f" else made


def _make_layer(recorder: Recorder, make: Routine, *args: Numbers, **named: Numbers) -> Numbers:
    """A layer with parameters; of several that are drawn, each is drawn otherwise."""
    drawn = "seed" in signature(make).parameters and not {"seed", "weight"} & named.keys()
    seed = {"seed": recorder.generator.seed_of_layer()} if drawn else {}
    made = _call(make, *args, **named, **seed)
    for parameter in made.parameters():
        recorder.ledger.enter(parameter)
    return made


def _call(make: Routine, *args: Numbers, **named: Numbers) -> Numbers:
    """With inputs of the problem that are single numbers as numbers."""

    def plain(value: Numbers) -> Numbers:
        return value.item() if isinstance(value, Tensor) and value.ndim == 0 else value

    return make(*map(plain, args), **{name: plain(value) for name, value in named.items()})


def _make_tensor(
    recorder: Recorder, data: Numbers, dtype: Numbers = None, requires_grad: bool = False
) -> Numbers:
    """`tensor([1.0, 2.0], requires_grad=True)`: a leaf; of tensors, their stack."""
    if _holds_tensors(data):
        return KINDS["tensor"].function("array")(data)
    if not requires_grad:
        return tensor(data, dtype)
    try:
        tensor(data, dtype, requires_grad=True)
    except RuntimeError as error:
        raise RuntimeError(f"{error}; write 2.0 for 2, or give dtype=float") from None
    return recorder.leaf(data)


def _holds_tensors(data: Numbers) -> bool:
    if type(data) in (list, tuple):
        return any(map(_holds_tensors, data))
    return isinstance(data, Tensor)


# -- a run -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trace:
    """What one run left: its events, its ledger, the answers to what is asked.

    `together` is the number of gradients that the fullest window added up; `notes` are PyTorch's
    warnings; `idle_clears` counts the clearings that found nothing; `error` is what the program
    ended in, where that is asked; `drawn` says whether it drew; `recorded` has its series.
    """

    calls: tuple[BackwardCall, ...]
    entries: tuple[LedgerEntry, ...]
    values: Mapping[str, Output]
    together: int = 1
    notes: tuple[str, ...] = ()
    idle_clears: int = 0
    error: TextError | None = None
    drawn: bool = False
    recorded: Mapping[str, Output] = field(default_factory=dict)


def point_of(problem: Problem) -> Point:
    """The given point; inputs given by shape are drawn until everything asked is finite."""
    fixed = {name: i.value for name, i in problem.inputs.items() if i.value is not None}
    drawn = [i for i in problem.inputs.values() if i.value is None]
    if not drawn:
        return fixed
    rng = np.random.default_rng(problem.seed)
    for scale in SCALES[:TRIES]:
        point = {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in drawn}}
        if all(map(finite, trace(problem, point).values.values())):
            return point
    raise GradcheckError(f"{problem.id}: no point was found at which everything asked is finite")


def trace(
    problem: Problem, point: Point, verbs: LedgerVerbs = RIGHT, *, together: int = 1
) -> Trace:
    """Run the program on the engine; raises TextError or OutOfBudget, as any program does."""
    ledger = GradientLedger(verbs, together)
    recorder = Recorder(ledger)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        names, error = names_after(problem, point, recorder)
        values = {p.name: read_part(p, names, recorder, failed=error) for p in problem.parts}
    return Trace(
        tuple(replace(c, names={s: ledger.name_of(s) for s in c.landed}) for c in ledger.calls),
        tuple(ledger.entries),
        values,
        max(ledger.fullest, 1),
        notes_of(caught),
        ledger.idle_clears,
        error,
        recorder.generator.used,
        {name: as_value(value) for name, value in recorder.recorded.items()},
    )


def notes_of(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """PyTorch's warnings, each once."""
    return tuple(dict.fromkeys(str(warning.message) for warning in caught))


def names_after(
    problem: Problem,
    point: Point,
    recorder: Recorder,
    budget: Budget = ROOMY,
    *,
    watched: bool = True,
) -> tuple[dict[str, Numbers], TextError | None]:
    """What `ask` can read after the run: all variables, what was recorded, and the error.

    Leaves get their names from the variables; a run that is not `watched` leaves no ledger. Where
    it is asked what the program ends in, it may end in an error.
    """
    inputs, moved = dict[str, Tensor](), dict[int | None, Array]()
    for name, entry in problem.inputs.items():
        if entry.written is not None:
            moved[entry.written] = point[name]
        elif entry.requires_grad:
            inputs[name] = recorder.leaf(point[name], name)
        else:
            inputs[name] = tensor(problem.in_numpy(name, point[name]))
    recorder.moved = moved
    asked = (n for p in problem.parts if p.ask is not None for n in ast.walk(p.ask.tree))
    ends = any(isinstance(n, ast.Name) and n.id == ERROR for n in asked)
    words = context(recorder)
    with recorder.watching() if watched else nullcontext():
        outcome = run(
            problem.program, inputs, KINDS["tensor"], budget, context=words, keep_error=ends
        )
    holders = {id(holder.tensor): holder for holder in recorder.ledger.holders}
    for name, value in outcome.names.items():
        _name_holders(holders, name, value)
    for k, holder in enumerate(recorder.ledger.holders):
        nameless = f"leaf {k + 1}" if holder.tensor.is_leaf else "an intermediate value"
        holder.name = holder.name or nameless
    error = None if outcome.error is None else outcome.error.complaints[0].message
    series = SimpleNamespace(**recorder.recorded)
    return {ERROR: error, **outcome.names, "recorded": series}, outcome.error


def _name_holders(holders: Mapping[int, Holder], name: str, value: Numbers, depth: int = 2) -> None:
    """Name them after the variables that hold them, or the lists; those may hold themselves."""
    if isinstance(value, Tensor) and id(value) in holders:
        holder = holders[id(value)]
        holder.name = holder.name or name
    elif isinstance(value, Module):
        for path, parameter in value.named_parameters():
            _name_holders(holders, f"{name}.{path}", parameter)
    elif isinstance(value, list | tuple) and depth:
        for k, each in enumerate(value):
            _name_holders(holders, f"{name}[{k}]", each, depth - 1)


def read_part(
    part: Part,
    names: Params,
    recorder: Recorder,
    budget: Budget = ROOMY,
    *,
    failed: TextError | None = None,
) -> Output:
    """What a part reads: its expression, or the `.grad` of the input it is named after.

    Of a program that `failed`, what does not exist is None.
    """
    if part.ask is None:
        return as_value(names[part.name].grad)
    try:
        with recorder.watching():
            found = run(part.ask, names, KINDS["tensor"], budget, context=context(recorder))
    except TextError:
        if failed is None:
            raise
        return None
    return as_value(found.value)


# -- how exact the answers are ---------------------------------------------------------------------


def disturbed_runs(problem: Problem, point: Point, units: float) -> Iterator[Mapping[str, Output]]:
    """What is asked of runs of which every operation is off by a few units of its last digit."""
    rng = np.random.default_rng(problem.seed)

    def disturb(row: Op, y: Numbers) -> Numbers:
        if not row.rounds or np.asarray(y).dtype.kind != "f":
            return y
        return y * (1 + units * EPSILON * rng.uniform(-1, 1, np.shape(y)))

    while True:
        with watching(disturb=disturb):
            found = trace(problem, point).values
        yield found


def noise(problem: Problem, point: Point, right: Trace) -> dict[str, Numbers]:
    """What float64 loses on each number asked: the run is repeated, slightly disturbed."""
    runs = [*islice(disturbed_runs(problem, point, UNITS), SAMPLES)]
    return {name: _spread(value, [r[name] for r in runs]) for name, value in right.values.items()}


def _spread(value: Output, runs: Sequence[Output]) -> Numbers:
    """The largest deviation, entry by entry; lists of lists as they are."""
    if isinstance(value, list):
        columns = zip(*[r if isinstance(r, list) else value for r in runs], strict=False)
        return [_spread(v, list(c)) for v, c in zip(value, columns, strict=False)]
    if not isinstance(value, np.ndarray):
        return 0.0
    alike = [r for r in runs if isinstance(r, np.ndarray) and r.shape == value.shape]
    off = np.max([np.abs(r - value) for r in alike], axis=0, initial=0.0)
    return off + 4 * EPSILON * np.abs(value)
