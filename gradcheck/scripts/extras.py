"""What scripts use of `torch.nn` and `torch.optim` beside what gradcheck offers itself."""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import ClassVar

import numpy as np

from gradcheck.engine.layers import LAYERS, GRUCell, LSTMCell, RNNCell
from gradcheck.engine.modules import Module, mark
from gradcheck.engine.optimizers import Adam, Optimizer
from gradcheck.ops import TABLE
from gradcheck.ops.pytorch import pytorchs
from gradcheck.values import Params, Value


class Recurrent(Module):
    """`RNN`, `LSTM`, `GRU`: cells, one a layer, applied step after step."""

    cell: ClassVar[type[Value]]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
    ) -> None:
        """One direction, no dropout, the hyperbolic tangent."""
        self.hidden_size, self.num_layers, self.batch_first = hidden_size, num_layers, batch_first
        sizes = [input_size, *[hidden_size] * (num_layers - 1)]
        self.cells = [self.cell(size, hidden_size, bias) for size in sizes]
        for k, cell in enumerate(self.cells):
            for name in cell.held:
                setattr(self, f"{name}_l{k}", getattr(cell, name))

    def forward(self, x: Value, state: Value = None) -> Value:
        """All values of the last layer, and the last state of each."""
        stack = TABLE["stack"]
        steps = list(x.transpose(0, 1) if self.batch_first and x.ndim == 3 else x)
        last = []
        for k, cell in enumerate(self.cells):
            held: Value = None if state is None else _pick(state, k)
            values = []
            for step in steps:
                held = cell(step, held)
                values.append(held[0] if isinstance(held, tuple) else held)
            steps = values
            last.append(held)
        out = stack(steps)
        out = out.transpose(0, 1) if self.batch_first and x.ndim == 3 else out
        if isinstance(last[0], tuple):
            return out, tuple(stack([each[k] for each in last]) for k in range(2))
        return out, stack(last)


class RNN(Recurrent):
    """Of `RNNCell`."""

    cell = RNNCell


class GRU(Recurrent):
    """Of `GRUCell`."""

    cell = GRUCell


class LSTM(Recurrent):
    """Of `LSTMCell`."""

    cell = LSTMCell


def _pick(state: Value, k: int) -> Value:
    return tuple(each[k] for each in state) if isinstance(state, tuple | list) else state[k]


class NLLLoss(Module):
    """`F.nll_loss` as a module."""

    def __init__(self, **named: Value) -> None:
        """What the function takes by name."""
        self.named = named

    def forward(self, x: Value, y: Value) -> Value:
        """Of log-probabilities and classes."""
        return pytorchs("nll_loss")(x, y, **self.named)  # type: ignore[misc]


class Uninitialized:
    """A parameter of a lazy layer that has not seen its input."""

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return "<UninitializedParameter>"


def _lazy(kind: type[Module], axis: int) -> type[Module]:
    """A layer that is of a kind from its first input on, whose length along an axis it takes."""

    class Lazy(Module):
        weight = bias = Uninitialized()

        def __init__(self, *args: Value, **named: Value) -> None:
            super().__init__()
            vars(self)["given"] = args, named

        def forward(self, x: Value) -> Value:
            args, named = vars(self).pop("given")
            self.__class__ = kind  # type: ignore[assignment]
            kind.__init__(self, x.shape[axis], *args, **named)  # type: ignore[call-arg]
            return self(x)

        def __repr__(self) -> str:
            args, named = vars(self)["given"]
            bound = signature(kind).bind(0, *args, **named)
            bound.apply_defaults()
            given = bound.arguments | {"has_bias": bound.arguments.get("bias", True)}
            return f"Lazy{kind.__name__}({kind.printed.format_map(given)})"  # type: ignore[attr-defined]

    return Lazy


class ParameterList(Module):
    """Parameters by their places."""

    count: int

    def __init__(self, values: Sequence[Value] = ()) -> None:
        """Those of a list."""
        super().__init__()
        vars(self)["count"] = 0
        for each in values:
            self.append(each)

    def append(self, value: Value) -> "ParameterList":
        """One more."""
        setattr(self, str(self.count), mark(value))
        vars(self)["count"] += 1
        return self

    def __getitem__(self, place: int) -> Value:
        return getattr(self, str(range(self.count)[place]))

    def __len__(self) -> int:
        return self.count


class ParameterDict(Module):
    """Parameters by their names."""

    def __init__(self, values: Params | None = None) -> None:
        """Those of a dict."""
        super().__init__()
        self.update(values or {})

    def update(self, values: Params) -> None:
        """More, or others."""
        for name, value in values.items():
            setattr(self, name, mark(value))

    def keys(self) -> list[str]:
        """The names."""
        return [name for name, _ in self.named_parameters()]

    def __getitem__(self, name: str) -> Value:
        return getattr(self, name)


NN: Params = {
    "ParameterDict": ParameterDict,
    "ParameterList": ParameterList,
    "LazyBatchNorm1d": _lazy(LAYERS["BatchNorm1d"], 1),
    "LazyBatchNorm2d": _lazy(LAYERS["BatchNorm2d"], 1),
    "LazyConv2d": _lazy(LAYERS["Conv2d"], 1),
    "LazyLinear": _lazy(LAYERS["Linear"], -1),
    "GRU": GRU,
    "LSTM": LSTM,
    "NLLLoss": NLLLoss,
    "RNN": RNN,
}

# -- modules ---------------------------------------------------------------------------------------


def _itself(self: Module, *args: Value, **named: Value) -> Module:
    return self


def _apply(self: Module, function: Callable[[Module], Value]) -> Module:
    """The function of every module inside, itself last."""
    for child in self.children():
        child.apply(function)  # type: ignore[attr-defined]
    function(self)
    return self


def _register(self: Module, name: str, value: Value, persistent: bool = True) -> None:
    setattr(self, name, value)


METHODS: Params = {
    **dict.fromkeys(("to", "cpu", "cuda", "float", "double", "half", "share_memory"), _itself),
    "add_module": _register,
    "apply": _apply,
    "register_buffer": _register,
    "register_parameter": _register,
}


# -- optimizers ------------------------------------------------------------------------------------


class RMSprop(Optimizer):
    """p -= lr g / (sqrt(v) + eps), with v a running mean of g**2."""

    def __init__(
        self,
        params: Value,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        """As PyTorch has them."""
        super().__init__(params, lr, weight_decay)
        self.alpha, self.eps = alpha, eps

    def _direction(self, g: Value, index: int) -> Value:
        state = self.state[index]
        state["v"] = v = self.alpha * state.get("v", 0.0) + (1 - self.alpha) * g * g
        return g / (np.sqrt(v) + self.eps)


class AdamW(Adam):
    """Adam, the parameters made smaller by themselves and not through their gradients."""

    def __init__(
        self, params: Value, lr: float = 1e-3, weight_decay: float = 1e-2, **how: Value
    ) -> None:
        """As PyTorch has them."""
        super().__init__(params, lr, **how)
        self.decay = weight_decay

    def step(self) -> None:
        """Make smaller, then move."""
        for p in self.params:
            if p._grad is not None:
                p._value *= 1 - self.lr * self.decay
        super().step()


class StepLR:
    """The rate times `gamma` every `step_size` turns."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        """For an optimizer."""
        self.optimizer, self.step_size, self.gamma = optimizer, step_size, gamma
        self.start, self.turns = optimizer.lr, 0

    def step(self) -> None:
        """One turn is over."""
        self.turns += 1
        self.optimizer.lr = self.start * self.gamma ** (self.turns // self.step_size)

    def get_last_lr(self) -> list[float]:
        """The rate now."""
        return [self.optimizer.lr]


def _groups(self: Optimizer) -> list[Value]:
    return [_Group(self)]


class _Group(dict[str, Value]):
    """`optimizer.param_groups[0]["lr"]`: all parameters are of one group."""

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__(params=optimizer.params, lr=optimizer.lr)
        self.optimizer = optimizer

    def __setitem__(self, name: str, value: Value) -> None:
        setattr(self.optimizer, name, value)
        super().__setitem__(name, value)


def _state(self: Optimizer) -> dict[str, Value]:
    """`optimizer.state_dict()`: the memory of each parameter, and the rate."""
    return {"state": dict(self.state), "lr": self.lr}


def _restore(self: Optimizer, state_dict: Params) -> None:
    """`optimizer.load_state_dict(...)`."""
    self.state.update(state_dict["state"])
    self.lr = state_dict["lr"]


OPTIM: Params = {"AdamW": AdamW, "RMSprop": RMSprop}
SCHEDULERS: Params = {"StepLR": StepLR}


def _modules(self: Module) -> dict[str, Module]:
    """The modules that it holds itself, by their names."""
    return {name: held for name, held in vars(self).items() if isinstance(held, Module)}


def equip() -> None:
    """Give modules and optimizers these methods in this process."""
    for name, method in METHODS.items():
        if not hasattr(Module, name):
            setattr(Module, name, method)
    Module._modules = property(_modules)  # type: ignore[attr-defined]
    Optimizer.param_groups = property(_groups)  # type: ignore[attr-defined]
    Optimizer.state_dict, Optimizer.load_state_dict = _state, _restore  # type: ignore[attr-defined]
