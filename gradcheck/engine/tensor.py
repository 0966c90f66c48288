"""Tensor: an array that remembers how it was made, with PyTorch's semantics.

Plain NumPy functions reach it through `__array_ufunc__` and `__array_function__`; both look the
function up in the table of ops. `apply` runs an op's forward on bare values and, if anything is
tracked, records it: by a function made for the row (see `quick`), or by `apply_to_any`.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from gradcheck.engine import advice, doors, views
from gradcheck.engine.conversions import Convertible, bare
from gradcheck.engine.hooks import Hooked
from gradcheck.engine.recording import MODE
from gradcheck.engine.state import record
from gradcheck.ops import BY_FUNCTION, TABLE, row_of
from gradcheck.ops.formula import BY_COMPOUND
from gradcheck.ops.row import Op, handler_of

__all__ = ["QUICKLY", "Tensor", "apply", "apply_to_any", "bare", "boxed", "tracked"]

QUICKLY: dict[Op, Callable[..., "Tensor"]] = {}
"""The functions of `quick`, which is above this module, by their rows."""
QUICK_UFUNCS: dict[Any, Callable[..., "Tensor"]] = {}
"""The same by NumPy's functions."""


class Tensor(Convertible, Hooked):
    """A float64 array (unless given otherwise) that remembers the op it came from."""

    __slots__ = ()
    __array_priority__ = 1000

    backward: ClassVar[Callable[..., None]]  # attached by `autograd`, as operators by `methods`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse: a number kind is known by its type, and there is one of floats with a tape."""
        raise TypeError(
            "a Tensor cannot be subclassed: hold it in an object of your own, or write a Function"
        )

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
            yield self[i]._output_of("Unbind", i)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        known: dict[Any, Any] = QUICK_UFUNCS
        quick = known.get(ufunc)
        if quick is not None and not kwargs and method == "__call__":
            return quick(*inputs)
        row = row_of(ufunc)
        if ufunc in BY_COMPOUND and method == "__call__":
            return BY_COMPOUND[ufunc](*inputs)
        if row is not None and method in doors.SPREADS:
            return doors.SPREADS[method](ufunc, row, *inputs, **advice.without_defaults(kwargs))
        if method == "reduce" and ufunc in doors.REDUCTIONS:
            row = TABLE[doors.REDUCTIONS[ufunc]]
            axis = {"axis": kwargs.pop("axis", 0)}  # None is not the default here: it says all
            return row(*inputs, **axis | advice.without_defaults(kwargs))
        if row is None and ufunc in doors.PLAIN and not kwargs.get("out"):
            return getattr(ufunc, method)(*map(bare, inputs), **kwargs)
        if row is None or method != "__call__" or advice.without_defaults(kwargs):
            raise TypeError(advice.refused(ufunc, method, kwargs, row is None))
        return apply(row, inputs, {})

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if function in doors.LIKE:  # a buffer; the number that fills must not lose its gradient
            made = function(bare(args[0]), *args[1:], **kwargs)
            return Tensor(made) if made.dtype.kind == "f" else made
        if function in doors.PLAIN:
            return function(*map(bare, args), **kwargs)
        if function in BY_COMPOUND:
            return BY_COMPOUND[function](*args, **kwargs)
        row = BY_FUNCTION.get(function)
        if row is None:
            raise TypeError(advice.unknown(function))
        operands, params = row.normal(args, kwargs)
        if handler_of(operands) is None:  # NumPy came here for a parameter: it would come for ever
            raise TypeError(advice.PLAIN_PARAMETER.format(name=row.name))
        return apply(row, operands, params)

    @staticmethod
    def __apply_op__(row: Op, operands: tuple[Any, ...], params: Mapping[str, Any]) -> Any:
        return apply(row, operands, params)


def tracked(value: Any) -> bool:
    """Whether gradients flow through this value."""
    return type(value) is Tensor and value.requires_grad


def boxed(value: Any) -> Tensor:
    """A tensor around a bare value; a tensor as it is."""
    return value if type(value) is Tensor else Tensor(solid(value))


def solid(y: Any) -> Any:
    """A forward value as an array or a NumPy number."""
    return y if hasattr(y, "dtype") else np.asarray(y)[()]


def in_floats(
    forward: Callable[..., Any], values: tuple[Any, ...], params: Mapping[str, Any], y: Any
) -> Any:
    """A forward value; float64 also where NumPy makes float16 of small integers."""
    y = solid(y)
    if y.dtype.kind != "f" or y.dtype.itemsize == 8 or not values:
        return y
    if any(np.result_type(v).kind not in "iub" for v in values):
        return y
    return solid(forward(*(np.asarray(v, np.float64)[()] for v in values), **params))


def constant(value: Any) -> Any:
    """What is not a tensor, as NumPy takes it: sequences become arrays here, once."""
    if type(value) in (list, tuple, range):
        return np.asarray(value)
    return float(value) if type(value) is Fraction else value


def apply(row: Op, operands: tuple[Any, ...], params: Mapping[str, Any]) -> Tensor:
    """Run an op's forward on bare values and, if anything is tracked, put a node on the tape."""
    quick = QUICKLY.get(row)
    if quick is None or params:
        return apply_to_any(row, operands, params)
    return quick(*operands)


def apply_to_any(row: Op, operands: tuple[Any, ...], params: Mapping[str, Any]) -> Tensor:
    """`apply` for every row, any number of operands, views, observers and disturbances."""
    for t in operands:
        if type(t) is Tensor and t._view is not None:
            t._view.settle(t)
    moving = row in views.MOVING and type(operands[0]) is Tensor
    if moving:
        y = views.forward(row, operands[0], params)
    values = [t._value if type(t) is Tensor else constant(t) for t in operands]
    if not moving:
        y = row.forward(*values, **params)
    if MODE.disturb is not None:
        y = MODE.disturb(row, y)
    out = Tensor(in_floats(row.forward, tuple(values), params, y))
    if not row.elementwise:
        views.link(out, operands, row, params)
    if MODE.recording:
        wanted = tuple([type(t) is Tensor and t._tracked for t in operands])
        if True in wanted:
            record(row, operands, params, values, wanted, out)
    return out
