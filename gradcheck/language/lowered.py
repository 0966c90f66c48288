"""What a lowered tree may be made of: a second look, at the very tree that is compiled."""

import ast
from collections.abc import Iterator

# Operators, indices and loops are calls by now; what is left is this and nothing else.
NODES = frozenset(
    (
        *(ast.Module, ast.Expr, ast.Assign, ast.For, ast.While, ast.If, ast.With, ast.withitem),
        *(ast.Pass, ast.Break, ast.Continue, ast.FunctionDef, ast.arguments, ast.arg, ast.Return),
        *(ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.keyword, ast.Subscript, ast.IfExp),
        *(ast.Tuple, ast.List, ast.ListComp, ast.comprehension, ast.Load, ast.Store),
        *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.Invert, ast.BoolOp, ast.And, ast.Or),
        *(ast.Compare, ast.Is, ast.IsNot),
    )
)
NAMING = ("id", "attr", "arg", "name")


def unexpected(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that no rule and no lowering can have meant to leave in a tree."""
    for node in ast.walk(tree):
        names = (getattr(node, field, None) for field in NAMING)
        hidden = any(isinstance(name, str) and name[:1] == "_" != name for name in names)
        if type(node) not in NODES or hidden:
            yield node
