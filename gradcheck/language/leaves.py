"""Which variables of a program are leaves that it makes itself."""

import ast
from collections.abc import Iterator

from gradcheck.language.program import Program

MADE = "requires_grad"
ASKED = "requires_grad_"


def leaves(program: Program) -> tuple[str, ...]:
    """The names given to `tensor(..., requires_grad=True)` and its like outside of any `def`."""
    return tuple(dict.fromkeys(_leaves(program.tree.body)))


def _leaves(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if _made(call):
                yield name
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


def _made(call: ast.Call) -> bool:
    """Whether a call makes a leaf: `requires_grad=True`, or `.requires_grad_()` at its end."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == ASKED:
        return True
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    flag = named.get(MADE)
    return isinstance(flag, ast.Constant) and flag.value is True
