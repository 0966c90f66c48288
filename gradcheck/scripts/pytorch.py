"""PyTorch's module tree as a script imports it: gradcheck's functions, and what only scripts need.

There is one device and one kind of float: `device=` says nothing, and every float is float64.
"""

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from gradcheck.engine.tensor import Tensor
from gradcheck.nn import init
from gradcheck.ops import BY_SPELLING, TABLE
from gradcheck.scripts import extras, loading, tensors
from gradcheck.values import Params, Value

LIBRARY = "torch"
MODULES: Mapping[str, str] = {
    "torch": "gradcheck",
    "torch.nn": "gradcheck.nn",
    "torch.nn.functional": "gradcheck.nn.functional",
    "torch.nn.init": "gradcheck.nn.init",
    "torch.nn.utils": "gradcheck.nn.utils",
    "torch.nn.parameter": "gradcheck.nn",
    "torch.nn.modules": "gradcheck.nn",
    "torch.optim": "gradcheck.optim",
    "torch.autograd": "gradcheck.autograd",
    "torch.autograd.function": "gradcheck.autograd",
    "torch.autograd.functional": "gradcheck.autograd.functional",
    "torch.linalg": "gradcheck.linalg",
    "torch.special": "gradcheck.special",
    "torch.func": "gradcheck.func",
}
"""What each module of PyTorch is here."""
OWN: Mapping[str, Params] = {
    "torch": tensors.TORCH,
    "torch.nn": extras.NN,
    "torch.nn.init": {
        name[:-1]: getattr(init, name)
        for name in dir(init)
        if name.endswith("l_") or name.endswith("m_")
    },
    "torch.optim": extras.OPTIM,
    "torch.optim.lr_scheduler": extras.SCHEDULERS,
    "torch.autograd": {"Variable": tensors.variable},
    "torch.autograd.variable": {"Variable": tensors.variable},
    "torch.utils": {},
    "torch.utils.data": loading.DATA,
    "torch.cuda": tensors.CUDA,
    "torch.backends": {},
    "torch.backends.mps": {"is_available": lambda: False, "is_built": lambda: False},
    "torch.backends.cudnn": {"deterministic": True, "benchmark": False},
    "torch.accelerator": tensors.CUDA,
}
"""What is added to it."""


class Library(ModuleType):
    """One module of PyTorch: its own names, and those of a module of gradcheck."""

    def __init__(self, name: str) -> None:
        """All names at once, so that a star import finds them."""
        super().__init__(name)
        self.__path__: list[str] = []
        self.__dict__.update(OWN.get(name, {}))

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__name__}.{name}"
        if path in MODULES or path in OWN:
            return sys.modules[path]
        home = MODULES.get(self.__name__)
        try:
            found = getattr(import_module(home), name) if home else None
        except AttributeError:
            found = None
        if found is None:
            raise AttributeError(missing(self.__name__, name))
        is_op = self.__name__ == LIBRARY and BY_SPELLING.get(name, name) in TABLE
        return tensors.writing(found) if is_op else found

    def __dir__(self) -> list[str]:
        home = MODULES.get(self.__name__)
        theirs = dir(import_module(home)) if home else []
        return sorted({*self.__dict__, *theirs} - {"__path__"})


def install() -> None:
    """From here on `import torch` means gradcheck in this process."""
    tensors.equip()
    extras.equip()
    for path in dict.fromkeys((*MODULES, *OWN)):
        sys.modules[path] = Library(path)
    for path in dict.fromkeys((*MODULES, *OWN)):
        parent, _, name = path.rpartition(".")
        if parent:
            sys.modules[parent].__dict__[name] = sys.modules[path]
    sys.modules[LIBRARY].__dict__["__version__"] = version("gradcheck")


def missing(module: str, name: str) -> str:
    offered = [each for each in dir(sys.modules[module]) if not each.startswith("_")]
    close = get_close_matches(name, offered, n=1)
    instead = INSTEAD.get(name) or (f"did you mean `{close[0]}`?" if close else "")
    where = "`gradcheck ops` lists the functions" if module == LIBRARY else _list_names(offered)
    return f"`{module}.{name}` is not offered by gradcheck - {instead or where}"


INSTEAD: Mapping[str, str] = {
    "compile": "call the function itself",
    "jit": "call the function itself",
    "Transformer": "write it with `scaled_dot_product_attention`, `Linear` and `LayerNorm`",
    "MultiheadAttention": "write it with `scaled_dot_product_attention` and `Linear`",
}


def _list_names(offered: list[str]) -> str:
    few = ", ".join(offered[:12])
    return f"what is: {few}{', ...' if len(offered) > 12 else ''}"


def advice(error: BaseException) -> str:
    """A sentence on an import or an attribute that is PyTorch's and not here; else nothing."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        if error.name.split(".")[0] == LIBRARY:
            known = _list_names(sorted({*MODULES, *OWN} - {LIBRARY}))
            return f"`{error.name}` is not offered by gradcheck - {known}"
        return ""
    if isinstance(error, ImportError) and (error.name or "").split(".")[0] == LIBRARY:
        name = str(error).partition("cannot import name '")[2].partition("'")[0]
        return missing(error.name or LIBRARY, name) if name else ""
    if isinstance(error, AttributeError) and isinstance(error.obj, Tensor):
        return tensors.missing(error.name or "")
    return ""
