"""`torch.nn`: modules, the user's own too, and a table of layers.

A layer is a row of ops with settings, what it holds, and its print. One class draws (from PyTorch's
bounds, by NumPy's generator), holds, calls and prints all of them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from inspect import Parameter as Argument
from inspect import Signature
from itertools import groupby
from textwrap import indent
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from gradcheck.engine.advice import warn
from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.tape import clear
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.engine.writing import copy_
from gradcheck.ops import COMPOUNDS, TABLE
from gradcheck.values import Params, Value


def Parameter(data: Value, requires_grad: bool = True) -> Tensor:  # noqa: N802 - PyTorch's name
    """A leaf with these numbers that the module which holds it counts among its parameters."""
    numbers = data.detach() if isinstance(data, Tensor) else data
    return mark(tensor(numbers, requires_grad=requires_grad))


def mark(t: Tensor) -> Tensor:
    """The tensor itself, from now on a parameter."""
    t._parameter = True
    return t


class Module:
    """Subclass it with `__init__` and `forward`; parameters and modules are found as attributes."""

    training = True
    """What `train()` and `eval()` say; a normalisation of batches looks at it."""

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Value, **kwargs: Value) -> Value:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    _buffers: tuple[str, ...] = ()
    """Names of tensors that are kept with the parameters and do not learn."""

    def _walk(
        self, prefix: str, seen: set[int], *, buffers: bool = False
    ) -> Iterator[tuple[str, Value]]:
        """The parameters and modules inside, each once, a module's own parameters first."""
        for name, value in sorted(vars(self).items(), key=lambda own: isinstance(own[1], Module)):
            inner, kept = isinstance(value, Module), buffers and name in self._buffers
            held = inner or (isinstance(value, Tensor) and (value._parameter or kept))
            if held and id(value) not in seen:
                seen.add(id(value))
                path = f"{prefix}.{name}" if prefix else name
                yield path, value
                if inner:
                    yield from value._walk(path, seen, buffers=buffers)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every parameter once, with the path of attributes that leads to it."""
        return ((p, t) for p, t in self._walk(prefix, {id(self)}) if isinstance(t, Tensor))

    def parameters(self) -> list[Tensor]:
        return [value for _, value in self.named_parameters()]

    @property
    def _modules(self) -> dict[str, "Module"]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Module)}

    def children(self) -> list["Module"]:
        return list(self._modules.values())

    def modules(self) -> list["Module"]:
        return [self, *(m for _, m in self._walk("", {id(self)}) if isinstance(m, Module))]

    def requires_grad_(self, requires_grad: bool = True) -> "Module":
        """Itself, its parameters learning from now on or no longer."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and buffers by their paths, in the memory in which they are."""
        held = self._walk("", {id(self)}, buffers=True)
        return {path: value.detach() for path, value in held if isinstance(value, Tensor)}

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> None:
        held = self.state_dict()
        if held.keys() != state_dict.keys():
            raise KeyError(
                f"the parameters here are {', '.join(held)}; {', '.join(state_dict)} came"
            )
        for path, value in held.items():
            copy_(value, state_dict[path])

    def zero_grad(self, set_to_none: bool = True) -> None:
        clear(self.parameters(), set_to_none)

    def train(self, mode: bool = True) -> "Module":
        """Itself, from now on in training or not, with all that it holds."""
        self.training = mode
        for child in self.children():  # who keeps its statistics frozen has a `train` of its own
            child.train(mode)
        return self

    def eval(self) -> "Module":
        return self.train(False)

    def _print_members(self) -> list[str]:
        return [f"({name}): {value!r}\n" for name, value in self._modules.items()]

    def __repr__(self) -> str:
        lines = self._print_members()
        return f"{type(self).__name__}({chr(10) * bool(lines)}{indent(''.join(lines), '  ')})"


class Sequential(Module):
    """Modules one after the other; `net[0]` is the first."""

    def __init__(self, *modules: Value) -> None:
        """The modules, in the order in which they are applied; or a dict of them by name."""
        one = modules[0] if len(modules) == 1 else None
        for name, module in one.items() if isinstance(one, dict) else enumerate(modules):
            setattr(self, str(name), module)

    def forward(self, x: Value) -> Value:
        for module in self:
            x = module(x)
        return x

    def _list_held(self) -> list[tuple[str, Value]]:
        own = vars(self).items()
        return [held for held in own if held[0].isdigit() or isinstance(held[1], Module)]

    def __iter__(self) -> Iterator[Value]:
        return (each for _, each in self._list_held())

    def __len__(self) -> int:
        return len(self._list_held())

    def __getitem__(self, k: int | slice) -> Value:
        held: Value = self._list_held()[k]
        return type(self)(dict(held)) if isinstance(k, slice) else held[1]

    def __setitem__(self, k: int, module: Value) -> None:
        setattr(self, self._list_held()[k][0], module)

    def append(self, module: Value) -> Self:
        setattr(self, str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Value]) -> Self:
        for module in modules:
            self.append(module)
        return self


class ModuleList(Sequential):
    """Modules in a list, whose parameters count; what they do is up to the module around."""

    forward = Module.forward  # refused, as PyTorch's is

    def __init__(self, modules: Iterable[Value] = ()) -> None:
        super().__init__(*(modules.values() if isinstance(modules, dict) else modules))

    def _print_members(self) -> list[str]:
        lines, k = [], 0
        for text, same in groupby(map(repr, self)):
            n = len(list(same))
            lines.append(f"({k}): {text}\n" if n == 1 else f"({k}-{k + n - 1}): {n} x {text}\n")
            k += n
        return lines


# -- layers ----------------------------------------------------------------------------------------

IN_PLACE = frozenset({"relu", "leaky_relu", "elu", "silu", "selu", "celu", "relu6", "hardtanh"})
"""What PyTorch can write over its input: `ReLU(True)`, `F.relu(x, inplace=True)`."""

Draw = Callable[[np.random.Generator, tuple[int, ...]], Value]
Held = dict[str, tuple[tuple[int, ...], Draw] | None]


class Layer(Module):
    """A function of the table of ops as a module.

    `holds` makes of the settings the shape and the draw of each parameter (of running numbers too,
    which are no parameters), None where there is none; it refuses settings. The function is called
    with what `feed` makes of the layer and its inputs, and with what `passes` names of the layer.
    """

    row: ClassVar[str]
    settings: ClassVar[Params]
    held: ClassVar[tuple[str, ...]]
    holds: ClassVar[Callable[..., Held]]
    feed: ClassVar[Callable[..., tuple[Value, ...]]]
    passes: ClassVar[tuple[str, ...]]
    printed: ClassVar[str | Callable[..., str]]
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
        held = self.holds(**self.chosen)
        self._buffers = tuple(name for name in held if name.startswith("running"))
        vars(self).update({k: v for k, v in self.chosen.items() if k not in held})
        seed = bound.arguments.get("seed", 0)
        rng = np.random.default_rng(GENERATOR.seed_layer() if seed is None else seed)
        vars(self).update(dict.fromkeys(held))
        for name, plan in held.items():
            if plan is None:
                continue
            (shape, draw), given = plan, self.chosen.get(name)
            values = draw(rng, shape)
            if given is not None and given is not True:
                values = np.asarray(unwrap(given), dtype=np.float64)
            if values.shape != shape:
                raise ValueError(
                    f"the {name} of this layer has the shape {shape}; {values.shape} came"
                )
            setattr(self, name, (Tensor if name in self._buffers else Parameter)(values))

    def forward(self, *inputs: Value) -> Value:
        if self.writes and isinstance(inputs[0], Tensor):
            return getattr(inputs[0], f"{self.row}_")(**self.chosen)
        function: Value = COMPOUNDS.get(self.row) or TABLE[self.row]
        own = {name: getattr(self, name) for name in self.passes}
        return function(*self.feed(self, *inputs), **own)

    def __repr__(self) -> str:
        shown = {name: vars(self).get(name, value) for name, value in self.chosen.items()}
        if "bias" in self.held:
            shown["bias"] = self.bias is not None
        return self.spell(shown, writes=self.writes)

    @classmethod
    def spell(cls, shown: Params, *, writes: bool = False) -> str:
        said = cls.printed if isinstance(cls.printed, str) else cls.printed(**shown)
        words = [said.format_map(shown)] if said else []
        return f"{cls.__name__}({', '.join([*words, *['inplace=True'] * writes])})"


LAYERS: dict[str, type[Layer]] = {}
"""The layers with parameters, by PyTorch's names."""
STATELESS: dict[str, type[Layer]] = {}
"""Functions as modules, losses too."""


def _say_all(**chosen: Value) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in chosen.items())


def _repeat(setting: Value, axes: int) -> Value:
    return setting if isinstance(setting, str | tuple) else (setting,) * axes


USUAL: Params = {
    "holds": lambda **chosen: {}, "feed": lambda layer, *inputs: inputs, "printed": _say_all,
}  # fmt: skip


def enter(
    table: dict[str, type[Layer]],
    name: str,
    row: str,
    *,
    passes: str | None = None,
    draws: bool = False,
    **own: Value,
) -> type[Layer]:
    """Make the class of a layer; settings in PyTorch's order, `...` where one has to be given."""
    cells = {key: own.pop(key, usual) for key, usual in USUAL.items()}
    place, named = Argument.POSITIONAL_OR_KEYWORD, Argument.KEYWORD_ONLY
    taken = [Argument(k, place, default=Argument.empty if v is ... else v) for k, v in own.items()]
    taken.append(Argument("inplace", place if row in IN_PLACE else named, default=False))
    taken += [Argument("seed", named, default=None)] * draws
    table[name] = type(name, (Layer,), {
        "__doc__": f"PyTorch's module `{name}`, by the op `{row}`.",
        "__module__": __name__, "__signature__": Signature(taken), "row": row, "settings": own,
        "held": tuple(cells["holds"](**{k: 1 if v is ... else v for k, v in own.items()})),
        "passes": tuple(own if passes is None else passes.split()),
        **{k: staticmethod(cell) if callable(cell) else cell for k, cell in cells.items()},
    })  # fmt: skip
    return table[name]


# -- layers with parameters ------------------------------------------------------------------------

ONES: Draw = lambda rng, shape: np.ones(shape)
ZEROS: Draw = lambda rng, shape: np.zeros(shape)


def _draw_evenly(count: int) -> Draw:
    bound = 1 / math.sqrt(count) if count else 0.0
    return lambda rng, shape: rng.uniform(-bound, bound, shape)


def _hold_linear(in_features: int, out_features: int, bias: Value, weight: Value) -> Held:
    draw, biased = _draw_evenly(in_features), bias is not False and bias is not None
    held: Held = {"weight": ((out_features, in_features), draw)}
    return held | {"bias": ((out_features,), draw) if biased else None}


def _hold_kernels(axes: int, kernel_size: Value, bias: bool, **sizes: Value) -> Held:
    channels, inside = sizes["out_channels"], sizes["in_channels"] // sizes["groups"]
    shape = (channels, inside, *_repeat(kernel_size, axes))
    draw = _draw_evenly(math.prod(shape[1:]))
    return {"weight": (shape, draw), "bias": ((channels,), draw) if bias else None}


def _say_kernels(axes: int, in_channels: int, out_channels: int, **rest: Value) -> str:
    usual = {"padding": _repeat(0, axes), "dilation": _repeat(1, axes), "groups": 1, "bias": True}
    said = {k: v if k in ("groups", "bias") else _repeat(v, axes) for k, v in rest.items()}
    shown = [f"{k}={v}" for k, v in said.items() if v != usual.get(k)]
    return ", ".join([f"{in_channels}, {out_channels}", *shown])


def _hold_scale(shape: Value, weight: bool, bias: bool) -> Held:
    shape = _repeat(shape, 1)
    return {"weight": (shape, ONES) if weight else None, "bias": (shape, ZEROS) if bias else None}


def _hold_batch_norm(
    num_features: int, affine: bool, track_running_stats: bool, **_: Value
) -> Held:
    plans = ((num_features,), ZEROS), ((num_features,), ONES)
    running = plans if track_running_stats else (None, None)
    own = _hold_scale(num_features, affine, affine)
    return own | dict(zip(("running_mean", "running_var"), running, strict=True))


def _feed_batch_norm(ranks: tuple[int, ...], layer: Layer, x: Value) -> tuple[Value, ...]:
    shape = np.shape(unwrap(x))
    if len(shape) not in ranks:
        wanted = " or ".join(f"{k}D" for k in ranks)
        raise ValueError(f"expected {wanted} input (got {len(shape)}D input)")
    training = layer.training or not layer.track_running_stats
    if training and math.prod(shape) // max(layer.num_features, 1) == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"torch.Size({list(shape)})"
        )
    return x, layer.running_mean, layer.running_var, layer.weight, layer.bias, training


def _hold_cell(gates: int, input_size: int, hidden_size: int, bias: bool) -> Held:
    draw, rows = _draw_evenly(hidden_size), gates * hidden_size
    held: Held = {"weight_ih": ((rows, input_size), draw), "weight_hh": ((rows, hidden_size), draw)}
    return held | dict.fromkeys(("bias_ih", "bias_hh"), ((rows,), draw) if bias else None)


def _feed_cell(layer: Layer, x: Value, state: Value = None) -> tuple[Value, ...]:
    if state is None:
        zero = np.zeros((*np.shape(unwrap(x))[:-1], layer.hidden_size))
        state = (zero, zero) if layer.row == "lstm_cell" else zero
    return x, state, *(getattr(layer, name) for name in layer.held)


holding = partial(enter, LAYERS)
holding(
    "Linear", "linear", holds=_hold_linear, draws=True, passes="weight bias",
    printed="in_features={in_features}, out_features={out_features}, bias={bias}",
    in_features=..., out_features=..., bias=True, weight=None,
)  # fmt: skip
holding(
    "Embedding", "embedding", draws=True, passes="weight",
    holds=lambda **sizes: {"weight": (tuple(sizes.values()), np.random.Generator.standard_normal)},
    printed="{num_embeddings}, {embedding_dim}", num_embeddings=..., embedding_dim=...,
)  # fmt: skip
for axes, ranks in ((1, (2, 3)), (2, (4,))):
    holding(
        f"Conv{axes}d", f"conv{axes}d", holds=partial(_hold_kernels, axes), draws=True,
        printed=partial(_say_kernels, axes), passes="weight bias stride padding dilation groups",
        in_channels=..., out_channels=..., kernel_size=..., stride=1, padding=0, dilation=1,
        groups=1, bias=True,
    )  # fmt: skip
    holding(
        f"BatchNorm{axes}d", "batch_norm", holds=_hold_batch_norm,
        feed=partial(_feed_batch_norm, ranks), passes="momentum eps",
        printed="{num_features}, eps={eps}, momentum={momentum}, affine={affine}, "
        "bias={affine}, track_running_stats={track_running_stats}",
        num_features=..., eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
    )  # fmt: skip
holding(
    "LayerNorm", "layer_norm", passes="normalized_shape weight bias eps",
    holds=lambda normalized_shape, eps, elementwise_affine, bias: _hold_scale(
        normalized_shape, elementwise_affine, elementwise_affine and bias
    ),
    printed=lambda normalized_shape, **rest: f"{_repeat(normalized_shape, 1)}, {_say_all(**rest)}",
    normalized_shape=..., eps=1e-5, elementwise_affine=True, bias=True,
)  # fmt: skip
for cell, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    holding(
        f"{cell}Cell", "rnn_tanh_cell" if cell == "RNN" else f"{cell.lower()}_cell", passes="",
        holds=partial(_hold_cell, gates), feed=_feed_cell, draws=True,
        printed=lambda bias, **_: "{input_size}, {hidden_size}" + ", bias=False" * (not bias),
        input_size=..., hidden_size=..., bias=True,
    )  # fmt: skip

# -- functions without parameters ------------------------------------------------------------------

applied = partial(enter, STATELESS)
for name in ("ReLU", "Tanh", "Sigmoid", "SiLU", "SELU", "LogSigmoid"):
    applied(name, name.lower())
applied("Softplus", "softplus", beta=1.0)
applied("LeakyReLU", "leaky_relu", negative_slope=0.01)
applied("ELU", "elu", alpha=1.0)
applied("GELU", "gelu", approximate="none")
applied("Softmax", "softmax", dim=...)
applied("LogSoftmax", "log_softmax", dim=...)
applied("Flatten", "flatten", start_dim=1, end_dim=-1)
WINDOWS: Params = {"kernel_size": ..., "stride": None, "padding": 0}
_say_each = lambda **how: ", ".join(f"{k}={_repeat(v, 1)}" for k, v in how.items())
applied("AvgPool1d", "avg_pool1d", **WINDOWS, printed=_say_each)
applied("AvgPool2d", "avg_pool2d", **WINDOWS)
applied("MaxPool1d", "max_pool1d", **WINDOWS, dilation=1, ceil_mode=False)
applied("MaxPool2d", "max_pool2d", **WINDOWS, dilation=1, ceil_mode=False)


def _expect_chance(p: float) -> Held:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return {}


def _feed_dropout(layer: Layer, x: Value) -> tuple[Value, ...]:
    if not layer.training or layer.p in (0, 1):
        return x, 0.0 if layer.training and layer.p else 1.0
    return x, (GENERATOR.rand(*np.shape(unwrap(x))) >= layer.p) / (1 - layer.p)


Dropout = enter(  # what draws at every call is no function
    {}, "Dropout", "multiply", holds=_expect_chance, feed=_feed_dropout, passes="",
    printed="p={p}, inplace=False", p=0.5,
)  # fmt: skip

# -- losses ----------------------------------------------------------------------------------------


def _warn_of_shapes(layer: Layer, x: Value, target: Value) -> tuple[Value, ...]:
    came, wanted = (np.shape(unwrap(each)) for each in (x, target))
    if came != wanted:
        warn(
            f"Using a target size (torch.Size({list(wanted)})) that is different to the input "
            f"size (torch.Size({list(came)})). This will likely lead to incorrect results due "
            "to broadcasting. Please ensure they have the same size."
        )
    return x, target


loss = partial(enter, STATELESS, reduction="mean", printed="")
loss("MSELoss", "mse_loss", feed=_warn_of_shapes)
loss("L1Loss", "l1_loss")
loss("SmoothL1Loss", "smooth_l1_loss", beta=1.0)
loss("HuberLoss", "huber_loss", delta=1.0)
weighted = partial(enter, STATELESS, printed="", weight=None)
weighted("BCELoss", "binary_cross_entropy", reduction="mean")
weighted("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", reduction="mean", pos_weight=None)
weighted("NLLLoss", "nll_loss", ignore_index=-100, reduction="mean")
weighted(
    "CrossEntropyLoss", "cross_entropy", ignore_index=-100, reduction="mean", label_smoothing=0.0
)
globals().update(LAYERS | STATELESS)  # where `pickle` looks for them
