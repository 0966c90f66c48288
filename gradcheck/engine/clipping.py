"""Gradients made smaller before a step: `torch.nn.utils.clip_grad_norm_` and `clip_grad_value_`."""

from collections.abc import Iterable
from math import inf
from typing import Any

from gradcheck.engine.recording import no_grad
from gradcheck.ops import TABLE

SAFE = 1e-6  # PyTorch's, added to the norm that is divided by


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0) -> Any:
    """Scale all gradients by max_norm / (norm + 1e-6) where that is below 1; the norm before.

    The norm is that of all entries together.
    """
    with no_grad():
        grads = _grads(parameters)
        total = _norm(grads, float(norm_type))
        scale = TABLE["minimum"](max_norm / (total + SAFE), 1.0)
        for g in grads:
            g.mul_(scale)
    return total


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Bring each entry of the gradients into [-clip_value, clip_value]."""
    with no_grad():
        for g in _grads(parameters):
            g.copy_(TABLE["clip"](g, -clip_value, clip_value))


def _grads(parameters: Any) -> list[Any]:
    """The gradients that are there; of one parameter its own."""
    given: Iterable[Any] = [parameters] if hasattr(parameters, "grad") else parameters
    return [p.grad for p in given if p.grad is not None]


def _norm(grads: list[Any], p: float) -> Any:
    """The p-norm of all entries together; 0 of none."""
    if not grads:
        return TABLE["sum"](0.0)
    if p == inf:
        largest = [TABLE["max"](TABLE["absolute"](g)) for g in grads]
        return TABLE["max"](TABLE["stack"](largest))
    if p == 2:
        return TABLE["sqrt"](_summed([TABLE["sum"](g * g) for g in grads]))
    return _summed([TABLE["sum"](TABLE["absolute"](g) ** p) for g in grads]) ** (1 / p)


def _summed(parts: list[Any]) -> Any:
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
