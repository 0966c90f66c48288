"""PyTorch's `torch.autograd`: `backward`, `grad`, and functions with a derivative of one's own."""

from gradcheck.autograd import functional
from gradcheck.engine.autograd import backward, grad
from gradcheck.engine.function import Function
from gradcheck.engine.recording import enable_grad, no_grad, set_grad_enabled

__all__ = [
    "Function", "backward", "enable_grad", "functional", "grad", "no_grad", "set_grad_enabled",
]  # fmt: skip
