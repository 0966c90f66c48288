"""Functions without parameters as modules: activations, and pools of windows."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gradcheck.engine.modules import Module
from gradcheck.ops import COMPOUNDS, TABLE
from gradcheck.ops.row import spelled


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
