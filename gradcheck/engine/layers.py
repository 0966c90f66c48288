"""Layers that hold parameters, each a function of the table of ops.

What is drawn comes from the bounds that PyTorch has, and from NumPy's generator.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.modules import Module, Parameter
from gradcheck.engine.tensor import Tensor, apply, bare
from gradcheck.ops import COMPOUNDS, TABLE

Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator, Shape], Any]


def _evenly(bound: float) -> Draw:
    return lambda rng, shape: rng.uniform(-bound, bound, shape)


def _normally(rng: np.random.Generator, shape: Shape) -> Any:
    return rng.standard_normal(shape)


def _ones(rng: np.random.Generator, shape: Shape) -> Any:
    return np.ones(shape)


def _zeros(rng: np.random.Generator, shape: Shape) -> Any:
    return np.zeros(shape)


class Layer(Module):
    """A function of the table of ops that takes parameters; `held` are their names, in order.

    A parameter is None where the layer is made without it.
    """

    row: ClassVar[str]
    held: ClassVar[tuple[str, ...]] = ("weight", "bias")
    weight: Any
    bias: Any

    def _hold(self, seed: int | None, **drawn: tuple[Shape, Draw] | None) -> None:
        """Draw the parameters, in order."""
        rng = np.random.default_rng(GENERATOR.seed_of_layer() if seed is None else seed)
        for name, how in drawn.items():
            setattr(self, name, None if how is None else Parameter(how[1](rng, how[0])))

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """What the function takes; `of` has the parameters as its attributes."""
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        """The function of the inputs and the parameters."""
        return (TABLE.get(self.row) or COMPOUNDS[self.row])(*self.arguments(self, *inputs))


class Linear(Layer):
    """`x @ W.T + b`, from (..., in_features) to (..., out_features).

    Weights are as given, or drawn evenly from ±1/√in_features.
    The seed is the given one, or follows `manual_seed`: another one for each layer.
    """

    row = "linear"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: Any = True,
        *,
        weight: Any = None,
        seed: int | None = None,
    ) -> None:
        """`weight` is (out_features, in_features); `bias` the numbers themselves, True or False.

        Raises ValueError where numbers that are given have another shape.
        """
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        rng = np.random.default_rng(GENERATOR.seed_of_layer() if seed is None else seed)
        drawn = rng.uniform(-bound, bound, (out_features, in_features))
        self.weight = self._parameter("weight", drawn if weight is None else weight, drawn.shape)
        self.bias = None
        if bias is not False and bias is not None:
            numbers = rng.uniform(-bound, bound, out_features) if bias is True else bias
            self.bias = self._parameter("bias", numbers, (out_features,))

    def _parameter(self, name: str, numbers: Any, shape: tuple[int, ...]) -> Tensor:
        values = np.asarray(bare(numbers), dtype=np.float64)
        if values.shape != shape:
            raise ValueError(f"the {name} of this layer has the shape {shape}; {values.shape} came")
        return Parameter(values)

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """The input and both parameters."""
        (x,) = inputs
        return x, of.weight, of.bias

    def forward(self, *inputs: Any) -> Tensor:
        """The layer applied to the last axis of x; raises RuntimeError for another length."""
        (x,) = inputs
        if x.shape[-1] != self.in_features:
            rows = math.prod(x.shape[:-1])
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and "
                f"{self.in_features}x{self.out_features})"
            )
        product = apply(TABLE["matmul"], (x, np.transpose(self.weight)), {})
        return product if self.bias is None else apply(TABLE["add"], (product, self.bias), {})

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return (
            f"Linear(in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None})"
        )


class Embedding(Layer):
    """Rows of a table of weights by their places, from integers (...) to (..., embedding_dim)."""

    row = "embedding"
    held = ("weight",)

    def __init__(self, num_embeddings: int, embedding_dim: int, *, seed: int | None = None) -> None:
        """So many rows of so many numbers, drawn from the normal distribution."""
        self.sizes = num_embeddings, embedding_dim
        self._hold(seed, weight=(self.sizes, _normally))

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """Places and the table."""
        (places,) = inputs
        return places, of.weight

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"Embedding{self.sizes}"


class _Convolution(Layer):
    """A convolution over some axes; weights evenly from ±1/√(channels and places of a window)."""

    axes: ClassVar[int]

    def __init__(  # noqa: PLR0917 - PyTorch's order
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        seed: int | None = None,
    ) -> None:
        """The settings of the function of that name; the padding is with zeros."""
        given = isinstance(kernel_size, tuple | list)
        kernel = tuple(kernel_size) if given else (kernel_size,) * self.axes
        self.settings = stride, padding, dilation, groups
        self.channels, self.kernel = (in_channels, out_channels), kernel
        shape = (out_channels, in_channels // groups, *kernel)
        bound = _evenly(1 / math.sqrt(math.prod(shape[1:])))
        self._hold(seed, weight=(shape, bound), bias=((out_channels,), bound) if bias else None)

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """The input, both parameters, and the settings."""
        (x,) = inputs
        return x, of.weight, of.bias, *self.settings

    def __repr__(self) -> str:
        """As PyTorch prints it: what is not the default is said."""
        stride, padding, dilation, groups = (
            v if k == 3 or isinstance(v, str | tuple) else (v,) * self.axes
            for k, v in enumerate(self.settings)
        )
        said = [*map(str, self.channels), f"kernel_size={self.kernel}", f"stride={stride}"]
        said += [f"padding={padding}"] if padding != (0,) * self.axes else []
        said += [f"dilation={dilation}"] if dilation != (1,) * self.axes else []
        said += [f"groups={groups}"] if groups != 1 else []
        said += [] if self.bias is not None else ["bias=False"]
        return f"{type(self).__name__}({', '.join(said)})"


class Conv1d(_Convolution):
    """Kernels slid along the last axis: of (channels, length), or of a batch of these."""

    row, axes = "conv1d", 1


class Conv2d(_Convolution):
    """Kernels slid over the last two axes: of (channels, height, width), or of a batch of these."""

    row, axes = "conv2d", 2


class LayerNorm(Layer):
    """The last axes less their mean, over the root of their variance; weight and bias an entry.

    Ba, Kiros and Hinton, 2016; the variance is that of all entries (no -1), with `eps` added.
    """

    row = "layer_norm"

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        """The lengths of these axes, or of the last one."""
        given = isinstance(normalized_shape, tuple | list)
        self.shape = tuple(normalized_shape) if given else (normalized_shape,)
        self.eps, self.affine = eps, elementwise_affine
        self._hold(
            0,
            weight=(self.shape, _ones) if elementwise_affine else None,
            bias=(self.shape, _zeros) if elementwise_affine and bias else None,
        )

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """The input, the shape, both parameters."""
        (x,) = inputs
        return x, self.shape, of.weight, of.bias, self.eps

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return (
            f"LayerNorm({self.shape}, eps={self.eps}, elementwise_affine={self.affine}, "
            f"bias={self.bias is not None})"
        )


class _BatchNorm(Layer):
    """Channels less their mean, over the root of their variance: of the batch in training.

    Ioffe and Szegedy, 2015; after `eval()` the running mean and variance are taken instead.
    """

    row = "batch_norm"
    ranks: ClassVar[tuple[int, ...]]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        """So many channels; running means and variances are kept for `eval()`."""
        self.channels, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.tracking = affine, track_running_stats
        kept = (num_features,)
        self._hold(
            0, weight=(kept, _ones) if affine else None, bias=(kept, _zeros) if affine else None
        )
        self.running_mean = tensor(np.zeros(kept)) if self.tracking else None
        self.running_var = tensor(np.ones(kept)) if self.tracking else None

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """Input, running numbers, parameters; raises ValueError for another number of axes."""
        (x,) = inputs
        if np.ndim(bare(x)) not in self.ranks:
            wanted = " or ".join(f"{k}D" for k in self.ranks)
            raise ValueError(f"expected {wanted} input (got {np.ndim(bare(x))}D input)")
        training = self.training or not self.tracking
        if training and math.prod(np.shape(bare(x))) // max(self.channels, 1) == 1:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"torch.Size({list(np.shape(bare(x)))})"
            )
        return (
            x, self.running_mean, self.running_var, of.weight, of.bias, training, self.momentum,
            self.eps,
        )  # fmt: skip

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return (
            f"{type(self).__name__}({self.channels}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.affine}, track_running_stats={self.tracking})"
        )


class BatchNorm1d(_BatchNorm):
    """Of (batch, channels) or (batch, channels, length)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Of (batch, channels, height, width)."""

    ranks = (4,)


class _Cell(Layer):
    """One step of a recurrent network; weights evenly from ±1/√hidden_size.

    From x (..., input_size) and a state (..., hidden_size) to the next state.
    """

    held = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    gates: ClassVar[int]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, seed: int | None = None
    ) -> None:
        """So many numbers in, so many kept from step to step."""
        self.sizes, self.biased = (input_size, hidden_size), bias
        bound, rows = _evenly(1 / math.sqrt(hidden_size)), self.gates * hidden_size
        pair = ((rows,), bound) if bias else None
        self._hold(
            seed,
            weight_ih=((rows, input_size), bound),
            weight_hh=((rows, hidden_size), bound),
            bias_ih=pair,
            bias_hh=pair,
        )

    def _begin(self, x: Any) -> Any:
        """The state before the first step: zeros."""
        return np.zeros((*np.shape(bare(x))[:-1], self.sizes[1]))

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """Input, state (zeros where none is given), parameters."""
        x, *state = inputs
        begin = state[0] if state and state[0] is not None else self._begin(x)
        return x, begin, *(getattr(of, name) for name in self.held)

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        without = "" if self.biased else ", bias=False"
        return f"{type(self).__name__}({', '.join(map(str, self.sizes))}{without})"


class RNNCell(_Cell):
    """tanh(U x + b + W h + c): Elman, 1990."""

    row, gates = "rnn_tanh_cell", 1


class GRUCell(_Cell):
    """Three gates, whose formulas `gru_cell` has (Cho and others, 2014)."""

    row, gates = "gru_cell", 3


class LSTMCell(_Cell):
    """Four gates and a state (h, c); `lstm_cell` has the formulas (Hochreiter and others, 1997)."""

    row, gates = "lstm_cell", 4

    def _begin(self, x: Any) -> Any:
        return super()._begin(x), super()._begin(x)


class Dropout(Module):
    """In training each entry is 0 by chance, and the others over 1 - p; x itself after `eval()`."""

    def __init__(self, p: float = 0.5) -> None:
        """The chance of 0; raises ValueError, in PyTorch's words, for what is none."""
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p

    def forward(self, x: Any) -> Any:
        """The function of that name, with a mask that is drawn anew."""
        mask = GENERATOR.rand(*np.shape(bare(x))) >= self.p
        return COMPOUNDS["dropout"](x, self.p, self.training, mask=mask)

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"Dropout(p={self.p}, inplace=False)"


LAYERS: Mapping[str, type[Layer]] = {
    each.__name__: each
    for each in (
        Linear, Embedding, Conv1d, Conv2d, LayerNorm, BatchNorm1d, BatchNorm2d, RNNCell, GRUCell,
        LSTMCell,
    )
}  # fmt: skip
"""The layers, by PyTorch's names."""
