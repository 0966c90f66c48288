"""How an ambiguous spelling was read: what was typed, and the same with the brackets it now has.

`1/2x is read as (1/2)*x`. Each rule looks at a node of the tree and at what was typed there: where
its writer set brackets nothing is in doubt.
"""

import ast
import re
from collections.abc import Iterable

from gradcheck.answers.characters import clip
from gradcheck.answers.echo import OPERATORS, UNARY, bracket, echo

SHORT = 200  # characters that a note repeats
MOST = 8  # notes: nobody reads more
RAISED = re.compile(r"(?:\^|\*\*)-?[\w.,]+\Z")
JOINTS = frozenset(["", *"*·×⋅∙÷∕/:@", r"\cdot", r"\times", r"\div"])
"""What may stand between two factors, but for brackets."""
BRACKET = re.compile(r"\s*\\?(?:left|big|Big)?\s*[({\[|⟨‖]")


def explain(nodes: Iterable[ast.expr], typed: str) -> list[str]:
    """The notes on the nodes of a formula, in the order of what was typed."""
    compound = (node for node in nodes if isinstance(node, ast.BinOp | ast.Call))
    doubtful = [node for node in compound if _is_doubtful(node, typed)]
    doubtful.sort(key=lambda node: (node.end_col_offset, -node.col_offset))
    notes = []
    for node in doubtful:
        shown = typed[node.col_offset : node.end_col_offset]
        note = f"{clip(shown)} is read as {_write_apart(node)}"
        notes += [note if "**" in typed else note.replace("**", "^")] if len(shown) <= SHORT else []
    return notes[:MOST]


def _write_apart(node: ast.expr) -> str:
    """A node with brackets around its parts."""
    if not isinstance(node, ast.BinOp):
        return echo(node)
    sign, _ = OPERATORS[type(node.op)]
    left = echo(node.left)
    compound = isinstance(node.left, ast.BinOp | ast.UnaryOp)
    return (f"({left})" if compound else left) + sign + bracket(node.right, UNARY)


def _is_doubtful(node: ast.expr, typed: str) -> bool:
    """Whether somebody could have read what was typed for a node in another way."""
    match node:
        case ast.Call(ast.Name(name), [inner], []):
            return _is_bare(node, typed) and not _is_simple(inner, name in ("sqrt", "cbrt"))
        case ast.BinOp(left, op, right) if (between := _between(node, typed)) in JOINTS:
            raised = RAISED.search(typed, left.col_offset, left.end_col_offset or 0)
            last = left.right if isinstance(left, ast.BinOp) and not _is_power(left) else left
            if between:
                halved = between == "/" and raised and isinstance(right, ast.Constant)
                factor = isinstance(_first(right), ast.Name | ast.Constant)
                return bool(halved) or (factor and _is_bare(last, typed))
            if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div):
                return _between(left, typed) in JOINTS - {""}
            joined = raised and left.end_col_offset == right.col_offset
            root = typed[last.col_offset] in "√∛" and _is_bare(last, typed)
            factor = isinstance(op, ast.Mult) and isinstance(_first(right), ast.Name)
            return factor and bool(joined or root)
    return False


def _between(node: ast.BinOp, typed: str) -> str | None:
    """What was typed between the sides of an operator; None where they were not typed so."""
    end, start = node.left.end_col_offset or 0, node.right.col_offset
    return typed[end:start].strip() if end <= start else None


def _is_power(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)


def _is_bare(node: ast.expr, typed: str) -> bool:
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    name, argument = node.func.end_col_offset or 0, node.args[0]
    return name <= argument.col_offset and not BRACKET.match(typed, name)


def _is_simple(argument: ast.expr, root: bool) -> bool:
    """Whether nobody would read an argument differently: `x`, `2x`, `-x`."""
    match argument:
        case ast.UnaryOp(_, inner):
            return _is_simple(inner, root)
        case ast.BinOp(ast.Constant(), ast.Mult(), factor):
            return not root and not _is_power(factor)
    return not isinstance(argument, ast.BinOp)


def _first(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp):
        node = node.left
    return node
