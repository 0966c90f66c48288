"""PyTorch's `torch.nn`, as much of it as there is here."""

from gradcheck.engine.modules import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    Linear,
    Module,
    MSELoss,
    Parameter,
    ReLU,
    Sequential,
    Sigmoid,
    SmoothL1Loss,
    Tanh,
)
from gradcheck.nn import functional, init, utils

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "L1Loss",
    "Linear",
    "MSELoss",
    "Module",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "SmoothL1Loss",
    "Tanh",
    "functional",
    "init",
    "utils",
]
