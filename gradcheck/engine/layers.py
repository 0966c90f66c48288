"""`torch.nn` as a table: functions of the table of ops as modules, with and without parameters.

A layer is a row's name, its settings (PyTorch's arguments in their order, `...` where one has to be
given), what it holds and how that is drawn (from PyTorch's bounds, by NumPy's generator), what it
feeds its function with, and what is printed of it. One class does all of it.
"""

import math
import warnings
from collections.abc import Callable
from functools import partial
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.modules import Module, Parameter
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.ops import COMPOUNDS, TABLE
from gradcheck.values import Params, Value

Draw = Callable[[np.random.Generator, tuple[int, ...]], Value]
Plan = Callable[..., tuple[tuple[tuple[int, ...], Draw] | None, ...]]

IN_PLACE = frozenset({"relu", "leaky_relu", "elu", "silu", "selu", "celu", "relu6", "hardtanh"})
"""What PyTorch can write over its input: `ReLU(True)`, `F.relu(x, inplace=True)`."""


class Layer(Module):
    """A function of the table of ops as a module.

    `held` are the names of its parameters (and of running numbers, which are no parameters);
    `plan` makes of the settings the shape and the draw of each, None where there is none; `feed`
    makes of the layer and its inputs what the function takes; `expects` refuses settings.
    """

    row: ClassVar[str] = ""
    settings: ClassVar[Params] = {}
    held: ClassVar[tuple[str, ...]] = ()
    plan: ClassVar[Plan | None] = None
    draws: ClassVar[bool] = False
    feed: ClassVar[Callable[..., tuple[Value, ...]] | None] = None
    printed: ClassVar[str | Callable[..., str] | None] = None
    expects: ClassVar[Callable[..., None] | None] = None
    __signature__: ClassVar[Signature]

    if TYPE_CHECKING:  # settings and parameters

        def __getattr__(self, name: str) -> Value: ...

    def __init__(self, *args: Value, **named: Value) -> None:
        """The settings, by position or name; raises TypeError for others."""
        try:
            bound = self.__signature__.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        self.chosen = {name: bound.arguments[name] for name in self.settings}
        if self.chosen.get("stride", ...) is None:
            self.chosen["stride"] = self.chosen["kernel_size"]  # windows side by side
        self.writes = bool(bound.arguments["inplace"]) and self.row in IN_PLACE
        vars(self).update({k: v for k, v in self.chosen.items() if k not in self.held})
        if self.expects is not None:
            self.expects(**self.chosen)
        if self.plan is not None:
            seed = bound.arguments.get("seed", 0)
            rng = np.random.default_rng(GENERATOR.seed_of_layer() if seed is None else seed)
            for name, how in zip(self.held, self.plan(**self.chosen), strict=True):
                box = Tensor if name.startswith("running") else Parameter
                setattr(self, name, None if how is None else box(how[1](rng, how[0])))

    def forward(self, *inputs: Value) -> Value:
        named = {} if self.held or self.feed else self.chosen
        if self.writes and isinstance(inputs[0], Tensor):
            return getattr(inputs[0], f"{self.row}_")(**named)
        if self.feed is not None:
            inputs = self.feed(self, *inputs)
        elif self.held:
            inputs = (*inputs, *(getattr(self, name) for name in self.held))
        return (COMPOUNDS.get(self.row) or TABLE[self.row])(*inputs, **named)

    def __repr__(self) -> str:
        known = {**vars(self), "has_bias": vars(self).get("bias") is not None}
        return self.spell(self.chosen, known, writes=self.writes)

    @classmethod
    def spell(cls, chosen: Params, known: Params, *, writes: bool = False) -> str:
        """A layer with these settings, as PyTorch prints it."""
        said = cls.printed
        if said is None:
            words = [f"{name}={value!r}" for name, value in chosen.items()]
            said = ", ".join([*words, *["inplace=True"] * writes])
        elif not isinstance(said, str):
            said = said(**chosen)
        return f"{cls.__name__}({said.format_map({**chosen, **known})})"


LAYERS: dict[str, type[Layer]] = {}
"""The layers with parameters, by PyTorch's names."""
LOSSES: dict[str, type[Layer]] = {}
"""The loss functions."""
APPLIED: dict[str, type[Layer]] = {}
"""Functions as modules; what draws at every call, Dropout, is no function."""


def _enter(name: str, row: str, words: str, *, draws: bool = False, **own: Value) -> type[Layer]:
    """Make the class of a layer: what is of `Layer` in `own`, and the settings behind it."""
    parts = ("held", "plan", "feed", "printed", "expects", "forward")
    its = {key: own.pop(key) for key in parts if key in own}
    its |= {k: staticmethod(v) for k, v in its.items() if callable(v) and k != "forward"}
    place = Argument.POSITIONAL_OR_KEYWORD
    taken = [Argument(k, place, default=Argument.empty if v is ... else v) for k, v in own.items()]
    taken.append(
        Argument("inplace", place if row in IN_PLACE else Argument.KEYWORD_ONLY, default=False)
    )
    if draws:
        taken.append(Argument("seed", Argument.KEYWORD_ONLY, default=None))
    made = type(name, (Layer,), {
        "__doc__": words, "__module__": __name__, "__signature__": Signature(taken),
        "row": row, "settings": own, "draws": draws,
        **its,
    })  # fmt: skip
    if row != "dropout":
        (LAYERS if its.get("held") else LOSSES if "reduction" in own else APPLIED)[name] = made
    return made


# -- what is drawn ---------------------------------------------------------------------------------


def _evenly(count: int) -> Draw:
    """Between minus and plus the root of 1 / count."""
    bound = 1 / math.sqrt(count) if count else 0.0
    return lambda rng, shape: rng.uniform(-bound, bound, shape)


def _ones(rng: np.random.Generator, shape: Value) -> Value:
    return np.ones(shape)


def _zeros(rng: np.random.Generator, shape: Value) -> Value:
    return np.zeros(shape)


def _given(name: str, numbers: Value, draw: Draw) -> Draw:
    """The numbers that are given, where it is not left to the generator."""

    def find(rng: np.random.Generator, shape: Value) -> Value:
        drawn = draw(rng, shape)
        if numbers is None or numbers is True:
            return drawn
        values = np.asarray(bare(numbers), dtype=np.float64)
        if values.shape != shape:
            raise ValueError(f"the {name} of this layer has the shape {shape}; {values.shape} came")
        return values

    return find


def _each(setting: Value, axes: int) -> Value:
    return setting if isinstance(setting, str | tuple) else (setting,) * axes


# -- layers with parameters ------------------------------------------------------------------------


def _plan_linear(in_features: int, out_features: int, bias: Value, weight: Value) -> Value:
    draw, with_bias = _evenly(in_features), bias is not False and bias is not None
    return (
        ((out_features, in_features), _given("weight", weight, draw)),
        ((out_features,), _given("bias", bias, draw)) if with_bias else None,
    )


def _feed_linear(layer: Layer, x: Value) -> tuple[Value, ...]:
    shape, width = np.shape(bare(x)), layer.in_features
    if shape[-1] != width:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({math.prod(shape[:-1])}x{shape[-1]} and "
            f"{width}x{layer.out_features})"
        )
    return x, layer.weight, layer.bias


Linear = _enter(
    "Linear", "linear",
    "`x @ W.T + b`, from (..., in_features) to (..., out_features).\n\n"
    "Weights are as given, or drawn evenly from ±1/√in_features; `bias` is the numbers, True or\n"
    "False. The seed is the given one, or follows `manual_seed`: another one for each layer.",
    held=("weight", "bias"), draws=True, plan=_plan_linear, feed=_feed_linear,
    printed="in_features={in_features}, out_features={out_features}, bias={has_bias}",
    in_features=..., out_features=..., bias=True, weight=None,
)  # fmt: skip
Embedding = _enter(
    "Embedding", "embedding",
    "Rows of a table of normal weights by their places: integers (...) to (..., embedding_dim).",
    held=("weight",), draws=True,
    plan=lambda **sizes: ((tuple(sizes.values()), np.random.Generator.standard_normal),),
    printed="{num_embeddings}, {embedding_dim}", num_embeddings=..., embedding_dim=...,
)  # fmt: skip


def _convolution(axes: int) -> Params:
    def plan(
        in_channels: int, out_channels: int, kernel_size: Value, groups: int, bias: bool, **_: Value
    ) -> Value:
        shape = (out_channels, in_channels // groups, *_each(kernel_size, axes))
        draw = _evenly(math.prod(shape[1:]))
        return (shape, draw), ((out_channels,), draw) if bias else None

    def show(in_channels: int, out_channels: int, groups: int, bias: bool, **rest: Value) -> str:
        usual = {"padding": _each(0, axes), "dilation": _each(1, axes)}
        said = {k: _each(v, axes) for k, v in rest.items() if _each(v, axes) != usual.get(k)}
        said |= {k: v for k, v in (("groups", groups), ("bias", bias)) if v != 1}
        return ", ".join([f"{in_channels}, {out_channels}", *(f"{k}={v}" for k, v in said.items())])

    return {
        "held": ("weight", "bias"), "draws": True, "plan": plan, "printed": show,
        "feed": lambda layer, x: (x, layer.weight, layer.bias, *list(layer.chosen.values())[3:7]),
        "in_channels": ..., "out_channels": ..., "kernel_size": ...,
        "stride": 1, "padding": 0, "dilation": 1, "groups": 1, "bias": True,
    }  # fmt: skip


Conv1d = _enter(
    "Conv1d", "conv1d",
    "Kernels slid along the last axis: of (channels, length), or of a batch of these.\n\n"
    "Weights evenly from ±1/√(channels and places of a window); the padding is with zeros.",
    **_convolution(1),
)  # fmt: skip
Conv2d = _enter(
    "Conv2d", "conv2d",
    "Kernels slid over the last two axes: of (channels, height, width), or of a batch of these.",
    **_convolution(2),
)  # fmt: skip


def _plan_layer_norm(
    normalized_shape: Value, elementwise_affine: bool, bias: bool, **_: Value
) -> Value:
    shape = _each(normalized_shape, 1)
    weight = (shape, _ones) if elementwise_affine else None
    return weight, (shape, _zeros) if elementwise_affine and bias else None


LayerNorm = _enter(
    "LayerNorm", "layer_norm",
    "The last axes less their mean, over the root of their variance; weight and bias an entry.\n\n"
    "Ba, Kiros and Hinton, 2016; the variance is that of all entries (no -1), with `eps` added.",
    held=("weight", "bias"), plan=_plan_layer_norm,
    feed=lambda layer, x: (x, layer.normalized_shape, layer.weight, layer.bias, layer.eps),
    printed=lambda normalized_shape, **rest: (
        f"{_each(normalized_shape, 1)}, eps={{eps}}, elementwise_affine={{elementwise_affine}}, "
        "bias={has_bias}"
    ),
    normalized_shape=..., eps=1e-5, elementwise_affine=True, bias=True,
)  # fmt: skip


def _plan_batch_norm(
    num_features: int, affine: bool, track_running_stats: bool, **_: Value
) -> Value:
    pairs = [(_ones, affine), (_zeros, affine)]
    pairs += [(_zeros, track_running_stats), (_ones, track_running_stats)]
    return tuple(((num_features,), draw) if there else None for draw, there in pairs)


def _feed_batch_norm(ranks: tuple[int, ...], layer: Layer, x: Value) -> tuple[Value, ...]:
    shape = np.shape(bare(x))
    if len(shape) not in ranks:
        wanted = " or ".join(f"{k}D" for k in ranks)
        raise ValueError(f"expected {wanted} input (got {len(shape)}D input)")
    training = layer.training or not layer.track_running_stats
    if training and math.prod(shape) // max(layer.num_features, 1) == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"torch.Size({list(shape)})"
        )
    running, how = (layer.running_mean, layer.running_var), (layer.momentum, layer.eps)
    return x, *running, layer.weight, layer.bias, training, *how


_batches = partial(
    _enter, row="batch_norm", plan=_plan_batch_norm,
    held=("weight", "bias", "running_mean", "running_var"),
    printed="{num_features}, eps={eps}, momentum={momentum}, affine={affine}, "
    "bias={affine}, track_running_stats={track_running_stats}",
    num_features=..., eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
)  # fmt: skip
BatchNorm1d = _batches(
    "BatchNorm1d", feed=partial(_feed_batch_norm, (2, 3)),
    words="Channels less their mean, over the root of their variance: of the batch in training.\n\n"
    "Of (batch, channels) or (batch, channels, length). Ioffe and Szegedy, 2015; after `eval()`\n"
    "the running mean and variance are taken instead.",
)  # fmt: skip
BatchNorm2d = _batches(
    "BatchNorm2d",
    feed=partial(_feed_batch_norm, (4,)),
    words="Of (batch, channels, height, width).",
)


def _cell(name: str, row: str, gates: int, words: str) -> type[Layer]:
    def plan(input_size: int, hidden_size: int, bias: bool) -> Value:
        draw, rows = _evenly(hidden_size), gates * hidden_size
        biases = [((rows,), draw) if bias else None] * 2
        return ((rows, input_size), draw), ((rows, hidden_size), draw), *biases

    def feed(layer: Layer, x: Value, state: Value = None) -> tuple[Value, ...]:
        if state is None:
            zero = np.zeros((*np.shape(bare(x))[:-1], layer.hidden_size))
            state = (zero, zero) if row == "lstm_cell" else zero
        return x, state, *(getattr(layer, name) for name in layer.held)

    return _enter(
        name, row, words, held=("weight_ih", "weight_hh", "bias_ih", "bias_hh"), draws=True,
        plan=plan, feed=feed, input_size=..., hidden_size=..., bias=True,
        printed=lambda bias, **_: "{input_size}, {hidden_size}" + ", bias=False" * (not bias),
    )  # fmt: skip


RNNCell = _cell(
    "RNNCell", "rnn_tanh_cell", 1,
    "One step of a recurrent network, tanh(U x + b + W h + c): Elman, 1990.\n\n"
    "From x (..., input_size) and a state (..., hidden_size), zeros where none is given, to the\n"
    "next state; weights evenly from ±1/√hidden_size.",
)  # fmt: skip
GRUCell = _cell(
    "GRUCell", "gru_cell", 3,
    "Three gates, whose formulas `gru_cell` has (Cho and others, 2014).",
)  # fmt: skip
LSTMCell = _cell(
    "LSTMCell", "lstm_cell", 4,
    "Four gates and a state (h, c); `lstm_cell` has the formulas (Hochreiter and others, 1997).",
)  # fmt: skip

# -- functions without parameters ------------------------------------------------------------------

ReLU = _enter("ReLU", "relu", "max(x, 0).")
Tanh = _enter("Tanh", "tanh", "The hyperbolic tangent.")
Sigmoid = _enter("Sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
SiLU = _enter("SiLU", "silu", "x sigmoid(x).")
Softplus = _enter("Softplus", "softplus", "log(1 + exp(beta x)) / beta.", beta=1.0)
LeakyReLU = _enter(
    "LeakyReLU", "leaky_relu", "x, and left of zero a small multiple of it.", negative_slope=0.01
)
ELU = _enter("ELU", "elu", "x, and left of zero alpha (exp(x) - 1).", alpha=1.0)
GELU = _enter(
    "GELU", "gelu", "x times the normal distribution function at x (Hendrycks, Gimpel, 2016).\n\n"
    '`approximate` is "none", or "tanh" for the formula with the hyperbolic tangent.',
    approximate="none",
)  # fmt: skip
Softmax = _enter("Softmax", "softmax", "exp(x) as shares of its sum along an axis.", dim=...)
LogSoftmax = _enter("LogSoftmax", "log_softmax", "x - log(sum(exp(x))) along an axis.", dim=...)
Flatten = _enter(
    "Flatten", "flatten", "The axes from `start_dim` to `end_dim` as one: (n, a, b) is (n, a b).",
    start_dim=1, end_dim=-1,
)  # fmt: skip
WINDOWS: Params = {"kernel_size": ..., "stride": None, "padding": 0}
LARGEST: Params = {**WINDOWS, "dilation": 1, "ceil_mode": False}
AvgPool1d = _enter(
    "AvgPool1d", "avg_pool1d", "The mean of each window along the last axis of (..., length).",
    **WINDOWS, printed=lambda **how: ", ".join(f"{k}={_each(v, 1)}" for k, v in how.items()),
)  # fmt: skip
AvgPool2d = _enter(
    "AvgPool2d", "avg_pool2d", "The mean of each window over the last two axes.", **WINDOWS
)
MaxPool1d = _enter(
    "MaxPool1d", "max_pool1d", "The largest of each window along the last axis.", **LARGEST
)
MaxPool2d = _enter(
    "MaxPool2d", "max_pool2d", "The largest of each window over the last two axes.", **LARGEST
)


def _expect_chance(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _drop(layer: Layer, x: Value) -> Value:
    mask = GENERATOR.rand(*np.shape(bare(x))) >= layer.p
    return COMPOUNDS["dropout"](x, layer.p, layer.training, mask=mask)


Dropout = _enter(
    "Dropout", "dropout",
    "In training each entry is 0 by chance, and the others over 1 - p; x itself after `eval()`.",
    forward=_drop, expects=_expect_chance, printed="p={p}, inplace=False", p=0.5,
)  # fmt: skip

# -- losses ----------------------------------------------------------------------------------------


def _expect_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _warn_of_shapes(layer: Layer, x: Value, target: Value) -> tuple[Value, ...]:
    came, wanted = (np.shape(bare(each)) for each in (x, target))
    if came != wanted:
        warnings.warn(
            f"Using a target size (torch.Size({list(wanted)})) that is different to the input "
            f"size (torch.Size({list(came)})). This will likely lead to incorrect results due "
            "to broadcasting. Please ensure they have the same size.",
            UserWarning,
            stacklevel=3,
        )
    return x, target, layer.reduction


_loss = partial(_enter, reduction="mean", printed="", expects=_expect_reduction)
MSELoss = _loss(
    "MSELoss", "mse_loss", "The mean (or the sum, or each) of (input - target)**2.",
    feed=_warn_of_shapes,
)  # fmt: skip
CrossEntropyLoss = _loss(
    "CrossEntropyLoss", "cross_entropy", "Minus the logarithm of softmax at the right class.\n\n"
    "The input is (classes,) or (n, classes, ...). The target is whole numbers, in that shape\n"
    "without the axis of the classes, or a probability for each entry of the input.",
)  # fmt: skip
BCELoss = _loss("BCELoss", "binary_cross_entropy", "-(y log p + (1 - y) log(1 - p)).")
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "`BCELoss` of sigmoid(input)."
)
L1Loss = _loss("L1Loss", "l1_loss", "The mean (or the sum, or each) of |input - target|.")
SmoothL1Loss = _loss(
    "SmoothL1Loss", "smooth_l1_loss", "d**2 / 2 where |d| < 1, else |d| - 1/2 (Girshick, 2015)."
)
