"""Tensor: an array that remembers how it was made, with PyTorch's semantics.

Plain NumPy functions reach it through `__array_ufunc__` and `__array_function__`; both look the
function up in the table of ops. `apply` runs an op's forward on bare values and, if anything is
tracked, records it; `apply_to_one` and `apply_to_two` do the same without loops for the ops of one
and two operands, of which most programs are made.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy import float64, ndarray

from gradcheck.engine import advice, views
from gradcheck.engine.conversions import Convertible, bare
from gradcheck.engine.hooks import Hooked
from gradcheck.engine.recording import MODE
from gradcheck.engine.tape import NUMBER, Node, blank, form, record
from gradcheck.ops import BY_FUNCTION, TABLE
from gradcheck.ops.row import BY_COMPOUND, Op

__all__ = [
    "Tensor", "apply", "apply_to_any", "apply_to_one", "apply_to_two", "bare", "boxed", "tracked",
]  # fmt: skip


class Tensor(Convertible, Hooked):
    """A float64 array (unless given otherwise) that remembers the op it came from."""

    __slots__ = ()
    __array_priority__ = 1000

    backward: ClassVar[Callable[..., None]]  # attached by `autograd`, as operators by `methods`

    def detach(self) -> Self:
        """The same memory without the memory of how it was made."""
        self._share()
        twin = type(self)(self._value)
        twin._cell = self._cell
        return twin

    def __pos__(self) -> Self:
        return self

    def __getitem__(self, index: Any) -> "Tensor":
        try:
            return apply(TABLE["getitem"], (self,), {"index": bare(index)})
        except IndexError as error:
            raise IndexError(advice.index_error(error, self.ndim)) from None

    def __iter__(self) -> Iterator["Tensor"]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        for i in range(len(self._value)):
            entry = self[i]
            if entry._view is not None:
                entry._view.origin = f"Unbind {i}"
            yield entry

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        row = BY_FUNCTION.get(ufunc)
        if row is not None and method == "__call__" and not kwargs:
            return apply(row, inputs, {})
        if method == "reduce" and ufunc in advice.REDUCTIONS:
            row = TABLE[advice.REDUCTIONS[ufunc]]
            return row(*inputs, **{"axis": 0} | advice.without_defaults(kwargs))
        if row is None and ufunc in advice.PLAIN and not kwargs.get("out"):
            return getattr(ufunc, method)(*map(bare, inputs), **kwargs)
        if row is None or method != "__call__" or advice.without_defaults(kwargs):
            raise TypeError(advice.refused(ufunc, method, kwargs, row is None))
        return apply(row, inputs, {})

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if function is np.full_like:  # the number that fills must not lose its gradient
            return function(bare(args[0]), *args[1:], **kwargs)
        if function in advice.PLAIN:
            return function(*map(bare, args), **kwargs)
        if function in BY_COMPOUND:
            return BY_COMPOUND[function](*args, **kwargs)
        row = BY_FUNCTION.get(function)
        if row is None:
            raise TypeError(advice.unknown(function))
        return apply(row, *row.normal(args, kwargs))

    @staticmethod
    def __apply_op__(row: Op, operands: tuple[Any, ...], params: Mapping[str, Any]) -> Any:
        return apply(row, operands, params)


def tracked(value: Any) -> bool:
    """Whether gradients flow through this value."""
    return type(value) is Tensor and value.requires_grad


def boxed(value: Any) -> Tensor:
    """A tensor around a bare value; a tensor as it is."""
    return value if type(value) is Tensor else Tensor(_solid(value))


def _solid(y: Any) -> Any:
    """A forward value as an array or a NumPy number."""
    return y if hasattr(y, "dtype") else np.asarray(y)[()]


def _constant(value: Any) -> Any:
    """What is not a tensor, as NumPy takes it; sequences become arrays here, once."""
    return np.asarray(value) if type(value) in (list, tuple) else value


def apply(row: Op, operands: tuple[Any, ...], params: Mapping[str, Any]) -> Tensor:
    """Run an op's forward on bare values and, if anything is tracked, put a node on the tape."""
    if MODE.plain and row not in views.MOVING:
        if len(operands) == 2:
            return apply_to_two(row, *operands, params)
        if len(operands) == 1 and type(operands[0]) is Tensor:
            return apply_to_one(row, operands[0], params)
    return apply_to_any(row, operands, params)


def apply_to_any(row: Op, operands: tuple[Any, ...], params: Mapping[str, Any]) -> Tensor:
    """`apply` for every row, any number of operands, views, observers and disturbances."""
    for t in operands:
        if type(t) is Tensor and t._view is not None:
            t._view.settle(t)
    moving = row in views.MOVING and type(operands[0]) is Tensor
    if moving:
        y = views.forward(row, operands[0], params)
    values = [t._value if type(t) is Tensor else _constant(t) for t in operands]
    if not moving:
        y = row.forward(*values, **params)
    if MODE.disturb is not None:
        y = MODE.disturb(row, y)
    out = Tensor(_solid(y))
    if not row.elementwise:
        views.link(out, operands, row, params)
    if MODE.recording:
        wanted = tuple([type(t) is Tensor and t._tracked for t in operands])
        if True in wanted:
            record(row, operands, params, values, wanted, out)
    return out


# -- the same for one and two operands, without the loops ------------------------------------------

NONE: Mapping[str, Any] = {}
ONE = (True,)
NEITHER = (False, False)
OPERATOR: dict[Callable[..., Any], Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
}
"""Python's operators do what these functions do, and faster on single numbers."""


def apply_to_one(row: Op, x: Tensor, params: Mapping[str, Any] = NONE) -> Tensor:
    """`apply` for a row of one operand that gives no view."""
    if x._view is not None or not MODE.plain:
        return apply_to_any(row, (x,), params)
    u = x._value
    y = row.forward(u, **params) if params else OPERATOR.get(row.forward, row.forward)(u)
    out = Tensor(y if type(y) is float64 or type(y) is ndarray else _solid(y))
    if not row.elementwise and type(y) is ndarray and (y.base is not None or y is u):
        views.link(out, (x,), row, params)
    if not x._tracked:
        return out
    (keep,), keep_y = row.keeps(ONE)
    watch: tuple[Any, ...] | None = ((0, x._cell, x._cell[0]),) if keep else None
    if keep_y:
        watch = (*(watch or ()), (-1, out._cell, 0))
    out._tracked = True
    out._node = Node(
        row,
        (x._node or x._step(),),
        (NUMBER if type(u) is float64 else form(u),),
        (u if keep or type(u) is float64 else blank(u),),
        params,
        out._value if keep_y else None,
        watch,
    )
    return out


def apply_to_two(row: Op, a: Any, b: Any, params: Mapping[str, Any] = NONE) -> Tensor:
    """`apply` for a row of two operands that gives no view."""
    ours, theirs = type(a) is Tensor, type(b) is Tensor
    if not MODE.plain or (ours and a._view is not None) or (theirs and b._view is not None):
        return apply_to_any(row, (a, b), params)
    u = a._value if ours else a if type(a) is float else _constant(a)
    v = b._value if theirs else b if type(b) is float else _constant(b)
    y = row.forward(u, v, **params) if params else OPERATOR.get(row.forward, row.forward)(u, v)
    out = Tensor(y if type(y) is float64 or type(y) is ndarray else _solid(y))
    if not row.elementwise and type(y) is ndarray and (y.base is not None or y is u or y is v):
        views.link(out, (a, b), row, params)
    wanted = ours and a._tracked, theirs and b._tracked
    if wanted == NEITHER:
        return out
    (keep_u, keep_v), keep_y = row.keeps(wanted)
    watch: tuple[Any, ...] | None = None
    if keep_u or keep_v or keep_y:
        watch = ((0, a._cell, a._cell[0]),) if keep_u and ours else ()
        if keep_v and theirs:
            watch = (*watch, (1, b._cell, b._cell[0]))
        if keep_y:
            watch = (*watch, (-1, out._cell, 0))
    out._tracked = True
    out._node = Node(
        row,
        (
            (a._node or a._step()) if wanted[0] else None,
            (b._node or b._step()) if wanted[1] else None,
        ),
        (NUMBER if type(u) is float64 else form(u), NUMBER if type(v) is float64 else form(v)),
        (
            u if keep_u or type(u) is not ndarray else blank(u),
            v if keep_v or type(v) is not ndarray else blank(v),
        ),
        params,
        out._value if keep_y else None,
        watch,
    )
    return out
