"""PyTorch's `torch.nn`, as much of it as there is here."""

from typing import Any

from gradcheck.engine.layers import APPLIED, LAYERS, LOSSES, Dropout
from gradcheck.engine.modules import Module, ModuleList, Parameter, Sequential
from gradcheck.nn import functional, init, utils

__all__ = ["Dropout", "Module", "ModuleList", "Parameter", "Sequential"]
__all__ += ["functional", "init", "utils", *LAYERS, *APPLIED, *LOSSES]  # noqa: PLE0604 - names


def __getattr__(name: str) -> Any:
    """A layer or a loss, by PyTorch's name."""
    for table in (LAYERS, APPLIED, LOSSES):
        if name in table:
            return table[name]
    raise AttributeError(f"module 'gradcheck.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
