"""gradcheck: three independent opinions on a derivative, and the name of the mistake.

The engine (`tensor`, `grad`, `no_grad`, `Function`, ...), `check`, and every op that NumPy does not
have (`relu`, `softmax`, `erf`, ...) are found here; each is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck.engine.autograd import grad, tensor
    from gradcheck.engine.function import Function
    from gradcheck.engine.recording import (
        enable_grad,
        is_grad_enabled,
        no_grad,
        set_grad_enabled,
    )
    from gradcheck.engine.tensor import Tensor
    from gradcheck.testing import check

__all__ = [
    "Function",
    "Tensor",
    "check",
    "enable_grad",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
    "tensor",
]

_HOMES = {
    "Function": "engine.function",
    "Tensor": "engine.tensor",
    "check": "testing",
    "enable_grad": "engine.recording",
    "grad": "engine.autograd",
    "is_grad_enabled": "engine.recording",
    "no_grad": "engine.recording",
    "set_grad_enabled": "engine.recording",
    "tensor": "engine.autograd",
}


def __dir__() -> list[str]:
    """The public names and every op: a star import brings the first alone, `sum` stays Python's."""
    return sorted({*__all__, *import_module("gradcheck.ops").TABLE})


def __getattr__(name: str) -> Any:
    """The public name, or the op of that name."""
    if name in _HOMES:
        return getattr(import_module(f"gradcheck.{_HOMES[name]}"), name)
    if not name.startswith("_"):
        row = import_module("gradcheck.ops").TABLE.get(name)
        if row is not None:
            return row
    raise AttributeError(f"module 'gradcheck' has no attribute {name!r}")
