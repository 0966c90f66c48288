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

from gradcheck.engine import views
from gradcheck.engine.recording import UNUSUAL
from gradcheck.engine.tape import NUMBER, Node, stand_in
from gradcheck.engine.tensor import QUICKLY, Tensor, apply_to_any, constant, solid
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op

__all__ = ["QUICKLY", "of_one", "of_two"]

Quick = Callable[..., Tensor]

NONE: Mapping[str, Any] = {}
ONE = (True,)
BOTH, FIRST, SECOND = (True, True), (True, False), (False, True)
READY = frozenset({float, ndarray, float64})
A_NUMBER = (NUMBER,)
TWO_NUMBERS, NUMBER_FIRST = (NUMBER, NUMBER), (NUMBER, None)
OPERATOR: dict[Callable[..., Any], Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.matmul: operator.matmul,
    np.negative: operator.neg,
}
"""Python's operators do what these functions do, and faster on single numbers."""


def of_one(row: Op) -> Quick:
    """`apply_to_any` for a row of one operand that gives no view."""
    named, swift = row.forward, OPERATOR.get(row.forward, row.forward)
    (keep,), keep_y = row.keeps(ONE)
    may_look = not row.elementwise

    def quick(x: Tensor, params: Mapping[str, Any] = NONE) -> Tensor:
        if UNUSUAL or x._view is not None:
            return apply_to_any(row, (x,), params)
        u = x._value
        forward = swift if row.forward is named else row.forward
        y = forward(u, **params) if params else forward(u)
        if type(y) is not float64 and (type(y) is not ndarray or may_look):
            y = solid(y)
            if may_look and _looks(y, u):
                return apply_to_any(row, (x,), params)
        if not x._tracked:
            return Tensor(y)
        if type(u) is float64:
            forms, kept = A_NUMBER, u
        else:
            form, blank = stand_in(u)
            forms, kept = (form,), u if keep else blank
        watch = ((0, x._cell, x._cell[0]),) if keep else None
        node = Node(row, (x._node or x._step(),), forms, (kept,), params, None, watch)
        out = Tensor(y, True, node)
        if keep_y:
            node.y = y
            node.watch = (*(watch or ()), (-1, out._cell, 0))
        return out

    return quick


def of_two(row: Op) -> Quick:
    """`apply_to_any` for a row of two operands and no parameters that gives no view."""
    named, swift = row.forward, OPERATOR.get(row.forward, row.forward)
    both, first, second = row.keeps(BOTH), row.keeps(FIRST), row.keeps(SECOND)
    may_look = not row.elementwise

    def quick(a: Any, b: Any) -> Tensor:
        ours, theirs = type(a) is Tensor, type(b) is Tensor
        if UNUSUAL or (ours and a._view is not None) or (theirs and b._view is not None):
            return apply_to_any(row, (a, b), NONE)
        u = a._value if ours else a if type(a) in READY else constant(a)
        v = b._value if theirs else b if type(b) in READY else constant(b)
        y = (swift if row.forward is named else row.forward)(u, v)
        if type(y) is not float64 and (type(y) is not ndarray or may_look):
            y = solid(y)
            if may_look and (_looks(y, u) or _looks(y, v)):
                return apply_to_any(row, (a, b), NONE)
        left, right = ours and a._tracked, theirs and b._tracked
        if left:
            (keep_u, keep_v), keep_y = both if right else first
        elif right:
            (keep_u, keep_v), keep_y = second
        else:
            return Tensor(y)
        if type(u) is float64 and (type(v) is float64 or type(v) is float):
            forms, kept = TWO_NUMBERS if type(v) is float64 else NUMBER_FIRST, (u, v)
        else:
            (form_u, blank_u), (form_v, blank_v) = stand_in(u), stand_in(v)
            forms, kept = (form_u, form_v), (u if keep_u else blank_u, v if keep_v else blank_v)
        watch: tuple[Any, ...] | None = None
        if keep_u or keep_v:
            watch = ((0, a._cell, a._cell[0]),) if keep_u and ours else ()
            if keep_v and theirs:
                watch = (*watch, (1, b._cell, b._cell[0]))
        edges = (
            (a._node or a._step()) if left else None,
            (b._node or b._step()) if right else None,
        )
        node = Node(row, edges, forms, kept, NONE, None, watch)
        out = Tensor(y, True, node)
        if keep_y:
            node.y = y
            node.watch = (*(watch or ()), (-1, out._cell, 0))
        return out

    return quick


def _looks(y: Any, u: Any) -> bool:
    """Whether a value may lie in an operand's memory."""
    return type(y) is ndarray and (y.base is not None or y is u)


def _ordinary(row: Op) -> bool:
    return row.arrange is None and row not in views.MOVING


QUICKLY.update({row: of_one(row) for row in TABLE.values() if _ordinary(row) and row.operands == 1})
QUICKLY.update({row: of_two(row) for row in TABLE.values() if _ordinary(row) and row.operands == 2})
