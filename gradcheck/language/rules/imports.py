"""The rules of imports: they name what is there already, and nothing is imported."""

import ast
from collections.abc import Mapping

from gradcheck.language.rules.refusals import NODES
from gradcheck.language.rules.vocabulary import listing
from gradcheck.language.rules.walk import Check

# The modules that programs may name, and by which names each is known in a program.
MODULES: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "torch.nn": ("nn",),
    "torch.nn.functional": ("F",),
    "torch.nn.init": ("init",),
    "torch.nn.utils": ("utils",),
    "torch.optim": ("optim",),
    "torch.autograd": ("autograd",),
    "numpy": ("np", "numpy"),
    "numpy.linalg": ("linalg",),
    "math": ("math",),
    "gradcheck": ("torch",),
    "gradcheck.nn": ("nn",),
    "gradcheck.optim": ("optim",),
    "gradcheck.autograd": ("autograd",),
    "__future__": (),
}


def imported(check: Check, node: ast.Import | ast.ImportFrom) -> None:
    """`import torch`, `import numpy as np`, `from torch import nn, optim, tensor`."""
    if not check.vocabulary.scripts:
        check.refuse(node, NODES[type(node)])
    elif isinstance(node, ast.Import):
        for alias in node.names:
            _module(check, node, alias.name, alias.asname)
    elif node.level or node.module not in MODULES:
        _refuse(check, node, node.module or ".")
    else:
        for alias in node.names:
            _name(check, node, f"{node.module}.{alias.name}", alias)


def _name(check: Check, node: ast.ImportFrom, path: str, alias: ast.alias) -> None:
    """One name out of a module: a module in it, or a word of the vocabulary."""
    if path in MODULES:
        _module(check, node, path, alias.asname or alias.name)
    elif node.module != "__future__" and not _is_known(check, alias.name):
        check.say(node, f"`{path[:64]}` is not offered", "leave it out")
    elif alias.asname not in (None, alias.name):
        check.say(node, f"`{alias.name}` by another name", "leave out `as`")
    elif check.is_variable(alias.name):
        check.say(node, f"`{alias.name}` is a variable too", "rename the variable")


def _is_known(check: Check, name: str) -> bool:
    """Whether a name is a word of the vocabulary."""
    known = check.vocabulary
    words = known.constants | known.contexts | known.bases | known.dtypes
    return known.function(name) is not None or name in words


def _module(check: Check, node: ast.stmt, path: str, asname: str | None) -> None:
    """One module, under a name by which programs know it."""
    name = asname or path.split(".", maxsplit=1)[0]
    if path not in MODULES:
        _refuse(check, node, path)
    elif asname and asname not in MODULES[path]:
        check.say(node, f"`{path}` as `{asname[:64]}`", f"call it {listing(MODULES[path])}")
    elif not asname and path == "gradcheck":
        check.say(node, "`gradcheck` by its own name", "write `import gradcheck as torch`")
    elif check.is_variable(name):
        check.say(node, f"`{name}` is a variable too", "rename the variable")


def _refuse(check: Check, node: ast.stmt, path: str) -> None:
    """An import of something else."""
    offered = listing(path for path in MODULES if path != "__future__")
    check.say(node, f"an import of `{path[:64]}`", f"leave it out; what may be named: {offered}")
