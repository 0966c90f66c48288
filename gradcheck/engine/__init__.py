"""The engine: reverse mode on NumPy arrays, with PyTorch's semantics."""

from gradcheck.engine.anomaly import detect_anomaly, set_detect_anomaly
from gradcheck.engine.autograd import backward, grad, tensor
from gradcheck.engine.function import Function, once_differentiable
from gradcheck.engine.layers import Linear
from gradcheck.engine.losses import MSELoss
from gradcheck.engine.optimizers import SGD, Adam
from gradcheck.engine.recording import (
    is_grad_enabled,
    no_grad,
    watched,
)
from gradcheck.engine.tensor import Tensor

__all__ = [
    "SGD",
    "Adam",
    "Function",
    "Linear",
    "MSELoss",
    "Tensor",
    "backward",
    "detect_anomaly",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "tensor",
    "watched",
]
