"""PyTorch's `torch.nn`, as much of it as there is here."""

from gradcheck.engine.applied import (
    ELU,
    GELU,
    AvgPool1d,
    AvgPool2d,
    Flatten,
    LeakyReLU,
    LogSoftmax,
    MaxPool1d,
    MaxPool2d,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from gradcheck.engine.cells import GRUCell, LSTMCell, RNNCell
from gradcheck.engine.layers import Conv1d, Conv2d, Dropout, Embedding, Linear
from gradcheck.engine.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    MSELoss,
    SmoothL1Loss,
)
from gradcheck.engine.modules import Module, ModuleList, Parameter, Sequential
from gradcheck.engine.norms import BatchNorm1d, BatchNorm2d, LayerNorm
from gradcheck.nn import functional, init, utils

__all__ = [
    "ELU",
    "GELU",
    "AvgPool1d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GRUCell",
    "L1Loss",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool1d",
    "MaxPool2d",
    "Module",
    "ModuleList",
    "Parameter",
    "RNNCell",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Tanh",
    "functional",
    "init",
    "utils",
]
