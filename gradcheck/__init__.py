"""gradcheck: three independent opinions on a derivative, and the name of the mistake.

The engine (`tensor`, `grad`, `no_grad`, `Function`, ...), `check`, and every op (`sin`, `relu`,
`softmax`, `erf`, ...) are found here under PyTorch's names, so that `import gradcheck as torch`
runs a lesson; each is imported when it is first asked for.
"""

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck import autograd, func, linalg, nn, optim, special
    from gradcheck.engine.autograd import grad, tensor
    from gradcheck.engine.factories import manual_seed
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
    "autograd",
    "check",
    "enable_grad",
    "func",
    "grad",
    "is_grad_enabled",
    "linalg",
    "manual_seed",
    "nn",
    "no_grad",
    "optim",
    "set_grad_enabled",
    "special",
    "tensor",
]

_HOMES = {
    "Function": "engine.function",
    "Tensor": "engine.tensor",
    "check": "testing",
    "enable_grad": "engine.recording",
    "grad": "engine.autograd",
    "inference_mode": "engine.recording",
    "is_grad_enabled": "engine.recording",
    "manual_seed": "engine.factories",
    "no_grad": "engine.recording",
    "set_grad_enabled": "engine.recording",
    "tensor": "engine.autograd",
}
_MODULES = ("autograd", "func", "linalg", "nn", "optim", "special")
_ASKED = ("isfinite", "isinf", "isnan")
"""Questions about numbers: what NumPy answers, an array of truths."""
_DTYPES = {
    "float": "float32",  # as PyTorch has it; what says nothing is float64
    "float32": "float32",
    "float64": "float64",
    "double": "float64",
    "int": "int32",
    "int32": "int32",
    "int64": "int64",
    "long": "int64",
    "bool": "bool",
}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext gradcheck`: `%%gradcheck` judges a cell, and tensors and verdicts are shown."""
    import_module("gradcheck.notebook").register(shell)


def __dir__() -> list[str]:
    """The public names and every op: a star import brings the first alone, `sum` stays Python's."""
    return sorted({*__all__, *_ASKED, *_DTYPES, *_factories(), *_ops(), "__version__"})


def __getattr__(name: str) -> Any:
    """The public name, PyTorch's factory or dtype, or the op of that name."""
    if name in _HOMES:
        return getattr(import_module(f"gradcheck.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"gradcheck.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version("gradcheck")
    if name.startswith("_"):
        raise AttributeError(f"module 'gradcheck' has no attribute {name!r}")
    if name in _DTYPES:
        return import_module("numpy").dtype(_DTYPES[name])
    if name in _ASKED:
        return getattr(import_module("numpy"), name)
    found = _factories().get(name) or import_module("gradcheck.ops.pytorch").pytorchs(name)
    if found is None:
        raise AttributeError(f"module 'gradcheck' has no attribute {name!r} - {_advice(name)}")
    return found


def _factories() -> dict[str, Any]:
    """`ones`, `randn` and their like."""
    return import_module("gradcheck.engine.factories").FACTORIES  # type: ignore[no-any-return]


def _ops() -> dict[str, Any]:
    """Every op, under each of its names."""
    return import_module("gradcheck.ops").everything()  # type: ignore[no-any-return]


def _advice(name: str) -> str:
    """What was probably meant, and where to look."""
    close = get_close_matches(name, dir(import_module("gradcheck")), n=1)
    meant = f"did you mean `{close[0]}`? " if close else ""
    return f"{meant}`dir(gradcheck)` lists what there is"
