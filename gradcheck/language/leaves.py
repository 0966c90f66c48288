"""Which leaves a program makes itself, and where they can be read when it has run."""

import ast
from collections.abc import Iterator

from gradcheck.engine.layers import LAYERS
from gradcheck.language.program import Program
from gradcheck.language.rules.walk import dotted

MADE = "requires_grad"
ASKED = "requires_grad_"


def leaves(program: Program) -> tuple[str, ...]:
    """The leaves made outside of any `def`, as they are read: `x`, `model.weight`, `net[0].bias`.

    They are the names given to `tensor(..., requires_grad=True)` and its like, and the parameters
    of layers and of `Sequential`.
    """
    return tuple(dict.fromkeys(_leaves(program.tree.body)))


def _leaves(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef():
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                yield from _made(name, call)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr))
            ) if attr == ASKED:
                yield name
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr=attr)]) if (
                attr == MADE
            ):
                yield name
        for block in ("body", "orelse"):
            yield from _leaves(getattr(node, block, []))


def _made(path: str, call: ast.Call) -> Iterator[str]:
    """The leaves that a call makes, by the path under which it is kept."""
    maker = dotted(call.func).rpartition(".")[2]
    if _is_leaf(call) or maker == "Parameter":
        yield path
    elif maker in LAYERS:
        held = LAYERS[maker].held
        yield from (f"{path}.{name}" for name in held if not _is_without(call, name))
    elif maker == "Sequential":
        for k, each in enumerate(call.args):
            if isinstance(each, ast.Call):
                yield from _made(f"{path}[{k}]", each)


def _is_leaf(call: ast.Call) -> bool:
    """Whether a call makes a leaf: `requires_grad=True`, or `.requires_grad_()` at its end."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == ASKED:
        return True
    flag = _named(call, MADE)
    return isinstance(flag, ast.Constant) and flag.value is True


def _is_without(call: ast.Call, name: str) -> bool:
    """Whether a layer is made without a parameter."""
    bare = _off(call, "affine") or _off(call, "elementwise_affine")
    return bare or (name.startswith("bias") and _off(call, "bias"))


def _off(call: ast.Call, name: str) -> bool:
    """Whether an argument is given as False."""
    given = _named(call, name)
    return isinstance(given, ast.Constant) and given.value is False


def _named(call: ast.Call, name: str) -> ast.expr | None:
    """The argument of a name."""
    return next((each.value for each in call.keywords if each.arg == name), None)
