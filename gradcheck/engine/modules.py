"""Layers and losses in PyTorch's spelling, and what a user's own are made of: `Module`."""

import warnings
from collections.abc import Iterator, Mapping
from textwrap import indent
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.landing import clear
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.ops import COMPOUNDS, TABLE
from gradcheck.ops.row import spelled

REDUCTIONS = ("mean", "sum", "none")


PARAMETERS: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
"""What `Parameter` made, by identity: a module counts these among its parameters."""


def Parameter(data: Any, requires_grad: bool = True) -> Tensor:  # noqa: N802 - PyTorch's name
    """A leaf with these numbers that the module which holds it counts among its parameters."""
    numbers = data.detach() if isinstance(data, Tensor) else data
    return marked(tensor(numbers, requires_grad=requires_grad))


def marked(t: Tensor) -> Tensor:
    """The tensor itself, from now on a parameter."""
    PARAMETERS[id(t)] = t
    return t


def is_parameter(value: Any) -> bool:
    """Whether a value was made by `Parameter`; of a traced tensor, whether its tensor was."""
    t = value if isinstance(value, Tensor) else getattr(value, "t", None)
    return isinstance(t, Tensor) and PARAMETERS.get(id(t)) is t


class Module:
    """Subclass it with `__init__` and `forward`; parameters and modules are found as attributes."""

    training = True
    """What `train()` and `eval()` say; a normalisation of batches looks at it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `forward` makes of the arguments."""
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The value; a subclass says how."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every parameter once, with the path of attributes that leads to it."""
        seen: set[int] = set()
        for path, value in self._members(prefix, set()):
            if id(value) not in seen:
                seen.add(id(value))
                yield path, value

    def _members(self, prefix: str, inside: set[int]) -> Iterator[tuple[str, Tensor]]:
        if id(self) in inside:
            return
        inside.add(id(self))
        for name, value in vars(self).items():
            path = f"{prefix}.{name}" if prefix else name
            if is_parameter(value):
                yield path, value
            elif isinstance(value, Module):
                yield from value._members(path, inside)

    def parameters(self) -> list[Tensor]:
        """The parameters of this module and of those that it holds."""
        return [value for _, value in self.named_parameters()]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        clear(self.parameters(), set_to_none)

    def train(self, mode: bool = True) -> "Module":
        """Itself, from now on in training or not, with all that it holds."""
        self.training = mode
        for value in vars(self).values():
            if isinstance(value, Module):
                value.train(mode)
        return self

    def eval(self) -> "Module":
        """Itself, no longer in training."""
        return self.train(False)

    def __repr__(self) -> str:
        """As PyTorch prints a module, its members indented."""
        inner = [(k, v) for k, v in vars(self).items() if isinstance(v, Module)]
        lines = indent("".join(f"({name}): {value!r}\n" for name, value in inner), "  ")
        return f"{type(self).__name__}({chr(10) if inner else ''}{lines})"


class Sequential(Module):
    """Modules one after the other; `net[0]` is the first."""

    def __init__(self, *modules: Any) -> None:
        """The modules, in the order in which they are applied."""
        for k, module in enumerate(modules):
            setattr(self, str(k), module)

    def forward(self, x: Any) -> Any:
        """Each module applied to what the one before gave."""
        for module in self:
            x = module(x)
        return x

    def __iter__(self) -> Iterator[Any]:
        return (module for name, module in vars(self).items() if name.isdigit())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, k: int) -> Any:
        return list(self)[k]


class Applied(Module):
    """A function of the table of ops as a module; `settings` are its further arguments in order."""

    row: str
    settings: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *args: Any, inplace: bool = False, **kwargs: Any) -> None:
        """The settings, by position or name; raises TypeError for others. Nothing is in place."""
        names = list(self.settings)
        chosen = dict(zip(names, args, strict=False)) | spelled(kwargs)
        if len(args) > len(names) or not chosen.keys() <= self.settings.keys():
            taken = f"takes {', '.join(names)}" if names else "takes no settings"
            raise TypeError(f"{type(self).__name__} {taken}")
        self.chosen = {**self.settings, **chosen}

    def forward(self, x: Any) -> Any:
        """The function of x."""
        return (TABLE.get(self.row) or COMPOUNDS[self.row])(x, **self.chosen)

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        chosen = (f"{k}={v!r}".replace("axis=", "dim=") for k, v in self.chosen.items())
        return f"{type(self).__name__}({', '.join(chosen)})"


class ReLU(Applied):
    """max(x, 0)."""

    row = "relu"


class Tanh(Applied):
    """The hyperbolic tangent."""

    row = "tanh"


class Sigmoid(Applied):
    """1 / (1 + exp(-x))."""

    row = "sigmoid"


class LeakyReLU(Applied):
    """x, and left of zero a small multiple of it."""

    row = "leaky_relu"
    settings = MappingProxyType({"negative_slope": 0.01})


class ELU(Applied):
    """x, and left of zero alpha (exp(x) - 1)."""

    row = "elu"
    settings = MappingProxyType({"alpha": 1.0})


class GELU(Applied):
    """x times the normal distribution function at x."""

    row = "gelu"
    settings = MappingProxyType({"approximate": "none"})


class SiLU(Applied):
    """x sigmoid(x)."""

    row = "silu"


class Softplus(Applied):
    """log(1 + exp(beta x)) / beta."""

    row = "softplus"
    settings = MappingProxyType({"beta": 1.0})


class AlongAxis(Applied):
    """A function along an axis, which has to be said: PyTorch guesses one by the shape."""

    settings = MappingProxyType({"axis": None})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The axis, by position or as `dim`; raises TypeError where it is not said."""
        super().__init__(*args, **kwargs)
        if self.chosen["axis"] is None:
            raise TypeError(f"{type(self).__name__} needs an axis: say dim=-1 for the last one")


class Softmax(AlongAxis):
    """exp(x) as shares of its sum along an axis."""

    row = "softmax"


class LogSoftmax(AlongAxis):
    """The logarithm of softmax."""

    row = "log_softmax"


class Flatten(Applied):
    """The axes from the first to the last of these as one."""

    row = "flatten"
    settings = MappingProxyType({"start_dim": 1, "end_dim": -1})


class Pool(Applied):
    """A number for each window along the last axes; windows lie side by side by default."""

    settings = MappingProxyType({"kernel_size": None, "stride": None, "padding": 0})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The settings, by position or name; raises TypeError where no size is said."""
        super().__init__(*args, **kwargs)
        if self.chosen["kernel_size"] is None:
            raise TypeError(f"{type(self).__name__} needs the size of a window: kernel_size=2")
        if self.chosen["stride"] is None:
            self.chosen["stride"] = self.chosen["kernel_size"]


class MaxPool1d(Pool):
    """The largest of each window along the last axis."""

    row = "max_pool1d"
    settings = MappingProxyType({**Pool.settings, "dilation": 1, "ceil_mode": False})


class MaxPool2d(MaxPool1d):
    """The largest of each window over the last two axes."""

    row = "max_pool2d"


class AvgPool1d(Pool):
    """The mean of each window along the last axis."""

    row = "avg_pool1d"

    def __repr__(self) -> str:
        """As PyTorch prints it: each number as a tuple."""
        chosen = (f"{k}={v if isinstance(v, tuple) else (v,)}" for k, v in self.chosen.items())
        return f"AvgPool1d({', '.join(chosen)})"


class AvgPool2d(Pool):
    """The mean of each window over the last two axes."""

    row = "avg_pool2d"


APPLIED: Mapping[str, type[Applied]] = {
    each.__name__: each
    for each in (ReLU, Tanh, Sigmoid, LeakyReLU, ELU, GELU, SiLU, Softplus, Softmax, LogSoftmax,
                 Flatten, MaxPool1d, MaxPool2d, AvgPool1d, AvgPool2d)
}  # fmt: skip
"""Functions as modules, by PyTorch's names."""


class _Loss(Module):
    """A loss function with its reduction; `row` is its name in the table of ops."""

    row: str

    def __init__(self, reduction: str = "mean") -> None:
        """`reduction` is "mean", "sum" or "none"."""
        if reduction not in REDUCTIONS:
            raise ValueError(f"{reduction} is not a valid value for reduction")
        self.reduction = reduction

    def forward(self, given: Any, target: Any) -> Any:
        """The loss."""
        return TABLE[self.row](given, target, reduction=self.reduction)

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"{type(self).__name__}()"


class MSELoss(_Loss):
    """The mean (or the sum, or each) of (input - target)**2."""

    row = "mse_loss"

    def forward(self, given: Any, target: Any) -> Any:
        """The loss; warns in PyTorch's words where the shapes differ."""
        if np.shape(bare(given)) != np.shape(bare(target)):
            came, wanted = np.shape(bare(given)), np.shape(bare(target))
            warnings.warn(
                f"Using a target size (torch.Size({list(wanted)})) that is different to the input "
                f"size (torch.Size({list(came)})). This will likely lead to incorrect results due "
                "to broadcasting. Please ensure they have the same size.",
                UserWarning,
                stacklevel=2,
            )
        return super().forward(given, target)


class CrossEntropyLoss(_Loss):
    """Minus the logarithm of softmax at the right class; targets are classes or probabilities."""

    row = "cross_entropy"

    def forward(self, given: Any, target: Any) -> Any:
        """The loss; raises IndexError or ValueError in PyTorch's words for a wrong target."""
        labels = np.asarray(bare(target))
        if labels.dtype.kind in "iu":
            target = labels
            axis = 1 if given.ndim > 1 else 0
            if given.ndim > 1 and labels.shape[:1] != given.shape[:1]:
                raise ValueError(
                    f"Expected input batch_size ({given.shape[0]}) to match target batch_size "
                    f"({labels.shape[0] if labels.ndim else 1})."
                )
            wrong = labels[(labels < 0) | (labels >= given.shape[axis])]
            if wrong.size:
                raise IndexError(f"Target {wrong[0]} is out of bounds.")
        elif labels.shape != given.shape:
            raise RuntimeError(
                "expected target dtype to be Long or Byte, but got "
                f"{'Double' if labels.dtype == np.float64 else labels.dtype}"
            )
        return super().forward(given, target)


class BCELoss(_Loss):
    """-(y log p + (1 - y) log(1 - p)) of probabilities p."""

    row = "binary_cross_entropy"


class BCEWithLogitsLoss(_Loss):
    """The same of sigmoid(input), without its overflow."""

    row = "binary_cross_entropy_with_logits"


class L1Loss(_Loss):
    """The mean (or the sum, or each) of |input - target|."""

    row = "l1_loss"


class SmoothL1Loss(_Loss):
    """Half a square near the target, an absolute value away from it."""

    row = "smooth_l1_loss"


LOSSES: Mapping[str, type[_Loss]] = {
    loss.__name__: loss
    for loss in (MSELoss, CrossEntropyLoss, BCELoss, BCEWithLogitsLoss, L1Loss, SmoothL1Loss)
}
"""The loss functions, by PyTorch's names."""
