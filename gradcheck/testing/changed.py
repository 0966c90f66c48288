"""A function with one expression of its text changed, compiled anew."""

import ast
import time
import warnings
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any

from gradcheck.testing.edit import Edit

BLOCKS = ("body", "orelse", "finalbody", "handlers")  # fields that hold statements
TURN = "_turn_"  # what loops of an edited function call
Places = dict[int, tuple[ast.AST, str, int | None]]


def with_edit(
    built: Any, edit: Edit, places: Places, function: FunctionType, until: float
) -> FunctionType | None:
    """The function with one edit made; None where it does not compile.

    An edit may make a loop endless (`for v in vs` that adds to vs): loops end with TimeoutError
    when this thread has computed `until` so many seconds.
    """
    try:
        code = _compiled(edited(built, edit, places), function)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[TURN] = CellType(partial(_turn, until))
    if code is None or any(name not in cells for name in code.co_freevars):
        return None
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, None, closure)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


def _turn(until: float) -> None:
    """What a loop calls at each of its turns; TimeoutError where it has turned long enough."""
    if time.thread_time() > until:
        raise TimeoutError


def _turning(node: Any) -> Any:
    """A copy of a definition or statement in which every loop calls `_turn`."""
    fields = {
        name: list(map(_turning, value)) if name in BLOCKS and isinstance(value, list) else value
        for name, value in ast.iter_fields(node)
    }
    if isinstance(node, ast.For | ast.While):
        call = ast.copy_location(ast.parse(f"{TURN}()").body[0], node)
        fields["body"] = [ast.fix_missing_locations(call), *fields["body"]]
    return ast.copy_location(type(node)(**fields), node)


def places_of(root: Any) -> Places:
    """Where each node of a tree stands: its parent, the field, and the place in a list of several.

    By the nodes' identities, for one tree that is kept.
    """
    return {
        id(part): (node, name, k)
        for node in ast.walk(root)
        for name, value in ast.iter_fields(node)
        for k, part in (enumerate(value) if isinstance(value, list) else [(None, value)])
        if isinstance(part, ast.AST)
    }


def edited(root: Any, edit: Edit, places: Places) -> Any:
    """A copy of a tree with one node replaced; everything beside the way to it is shared."""
    node, new = edit.old, edit.new
    if new is not None:
        new = new if hasattr(new, "lineno") else ast.copy_location(new, node)
        ast.fix_missing_locations(new)
    while node is not root:
        parent, name, k = places[id(node)]
        fields = dict(ast.iter_fields(parent))
        if k is None:
            fields[name] = new
        else:
            before, after = fields[name][:k], fields[name][k + 1 :]
            left = [*before, *([] if new is None else [new]), *after]
            fields[name] = left or [ast.copy_location(ast.Pass(), node)]
        node, new = parent, ast.copy_location(type(parent)(**fields), parent)
    return new


def _compiled(built: Any, function: FunctionType) -> CodeType | None:
    """The code of an edited definition, inside a function that holds what it is closed over."""
    name = function.__name__
    value: Any = built
    if isinstance(built, ast.FunctionDef):
        fields = {k: v for k, v in ast.iter_fields(built) if k != "decorator_list"}
        value = ast.copy_location(ast.FunctionDef(decorator_list=[], **fields), built)
    named = isinstance(value, ast.FunctionDef)
    inner = _turning(value) if named else ast.copy_location(ast.Expr(value), value)
    held = ", ".join((*function.__code__.co_freevars, TURN))
    around = ast.parse(f"def around({held}): pass")
    around.body[0].body = [inner]  # type: ignore[attr-defined]
    with warnings.catch_warnings(action="ignore"):  # of an edit that makes no sense
        whole = compile(around, "<repair>", "exec")
    outer = next(c for c in whole.co_consts if isinstance(c, CodeType))
    return next((c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == name), None)
