"""PyTorch's `torch.optim`, as much of it as there is here."""

from gradcheck.engine.optimizers import SGD, Adam, Optimizer

__all__ = ["SGD", "Adam", "Optimizer"]
