"""Every edit of a backward pass that may mend it, the likeliest first."""

import ast
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

from gradcheck.testing.additions import divided, in_all_of, of_whole, with_each, with_more
from gradcheck.testing.edit import Edit, Words
from gradcheck.testing.edits import edits_of, named_within, renamed
from gradcheck.testing.written import divisors_of, keys_of, said

Function = Callable[..., Any]


def candidates(built: Any, words: Words) -> Iterator[Edit]:
    """Every edit: those that take something away, those of what stands there, those that add.

    Of what may be added, names of the same statement are tried first, then all the others.
    """
    body = built.body if isinstance(built, ast.FunctionDef) else [built.body]
    nodes = [n for part in body for n in ast.walk(part)]
    within = {id(inner): name for n in nodes for inner, name in named_within(n)}
    found = [edit for node in nodes for edit in edits_of(node, words, within.get(id(node), ""))]
    yield from sorted(found, key=lambda edit: not edit.takes_away)
    for node in nodes:
        yield from renamed(node, words.others, words, within.get(id(node), ""))
    near, wholes = _near(nodes, words), list(_wholes(body))
    for node in wholes:
        yield from of_whole(node, words)
    for adding, more in ((with_each, divided), (with_more, in_all_of)):
        for first in (True, False):
            for node in wholes:
                mine = near.get(id(node), words.others)
                names = mine if first else [n for n in words.others if n not in mine]
                yield from adding(node, names, words)
        for node in wholes:
            yield from more(node, words)


def _near(nodes: list[Any], words: Words) -> dict[int, list[str]]:
    """Of the nodes of every simple statement the names that stand in it, and what is kept.

    And the cotangent's.
    """
    found: dict[int, list[str]] = {}
    for statement in (n for n in nodes if isinstance(n, ast.stmt) and not hasattr(n, "body")):
        inner = list(ast.walk(statement))
        stand = {ast.unparse(n) for n in inner if isinstance(n, ast.Name | ast.Attribute)}
        near = (*stand, *words.kept, words.cotangent)
        names = [name for name in words.others if name in near]
        found.update({id(n): names for n in inner})
    return found


def words_of(function: FunctionType, kept: Sequence[str], forward: Function | None) -> Words:
    """The names of a backward pass, its short calls, and short parts of the value."""
    code = function.__code__
    own = [n for n in code.co_varnames if n not in ("self", "cls", "ctx")]
    named = (*own, *code.co_freevars)
    given = [n for n in code.co_varnames[: code.co_argcount] if n in own]
    calls = (*said(function, (ast.Call,)), *said(forward, (ast.Call, ast.BinOp)))
    divisors, keys = divisors_of(forward), keys_of(function)
    return Words(own[0] if own else "", named, calls, divisors, tuple(kept), tuple(given), keys)


def _wholes(body: list[Any]) -> Iterator[ast.expr]:
    """The values that are given back or assigned, and the factors they are made of."""
    for part in body:
        if isinstance(part, ast.expr):
            yield from _parts(part)
        for node in ast.walk(part):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Return) and node.value is not None:
                yield from _parts(node.value)
    for part in body:
        yield from (n for n in ast.walk(part) if isinstance(n, ast.BinOp))


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    yield from value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
