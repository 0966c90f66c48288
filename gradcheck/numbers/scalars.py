"""What the two scalar kinds share: operators from the table of ops, and the array they live in.

NumPy carries a program to scalars in an object array by itself. `Scalars` is a thin array class
that answers what NumPy does not hand to objects (`logaddexp`, LAPACK, our own rows), and that
keeps single numbers wrapped, so that every NumPy function finds its way back here.
"""

import operator
from collections.abc import Callable
from typing import ClassVar, NoReturn, Self

import numpy as np
from flint import arb

from gradcheck.numbers.keys import exact, key_of, key_of_plain, sign_of
from gradcheck.numbers.run import RUN
from gradcheck.ops import BY_COMPOUND, BY_FUNCTION, TABLE, row_of
from gradcheck.ops.arithmetic import COMPARISONS, OPERATIONS
from gradcheck.ops.row import Composed, Op
from gradcheck.values import Array, Params, Routine, Value

UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute"}
UNARY |= {name: name for name in ("floor", "ceil", "trunc")}
NO_FLOAT = (
    "this function casts its argument to a plain float, so the number's exact history would be "
    "lost; write it with NumPy functions"
)


class Scalar:
    """A number of an exact kind: the ball that holds it, and its key (see `keys`).

    A kind says which cell of a row is its own, how a rule applies to its numbers, what a plain
    number is of it, and what a cell on plain scalars computes with where a number is a constant.
    """

    __slots__ = ("_key", "value")
    cell: ClassVar[str]
    apply: ClassVar[Value]
    exactly: ClassVar[Value]
    bare: ClassVar[Value]
    value: arb
    _key: int | None

    @classmethod
    def elementwise(cls, row: Op, *args: Value) -> Value:
        """The op on scalars of this kind and plain numbers; a composed cell works on themselves."""
        rule = getattr(row, cls.cell)
        return rule.function(*args) if isinstance(rule, Composed) else cls.apply(row, rule, args)

    @property
    def key(self) -> int:
        if self._key is None:
            self._key = key_of_plain(self.value)
        return self._key

    def _sign(self, other: Value) -> int:
        """The sign of self - other at the point, noted as a condition of the path."""
        sign = sign_of(self.value - ball_of(other), lambda: (self.key, key_of(other)))
        if RUN.path is not None:
            difference = self if isinstance(other, int) and other == 0 else self - other
            RUN.path.append((difference, sign))
        return sign

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        return self._sign(0) != 0

    def conjugate(self) -> Self:
        """Itself: the numbers here are real."""
        return self

    def __float__(self) -> NoReturn:
        raise TypeError(NO_FLOAT)

    __int__ = __float__
    __index__ = __float__


def _compare(test: Routine) -> Routine:
    return lambda self, other: (
        NotImplemented if isinstance(other, np.ndarray) else test(self._sign(other), 0)
    )


def _combine(row: Op, swapped: bool) -> Routine:
    def apply(self: Scalar, other: Value) -> Value:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.elementwise(row, other, self) if swapped else self.elementwise(row, self, other)

    return apply


def _method(row: Op) -> Routine:
    return lambda self: self.elementwise(row, self)


for _word in COMPARISONS:
    setattr(Scalar, f"__{_word}__", _compare(getattr(operator, _word)))
for _word, _name in OPERATIONS.items():
    if _word != "matmul":
        setattr(Scalar, f"__{_word}__", _combine(TABLE[_name], swapped=False))
        setattr(Scalar, f"__r{_word}__", _combine(TABLE[_name], swapped=True))
for _name, _row in TABLE.items():  # NumPy's object loops call `element.exp()`
    if _row.elementwise and _row.operands == 1:
        setattr(Scalar, _name, _method(_row))
for _word, _name in UNARY.items():
    setattr(Scalar, f"__{_word}__", _method(TABLE[_name]))


def ball_of(value: Value) -> arb:
    return value.value if isinstance(value, Scalar) else exact(value)


class Scalars(Array):
    """An object array of exact numbers; reductions and indexing keep 0-d results wrapped."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value
    ) -> Value:
        row, kind = row_of(ufunc), kind_among(inputs)
        if kind is None and not kwargs:
            return getattr(ufunc, method)(*map(_as_floats, inputs))
        if row is not None and method == "__call__" and not kwargs and cell_of(row, kind):
            return answer(row, inputs, {})
        if "out" in kwargs:
            kwargs["out"] = tuple(map(_as_plain_array, kwargs["out"]))
        return wrap(getattr(ufunc, method)(*map(_as_plain_array, inputs), **kwargs))

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

    def astype(self, dtype: Value, *args: Value, **kwargs: Value) -> Value:
        """As they are for doubles, which they stand for; anything else is NumPy's affair."""
        if np.dtype(dtype) == np.float64:
            return self.copy()
        return super().astype(dtype, *args, **kwargs)

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
    if kind is not None:
        return each(lambda e: e if isinstance(e, kind) else kind.exactly(e), value).view(Scalars)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.view(Scalars)
    return each(lambda e: e, value).view(Scalars) if isinstance(value, Scalar) else value


def answer(row: Op, operands: tuple[Value, ...], params: Params) -> Value:
    """A row's own cell on arrays of exact numbers; NumPy's code where the cell is empty."""
    kind = kind_among(operands)
    if kind is None:
        return row.forward(*map(_as_floats, operands), **params)
    cell = cell_of(row, kind)
    if cell is None:
        return wrap((row.respelled or row.function)(*operands, **params), kind)
    composed = isinstance(cell, Composed)
    if row.elementwise:
        filled = row.bind_params({name: _unbox(v, composed) for name, v in params.items()})
        loop = np.frompyfunc(lambda *args: kind.elementwise(filled, *args), len(operands), 1)
        return wrap(loop(*(np.asarray(v, dtype=object) for v in operands)), kind)
    return wrap((cell.function if composed else cell)(*operands, **params), kind)


def _unbox(value: Value, composed: bool) -> Value:
    """The exact number of a parameter (the 0.2 of `leaky_relu(x, 0.2)`), for a cell of numbers."""
    if not isinstance(value, Scalars) or value.shape:
        return value
    number = value.item()
    return number.bare() if isinstance(number, Scalar) and not composed else number


def cell_of(row: Op, kind: type[Scalar] | None) -> Value:
    """The row's counterpart for a scalar kind; None where NumPy's code on objects serves."""
    return None if kind is None else getattr(row, kind.cell)


def kind_among(operands: tuple[Value, ...] | list[Value]) -> type[Scalar] | None:
    """The scalar kind of the first exact number; None where all numbers are plain."""
    for value in operands:
        if isinstance(value, list | tuple):
            found = kind_among(value)
        elif isinstance(value, Scalars):
            found = next((type(e) for e in value.flat if isinstance(e, Scalar)), None)
        else:
            continue
        if found is not None:
            return found
    return None


def _as_floats(value: Value) -> Value:
    """An object array of plain numbers (a buffer of zeros) as an array of floats."""
    return np.asarray(value, dtype=float) if isinstance(value, Scalars) else value


def _as_plain_array(value: Value) -> Value:
    return np.asarray(value) if isinstance(value, Scalars) else value
