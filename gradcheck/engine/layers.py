"""Products, embeddings, convolutions, dropout; the table of all layers that hold parameters."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from gradcheck.engine.cells import GRUCell, LSTMCell, RNNCell
from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.holding import Layer, evenly, normally
from gradcheck.engine.modules import Module, Parameter
from gradcheck.engine.norms import BatchNorm1d, BatchNorm2d, LayerNorm
from gradcheck.engine.tensor import Tensor, apply, bare
from gradcheck.ops import COMPOUNDS, TABLE


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
        self.hold(seed, weight=(self.sizes, normally))

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
        bound = evenly(1 / math.sqrt(math.prod(shape[1:])))
        self.hold(seed, weight=(shape, bound), bias=((out_channels,), bound) if bias else None)

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
