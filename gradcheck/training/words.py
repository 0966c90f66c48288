"""What training programs have beyond arithmetic: PyTorch's words, meaning the engine's own."""

from collections.abc import Mapping
from inspect import signature
from typing import TypeAlias

import numpy as np

from gradcheck.engine.autograd import grad as engine_grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import MAKERS, Generator, Maker, filling
from gradcheck.engine.layers import APPLIED, LAYERS, LOSSES
from gradcheck.engine.modules import Sequential, mark
from gradcheck.engine.optimizers import SGD, Adam, clip_grad_norm_, clip_grad_value_
from gradcheck.engine.recording import enable_grad, no_grad
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language.kinds import KINDS
from gradcheck.training.ledger import CHUNK, BackwardCall, GradLedger
from gradcheck.values import Array, Numbers, Routine

Taken: TypeAlias = tuple[Numbers, BackwardCall, Tensor]
WHOLE = "write 2.0 for 2, or give dtype=float"


class LoopWords:
    """The words of one run, and what they left.

    `recorded` are the series of `record(...)`; `taken` the gradients that `grad(...)` gave, each
    with its call and what it is a gradient by; `written` the leaves that the text makes out of
    numbers, with those. `moved` are others in their place.
    """

    def __init__(self, ledger: GradLedger, moved: Mapping[int, Array]) -> None:
        self.ledger, self.moved, self.generator = ledger, moved, Generator()
        self.recorded, self.taken = dict[str, list[Numbers]](), list[Taken]()
        self.written: list[tuple[Tensor, Array]] = []
        makers = {**MAKERS, **self.generator.makers()}
        self.table: dict[str, Routine] = {
            **{name: self._making(maker) for name, maker in makers.items()},
            **filling(self.generator),
            **APPLIED,
            **LOSSES,
            **{name: self._building(make) for name, make in LAYERS.items()},
            "Sequential": Sequential,
            "SGD": _with_numbers(SGD),
            "Adam": _with_numbers(Adam),
            "clip_grad_norm_": clip_grad_norm_,
            "clip_grad_value_": clip_grad_value_,
            "manual_seed": self.generator.manual_seed,
            "no_grad": no_grad,
            "enable_grad": enable_grad,
            "record": self.record,
            "grad": self.grad,
            "tensor": self.tensor,
            "Tensor": lambda data: tensor(data, np.float64),
            "Parameter": lambda data, requires_grad=True: mark(
                self.leaf(bare(data)) if requires_grad else tensor(bare(data))
            ),
        }

    def leaf(self, values: Numbers, name: str = "") -> Tensor:
        """A new leaf; of those without a name, which the text writes, some may be `moved`."""
        values = values if name else self.moved.get(len(self.written), values)
        found = tensor(np.array(values, dtype=np.float64), requires_grad=True)
        self.ledger.enter(found).name = name
        if not name:
            self.written.append((found, np.array(values, dtype=np.float64)))
        return found

    def tensor(self, data: Numbers, dtype: Numbers = None, requires_grad: bool = False) -> Numbers:
        """`tensor([1.0, 2.0], requires_grad=True)`: a leaf; of tensors, their stack."""
        if _holds_tensors(data):
            return KINDS["tensor"].function("array")(data)
        if not requires_grad:
            return tensor(data, dtype)
        try:
            tensor(data, dtype, requires_grad=True)
        except RuntimeError as error:
            raise RuntimeError(f"{error}; {WHOLE}") from None
        return self.leaf(data)

    def grad(
        self, outputs: Numbers, inputs: Numbers, grad_outputs: Numbers = None, **how: Numbers
    ) -> Numbers:
        """`grad(outputs, inputs)`: a backward call that leaves the ledger alone."""
        wrt = list(inputs) if type(inputs) in (list, tuple) else [inputs]
        for x in wrt:
            if isinstance(x, Tensor):
                self.ledger.enter(x)
        found = engine_grad(outputs, inputs, grad_outputs, **how)
        call = self.ledger.calls[-1]
        self.taken += [(g, call, x) for x, g in zip(wrt, found, strict=True)]
        return found

    def record(self, **values: Numbers) -> None:
        """`record(norm=...)`: one entry of a trace a call."""
        for name, value in values.items():
            self.ledger.spend(1 + np.size(bare(value)) // CHUNK)
            self.recorded.setdefault(name, []).append(_copy(value))

    def _making(self, maker: Maker) -> Routine:
        def make(*args: Numbers, requires_grad: bool = False, **named: Numbers) -> Numbers:
            """`ones(3, requires_grad=True)`: a leaf, or a constant; integers stay an array."""
            made = maker(*map(bare, args), **{name: bare(value) for name, value in named.items()})
            if requires_grad:
                return self.leaf(made)
            return tensor(made) if made.dtype.kind == "f" else made

        return make

    def _building(self, make: Routine) -> Routine:
        def build(*args: Numbers, **named: Numbers) -> Numbers:
            """A layer with parameters; of several that are drawn, each is drawn otherwise."""
            if not {"seed", "weight"} & named.keys() and "seed" in signature(make).parameters:
                named["seed"] = self.generator.seed_of_layer()
            made = _with_numbers(make)(*args, **named)
            for parameter in made.parameters():
                self.ledger.enter(parameter)
            return made

        return build


def _with_numbers(make: Routine) -> Routine:
    """With inputs of the problem that are single numbers as numbers."""

    def plain(value: Numbers) -> Numbers:
        return value.item() if isinstance(value, Tensor) and value.ndim == 0 else value

    return lambda *args, **named: make(*map(plain, args), **{n: plain(v) for n, v in named.items()})


def _copy(value: Numbers) -> Numbers:
    """What a program holds now, tensors as arrays."""
    if isinstance(value, Tensor | np.ndarray):
        return np.array(bare(value))
    return type(value)(map(_copy, value)) if type(value) in (tuple, list) else value


def _holds_tensors(data: Numbers) -> bool:
    if type(data) in (list, tuple):
        return any(map(_holds_tensors, data))
    return isinstance(data, Tensor)
