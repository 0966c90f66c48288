# cython: nonecheck=True
# `Tensor.sum(None)` is to be an error, not a crash.
"""Recording without detours: a function made for each row of one or two operands.

What `apply_to_any` finds out anew at every call (which operands the VJPs read, whether the value
may look at an operand's memory) is found out here once a row. Whatever is out of the ordinary, a
view, an observer, a disturbance, no_grad, goes the long way; the record is the same.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy import float64, ndarray

from gradcheck.engine import native, views
from gradcheck.engine.recording import UNUSUAL
from gradcheck.engine.state import State, cell_of, step_of, wrapped
from gradcheck.engine.tape import NUMBER, Node, noted, stand_in
from gradcheck.engine.tensor import QUICK_UFUNCS, QUICKLY, Tensor, apply_to_any, constant, in_floats
from gradcheck.ops import BY_FUNCTION, TABLE
from gradcheck.ops.row import Op

__all__ = ["QUICKLY", "of_one", "of_two"]

Quick = Callable[..., Tensor]

FLOAT = np.dtype(np.float64)
NONE: Mapping[str, Any] = {}
ONE = (True,)
BOTH, FIRST, SECOND = (True, True), (True, False), (False, True)
A_NUMBER = (NUMBER,)
TWO_NUMBERS, NUMBER_FIRST = (NUMBER, NUMBER), (NUMBER, None)


def raised(a: Any, b: Any) -> Any:
    """The power a^b; a square is one to NumPy too, but after a detour."""
    plain = type(b) is int and b == 2 and native.of_type(a, FLOAT)
    return np.square(a) if plain else np.power(a, b)


OPERATOR: dict[Callable[..., Any], Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.matmul: operator.matmul,
    np.negative: operator.neg,
    np.power: raised,
}
"""These do what NumPy's functions do, and faster, on single numbers above all."""


def of_one(row: Op) -> Quick:
    """`apply_to_any` for a row of one operand that gives no view."""
    named, swift = row.forward, OPERATOR.get(row.forward, row.forward)
    (keep,), keep_y = row.keeps(ONE)
    may_look = not row.elementwise

    def quick(t: Any, params: Mapping[str, Any] = NONE) -> Tensor:
        x: State = t
        if UNUSUAL or x._view is not None:
            return apply_to_any(row, (x,), params)
        u = x._value
        forward = row.forward
        if forward is named:
            forward = swift
        y = forward(u, **params) if params else forward(u)
        if type(y) is not float64 and not native.of_type(y, FLOAT):
            y = in_floats(forward, (u,), params, y)
        if may_look and _looks(y, u):
            return apply_to_any(row, (x,), params)
        if not x._tracked:
            return Tensor(y)
        if type(u) is float64:
            forms, kept = A_NUMBER, u
        else:
            form, blank = stand_in(u)
            forms, kept = (form,), u if keep else blank
        watch = _watched(x, None) if keep else None
        node = noted(row, (step_of(x),), forms, (kept,), params, None, watch)
        out: Tensor = wrapped(Tensor, y, True, node)
        if keep_y:
            _keep(node, y, out)
        return out

    return quick


def of_two(row: Op) -> Quick:
    """`apply_to_any` for a row of two operands and no parameters that gives no view."""
    named, swift = row.forward, OPERATOR.get(row.forward, row.forward)
    both, first, second = ((*kept, y) for kept, y in map(row.keeps, (BOTH, FIRST, SECOND)))
    may_look = not row.elementwise

    def quick(a: Any, b: Any) -> Tensor:
        left: State | None = a if type(a) is Tensor else None
        right: State | None = b if type(b) is Tensor else None
        if (
            UNUSUAL
            or (left is not None and left._view is not None)
            or (right is not None and right._view is not None)
        ):
            return apply_to_any(row, (a, b), NONE)
        u = a if left is None else left._value
        v = b if right is None else right._value
        if type(u) is not ndarray and type(u) is not float64:
            u = constant(u)
        if type(v) is not ndarray and type(v) is not float64 and type(v) is not float:
            v = constant(v)
        forward = row.forward
        y = swift(u, v) if forward is named else forward(u, v)
        if type(y) is not float64 and not native.of_type(y, FLOAT):
            y = in_floats(forward, (u, v), NONE, y)
        if may_look and (_looks(y, u) or _looks(y, v)):
            return apply_to_any(row, (a, b), NONE)
        start = step_of(left) if left is not None and left._tracked else None
        other = step_of(right) if right is not None and right._tracked else None
        if start is not None:
            keep_u, keep_v, keep_y = both if other is not None else first
        elif other is not None:
            keep_u, keep_v, keep_y = second
        else:
            return Tensor(y)
        if type(u) is float64 and (type(v) is float64 or type(v) is float):
            forms, kept = TWO_NUMBERS if type(v) is float64 else NUMBER_FIRST, (u, v)
        else:
            (form_u, blank_u), (form_v, blank_v) = stand_in(u), stand_in(v)
            forms, kept = (form_u, form_v), (u if keep_u else blank_u, v if keep_v else blank_v)
        watch: tuple[Any, ...] | None = None
        if keep_u or keep_v:
            watch = _watched(left if keep_u else None, right if keep_v else None)
        node = noted(row, (start, other), forms, kept, NONE, None, watch)
        out: Tensor = wrapped(Tensor, y, True, node)
        if keep_y:
            _keep(node, y, out)
        return out

    return quick


def _watched(left: State | None, right: State | None) -> tuple[Any, ...]:
    """The operands whose memory is watched, as a node has them; None stands for a constant."""
    watch: tuple[Any, ...] = ()
    if left is not None:
        cell = cell_of(left)
        watch = (0, cell, cell[0])
    if right is not None:
        cell = cell_of(right)
        watch = (*watch, 1, cell, cell[0])
    return watch


def _keep(node: Node, y: Any, out: State) -> None:
    """The value itself is among what the node saves."""
    node.y = y
    seen = -1, cell_of(out), 0
    node.watch = seen if node.watch is None else node.watch + seen


def _looks(y: Any, u: Any) -> bool:
    """Whether a value may lie in an operand's memory."""
    return type(y) is ndarray and (y is u or native.looks_on(y))


def _ordinary(row: Op) -> bool:
    return row.arrange is None and row not in views.MOVING


QUICKLY.update({row: of_one(row) for row in TABLE.values() if _ordinary(row) and row.operands == 1})
QUICKLY.update({row: of_two(row) for row in TABLE.values() if _ordinary(row) and row.operands == 2})
QUICK_UFUNCS.update({f: QUICKLY[row] for f, row in BY_FUNCTION.items() if row in QUICKLY})
