"""PyTorch's `torch.special`: the ops, by their names."""

from gradcheck.nn.functional import __dir__, __getattr__

__all__ = ["__dir__", "__getattr__"]
