"""A run on the engine that is watched: its backward calls, its ledger, what it records."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from gradcheck.engine.autograd import grad as engine_grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import Generator
from gradcheck.engine.recording import MODE, watching
from gradcheck.engine.tape import Leaf, Step, reachable
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language import executing
from gradcheck.opinions.tape import Observer, Record
from gradcheck.training.ledger import BackwardCall, GradientLedger
from gradcheck.values import Array, Numbers

CHUNK = 250  # numbers that are handled in the time of an operation on one number


@dataclass(eq=False)
class Recorder:
    """What a run leaves behind.

    `taken` are the gradients that `grad(...)` gave, each with its call and what it is a gradient
    by.
    """

    ledger: GradientLedger = field(default_factory=GradientLedger)
    recorded: dict[str, list[Numbers]] = field(default_factory=dict)
    taken: list[tuple[Numbers, BackwardCall, Tensor]] = field(default_factory=list)
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
        found = tensor(np.array(values, dtype=np.float64), requires_grad=True)
        self.ledger.enter(found).name = name
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
