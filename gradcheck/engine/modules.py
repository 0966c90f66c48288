"""Layers and losses in PyTorch's spelling: `Linear`, `MSELoss`, `CrossEntropyLoss`."""

import math
import warnings
from typing import Any

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.landing import clear
from gradcheck.engine.tensor import Tensor, apply, bare
from gradcheck.ops import TABLE

REDUCTIONS = ("mean", "sum", "none")


class Linear:
    """`x @ W.T + b`; weights as given, or drawn evenly from ±1/√in_features by a seed."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: Any = True,
        *,
        weight: Any = None,
        seed: int = 0,
    ) -> None:
        """`weight` is (out_features, in_features); `bias` the numbers themselves, True or False."""
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        rng = np.random.default_rng(seed)
        drawn = rng.uniform(-bound, bound, (out_features, in_features))
        self.weight = self._parameter("weight", drawn if weight is None else weight, drawn.shape)
        self.bias: Tensor | None = None
        if bias is not False and bias is not None:
            numbers = rng.uniform(-bound, bound, out_features) if bias is True else bias
            self.bias = self._parameter("bias", numbers, (out_features,))

    def _parameter(self, name: str, numbers: Any, shape: tuple[int, ...]) -> Tensor:
        values = np.asarray(bare(numbers), dtype=np.float64)
        if values.shape != shape:
            raise ValueError(f"the {name} of this layer has the shape {shape}; {values.shape} came")
        return tensor(values, requires_grad=True)

    def __call__(self, x: Any) -> Tensor:
        """The layer applied to the last axis of x."""
        if x.shape[-1] != self.in_features:
            rows = math.prod(x.shape[:-1])
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and "
                f"{self.in_features}x{self.out_features})"
            )
        product = apply(TABLE["matmul"], (x, np.transpose(self.weight)), {})
        return product if self.bias is None else apply(TABLE["add"], (product, self.bias), {})

    forward = __call__

    def parameters(self) -> list[Tensor]:
        """Weight and bias."""
        return [self.weight] if self.bias is None else [self.weight, self.bias]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        clear(self.parameters(), set_to_none)

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return (
            f"Linear(in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None})"
        )


class _Loss:
    """A loss function with its reduction."""

    def __init__(self, reduction: str = "mean") -> None:
        """`reduction` is "mean", "sum" or "none"."""
        if reduction not in REDUCTIONS:
            raise ValueError(f"{reduction} is not a valid value for reduction")
        self.reduction = reduction

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"{type(self).__name__}()"

    def parameters(self) -> list[Tensor]:
        """A loss has none."""
        return []


class MSELoss(_Loss):
    """The mean (or the sum, or each) of (input - target)**2."""

    def __call__(self, given: Any, target: Any) -> Tensor:
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
        return TABLE["mse_loss"](given, target, reduction=self.reduction)  # type: ignore[no-any-return]


class CrossEntropyLoss(_Loss):
    """Minus the logarithm of softmax at the right class; targets are classes or probabilities."""

    def __call__(self, given: Any, target: Any) -> Tensor:
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
        return TABLE["cross_entropy"](given, target, reduction=self.reduction)  # type: ignore[no-any-return]
