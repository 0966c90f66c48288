"""PyTorch's `torch.nn`, as much of it as there is here."""

from gradcheck.engine.layers import (
    LAYERS,
    STATELESS,
    Dropout,
    Module,
    ModuleList,
    Parameter,
    Sequential,
)
from gradcheck.nn import functional, init, utils

NAMES = LAYERS | STATELESS
globals().update(NAMES)
__all__ = ["Dropout", "Module", "ModuleList", "Parameter", "Sequential"]
__all__ += ["functional", "init", "utils"]
__all__.extend(NAMES)


def __dir__() -> list[str]:
    return sorted(__all__)
