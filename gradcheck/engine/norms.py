"""Layers that normalise: by the last axes of an entry, or by the channels of a batch."""

import math
from typing import Any, ClassVar

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.holding import Layer, ones, zeros
from gradcheck.engine.tensor import bare


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
        self.hold(
            0,
            weight=(self.shape, ones) if elementwise_affine else None,
            bias=(self.shape, zeros) if elementwise_affine and bias else None,
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
        self.hold(
            0, weight=(kept, ones) if affine else None, bias=(kept, zeros) if affine else None
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
