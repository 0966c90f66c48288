"""PyTorch's `torch.nn.utils`, as much of it as there is here."""

from gradcheck.engine.optimizers import clip_grad_norm_, clip_grad_value_

__all__ = ["clip_grad_norm_", "clip_grad_value_"]
