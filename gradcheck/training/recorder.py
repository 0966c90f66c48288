"""A run on the engine that is watched: its backward calls, its ledger, what it records."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import signature

import numpy as np

from gradcheck.engine.autograd import grad as engine_grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import MAKERS, Generator, Maker, filling
from gradcheck.engine.layers import APPLIED, LAYERS, LOSSES
from gradcheck.engine.modules import Sequential, mark
from gradcheck.engine.optimizers import SGD, Adam, clip_grad_norm_, clip_grad_value_
from gradcheck.engine.recording import MODE, enable_grad, no_grad, watching
from gradcheck.engine.tape import Leaf, Step, reachable
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language import executing
from gradcheck.language.kinds import KINDS
from gradcheck.opinions.tape import Observer, Record
from gradcheck.training.ledger import BackwardCall, GradientLedger
from gradcheck.values import Array, Numbers, Routine

CHUNK = 250  # numbers that are handled in the time of an operation on one number


@dataclass(eq=False)
class Recorder:
    """What a run leaves behind.

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

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While a program runs; a disturbance of every forward value goes on."""
        with watching(self._observe, MODE.disturb, self._walked, self.ledger):
            yield

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

    # -- what the engine says --------------------------------------------------------------------

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
        number, (top, _) = len(self.calls), pieces[0]
        self.calls.append(
            BackwardCall(
                executing(),
                pieces,
                self.ledger.arrivals(landed),
                {},
                number,
                _value(pieces),
                _divisor(top) if len(pieces) == 1 else 1.0,
                getattr(top.root, "span", None),
            )
        )


def _value(pieces: Sequence[tuple[Record, Array]]) -> Array:
    """The value that a pass began from; of several the sum, each contracted with its cotangent."""
    values = [np.array(_value_at(record)) for record, _ in pieces]
    if len(values) == 1:
        return values[0]
    return np.asarray(sum(np.sum(v * g) for v, (_, g) in zip(values, pieces, strict=True)))


def _value_at(record: Record) -> Numbers:
    root = record.root
    return bare(root.variable) if isinstance(root, Leaf) else record.given[root].value


def _divisor(record: Record) -> float:
    """The k of `loss / k`, or of `loss * (1 / k)`; 1 where the loss is not divided."""
    root = record.root
    if isinstance(root, Leaf) or len(root.edges) != 2 or root not in record.given:
        return 1.0
    pairs = zip(root.edges, record.given[root].operands, strict=True)
    first, second = [_number(value) if edge is None else None for edge, value in pairs]
    if root.op.name == "divide" and second:
        return second
    factor = first or second
    return 1.0 / factor if root.op.name == "multiply" and factor else 1.0


def _number(value: Numbers) -> float | None:
    plain = isinstance(value, int | float | np.ndarray | np.number) and np.ndim(value) == 0
    return float(value) if plain else None


def snapshot(value: Numbers) -> Numbers:
    if isinstance(value, Tensor):
        return np.array(bare(value))
    if type(value) is tuple:
        return tuple(snapshot(each) for each in value)
    if type(value) is list:
        return [snapshot(each) for each in value]
    return np.array(value) if isinstance(value, np.ndarray) else value


# -- what training programs have beyond arithmetic: PyTorch's words, meaning the engine's own ------


def context(recorder: Recorder) -> Mapping[str, Routine]:
    makers = {**MAKERS, **recorder.generator.makers()}
    return {
        **{name: partial(_make, recorder, maker) for name, maker in makers.items()},
        **filling(recorder.generator),
        **APPLIED,
        **LOSSES,
        **{name: partial(_layer, recorder, make) for name, make in LAYERS.items()},
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
        "tensor": partial(_tensor, recorder),
        "Tensor": lambda data: tensor(data, np.float64),
        "Parameter": partial(_parameter, recorder),
    }


def _make(recorder: Recorder, maker: Maker, *args: Numbers, **kwargs: Numbers) -> Numbers:
    """`ones(3, 3, requires_grad=True)`: a leaf, or a constant; whole numbers stay an array."""
    requires_grad = kwargs.pop("requires_grad", False)
    made = maker(*map(bare, args), **{name: bare(value) for name, value in kwargs.items()})
    if requires_grad:
        return recorder.leaf(made)
    return tensor(made) if made.dtype.kind == "f" else made


def _parameter(recorder: Recorder, data: Numbers, requires_grad: bool = True) -> Tensor:
    """A leaf that the module which keeps it counts among its parameters."""
    return mark(recorder.leaf(bare(data)) if requires_grad else tensor(bare(data)))


def _layer(recorder: Recorder, make: Routine, *args: Numbers, **named: Numbers) -> Numbers:
    """A layer with parameters; of several that are drawn, each is drawn otherwise."""
    drawn = "seed" in signature(make).parameters and not {"seed", "weight"} & named.keys()
    seed = {"seed": recorder.generator.seed_of_layer()} if drawn else {}
    made = _call(make, *args, **named, **seed)
    for parameter in made.parameters():
        recorder.ledger.enter(parameter)
    return made


def _call(make: Routine, *args: Numbers, **named: Numbers) -> Numbers:
    """With inputs of the problem that are single numbers as numbers."""
    return make(*map(_plain, args), **{name: _plain(value) for name, value in named.items()})


def _plain(value: Numbers) -> Numbers:
    return value.item() if isinstance(value, Tensor) and value.ndim == 0 else value


def _tensor(
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
