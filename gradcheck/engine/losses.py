"""Loss functions as modules, in PyTorch's spelling."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcheck.engine.modules import Module
from gradcheck.engine.tensor import bare
from gradcheck.ops import everything

REDUCTIONS = ("mean", "sum", "none")


class _Loss(Module):
    """A loss function with its reduction; `row` is its name in the table of ops.

    Input and target have one shape unless a loss says otherwise. The loss is a number, with the
    reduction "none" one for each entry.
    """

    row: str

    def __init__(self, reduction: str = "mean") -> None:
        """`reduction` is "mean", "sum" or "none"; raises ValueError for another."""
        if reduction not in REDUCTIONS:
            raise ValueError(f"{reduction} is not a valid value for reduction")
        self.reduction = reduction

    def forward(self, given: Any, target: Any) -> Any:
        """The loss."""
        return everything()[self.row](given, target, reduction=self.reduction)

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
    """Minus the logarithm of softmax at the right class; targets are classes or probabilities.

    The input is (classes,) or (n, classes, ...). The target is whole numbers, in that shape without
    the axis of the classes, or a probability for each entry of the input.
    """

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
    """`BCELoss` of sigmoid(input), without its overflow."""

    row = "binary_cross_entropy_with_logits"


class L1Loss(_Loss):
    """The mean (or the sum, or each) of |input - target|."""

    row = "l1_loss"


class SmoothL1Loss(_Loss):
    """d**2 / 2 where |d| < 1, else |d| - 1/2, d being input - target (Girshick, 2015)."""

    row = "smooth_l1_loss"


LOSSES: Mapping[str, type[_Loss]] = {
    loss.__name__: loss
    for loss in (MSELoss, CrossEntropyLoss, BCELoss, BCEWithLogitsLoss, L1Loss, SmoothL1Loss)
}
"""The loss functions, by PyTorch's names."""
