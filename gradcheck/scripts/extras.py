"""What scripts use of `torch.nn` and `torch.optim` beside what gradcheck offers itself."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from gradcheck.engine.layers import Dropout, GRUCell, LSTMCell, RNNCell
from gradcheck.engine.modules import Module
from gradcheck.engine.optimizers import SGD, Adam, Optimizer
from gradcheck.ops import TABLE
from gradcheck.ops.methods import pytorchs


class Identity(Module):
    """What comes, goes."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """All arguments are ignored."""

    def forward(self, x: Any) -> Any:
        """x."""
        return x


class ModuleDict(Module):
    """Modules by name, whose parameters count."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        """The modules by their names."""
        for name, module in (modules or {}).items():
            setattr(self, name, module)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __setitem__(self, name: str, module: Module) -> None:
        setattr(self, name, module)

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def items(self) -> Any:
        """Names and modules."""
        return vars(self).items()


class ParameterList(Module):
    """Parameters in a list that count."""

    def __init__(self, values: Any = ()) -> None:
        """The parameters, in their order."""
        for value in values:
            self.append(value)

    def append(self, value: Any) -> "ParameterList":
        """Itself, one longer."""
        setattr(self, str(len(vars(self))), value)
        return self

    def __getitem__(self, k: int) -> Any:
        return list(vars(self).values())[k]

    def __len__(self) -> int:
        return len(vars(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(vars(self).values())


class Recurrent(Module):
    """`RNN`, `LSTM`, `GRU`: cells, one a layer, applied step after step."""

    cell: ClassVar[type[Any]]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        **named: Any,
    ) -> None:
        """Raises TypeError for what is not offered: two directions, dropout, another function."""
        strange = [name for name, value in named.items() if value not in PLAIN.get(name, ())]
        if strange:
            raise TypeError(f"`{strange[0]}=` is not offered here - write the loop with cells")
        self.hidden_size, self.num_layers, self.batch_first = hidden_size, num_layers, batch_first
        sizes = [input_size, *[hidden_size] * (num_layers - 1)]
        self.cells = [self.cell(size, hidden_size, bias) for size in sizes]
        for k, cell in enumerate(self.cells):
            for name in cell.held:
                setattr(self, f"{name}_l{k}", getattr(cell, name))

    def forward(self, x: Any, state: Any = None) -> Any:
        """All values of the last layer, and the last state of each."""
        stack = TABLE["stack"]
        steps = list(x.transpose(0, 1) if self.batch_first and x.ndim == 3 else x)
        last = []
        for k, cell in enumerate(self.cells):
            held: Any = None if state is None else _picked(state, k)
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


PLAIN: Mapping[str, tuple[Any, ...]] = {
    "nonlinearity": ("tanh",),
    "dropout": (0, 0.0),
    "bidirectional": (False,),
}
"""What a recurrent layer may be told, because it is so anyway."""


def _picked(state: Any, k: int) -> Any:
    return tuple(each[k] for each in state) if isinstance(state, tuple | list) else state[k]


def _loss(function: str) -> type[Module]:
    """A loss that is a function of two arguments."""

    class Loss(Module):
        """The loss as a module."""

        def __init__(self, *args: Any, **named: Any) -> None:
            """What the function takes by name."""
            self.named = named

        def forward(self, x: Any, y: Any) -> Any:
            """The function of both."""
            return pytorchs(function)(x, y, **self.named)  # type: ignore[misc]

    return Loss


NN: Mapping[str, Any] = {
    "Dropout2d": Dropout,
    "GRU": GRU,
    "HuberLoss": _loss("huber_loss"),
    "Identity": Identity,
    "KLDivLoss": _loss("kl_div"),
    "LSTM": LSTM,
    "ModuleDict": ModuleDict,
    "NLLLoss": _loss("nll_loss"),
    "ParameterList": ParameterList,
    "RNN": RNN,
}

# -- modules ---------------------------------------------------------------------------------------


def _itself(self: Module, *args: Any, **named: Any) -> Module:
    return self


def _applied(self: Module, function: Callable[[Module], Any]) -> Module:
    """The function of every module inside, itself last."""
    for child in self.children():
        child.apply(function)  # type: ignore[attr-defined]
    function(self)
    return self


def _named_modules(self: Module, prefix: str = "") -> Iterator[tuple[str, Module]]:
    yield prefix, self
    for name, child in _named_children(self):
        yield from _named_modules(child, f"{prefix}.{name}" if prefix else name)


def _named_children(self: Module) -> Iterator[tuple[str, Module]]:
    return ((name, each) for name, each in vars(self).items() if isinstance(each, Module))


def _register(self: Module, name: str, value: Any, persistent: bool = True) -> None:
    setattr(self, name, value)


METHODS: Mapping[str, Any] = {
    **dict.fromkeys(("to", "cpu", "cuda", "float", "double", "half", "share_memory"), _itself),
    "add_module": _register,
    "apply": _applied,
    "named_children": _named_children,
    "named_modules": _named_modules,
    "register_buffer": _register,
    "register_module": _register,
    "register_parameter": _register,
}


# -- optimizers ------------------------------------------------------------------------------------


class RMSprop(Optimizer):
    """p -= lr g / (sqrt(v) + eps), with v a running mean of g**2."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        """As PyTorch has them."""
        super().__init__(params, lr, weight_decay)
        self.alpha, self.eps = alpha, eps

    def _direction(self, g: Any, index: int) -> Any:
        state = self.state[index]
        state["v"] = v = self.alpha * state.get("v", 0.0) + (1 - self.alpha) * g * g
        return g / (np.sqrt(v) + self.eps)


class Adagrad(Optimizer):
    """p -= lr g / (sqrt(v) + eps), with v the sum of all g**2."""

    def __init__(
        self, params: Any, lr: float = 1e-2, eps: float = 1e-10, weight_decay: float = 0.0
    ) -> None:
        """As PyTorch has them."""
        super().__init__(params, lr, weight_decay)
        self.eps = eps

    def _direction(self, g: Any, index: int) -> Any:
        state = self.state[index]
        state["v"] = v = state.get("v", 0.0) + g * g
        return g / (np.sqrt(v) + self.eps)


class AdamW(Adam):
    """Adam, the parameters made smaller by themselves and not through their gradients."""

    def __init__(
        self, params: Any, lr: float = 1e-3, weight_decay: float = 1e-2, **how: Any
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
        self.optimizer = optimizer
        self.rate: Callable[[int], float] = lambda n: gamma ** (n // step_size)
        self.start, self.turns = optimizer.lr, 0

    def step(self) -> None:
        """One turn is over."""
        self.turns += 1
        self.optimizer.lr = self.start * self.rate(self.turns)

    def get_last_lr(self) -> list[float]:
        """The rate now."""
        return [self.optimizer.lr]


class ExponentialLR(StepLR):
    """The rate times `gamma` at each turn."""

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        """For an optimizer."""
        super().__init__(optimizer, 1, gamma)


class LambdaLR(StepLR):
    """The rate times what a function says of the number of turns."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float]) -> None:
        """For an optimizer."""
        super().__init__(optimizer, 1)
        self.rate = lr_lambda
        optimizer.lr = self.start * lr_lambda(0)


def _groups(self: Optimizer) -> list[Any]:
    return [_Group(self)]


class _Group(dict[str, Any]):
    """`optimizer.param_groups[0]["lr"]`: all parameters are of one group."""

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__(params=optimizer.params, lr=optimizer.lr)
        self.optimizer = optimizer

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self.optimizer, name, value)
        super().__setitem__(name, value)


def _state(self: Optimizer) -> dict[str, Any]:
    """`optimizer.state_dict()`: the memory of each parameter, and the rate."""
    return {"state": dict(self.state), "lr": self.lr}


def _restore(self: Optimizer, state_dict: Mapping[str, Any]) -> None:
    """`optimizer.load_state_dict(...)`."""
    self.state.update(state_dict["state"])
    self.lr = state_dict["lr"]


def _step(plain: Callable[[Optimizer], None]) -> Callable[..., Any]:
    """`optimizer.step(closure)`."""

    def step(self: Optimizer, closure: Callable[[], Any] | None = None) -> Any:
        loss = None if closure is None else closure()
        plain(self)
        return loss

    return step


OPTIM: Mapping[str, Any] = {"AdamW": AdamW, "Adagrad": Adagrad, "RMSprop": RMSprop}
SCHEDULERS: Mapping[str, Any] = {
    "ExponentialLR": ExponentialLR,
    "LambdaLR": LambdaLR,
    "StepLR": StepLR,
}


def equip() -> None:
    """Give modules and optimizers these methods in this process."""
    for name, method in METHODS.items():
        if not hasattr(Module, name):
            setattr(Module, name, method)
    Optimizer.param_groups = property(_groups)  # type: ignore[attr-defined]
    Optimizer.state_dict, Optimizer.load_state_dict = _state, _restore  # type: ignore[attr-defined]
    for kind in (Optimizer, SGD, AdamW):
        kind.step = _step(vars(kind)["step"])  # type: ignore[method-assign]
