"""gradcheck: three independent opinions on a derivative, and the name of the mistake.

The engine (`tensor`, `grad`, `no_grad`, `Function`, ...), `check`, and every op (`sin`, `relu`,
`softmax`, `erf`, ...) are found here under PyTorch's names, so that `import gradcheck as torch`
runs a lesson; each is imported when it is first asked for.
"""

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck import autograd, func, linalg, nn, optim, special
    from gradcheck.engine.autograd import grad, tensor
    from gradcheck.engine.factories import manual_seed
    from gradcheck.engine.function import Function
    from gradcheck.engine.recording import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
    from gradcheck.engine.tensor import Tensor
    from gradcheck.testing import check

__all__ = [
    "Function", "Tensor", "autograd", "check", "enable_grad", "func", "grad", "is_grad_enabled",
    "linalg", "manual_seed", "nn", "no_grad", "optim", "set_grad_enabled", "special", "tensor",
]  # fmt: skip

_HOMES = {
    "engine.autograd": ("grad", "tensor"),
    "engine.factories": ("manual_seed",),
    "engine.function": ("Function",),
    "engine.recording": (
        "enable_grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled",
    ),
    "engine.tensor": ("Tensor",),
    "testing": ("check",),
}  # fmt: skip
_HOME = {name: f"gradcheck.{module}" for module, names in _HOMES.items() for name in names}
_MODULES = ("autograd", "func", "linalg", "nn", "optim", "special")
_ASKED = ("isfinite", "isinf", "isnan")
"""Questions about numbers: what NumPy answers, an array of truths."""
_DTYPES = {
    **{name: name for name in ("float32", "float64", "int32", "int64", "bool")},
    **{"float": "float32", "double": "float64", "int": "int32", "long": "int64"},  # PyTorch's
}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext gradcheck`: `%%gradcheck` judges a cell, and tensors and verdicts are shown."""
    import_module("gradcheck.notebook").register(shell)


def __dir__() -> list[str]:
    """The public names and every op: a star import brings the first alone, `sum` stays Python's."""
    ops = import_module("gradcheck.ops").everything()
    return sorted({*__all__, *_ASKED, *_DTYPES, *_list_factories(), *ops, "__version__"})


@cache
def __getattr__(name: str) -> Any:
    """The public name, PyTorch's factory or dtype, or the op of that name."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
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
    found = _list_factories().get(name) or import_module("gradcheck.ops.pytorch").find_pytorchs(
        name
    )
    if found is None:
        close = get_close_matches(name, dir(import_module("gradcheck")), n=1)
        meant = f"did you mean `{close[0]}`? " if close else ""
        advice = f"{meant}`dir(gradcheck)` lists what there is"
        raise AttributeError(f"module 'gradcheck' has no attribute {name!r} - {advice}")
    return found


def _list_factories() -> dict[str, Any]:
    """`ones`, `randn` and their like."""
    return import_module("gradcheck.engine.factories").FACTORIES  # type: ignore[no-any-return]
