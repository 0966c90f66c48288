"""What the two scalar kinds share: operators from the table of ops, and the array they live in.

NumPy carries a program to scalars in an object array by itself. `Scalars` is a thin array class
that answers what NumPy does not hand to objects (`logaddexp`, LAPACK, our own rows), and that
keeps single numbers wrapped, so that every NumPy function finds its way back here.
"""

from collections.abc import Callable
from typing import ClassVar, NoReturn

import numpy as np

from gradcheck.ops import BY_COMPOUND, BY_FUNCTION, TABLE, row_of
from gradcheck.ops.arithmetic import OPERATIONS
from gradcheck.ops.row import Composed, Op
from gradcheck.values import Array, Params, Value

OPERATORS = {word: row for word, row in OPERATIONS.items() if word != "matmul"}
UNARY = {
    "neg": "negative",
    "pos": "positive",
    "abs": "absolute",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
}
NO_FLOAT = (
    "this function casts its argument to a plain float, so the number's exact history would be "
    "lost; write it with NumPy functions"
)


class Scalar:
    """A number of an exact kind: subclasses say how an op's cell applies to their values."""

    __slots__ = ()
    cell: ClassVar[str]

    @classmethod
    def elementwise(cls, row: Op, *args: Value) -> Value:
        """The op on scalars of this kind (and plain numbers)."""
        raise NotImplementedError

    def bare(self) -> Value:
        """The number itself, where it is a constant: what a cell on plain scalars computes with."""
        raise NotImplementedError

    @classmethod
    def exactly(cls, value: Value) -> Value:
        """A plain number as a constant of this kind."""
        raise NotImplementedError

    def _sign(self, other: Value) -> int:
        raise NotImplementedError

    def __hash__(self) -> int:
        return id(self)

    def __lt__(self, other: Value) -> Value:
        return NotImplemented if isinstance(other, np.ndarray) else self._sign(other) < 0

    def __le__(self, other: Value) -> Value:
        return NotImplemented if isinstance(other, np.ndarray) else self._sign(other) <= 0

    def __gt__(self, other: Value) -> Value:
        return NotImplemented if isinstance(other, np.ndarray) else self._sign(other) > 0

    def __ge__(self, other: Value) -> Value:
        return NotImplemented if isinstance(other, np.ndarray) else self._sign(other) >= 0

    def __eq__(self, other: object) -> Value:
        return NotImplemented if isinstance(other, np.ndarray) else self._sign(other) == 0

    def __ne__(self, other: object) -> Value:
        return NotImplemented if isinstance(other, np.ndarray) else self._sign(other) != 0

    def __bool__(self) -> bool:
        return self._sign(0) != 0

    def conjugate(self) -> "Scalar":
        """Itself: the numbers here are real."""
        return self

    def __float__(self) -> NoReturn:
        raise TypeError(NO_FLOAT)

    __int__ = __float__
    __index__ = __float__


def equip(kind: type[Scalar]) -> None:
    """Give a scalar kind its operators and NumPy's methods (`element.exp()`), from the table."""
    for symbol, name in OPERATORS.items():
        setattr(kind, f"__{symbol}__", _binary(kind, name, swapped=False))
        setattr(kind, f"__r{symbol}__", _binary(kind, name, swapped=True))
    for name in (n for n, row in TABLE.items() if row.elementwise and row.operands == 1):
        setattr(kind, name, _unary(kind, name))
    for symbol, name in UNARY.items():
        setattr(kind, f"__{symbol}__", _unary(kind, name))


def _binary(kind: type[Scalar], name: str, swapped: bool) -> Callable[[Value, Value], Value]:
    def operator(self: Value, other: Value) -> Value:
        if isinstance(other, np.ndarray):
            return NotImplemented
        pair = (other, self) if swapped else (self, other)
        return kind.elementwise(TABLE[name], *pair)

    return operator


def _unary(kind: type[Scalar], name: str) -> Callable[[Value], Value]:
    return lambda self: kind.elementwise(TABLE[name], self)


class Scalars(Array):
    """An object array of exact numbers; reductions and indexing keep 0-d results wrapped."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value
    ) -> Value:
        row = row_of(ufunc)
        kind = kind_among(inputs)
        if kind is None and not kwargs:
            return getattr(ufunc, method)(*map(plainly, inputs))
        if row is not None and method == "__call__" and not kwargs and cell_of(row, kind):
            return answer(row, inputs, {})
        plain = [np.asarray(v) if isinstance(v, Scalars) else v for v in inputs]
        outs = kwargs.pop("out", None)
        if outs is not None:
            kwargs["out"] = tuple(np.asarray(o) if isinstance(o, Scalars) else o for o in outs)
        return wrap(getattr(ufunc, method)(*plain, **kwargs))

    def __array_function__(self, func: Value, types: Value, args: Value, kwargs: Params) -> Value:
        if func in BY_COMPOUND:
            return BY_COMPOUND[func](*args, **kwargs)
        row = BY_FUNCTION.get(func)
        if row is not None and cell_of(row, kind_among((*args, *kwargs.values()))):
            return answer(row, *row.normal(args, kwargs))
        return wrap(super().__array_function__(func, types, args, dict(kwargs)))

    def __getitem__(self, index: Value) -> Value:
        return wrap(super().__getitem__(index))

    def __setitem__(self, index: Value, value: Value) -> None:
        single = isinstance(value, Scalars) and not value.shape  # else the box would be written
        super().__setitem__(index, value.item() if single else value)

    def __deepcopy__(self, memo: Value) -> Value:
        return self.copy()  # its numbers never change

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        raise TypeError(NO_FLOAT)

    def astype(self, dtype: Value, *args: Value, **kwargs: Value) -> Value:
        """As they are for doubles, which they stand for; anything else is NumPy's affair."""
        if np.dtype(dtype) == np.float64:
            return self.copy()
        return super().astype(dtype, *args, **kwargs)

    @property
    def T(self) -> Value:  # noqa: N802 - NumPy's name
        """The transpose."""
        return self.transpose()

    @staticmethod
    def __apply_op__(row: Op, operands: tuple[Value, ...], params: Params) -> Value:
        return answer(row, operands, params)


def each(convert: Callable[[Value], Value], values: Value) -> Array:
    """An object array of what the entries of an array or of nested lists are converted to."""
    source = np.asarray(values, dtype=object)
    out = np.empty(source.size, dtype=object)
    out[:] = [convert(entry) for entry in source.flat]
    return out.reshape(source.shape)


def wrap(value: Value, kind: type[Scalar] | None = None) -> Value:
    """Exact numbers back into a `Scalars`; anything else as it is.

    Of a kind, plain numbers among them (a bound of clip, a padded zero) are made exact too.
    """
    if isinstance(value, tuple | list):
        return type(value)(wrap(entry, kind) for entry in value)
    if isinstance(value, np.ndarray) and value.dtype == object and kind is None:
        return value.view(Scalars)
    if kind is None and not isinstance(value, Scalar):
        return value
    return each(
        lambda e: e if kind is None or isinstance(e, kind) else kind.exactly(e), value
    ).view(Scalars)


def answer(row: Op, operands: tuple[Value, ...], params: Params) -> Value:
    """A row's own cell on arrays of exact numbers; NumPy's code where the cell is empty."""
    kind = kind_among(operands)
    if kind is None:
        return row.forward(*map(plainly, operands), **params)
    cell = cell_of(row, kind)
    if cell is None:
        return wrap((row.respelled or row.function)(*operands, **params), kind)
    if row.elementwise:
        composed = isinstance(cell, Composed)
        given = {name: _unbox(value, composed) for name, value in params.items()}
        filled = row.bind_params(given)
        loop = np.frompyfunc(lambda *args: kind.elementwise(filled, *args), len(operands), 1)
        return wrap(loop(*(np.asarray(v, dtype=object) for v in operands)), kind)
    function = cell.function if isinstance(cell, Composed) else cell
    return wrap(function(*operands, **params), kind)


def _unbox(value: Value, composed: bool) -> Value:
    """The exact number of a parameter (the 0.2 of `leaky_relu(x, 0.2)`), for a cell of numbers."""
    if not isinstance(value, Scalars) or value.shape:
        return value
    number = value.item()
    return number.bare() if isinstance(number, Scalar) and not composed else number


def cell_of(row: Op, kind: type[Scalar] | None) -> Value:
    """The row's counterpart for a scalar kind; None where NumPy's code on objects serves."""
    return None if kind is None else getattr(row, kind.cell)


def kind_among(operands: tuple[Value, ...]) -> type[Scalar] | None:
    """The scalar kind of the first exact number; None where all numbers are plain."""
    for array in _flat(operands):
        if isinstance(array, Scalars):
            for entry in array.flat:
                if isinstance(entry, Scalar):
                    return type(entry)
    return None


def plainly(value: Value) -> Value:
    """An object array of plain numbers (a buffer of zeros) as an array of floats."""
    return np.asarray(value, dtype=float) if isinstance(value, Scalars) else value


def _flat(operands: tuple[Value, ...]) -> list[Value]:
    found: list[Value] = []
    for entry in operands:
        found += _flat(tuple(entry)) if isinstance(entry, list | tuple) else [entry]
    return found
