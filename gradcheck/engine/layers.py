"""`torch.nn` as a table: functions of the table of ops as modules, with and without parameters.

A layer is a row's name, its settings (PyTorch's arguments in their order, `...` where one has to be
given), and how its parameters are drawn: from the bounds that PyTorch has, by NumPy's generator.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.modules import Module, Parameter
from gradcheck.engine.tensor import Tensor, apply, bare
from gradcheck.ops import TABLE, everything
from gradcheck.values import Params, Value

__all__ = [
    "ELU", "GELU", "AvgPool1d", "AvgPool2d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d",
    "BatchNorm2d", "Conv1d", "Conv2d", "CrossEntropyLoss", "Dropout", "Embedding", "Flatten",
    "GRUCell", "L1Loss", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear", "LogSoftmax", "MSELoss",
    "MaxPool1d", "MaxPool2d", "RNNCell", "ReLU", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax",
    "Softplus", "Tanh",
]  # fmt: skip

Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator, Shape], Value]
Drawn = tuple[tuple[Shape, Draw] | None, ...]


IN_PLACE = frozenset({"relu", "leaky_relu", "elu", "silu", "selu", "celu", "relu6", "hardtanh"})
"""What PyTorch can write over its input: `ReLU(True)`, `F.relu(x, inplace=True)`."""


class Layer(Module):
    """A function of the table of ops as a module, with its settings.

    `held` are the names of its parameters, `printed` is what PyTorch prints of it.
    """

    row: ClassVar[str]
    settings: ClassVar[Params] = {}
    held: ClassVar[tuple[str, ...]] = ()
    draws: ClassVar[bool] = False
    printed: ClassVar[str] = ""
    __signature__: ClassVar[Signature]

    if TYPE_CHECKING:  # settings and parameters

        def __getattr__(self, name: str) -> Value: ...

    def __init_subclass__(cls, row: str = "", **settings: Value) -> None:
        """Name the function; the settings come after those of the class above."""
        cls.row = row or getattr(cls, "row", "")
        cls.settings = {**cls.settings, **settings}
        given = [(k, Argument.empty if v is ... else v) for k, v in cls.settings.items()]
        taken = [Argument(k, Argument.POSITIONAL_OR_KEYWORD, default=v) for k, v in given]
        place = Argument.POSITIONAL_OR_KEYWORD if cls.row in IN_PLACE else Argument.KEYWORD_ONLY
        taken.append(Argument("inplace", place, default=False))
        if cls.draws:
            taken.append(Argument("seed", Argument.KEYWORD_ONLY, default=None))
        cls.__signature__ = Signature(taken)

    def __init__(self, *args: Value, **named: Value) -> None:
        """The settings, by position or name; raises TypeError for others."""
        try:
            bound = self.__signature__.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        self.chosen = {name: bound.arguments[name] for name in self.settings}
        self.writes = bool(bound.arguments["inplace"]) and self.row in IN_PLACE
        vars(self).update({k: v for k, v in self.chosen.items() if k not in self.held})
        if self.held:
            seed = bound.arguments.get("seed", 0)
            rng = np.random.default_rng(GENERATOR.seed_of_layer() if seed is None else seed)
            drawn = dict(zip(self.held, self._plan(*self.chosen.values()), strict=True))
            for name, how in drawn.items():
                setattr(self, name, None if how is None else Parameter(how[1](rng, how[0])))

    def _plan(self, *settings: Value) -> Drawn:
        """For each parameter its shape and how it is drawn; None where there is none."""
        return ()

    def _arguments(self, *inputs: Value) -> tuple[Value, ...]:
        """What the function takes."""
        return (*inputs, *(getattr(self, name) for name in self.held))

    def forward(self, *inputs: Value) -> Value:
        """The function of the inputs, and of the parameters or the settings."""
        named = {} if self.held else self.chosen
        if self.writes and isinstance(inputs[0], Tensor):
            return getattr(inputs[0], f"{self.row}_")(**named)
        return everything()[self.row](*self._arguments(*inputs), **named)

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        settings = [*(f"{k}={{{k}!r}}" for k in self.chosen), *["inplace=True"] * self.writes]
        said = self.printed or ", ".join(settings)
        has_bias = {"has_bias": vars(self).get("bias") is not None}
        return f"{type(self).__name__}({said.format_map(vars(self) | self.chosen | has_bias)})"


def evenly(bound: float) -> Draw:
    """Between minus and plus a bound."""
    return lambda rng, shape: rng.uniform(-bound, bound, shape)


def ones(rng: np.random.Generator, shape: Shape) -> Value:
    """Nothing is drawn: each is 1."""
    return np.ones(shape)


def zeros(rng: np.random.Generator, shape: Shape) -> Value:
    """Nothing is drawn: each is 0."""
    return np.zeros(shape)


# -- layers with parameters ------------------------------------------------------------------------


class Linear(Layer, row="linear", in_features=..., out_features=..., bias=True, weight=None):
    """`x @ W.T + b`, from (..., in_features) to (..., out_features).

    Weights are as given, or drawn evenly from ±1/√in_features; `bias` is the numbers themselves,
    True or False. The seed is the given one, or follows `manual_seed`: another one for each layer.
    Raises ValueError where numbers that are given have another shape.
    """

    held, draws = ("weight", "bias"), True
    printed = "in_features={in_features}, out_features={out_features}, bias={has_bias}"

    def _plan(self, *settings: Value) -> Drawn:
        width, count, bias, weight = settings
        bound = evenly(1 / math.sqrt(width) if width else 0.0)
        with_bias = bias is not False and bias is not None
        return (
            ((count, width), _take_numbers("weight", weight, bound)),
            ((count,), _take_numbers("bias", bias, bound)) if with_bias else None,
        )

    def forward(self, *inputs: Value) -> Tensor:
        """The layer applied to the last axis of x; raises RuntimeError for another length."""
        (x,), (width, count, *_) = inputs, self.chosen.values()
        if x.shape[-1] != width:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({math.prod(x.shape[:-1])}x"
                f"{x.shape[-1]} and {width}x{count})"
            )
        product = apply(TABLE["matmul"], (x, np.transpose(self.weight)), {})
        return product if self.bias is None else apply(TABLE["add"], (product, self.bias), {})


def _take_numbers(name: str, numbers: Value, draw: Draw) -> Draw:
    """The numbers that are given, where it is not left to the generator."""

    def find(rng: np.random.Generator, shape: Shape) -> Value:
        drawn = draw(rng, shape)
        if numbers is None or numbers is True:
            return drawn
        values = np.asarray(bare(numbers), dtype=np.float64)
        if values.shape != shape:
            raise ValueError(f"the {name} of this layer has the shape {shape}; {values.shape} came")
        return values

    return find


class Embedding(Layer, row="embedding", num_embeddings=..., embedding_dim=...):
    """Rows of a table of normal weights by their places: integers (...) to (..., embedding_dim)."""

    held, draws, printed = ("weight",), True, "{num_embeddings}, {embedding_dim}"

    def _plan(self, *settings: Value) -> Drawn:
        return ((settings, lambda rng, shape: rng.standard_normal(shape)),)


class Conv1d(
    Layer, row="conv1d", in_channels=..., out_channels=..., kernel_size=..., stride=1, padding=0,
    dilation=1, groups=1, bias=True,
):  # fmt: skip
    """Kernels slid along the last axis: of (channels, length), or of a batch of these.

    Weights evenly from ±1/√(channels and places of a window); the padding is with zeros.
    """

    held, draws = ("weight", "bias"), True
    axes = 1

    def _spread(self, setting: Value) -> Value:
        """One number for each axis."""
        return setting if isinstance(setting, str | tuple) else (setting,) * self.axes

    def _plan(self, *settings: Value) -> Drawn:
        channels, filters, kernel, *_, groups, bias = settings
        shape = (filters, channels // groups, *self._spread(kernel))
        bound = evenly(1 / math.sqrt(math.prod(shape[1:])))
        return (shape, bound), ((filters,), bound) if bias else None

    def _arguments(self, *inputs: Value) -> tuple[Value, ...]:
        return (*super()._arguments(*inputs), *list(self.chosen.values())[3:7])

    def __repr__(self) -> str:
        """What is not the default is said."""
        (channels, filters, *_), rest = self.chosen.values(), dict(list(self.chosen.items())[2:6])
        usual = {"padding": self._spread(0), "dilation": self._spread(1)}
        said = {k: self._spread(v) for k, v in rest.items() if self._spread(v) != usual.get(k)}
        said |= {k: self.chosen[k] for k in ("groups", "bias") if self.chosen[k] != 1}
        words = ", ".join(f"{k}={v}" for k, v in said.items())
        return f"{type(self).__name__}({channels}, {filters}, {words})"


class Conv2d(Conv1d, row="conv2d"):
    """Kernels slid over the last two axes: of (channels, height, width), or of a batch of these."""

    axes = 2


class LayerNorm(
    Layer, row="layer_norm", normalized_shape=..., eps=1e-5, elementwise_affine=True, bias=True
):
    """The last axes less their mean, over the root of their variance; weight and bias an entry.

    Ba, Kiros and Hinton, 2016; the variance is that of all entries (no -1), with `eps` added.
    """

    held = ("weight", "bias")
    printed = "{shape}, eps={eps}, elementwise_affine={elementwise_affine}, bias={has_bias}"

    def _plan(self, *settings: Value) -> Drawn:
        size, _, affine, bias = settings
        self.shape = tuple(size) if isinstance(size, tuple | list) else (size,)
        return (
            (self.shape, ones) if affine else None,
            (self.shape, zeros) if affine and bias else None,
        )

    def _arguments(self, *inputs: Value) -> tuple[Value, ...]:
        x, weight, bias = super()._arguments(*inputs)
        return x, self.shape, weight, bias, self.chosen["eps"]


class BatchNorm1d(
    Layer, row="batch_norm", num_features=..., eps=1e-5, momentum=0.1, affine=True,
    track_running_stats=True,
):  # fmt: skip
    """Channels less their mean, over the root of their variance: of the batch in training.

    Of (batch, channels) or (batch, channels, length). Ioffe and Szegedy, 2015; after `eval()` the
    running mean and variance are taken instead.
    """

    held = ("weight", "bias")
    printed = (
        "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={affine}, "
        "track_running_stats={track_running_stats}"
    )
    ranks: ClassVar[tuple[int, ...]] = (2, 3)

    def _plan(self, *settings: Value) -> Drawn:
        channels, _, _, affine, tracking = settings
        self.running_mean = Tensor(np.zeros(channels)) if tracking else None
        self.running_var = Tensor(np.ones(channels)) if tracking else None
        return (((channels,), ones), ((channels,), zeros)) if affine else (None, None)

    def _arguments(self, *inputs: Value) -> tuple[Value, ...]:
        """Input, running numbers, parameters; raises ValueError for another number of axes."""
        x, weight, bias = super()._arguments(*inputs)
        shape = np.shape(bare(x))
        if len(shape) not in self.ranks:
            wanted = " or ".join(f"{k}D" for k in self.ranks)
            raise ValueError(f"expected {wanted} input (got {len(shape)}D input)")
        training = self.training or not self.chosen["track_running_stats"]
        if training and math.prod(shape) // max(self.chosen["num_features"], 1) == 1:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"torch.Size({list(shape)})"
            )
        how = training, self.chosen["momentum"], self.chosen["eps"]
        return x, self.running_mean, self.running_var, weight, bias, *how


class BatchNorm2d(BatchNorm1d):
    """Of (batch, channels, height, width)."""

    ranks = (4,)


class RNNCell(Layer, row="rnn_tanh_cell", input_size=..., hidden_size=..., bias=True):
    """One step of a recurrent network, tanh(U x + b + W h + c): Elman, 1990.

    From x (..., input_size) and a state (..., hidden_size), zeros where none is given, to the next
    state; weights evenly from ±1/√hidden_size.
    """

    held = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    draws = True
    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    def _plan(self, *settings: Value) -> Drawn:
        width, hidden, bias = settings
        bound, rows = evenly(1 / math.sqrt(hidden)), self.gates * hidden
        biases = [((rows,), bound) if bias else None] * 2
        return ((rows, width), bound), ((rows, hidden), bound), *biases

    def _arguments(self, *inputs: Value) -> tuple[Value, ...]:
        x, *state = inputs
        if not state or state[0] is None:
            zero = np.zeros((*np.shape(bare(x))[:-1], self.chosen["hidden_size"]))
            state = [zero if self.states == 1 else (zero, zero)]
        return super()._arguments(x, *state)

    def __repr__(self) -> str:
        """Both sizes, and whether the biases are left out."""
        inner, outer, bias = self.chosen.values()
        return f"{type(self).__name__}({inner}, {outer}{'' if bias else ', bias=False'})"


class GRUCell(RNNCell, row="gru_cell"):
    """Three gates, whose formulas `gru_cell` has (Cho and others, 2014)."""

    gates = 3


class LSTMCell(RNNCell, row="lstm_cell"):
    """Four gates and a state (h, c); `lstm_cell` has the formulas (Hochreiter and others, 1997)."""

    gates, states = 4, 2


LAYERS: Mapping[str, type[Layer]] = {
    each.__name__: each
    for each in (
        Linear, Embedding, Conv1d, Conv2d, LayerNorm, BatchNorm1d, BatchNorm2d, RNNCell, GRUCell,
        LSTMCell,
    )
}  # fmt: skip
"""The layers with parameters, by PyTorch's names."""

# -- functions without parameters ------------------------------------------------------------------


def _function(name: str, row: str, words: str, **settings: Value) -> type[Layer]:
    """The module of a function that has nothing of its own beside its settings."""
    return type(name, (Layer,), {"__doc__": words, "__module__": __name__}, row=row, **settings)


ReLU = _function("ReLU", "relu", "max(x, 0).")
Tanh = _function("Tanh", "tanh", "The hyperbolic tangent.")
Sigmoid = _function("Sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
SiLU = _function("SiLU", "silu", "x sigmoid(x).")
Softplus = _function("Softplus", "softplus", "log(1 + exp(beta x)) / beta.", beta=1.0)
LeakyReLU = _function(
    "LeakyReLU", "leaky_relu", "x, and left of zero a small multiple of it.", negative_slope=0.01
)
ELU = _function("ELU", "elu", "x, and left of zero alpha (exp(x) - 1).", alpha=1.0)
GELU = _function(
    "GELU", "gelu", "x times the normal distribution function at x (Hendrycks, Gimpel, 2016).\n\n"
    '`approximate` is "none", or "tanh" for the formula with the hyperbolic tangent.',
    approximate="none",
)  # fmt: skip
Softmax = _function("Softmax", "softmax", "exp(x) as shares of its sum along an axis.", dim=...)
LogSoftmax = _function("LogSoftmax", "log_softmax", "x - log(sum(exp(x))) along an axis.", dim=...)
Flatten = _function(
    "Flatten", "flatten", "The axes from `start_dim` to `end_dim` as one: (n, a, b) is (n, a b).",
    start_dim=1, end_dim=-1,
)  # fmt: skip


class WindowPool(Layer, kernel_size=..., stride=None, padding=0):
    """A number for each window along the last axes."""

    def __init__(self, *args: Value, **named: Value) -> None:
        """The settings; windows lie side by side by default."""
        super().__init__(*args, **named)
        if self.chosen["stride"] is None:
            self.chosen["stride"] = self.chosen["kernel_size"]


class AvgPool2d(WindowPool, row="avg_pool2d"):
    """The mean of each window over the last two axes of (..., channels, height, width)."""


class AvgPool1d(WindowPool, row="avg_pool1d"):
    """The mean of each window along the last axis of (..., channels, length)."""

    def __repr__(self) -> str:
        """Each number as a tuple."""
        said = (f"{k}={v if isinstance(v, tuple) else (v,)}" for k, v in self.chosen.items())
        return f"AvgPool1d({', '.join(said)})"


class MaxPool1d(WindowPool, row="max_pool1d", dilation=1, ceil_mode=False):
    """The largest of each window along the last axis of (..., channels, length)."""


class MaxPool2d(MaxPool1d, row="max_pool2d"):
    """The largest of each window over the last two axes of (..., channels, height, width)."""


APPLIED: Mapping[str, type[Layer]] = {
    each.__name__: each
    for each in (
        ReLU, Tanh, Sigmoid, SiLU, Softplus, LeakyReLU, ELU, GELU, Softmax, LogSoftmax, Flatten,
        MaxPool1d, MaxPool2d, AvgPool1d, AvgPool2d,
    )
}  # fmt: skip
"""Functions as modules, by PyTorch's names."""


class Dropout(Layer, row="dropout", p=0.5):
    """In training each entry is 0 by chance, and the others over 1 - p; x itself after `eval()`."""

    printed = "p={p}, inplace=False"

    def __init__(self, *args: Value, **named: Value) -> None:
        """The chance of 0; raises ValueError, in PyTorch's words, for what is none."""
        super().__init__(*args, **named)
        if not 0 <= self.p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, *inputs: Value) -> Value:
        """The function of that name, with a mask that is drawn anew."""
        (x,) = inputs
        mask = GENERATOR.rand(*np.shape(bare(x))) >= self.p
        return everything()["dropout"](x, self.p, self.training, mask=mask)


# -- losses ----------------------------------------------------------------------------------------


class LossLayer(Layer, reduction="mean"):
    """A loss of an input and a target: a number, with the reduction "none" one for each entry."""

    def __init__(self, *args: Value, **named: Value) -> None:
        """`reduction` is "mean", "sum" or "none"; raises ValueError for another."""
        super().__init__(*args, **named)
        if self.reduction not in ("mean", "sum", "none"):
            raise ValueError(f"{self.reduction} is not a valid value for reduction")

    def __repr__(self) -> str:
        """Its name alone."""
        return f"{type(self).__name__}()"


class MSELoss(LossLayer, row="mse_loss"):
    """The mean (or the sum, or each) of (input - target)**2."""

    def forward(self, *inputs: Value) -> Value:
        """The loss; warns in PyTorch's words where the shapes differ."""
        came, wanted = (np.shape(bare(each)) for each in inputs)
        if came != wanted:
            warnings.warn(
                f"Using a target size (torch.Size({list(wanted)})) that is different to the input "
                f"size (torch.Size({list(came)})). This will likely lead to incorrect results due "
                "to broadcasting. Please ensure they have the same size.",
                UserWarning,
                stacklevel=2,
            )
        return super().forward(*inputs)


class CrossEntropyLoss(LossLayer, row="cross_entropy"):
    """Minus the logarithm of softmax at the right class; targets are classes or probabilities.

    The input is (classes,) or (n, classes, ...). The target is whole numbers, in that shape without
    the axis of the classes, or a probability for each entry of the input.
    """


def _loss(name: str, row: str, words: str) -> type[LossLayer]:
    return type(name, (LossLayer,), {"__doc__": words, "__module__": __name__}, row=row)


BCELoss = _loss("BCELoss", "binary_cross_entropy", "-(y log p + (1 - y) log(1 - p)).")
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "`BCELoss` of sigmoid(input)."
)
L1Loss = _loss("L1Loss", "l1_loss", "The mean (or the sum, or each) of |input - target|.")
SmoothL1Loss = _loss(
    "SmoothL1Loss", "smooth_l1_loss", "d**2 / 2 where |d| < 1, else |d| - 1/2 (Girshick, 2015)."
)

LOSSES: Mapping[str, type[LossLayer]] = {
    loss.__name__: loss
    for loss in (MSELoss, CrossEntropyLoss, BCELoss, BCEWithLogitsLoss, L1Loss, SmoothL1Loss)
}
"""The loss functions, by PyTorch's names."""
