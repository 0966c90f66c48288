"""Exact numbers that NumPy can carry: Ball, what it shares with Symbolic, and the array for both.

A Ball is python-flint's arb: a midpoint and a proven radius. NumPy carries a program to scalars in
an object array by itself; `Scalars` is a thin array class that answers what NumPy does not hand to
objects (`logaddexp`, LAPACK, our own rows), and that keeps single numbers wrapped, so that every
NumPy function finds its way back here.

No ball of a third is ever narrow enough to show that three of them are one. A number's key is the
number modulo a prime: sums, products and quotients of keys are those of the numbers, and a function
of equal keys has equal keys. Where balls overlap and keys are equal the numbers are: that different
ones have the same key has a chance of 2^-60, unless somebody computed them for it.
"""

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from typing import ClassVar, NoReturn, Self

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from gradcheck.numbers.run import RUN, Undecided
from gradcheck.ops import BY_COMPOUND, BY_FUNCTION, TABLE, row_of
from gradcheck.ops.arithmetic import COMPARISONS, OPERATIONS
from gradcheck.ops.row import Composed, Op
from gradcheck.values import Array, Params, Routine, Value

# -- plain numbers as balls, and keys --------------------------------------------------------------

PRIME = 2**127 - 1
MIXED = 0x5851F42D4C957F2D14057B7EF767814F  # spreads a hash, of 61 bits, over all residues
POWERS = 10**6  # the largest whole exponent that is followed
RANGE = arb(2) ** -1022, arb(2) ** 1024  # of float64
WHOLE = (bool, np.bool_, int, np.integer)
_fresh = count(1).__next__
_invert = partial(pow, exp=-1, mod=PRIME)
RULES: dict[str, Callable[..., int]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": lambda a, b: a * _invert(b), "negative": operator.neg, "positive": operator.pos,
    "square": lambda a: a * a, "reciprocal": _invert,
}  # fmt: skip
FIELD = {TABLE[name]: rule for name, rule in RULES.items()}
POWER = TABLE["power"]
JUMPING = frozenset({TABLE["floor"], TABLE["ceil"]})


def exact(value: Value) -> arb:
    """A plain number as a ball: integers and floats exactly, fractions to working precision."""
    if type(value) is Fraction:  # nearly always
        return arb(fmpq(value.numerator, value.denominator))
    if isinstance(value, WHOLE):
        return arb(int(value))
    if isinstance(value, float | np.floating):
        return arb(float(value))
    if isinstance(value, arb):
        return value
    raise TypeError(f"a real number was expected, {type(value).__name__} came")


def make_key() -> int:
    """The key of a number of which nothing is known."""
    return _hash("fresh", _fresh())


def find_key(number: Value) -> int:
    key: int | None = getattr(number, "key", None)
    return find_plain_key(number) if key is None else key


def find_plain_key(value: Value) -> int:
    if type(value) is arb:
        if not value.is_exact() or not value.is_finite():
            return make_key()
        mantissa, exponent = map(int, value.man_exp())
        return mantissa * pow(2, exponent, PRIME) % PRIME
    if isinstance(value, float) and not math.isfinite(value):
        return make_key()
    number = Fraction(bool(value) if isinstance(value, np.bool_) else value)
    over, under = int(number.numerator), int(number.denominator)
    return over * _invert(under) % PRIME if under % PRIME else make_key()


def settle(
    row: Op, found: arb, args: Sequence[Value], values: Sequence[arb]
) -> tuple[arb, int | None]:
    """An op's value, whole where it has to be; and its key, where more than the ball is asked."""
    if row in JUMPING:
        found = whole(found, values[0], lambda: find_key(args[0]))
    if not RUN.keyed or found.is_exact():
        return found, None
    return found, find_result_key(row, list(map(find_key, args)), values)


def find_result_key(row: Op, keys: Sequence[int], values: Sequence[arb]) -> int:
    """The key of an op's value, from those of its arguments (and what they are)."""
    try:
        if row in FIELD:
            return FIELD[row](*keys) % PRIME
        exponent = values[1].unique_fmpz() if row is POWER and values[1].is_exact() else None
        if exponent is not None and exponent == values[1] and abs(exponent) < POWERS:
            return pow(keys[0], int(exponent), PRIME)
    except ValueError:  # no inverse: zero, as far as keys can tell
        return make_key()
    return _hash(row.name, *keys) if TABLE.get(row.name) is row else make_key()


def _hash(*parts: Value) -> int:
    return hash(parts) * MIXED % PRIME


def find_sign(difference: arb, sides: Callable[[], tuple[int, int]]) -> int:
    """The sign of a difference, beyond doubt; `sides` are the keys of what is compared."""
    if difference.is_nan():
        raise ValueError("a comparison with a value that is not a number")
    if difference > 0 or difference < 0:
        if RUN.as_floats and not RANGE[0] < abs(difference) < RANGE[1]:
            raise Undecided("a choice hangs on a number outside the range of float64")
        return 1 if difference > 0 else -1
    if difference == 0 or (RUN.keyed and len(set(sides())) == 1):
        return 0
    raise Undecided(
        "a choice hangs on the sign of a number that is smaller than "
        f"{difference.abs_upper().str(2, radius=False)}, and {ctx.prec} bits do not tell it"
    )


def whole(found: arb, argument: arb, key: Callable[[], int]) -> arb:
    """The floor or ceiling of an argument, where the ball of it leaves that open."""
    near = None if found.is_exact() or not found.is_finite() else argument.unique_fmpz()
    if near is not None and RUN.keyed and key() == int(near) % PRIME:
        found = arb(near)
    if found.is_exact() or not found.is_finite():
        if RUN.floors is not None:
            RUN.floors.append(found)
        return found
    raise Undecided(
        f"a choice hangs on whether {argument.str(6, radius=False)} is a whole number, "
        f"and {ctx.prec} bits do not tell"
    )


# -- numbers of an exact kind, and the array they live in ------------------------------------------

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
    fixed = False  # whether it is known to hang on no input
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
            self._key = find_plain_key(self.value)
        return self._key

    def _sign(self, other: Value) -> int:
        """The sign of self - other at the point, noted as a condition of the path."""
        sign = find_sign(self.value - ball_of(other), lambda: (self.key, find_key(other)))
        if not sign and self is not other and not (self.fixed and getattr(other, "fixed", True)):
            RUN.ties += 1
        if RUN.path is not None:
            difference = self if isinstance(other, int) and other == 0 else self - other
            RUN.path.append((difference, sign))
        return sign

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        return self._sign(0) != 0

    def conjugate(self) -> Self:
        return self

    def __float__(self) -> NoReturn:
        RUN.refused = NO_FLOAT
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


def _make_method(row: Op) -> Routine:
    return lambda self: self.elementwise(row, self)


for _word in COMPARISONS:
    setattr(Scalar, f"__{_word}__", _compare(getattr(operator, _word)))
for _word, _name in OPERATIONS.items():
    if _word != "matmul":
        setattr(Scalar, f"__{_word}__", _combine(TABLE[_name], swapped=False))
        setattr(Scalar, f"__r{_word}__", _combine(TABLE[_name], swapped=True))
for _name, _row in TABLE.items():  # NumPy's object loops call `element.exp()`
    if _row.elementwise and _row.operands == 1:
        setattr(Scalar, _name, _make_method(_row))
for _word, _name in UNARY.items():
    setattr(Scalar, f"__{_word}__", _make_method(TABLE[_name]))


def ball_of(value: Value) -> arb:
    return value.value if isinstance(value, Scalar) else exact(value)


class Scalars(Array):
    """An object array of exact numbers; reductions and indexing keep 0-d results wrapped."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value
    ) -> Value:
        row, kind = row_of(ufunc), find_kind(inputs)
        if RUN.numbers and "out" in kwargs and inputs[0] is kwargs["out"][0] and self.ndim == 0:
            del kwargs["out"]  # `s += 1`
        if kind is None and not kwargs:
            return getattr(ufunc, method)(*(_bare(value, float) for value in inputs))
        if row is not None and method == "__call__" and not kwargs and find_cell(row, kind):
            return compute(row, *row.normal(inputs, {}))
        if "out" in kwargs:
            kwargs["out"] = tuple(map(_bare, kwargs["out"]))
        return wrap(getattr(ufunc, method)(*map(_bare, inputs), **kwargs))

    def __array_function__(self, func: Value, types: Value, args: Value, kwargs: Params) -> Value:
        if func in BY_COMPOUND:
            return BY_COMPOUND[func](*args, **kwargs)
        row = BY_FUNCTION.get(func)
        if row is not None and find_cell(row, find_kind((*args, *kwargs.values()))):
            return compute(row, *row.normal(args, kwargs))
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
        return compute(row, operands, params)


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


def compute(row: Op, operands: tuple[Value, ...], params: Params) -> Value:
    """A row's own cell on arrays of exact numbers; NumPy's code where the cell is empty."""
    kind = find_kind(operands)
    if kind is None:
        return row.forward(*(_bare(value, float) for value in operands), **params)
    cell = find_cell(row, kind)
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


def find_cell(row: Op, kind: type[Scalar] | None) -> Value:
    """The row's counterpart for a scalar kind; None where NumPy's code on objects serves."""
    return None if kind is None else getattr(row, kind.cell)


def find_kind(operands: tuple[Value, ...] | list[Value]) -> type[Scalar] | None:
    """The scalar kind of the first exact number; None where all numbers are plain."""
    for value in operands:
        if isinstance(value, list | tuple):
            found = find_kind(value)
        elif isinstance(value, Scalars):
            found = next((type(e) for e in value.flat if isinstance(e, Scalar)), None)
        else:
            continue
        if found is not None:
            return found
    return None


def _bare(value: Value, dtype: type | None = None) -> Value:
    """A plain array for NumPy; of floats where it holds no exact numbers (a buffer of zeros)."""
    return np.asarray(value, dtype=dtype) if isinstance(value, Scalars) else value


# -- balls -----------------------------------------------------------------------------------------


class Ball(Scalar):
    """A real number known to lie within a ball, `x`; arithmetic keeps the promise."""

    __slots__ = ()
    cell = "ball"
    x = Scalar.value  # type: ignore[misc]

    def __init__(self, x: Value, key: int | None = None) -> None:
        self.value = x if type(x) is arb else exact(x)
        self._key = find_plain_key(x) if type(x) is Fraction else key
        RUN.made += 1

    @classmethod
    def apply(cls, row: Op, rule: Routine, args: tuple[Value, ...]) -> Value:
        values = [a.value if type(a) is Ball else exact(a) for a in args]
        return Ball(*settle(row, rule(*values), args, values))

    def bare(self) -> arb:
        return self.value

    @classmethod
    def exactly(cls, value: Value) -> "Ball":
        return cls(value)

    @classmethod
    def by_matrices(
        cls, rule: Routine, signature: str, share: int, operands: tuple[Value, ...]
    ) -> Value:
        """A rule on flint's matrices, for each matrix of the stacks (NumPy's `signature`).

        The work counts as a ball for every `share` of its rows times columns times columns.
        """

        def once(*stack: Value) -> Value:
            RUN.made += stack[0].size * stack[-1].shape[-1] // share
            found = rule(*[arb_mat(len(m), m.shape[1], arbs(m).ravel().tolist()) for m in stack])
            return Ball(found) if type(found) is arb else np.asarray(balls(found.table()))

        apply = np.vectorize(once, otypes=[object], signature=signature)
        return apply(*[np.asarray(v, dtype=object) for v in operands])

    def __repr__(self) -> str:
        return f"Ball({self.value})"


def balls(values: Value) -> Scalars:
    """An array (or nested lists) of plain numbers, Fractions or arbs as an array of Balls."""
    return each(lambda entry: entry if type(entry) is Ball else Ball(entry), values).view(Scalars)


def arbs(values: Value) -> Array:
    """The arbs inside an array of Balls and plain numbers, as an object array."""
    return each(ball_of, values)


def middle(ball: arb) -> float:
    """The midpoint as the nearest float; nan for a ball that holds no number."""
    return float(ball.mid()) if ball.is_finite() else math.nan


def radius(ball: arb) -> float:
    """The radius as a float, never rounded down to less than it is."""
    if ball.is_exact():
        return 0.0 if ball.is_finite() else math.inf
    return math.nextafter(float(ball.rad()), math.inf) if ball.is_finite() else math.inf
