"""The engine: reverse mode on NumPy arrays, with PyTorch's semantics."""

from pathlib import Path

from gradcheck.engine.compiled import import_sources, is_stale

if is_stale(Path(__file__).parent):
    import_sources()


from gradcheck.engine.autograd import backward, grad, tensor
from gradcheck.engine.function import Function
from gradcheck.engine.layers import CrossEntropyLoss, Linear, MSELoss
from gradcheck.engine.optimizers import SGD, Adam
from gradcheck.engine.recording import (
    enable_grad,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    watching,
)
from gradcheck.engine.tensor import Tensor

__all__ = [
    "SGD", "Adam", "CrossEntropyLoss", "Function", "Linear", "MSELoss", "Tensor", "backward",
    "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled", "tensor", "watching",
]  # fmt: skip
