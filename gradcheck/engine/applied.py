"""Functions without parameters as modules: activations, and pools of windows."""

from collections.abc import Mapping
from typing import Any, ClassVar

from gradcheck.engine.modules import Module
from gradcheck.ops import COMPOUNDS, TABLE
from gradcheck.ops.row import spelled

APPLIED: "dict[str, type[Applied]]" = {}
"""Functions as modules, by PyTorch's names."""


class Applied(Module):
    """A function of the table of ops as a module; `settings` are its further arguments in order."""

    row: ClassVar[str]
    settings: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, row: str = "", **settings: Any) -> None:
        """Name the function; the settings come after those of the class above."""
        cls.settings = {**cls.settings, **settings}
        if row:
            cls.row = row
            APPLIED[cls.__name__] = cls

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


def _applied(name: str, row: str, words: str, **settings: Any) -> "type[Applied]":
    """The module of a function that has nothing of its own beside its settings."""
    return type(name, (Applied,), {"__doc__": words}, row=row, **settings)


ReLU = _applied("ReLU", "relu", "max(x, 0).")
Tanh = _applied("Tanh", "tanh", "The hyperbolic tangent.")
Sigmoid = _applied("Sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
SiLU = _applied("SiLU", "silu", "x sigmoid(x).")
Softplus = _applied("Softplus", "softplus", "log(1 + exp(beta x)) / beta.", beta=1.0)
LeakyReLU = _applied(
    "LeakyReLU", "leaky_relu", "x, and left of zero a small multiple of it.", negative_slope=0.01
)
ELU = _applied(
    "ELU", "elu", "x, and left of zero alpha (exp(x) - 1): Clevert and others, 2015.", alpha=1.0
)
GELU = _applied(
    "GELU", "gelu", "x times the normal distribution function at x (Hendrycks, Gimpel, 2016).\n\n"
    '`approximate` is "none", or "tanh" for the formula with the hyperbolic tangent.',
    approximate="none",
)  # fmt: skip
Flatten = _applied(
    "Flatten", "flatten", "The axes from `start_dim` to `end_dim` as one: (n, a, b) is (n, a b).",
    start_dim=1, end_dim=-1,
)  # fmt: skip


class AlongAxis(Applied, axis=None):
    """A function along an axis, which has to be said: PyTorch guesses one by the shape."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The axis, by position or as `dim`; raises TypeError where it is not said."""
        super().__init__(*args, **kwargs)
        if self.chosen["axis"] is None:
            raise TypeError(f"{type(self).__name__} needs an axis: say dim=-1 for the last one")


class Softmax(AlongAxis, row="softmax"):
    """exp(x) as shares of its sum along an axis; the shape stays."""


class LogSoftmax(AlongAxis, row="log_softmax"):
    """x - log(sum(exp(x))) along an axis; the shape stays."""


class Pool(Applied, kernel_size=None, stride=None, padding=0):
    """A number for each window along the last axes; windows lie side by side by default."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The settings, by position or name; raises TypeError where no size is said."""
        super().__init__(*args, **kwargs)
        if self.chosen["kernel_size"] is None:
            raise TypeError(f"{type(self).__name__} needs the size of a window: kernel_size=2")
        if self.chosen["stride"] is None:
            self.chosen["stride"] = self.chosen["kernel_size"]


class MaxPool1d(Pool, row="max_pool1d", dilation=1, ceil_mode=False):
    """The largest of each window along the last axis of (..., channels, length)."""


class MaxPool2d(MaxPool1d, row="max_pool2d"):
    """The largest of each window over the last two axes of (..., channels, height, width)."""


class AvgPool1d(Pool, row="avg_pool1d"):
    """The mean of each window along the last axis of (..., channels, length)."""

    def __repr__(self) -> str:
        """As PyTorch prints it: each number as a tuple."""
        chosen = (f"{k}={v if isinstance(v, tuple) else (v,)}" for k, v in self.chosen.items())
        return f"AvgPool1d({', '.join(chosen)})"


class AvgPool2d(Pool, row="avg_pool2d"):
    """The mean of each window over the last two axes of (..., channels, height, width)."""
