"""Repair: the one small edit of a backward pass's own source that makes all its gradients right.

Programs are repaired the same way. An edit that gives the reference at every point and for every
cotangent that was asked is the mistake, undone; it needs no model of what the function computes.
"""

import ast
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from dis import get_instructions
from types import FunctionType, MethodType
from typing import Any

from gradcheck.testing.candidates import candidates, words_of
from gradcheck.testing.changed import edited, places_of, with_edit
from gradcheck.testing.edit import Edit
from gradcheck.testing.written import definition

SECONDS = 0.75  # a test that fails may take so much longer, or as much as it took
ONE = 1 / 12  # of it for one edit that loops
LONGEST = 60  # characters of a line of source in a message
SHORTEST = 6  # and of an expression that says by itself where it stands: not `t + 1`
OURS = "gradcheck"  # what stands between a check and somebody else's backward is no mistake
Function = Callable[..., Any]


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
    if not isinstance(plain, FunctionType) or (plain.__module__ or "").partition(".")[0] == OURS:
        return None
    built = definition(plain)
    if built is None:
        return None
    places = places_of(built)
    for edit in candidates(built, words_of(plain, kept, forward)):
        now = time.thread_time()
        if now > until:
            return None
        loops = min(until, now + ONE * max(SECONDS, until - now))
        changed = with_edit(built, edit, places, plain, loops)
        if changed is not None and right(_bound(changed, backward)):
            return _told(edit, built)
    return None


def _told(edit: Edit, built: Any) -> Repair:
    shown = edit.old if edit.new is None else _unmistakable(edit.old, built)
    new = "" if edit.new is None else _short(ast.unparse(edited(shown, edit, places_of(shown))))
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
