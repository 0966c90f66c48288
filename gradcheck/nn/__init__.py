"""PyTorch's `torch.nn`, as much of it as there is here."""

from gradcheck.engine import layers
from gradcheck.engine.layers import *  # noqa: F403 - the layers and losses, by PyTorch's names
from gradcheck.engine.modules import Module, ModuleList, Parameter, Sequential
from gradcheck.nn import functional, init, utils

__all__ = ["Module", "ModuleList", "Parameter", "Sequential", "functional", "init", "utils"]
__all__ += layers.__all__
