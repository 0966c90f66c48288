"""What scripts use of `torch.nn` and `torch.optim` beside what gradcheck offers itself."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import ClassVar

import numpy as np

from gradcheck.engine.layers import LAYERS, GRUCell, LSTMCell, RNNCell
from gradcheck.engine.modules import Module, mark
from gradcheck.engine.optimizers import Adam, Optimizer
from gradcheck.ops import TABLE
from gradcheck.ops.pytorch import pytorchs
from gradcheck.values import Params, Value

# -- modules ---------------------------------------------------------------------------------------


def _recurrent(cell: type[Value]) -> type[Module]:
    """`RNN`, `LSTM`, `GRU`: cells, one a layer, applied step after step; one direction."""

    class Recurrent(Module):
        def __init__(
            self,
            input_size: int,
            hidden_size: int,
            num_layers: int = 1,
            bias: bool = True,
            batch_first: bool = False,
        ) -> None:
            self.hidden_size, self.num_layers = hidden_size, num_layers
            self.batch_first = batch_first
            sizes = [input_size, *[hidden_size] * (num_layers - 1)]
            self.cells = [cell(size, hidden_size, bias) for size in sizes]
            for k, each in enumerate(self.cells):
                for name in each.held:
                    setattr(self, f"{name}_l{k}", getattr(each, name))

        def forward(self, x: Value, state: Value = None) -> Value:
            """All values of the last layer, and the last state of each."""
            stack, turned = TABLE["stack"], self.batch_first and x.ndim == 3
            steps = list(x.transpose(0, 1) if turned else x)
            last = []
            for k, each in enumerate(self.cells):
                held: Value = state
                if state is not None:
                    held = tuple(s[k] for s in state) if isinstance(state, tuple) else state[k]
                values = []
                for step in steps:
                    held = each(step, held)
                    values.append(held[0] if isinstance(held, tuple) else held)
                steps = values
                last.append(held)
            out = stack(steps).transpose(0, 1) if turned else stack(steps)
            if isinstance(last[0], tuple):
                return out, tuple(map(stack, zip(*last, strict=True)))
            return out, stack(last)

    return Recurrent


class NLLLoss(Module):
    """`F.nll_loss` as a module."""

    def __init__(self, **named: Value) -> None:
        self.named = named

    def forward(self, x: Value, y: Value) -> Value:
        return pytorchs("nll_loss")(x, y, **self.named)  # type: ignore[misc]


class Uninitialized:
    """A parameter of a lazy layer that has not seen its input."""

    def __repr__(self) -> str:
        return "<UninitializedParameter>"


class Lazy(Module):
    """A layer that is of its kind from its first input on, whose length along an axis it takes."""

    kind: ClassVar[Value]
    axis: ClassVar[int]
    weight = bias = Uninitialized()

    def __init__(self, *args: Value, **named: Value) -> None:
        super().__init__()
        vars(self)["given"] = args, named

    def forward(self, x: Value) -> Value:
        self.settle(x.shape[self.axis])
        return self(x)

    def settle(self, size: int) -> None:
        (args, named), self.__class__ = vars(self).pop("given"), self.kind
        self.__init__(size, *args, **named)  # type: ignore[misc]

    def __repr__(self) -> str:
        args, named = vars(self)["given"]
        bound = signature(self.kind).bind(0, *args, **named)
        bound.apply_defaults()
        given = bound.arguments | {"has_bias": bound.arguments.get("bias", True)}
        return f"Lazy{self.kind.__name__}({self.kind.printed.format_map(given)})"


def _lazy(kind: type[Module], axis: int) -> type[Module]:
    return type(f"Lazy{kind.__name__}", (Lazy,), {"kind": kind, "axis": axis})


class ParameterDict(Module):
    """Parameters by their names."""

    def __init__(self, values: Params | None = None) -> None:
        super().__init__()
        self.update(values or {})

    def update(self, values: Params) -> None:
        for name, value in values.items():
            setattr(self, name, mark(value))

    def keys(self) -> list[str]:
        return [name for name, _ in self.named_parameters()]

    def __getitem__(self, name: Value) -> Value:
        return getattr(self, name)

    def __len__(self) -> int:
        return len(self.keys())


class ParameterList(ParameterDict):
    """Parameters by their places."""

    def __init__(self, values: Value = ()) -> None:
        super().__init__({str(k): each for k, each in enumerate(values)})

    def append(self, value: Value) -> "ParameterList":
        self.update({str(len(self)): value})
        return self

    def __getitem__(self, place: Value) -> Value:
        return getattr(self, str(range(len(self))[place]))


NN: Params = {
    "ParameterDict": ParameterDict,
    "ParameterList": ParameterList,
    "LazyBatchNorm1d": _lazy(LAYERS["BatchNorm1d"], 1),
    "LazyBatchNorm2d": _lazy(LAYERS["BatchNorm2d"], 1),
    "LazyConv2d": _lazy(LAYERS["Conv2d"], 1),
    "LazyLinear": _lazy(LAYERS["Linear"], -1),
    "NLLLoss": NLLLoss,
    "GRU": _recurrent(GRUCell),
    "LSTM": _recurrent(LSTMCell),
    "RNN": _recurrent(RNNCell),
}


def _apply(self: Module, function: Callable[[Module], Value]) -> Module:
    """The function of every module inside, itself last."""
    for child in self.children():
        child.apply(function)  # type: ignore[attr-defined]
    function(self)
    return self


def _register(self: Module, name: str, value: Value, persistent: bool = True) -> None:
    setattr(self, name, value)


def _load(self: Module, state_dict: Params) -> None:
    """Numbers of another; a lazy layer takes its sizes from them."""
    for path in [path for path in state_dict if path.endswith("weight")]:
        held: Value = self
        for name in path.split(".")[:-1]:
            held = getattr(held, name, None)
        if isinstance(held, Lazy):
            held.settle(state_dict[path].shape[:2][-1])
    LOAD(self, state_dict)


LOAD = Module.load_state_dict


def _modules(self: Module) -> Mapping[str, Module]:
    return {name: held for name, held in vars(self).items() if isinstance(held, Module)}


METHODS: Params = {
    **dict.fromkeys(
        ("to", "cpu", "cuda", "float", "double", "half", "share_memory"),
        lambda self, *args, **named: self,
    ),
    **dict.fromkeys(("add_module", "register_buffer", "register_parameter"), _register),
    "apply": _apply,
    "_modules": property(_modules),
    "load_state_dict": _load,
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
        super().__init__(params, lr, **how)
        self.decay = weight_decay

    def step(self) -> None:
        for p in self.params:
            if p._grad is not None:
                p._value *= 1 - self.lr * self.decay
        super().step()


class StepLR:
    """The rate times `gamma` every `step_size` turns."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        self.optimizer, self.step_size, self.gamma = optimizer, step_size, gamma
        self.start, self.turns = optimizer.lr, 0

    def step(self) -> None:
        self.turns += 1
        self.optimizer.lr = self.start * self.gamma ** (self.turns // self.step_size)

    def get_last_lr(self) -> list[float]:
        return [self.optimizer.lr]


class _Group(dict[str, Value]):
    """`optimizer.param_groups[0]["lr"]`: all parameters are of one group."""

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__(params=optimizer.params, lr=optimizer.lr)
        self.optimizer = optimizer

    def __setitem__(self, name: str, value: Value) -> None:
        setattr(self.optimizer, name, value)
        super().__setitem__(name, value)


def _restore(self: Optimizer, state_dict: Params) -> None:
    self.state.update(state_dict["state"])
    self.lr = state_dict["lr"]


OPTIMIZERS: Params = {
    "param_groups": property(lambda self: [_Group(self)]),
    "state_dict": lambda self: {"state": dict(self.state), "lr": self.lr},
    "load_state_dict": _restore,
}
OPTIM: Params = {"AdamW": AdamW, "RMSprop": RMSprop}
SCHEDULERS: Params = {"StepLR": StepLR}


def equip() -> None:
    """Give modules and optimizers these methods in this process."""
    for kind, methods in ((Module, METHODS), (Optimizer, OPTIMIZERS)):
        for name, method in methods.items():
            setattr(kind, name, method)
