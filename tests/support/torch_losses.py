"""The losses of `losses` run by PyTorch: their words, and the gradients that it gives."""

from typing import Any

import numpy as np
import pytest

from tests.support.losses import Loss

torch = pytest.importorskip("torch")


def _reduced(function: Any) -> Any:
    """A reduction with NumPy's words."""

    def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

    return call


WORDS = {
    "sum": _reduced(torch.sum),
    "mean": _reduced(torch.mean),
    "logsumexp": _reduced(torch.logsumexp),
    "softmax": lambda x, axis=-1: torch.softmax(x, dim=axis),
    "log_softmax": lambda x, axis=-1: torch.log_softmax(x, dim=axis),
    "softplus": torch.nn.functional.softplus,
    "gelu": torch.nn.functional.gelu,
    "maximum": lambda a, b: torch.maximum(torch.as_tensor(a).double(), b),
    "var": lambda x: torch.var(x, correction=0),
    "norm": torch.linalg.norm,
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "solve": torch.linalg.solve,
    "sqrt": lambda x: torch.sqrt(torch.as_tensor(x).double()),
} | {
    name: getattr(torch, name)
    for name in ("log", "exp", "sigmoid", "tanh", "relu", "abs", "cosh", "trace", "einsum")
}


def gradients(loss: Loss, numbers: dict[str, np.ndarray]) -> dict[str, Any]:
    """PyTorch's gradient by every input that is asked for; the programs are our own texts."""
    leaves = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in numbers.items()
    }
    *lines, last = loss.program.split("\n")
    names: dict[str, Any] = {**WORDS, **leaves}
    exec("\n".join(lines), {"__builtins__": {}}, names)
    eval(last, {"__builtins__": {}}, names).backward()
    return {name: leaves[name].grad.numpy() for name in loss.wrt.split()}
