"""Where a program says a word by which PyTorch means another thing than NumPy (`ops.differing`).

PyTorch is meant under `torch.`, `nn.` and `F.`, and by methods that NumPy's arrays do not have or
whose `dim=` they do not take.
"""

import ast
from typing import Any

from gradcheck.language.rules.refusals import Refusal
from gradcheck.language.rules.walk import Check, dotted
from gradcheck.ops.differing import FUNCTIONALS, FUNCTIONS, LINALG, METHODS, UNKNOWN
from gradcheck.ops.methods import AS_FUNCTIONS, OF_METHODS

PYTORCHS = frozenset({"torch", "nn", "F"})


def pytorchs_own(check: Check, call: ast.Call) -> str:
    """What a call is here that names PyTorch's function where NumPy's is another, "" elsewhere.

    It is complained of where there is no such function here.
    """
    if not isinstance(call.func, ast.Attribute):
        return ""
    prefix, name = check.prefix(call.func.value), call.func.attr
    args = [_constant(arg) for arg in call.args]
    found = FUNCTIONS.get(pytorchs_word(prefix, name)) if _pytorchs(prefix) else None
    if found and method_of(prefix, name) != name:
        return ""
    if prefix.startswith("torch.") and prefix.endswith("linalg"):
        found = LINALG.get(name)
    if not prefix:
        found = METHODS.get(name)
    if found and found.meant(args[1:] if prefix else args, _named(call)):
        if found.here:
            return found.here
        spelled = dotted(call.func) or f".{name}"
        what = f"`{spelled}`, by which PyTorch means another thing"
        check.refuse(call.func, Refusal(what, found.cure))
    return ""


def pytorchs_word(prefix: str, name: str) -> str:
    """What `F.pad` and its like are called here."""
    if (prefix, name) == ("torch", "equal"):  # one answer for all entries
        return "array_equal"
    functional = prefix.rsplit(".", maxsplit=1)[-1] in ("F", "functional")
    return FUNCTIONALS.get(name, name) if functional else name


def method_of(prefix: str, name: str) -> str:
    """`torch.norm(x, 1)` is what `x.norm(1)` is, where NumPy's function is another."""
    return OF_METHODS + name if prefix == "torch" and name in AS_FUNCTIONS else name


def _named(call: ast.Call) -> dict[str, Any]:
    """The keywords, with their values as far as the text tells."""
    return {keyword.arg or "": _constant(keyword.value) for keyword in call.keywords}


def _constant(node: ast.expr) -> Any:
    """A number, a word, or a sequence of these, as the text has it; else UNKNOWN."""
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(map(_constant, node.elts))
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    inner = node.operand if isinstance(node, ast.UnaryOp) and sign < 0 else node
    if not isinstance(inner, ast.Constant):
        return UNKNOWN
    return -inner.value if sign < 0 and isinstance(inner.value, int | float) else inner.value


def _pytorchs(prefix: str) -> bool:
    """Whether a prefix names PyTorch, and not the part of it that is like NumPy's."""
    first, *rest = prefix.split(".")
    return first in PYTORCHS and "linalg" not in rest
