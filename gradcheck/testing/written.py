"""The definition that a function was made of, and the short texts that stand in it."""

import ast
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from gradcheck.testing.source import file_of, text_of

CALLED, MOST = 24, 4  # characters of a call that may be missing elsewhere, and how many are tried
BUILT = (ast.FunctionDef, ast.Lambda)
Function = Callable[..., Any]


@lru_cache(maxsize=32)
def _parsed(file: str) -> ast.Module | None:
    try:
        return ast.parse(text_of(file))
    except SyntaxError:
        return None


def definition(function: FunctionType) -> Any:
    """The definition or lambda that a function was made of."""
    tree = _parsed(file_of(function))
    nodes = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, BUILT)]
    places = [p for p in function.__code__.co_positions() if p[0] is not None and p[2] is not None]
    held = [n for n in nodes if _holds(n, function.__code__, places)]
    return min(held, key=_length, default=None)


def _holds(node: Any, code: CodeType, places: list[Any]) -> bool:
    """Whether all the instructions of a code object come from inside a definition."""
    if (node.name if isinstance(node, ast.FunctionDef) else "<lambda>") != code.co_name:
        return False
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    inner = [p for p in places if p[0] != code.co_firstlineno or p[2] or p[3]]
    return bool(inner) and all(first <= (p[0], p[2]) and (p[1], p[3]) <= last for p in inner)


def _length(node: Any) -> tuple[int, int]:
    return node.end_lineno - node.lineno, node.end_col_offset - node.col_offset


def definition_of(function: Function | None) -> Any:
    """The definition of a function or method; None of anything else."""
    plain = getattr(function, "__func__", function)
    return definition(plain) if isinstance(plain, FunctionType) else None


def said(function: Function | None, kinds: Any) -> list[str]:
    """The texts of the short expressions of some kinds that a function is made of."""
    built = definition_of(function)
    texts = [] if built is None else [ast.unparse(n) for n in ast.walk(built) if type(n) in kinds]
    short = {text for text in texts if len(text) <= CALLED and "np.zeros" not in text}
    return sorted(short, key=len)[:MOST]


def divisors_of(function: Function | None) -> tuple[str, ...]:
    """What a function divides by, as it is written: `np.sqrt(q.shape[-1])`."""
    built = definition_of(function)
    parts = [] if built is None else [n for n in ast.walk(built) if isinstance(n, ast.BinOp)]
    texts = (ast.unparse(n.right) for n in parts if isinstance(n.op, ast.Div))
    return tuple(dict.fromkeys(text for text in texts if len(text) <= CALLED))[:MOST]


def keys_of(function: FunctionType) -> tuple[str, ...]:
    """The texts by which a function picks: `cache["h"]`."""
    picked = [n.slice for n in ast.walk(definition(function)) if isinstance(n, ast.Subscript)]
    texts = (n.value for n in picked if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return tuple(dict.fromkeys(texts))
