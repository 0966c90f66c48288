"""Repair: the one small edit of a backward pass's own source that makes all its gradients right.

Programs are repaired the same way. An edit that gives the reference at every point and for every
cotangent that was asked is the mistake, undone; it needs no model of what the function computes.
"""

import ast
import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from dis import get_instructions
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from gradcheck.testing.edits import (
    Edit,
    Words,
    divided,
    edits_of,
    in_all_of,
    named_within,
    of_whole,
    renamed,
    with_each,
    with_more,
)
from gradcheck.testing.source import file_of, text_of

SECONDS = 0.75  # a test that fails may take so much longer, or as much as it took
ONE = 1 / 12  # of it for one edit that loops
LONGEST = 60  # characters of a line of source in a message
SHORTEST = 6  # and of an expression that says by itself where it stands: not `t + 1`
CALLED, MOST = 24, 4  # characters of a call that may be missing elsewhere, and how many are tried
OURS = "gradcheck"  # what stands between a check and somebody else's backward is no mistake
BUILT = (ast.FunctionDef, ast.Lambda)
BLOCKS = (
    "body",
    "orelse",
    "finalbody",
    "handlers",
)  # fields that hold statements
TURN = "_turn_"  # what loops of an edited function call
Function = Callable[..., Any]
Places = dict[int, tuple[ast.AST, str, int | None]]


@dataclass(frozen=True)
class Repair:
    """The mistake's name, the line of the file, what stands there and what is to."""

    name: str
    line: int
    old: str
    new: str

    def __str__(self) -> str:
        """`line 7: with c.sum(0) for c.mean(0) every gradient is right`."""
        if not self.new:
            return f"line {self.line}: without {self.old} every gradient is right"
        return f"line {self.line}: with `{self.new}` for `{self.old}` every gradient is right"


def repaired(
    backward: Function,
    right: Callable[[Function], bool],
    forward: Function | None = None,
    took: float = 0.0,
) -> Repair | None:
    """The first edit after which `right` says so; None where the source is not at hand.

    What `forward` computes, if it is one expression of the same names, may be what is missing. Of
    `lambda c, x: layer.backward(c)` the layer's own method is looked at first. `took` are the
    seconds that the check has taken: a large one's backward passes take their time, too.
    """
    until = time.thread_time() + max(SECONDS, took)
    for owner, name, method in _methods(backward):
        changed = _inside(owner, name, right, backward)
        found = _searched(method, changed, _kept(owner), None, until)
        if found is not None:
            return found
    owner = type(backward.__self__) if isinstance(backward, MethodType) else object
    return _searched(backward, right, _kept(owner), forward, until)


def _kept(owner: type) -> list[str]:
    """What the methods of a class keep in its objects: `self.mask`."""
    own = (m.__code__ for c in owner.__mro__ for m in vars(c).values() if type(m) is FunctionType)
    named = (i.argval for code in own for i in get_instructions(code) if i.opname == "STORE_ATTR")
    return [f"self.{name}" for name in dict.fromkeys(named)]


def _methods(backward: Function) -> Iterator[tuple[type, str, FunctionType]]:
    """The methods of somebody's class that a lambda calls, and the class that has them.

    Or the one method that a function of ours is known to call.
    """
    if known := getattr(backward, "method", None):
        owner, name = known
        method = vars(owner).get(name)
        plain: Any = inspect.unwrap(getattr(method, "__func__", method))  # `once_differentiable`
        if isinstance(plain, FunctionType):
            yield owner, name, plain
        return
    if not isinstance(backward, FunctionType) or backward.__name__ != "<lambda>":
        return
    code, cells = backward.__code__, backward.__closure__ or ()
    held = dict(zip(code.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    for name in code.co_names:
        for thing in (*held.values(), *map(backward.__globals__.get, code.co_names)):
            owner = next((c for c in type(thing).__mro__ if name in vars(c)), type)
            method = vars(owner).get(name)
            if isinstance(method, FunctionType) and owner.__module__ == backward.__module__:
                yield owner, name, method


def _inside(
    owner: type, name: str, right: Callable[[Function], bool], backward: Function
) -> Callable[[Function], bool]:
    """Whether the backward pass is right with another method in a class."""

    def right_with(changed: Function) -> bool:
        method = vars(owner)[name]
        setattr(owner, name, type(method)(changed) if type(method) is staticmethod else changed)
        try:
            return right(backward)
        finally:
            setattr(owner, name, method)

    return right_with


def _searched(
    backward: Function,
    right: Callable[[Function], bool],
    kept: Sequence[str],
    forward: Function | None,
    until: float,
) -> Repair | None:
    """The first edit of one function after which `right` says so, if it is found in time.

    `kept` is what its class keeps; what `forward` computes it may lack.
    """
    plain = getattr(backward, "__func__", backward)
    if not isinstance(plain, FunctionType) or plain.__module__.partition(".")[0] == OURS:
        return None
    built = _built(plain)
    if built is None:
        return None
    places = _places(built)
    for edit in _edits(built, _words(plain, kept, forward)):
        if time.thread_time() > until:
            return None
        changed = _changed(built, edit, places, plain, until)
        if changed is not None and right(_bound(changed, backward)):
            return _told(edit, built)
    return None


def _told(edit: Edit, built: Any) -> Repair:
    shown = edit.old if edit.new is None else _unmistakable(edit.old, built)
    new = "" if edit.new is None else _short(ast.unparse(_edited(shown, edit, _places(shown))))
    return Repair(edit.name, getattr(edit.old, "lineno", 0), _short(ast.unparse(shown)), new)


def _unmistakable(node: ast.AST, built: Any) -> ast.AST:
    """The smallest expression around a node that a reader finds once on its line."""
    line = getattr(node, "lineno", 0)
    said = [n for n in ast.walk(built) if isinstance(n, ast.stmt) and n.lineno == line]
    text = "\n".join(map(ast.unparse, said))
    around = [n for n in ast.walk(built) if isinstance(n, ast.expr) and _has(n, node)]
    for each in sorted(around, key=lambda n: len(ast.unparse(n))):
        if SHORTEST <= len(ast.unparse(each)) <= LONGEST and text.count(ast.unparse(each)) == 1:
            return each
    return node


def _has(whole: ast.AST, part: ast.AST) -> bool:
    return any(node is part for node in ast.walk(whole))


def _short(text: str) -> str:
    line = text.split("\n", maxsplit=1)[0]
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def _bound(function: FunctionType, like: Function) -> Function:
    return MethodType(function, like.__self__) if isinstance(like, MethodType) else function


# -- the source ----------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _parsed(file: str) -> ast.Module | None:
    try:
        return ast.parse(text_of(file))
    except SyntaxError:
        return None


def _built(function: FunctionType) -> Any:
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


def _built_of(function: Function | None) -> Any:
    """The definition of a function or method; None of anything else."""
    plain = getattr(function, "__func__", function)
    return _built(plain) if isinstance(plain, FunctionType) else None


def _said(function: Function | None, kinds: Any) -> list[str]:
    """The texts of the short expressions of some kinds that a function is made of."""
    built = _built_of(function)
    texts = [] if built is None else [ast.unparse(n) for n in ast.walk(built) if type(n) in kinds]
    short = {text for text in texts if len(text) <= CALLED and "np.zeros" not in text}
    return sorted(short, key=len)[:MOST]


def _divisors(function: Function | None) -> tuple[str, ...]:
    """What a function divides by, as it is written: `np.sqrt(q.shape[-1])`."""
    built = _built_of(function)
    parts = [] if built is None else [n for n in ast.walk(built) if isinstance(n, ast.BinOp)]
    texts = (ast.unparse(n.right) for n in parts if isinstance(n.op, ast.Div))
    return tuple(dict.fromkeys(text for text in texts if len(text) <= CALLED))[:MOST]


def _edits(built: Any, words: Words) -> Iterator[Edit]:
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
        said = {ast.unparse(n) for n in inner if isinstance(n, ast.Name | ast.Attribute)}
        near = (*said, *words.kept, words.cotangent)
        names = [name for name in words.others if name in near]
        found.update({id(n): names for n in inner})
    return found


def _words(function: FunctionType, kept: Sequence[str], forward: Function | None) -> Words:
    """The names of a backward pass, its short calls, and short parts of the value."""
    code = function.__code__
    own = [n for n in code.co_varnames if n not in ("self", "cls", "ctx")]
    named = (*own, *code.co_freevars)
    given = [n for n in code.co_varnames[: code.co_argcount] if n in own]
    calls = (*_said(function, (ast.Call,)), *_said(forward, (ast.Call, ast.BinOp)))
    divisors, keys = _divisors(forward), _keys(function)
    return Words(own[0] if own else "", named, calls, divisors, tuple(kept), tuple(given), keys)


def _keys(function: FunctionType) -> tuple[str, ...]:
    """The texts by which a function picks: `cache["h"]`."""
    picked = [n.slice for n in ast.walk(_built(function)) if isinstance(n, ast.Subscript)]
    texts = (n.value for n in picked if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return tuple(dict.fromkeys(texts))


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


# -- the changed function ------------------------------------------------------------------------


def _changed(
    built: Any, edit: Edit, places: Places, function: FunctionType, until: float
) -> FunctionType | None:
    """The function with one edit made; None where it does not compile.

    An edit may make a loop endless (`for v in vs` that adds to vs): its turns end it.
    """
    try:
        code = _compiled(_edited(built, edit, places), function)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    now = time.thread_time()
    cells[TURN] = CellType(partial(_turn, min(until, now + ONE * max(SECONDS, until - now))))
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


def _places(root: Any) -> Places:
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


def _edited(root: Any, edit: Edit, places: Places) -> Any:
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
