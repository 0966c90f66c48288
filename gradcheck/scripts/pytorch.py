"""PyTorch's module tree as a script imports it: gradcheck's functions, and what only scripts need.

There is one device and one kind of float: `device=` says nothing, and every float is float64.
"""

import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from gradcheck.engine.modules import Module
from gradcheck.engine.optimizers import Optimizer
from gradcheck.engine.tensor import Tensor
from gradcheck.language.vocabulary import listing, nearest
from gradcheck.nn import init
from gradcheck.ops import BY_SPELLING, TABLE
from gradcheck.scripts import modules, tensors
from gradcheck.values import Params, Value

LIBRARY = "torch"
VARIABLE = {"Variable": tensors.variable}
INIT = {name[:-1]: getattr(init, name) for name in dir(init) if name.endswith(("l_", "m_"))}
NO_MPS: Params = {"is_available": lambda: False, "is_built": lambda: False}
MODULES: Mapping[str, tuple[str, Params]] = {
    "torch": ("gradcheck", tensors.TORCH),
    "torch.nn": ("gradcheck.nn", modules.NN),
    "torch.nn.functional": ("gradcheck.nn.functional", {}),
    "torch.nn.init": ("gradcheck.nn.init", INIT),
    "torch.nn.utils": ("gradcheck.nn.utils", {}),
    "torch.nn.parameter": ("gradcheck.nn", {}),
    "torch.nn.modules": ("gradcheck.nn", {}),
    "torch.optim": ("gradcheck.optim", modules.OPTIM),
    "torch.optim.lr_scheduler": ("", {"StepLR": modules.StepLR}),
    "torch.autograd": ("gradcheck.autograd", VARIABLE),
    "torch.autograd.function": ("gradcheck.autograd", {}),
    "torch.autograd.functional": ("gradcheck.autograd.functional", {}),
    "torch.autograd.variable": ("", VARIABLE),
    "torch.linalg": ("gradcheck.linalg", {}),
    "torch.special": ("gradcheck.special", {}),
    "torch.func": ("gradcheck.func", {}),
    "torch.utils": ("", {}),
    "torch.utils.data": ("", modules.DATA),
    "torch.cuda": ("", tensors.CUDA),
    "torch.backends": ("", {}),
    "torch.backends.mps": ("", NO_MPS),
    "torch.backends.cudnn": ("", {"deterministic": True, "benchmark": False}),
    "torch.accelerator": ("", tensors.CUDA),
}
"""What each module of PyTorch is here, and what is added to that."""
METHODS: tuple[tuple[type, Params], ...] = (
    (Tensor, tensors.METHODS),
    (Module, modules.METHODS),
    (Optimizer, modules.OPTIMIZERS),
)
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("compile", "jit"), "call the function itself"),
    "Transformer": "write it with `scaled_dot_product_attention`, `Linear` and `LayerNorm`",
    "MultiheadAttention": "write it with `scaled_dot_product_attention` and `Linear`",
}


class Library(ModuleType):
    """One module of PyTorch: its own names, and those of a module of gradcheck."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__dict__.update(MODULES[name][1])

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__"):
            raise AttributeError(name)
        home = MODULES[self.__name__][0]
        found = getattr(import_module(home), name, None) if home else None
        if found is None:
            raise AttributeError(_missing(self.__name__, name, dir(self)))
        is_op = self.__name__ == LIBRARY and BY_SPELLING.get(name, name) in TABLE
        return tensors.writing(found) if is_op else found

    def __dir__(self) -> list[str]:
        home = MODULES[self.__name__][0]
        theirs = dir(import_module(home)) if home else []
        return sorted({*self.__dict__, *theirs} - {"__path__"})


def install() -> None:
    """From here on `import torch` means gradcheck in this process, whose classes get methods."""
    for kind, methods in METHODS:
        for name, method in methods.items():
            setattr(kind, name, method)
    sys.modules.update({path: Library(path) for path in MODULES})
    for path in MODULES:
        parent, _, name = path.rpartition(".")
        if parent:
            sys.modules[parent].__dict__[name] = sys.modules[path]
    sys.modules[LIBRARY].__dict__["__version__"] = version("gradcheck")


def _missing(owner: str, name: str, names: Iterable[str]) -> str:
    """A sentence on a name that is PyTorch's and not here, and on what is."""
    offered = [each for each in names if not each.startswith("_")]
    cure = INSTEAD.get(name) or nearest(name, offered)
    if not cure and owner in (LIBRARY, "Tensor"):
        cure = f"`gradcheck ops` lists the {'functions' if owner == LIBRARY else 'methods'}"
    return f"`{owner}.{name}` is not offered by gradcheck - {cure or listing(offered)}"


def advice(error: BaseException) -> str:
    """A sentence on an import or an attribute that is PyTorch's and not here; else nothing."""
    if isinstance(error, AttributeError) and isinstance(error.obj, Tensor):
        return _missing("Tensor", error.name or "", dir(Tensor))
    if not isinstance(error, ImportError) or (error.name or "").split(".")[0] != LIBRARY:
        return ""
    if isinstance(error, ModuleNotFoundError):
        return f"`{error.name}` is not offered by gradcheck - {listing(MODULES.keys() - {LIBRARY})}"
    name, owner = str(error).partition("cannot import name '")[2].partition("'")[0], error.name
    return _missing(owner or LIBRARY, name, dir(sys.modules[owner or LIBRARY])) if name else ""
