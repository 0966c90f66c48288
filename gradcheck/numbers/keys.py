"""Plain numbers as balls; and the keys that make it certain that two exact numbers are equal.

No ball of a third is ever narrow enough to show that three of them are one. A key is the number
modulo a prime: sums, products and quotients of keys are those of the numbers, and a function of
equal keys has equal keys. Where balls overlap and keys are equal the numbers are: that different
ones have the same key has a chance of 2^-60, unless somebody computed them for it.
"""

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import count

import numpy as np
from flint import arb, ctx, fmpq

from gradcheck.numbers.run import RUN, Undecided
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op
from gradcheck.values import Value

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


def fresh_key() -> int:
    """The key of a number of which nothing is known."""
    return _hash("fresh", _fresh())


def key_of(number: Value) -> int:
    key: int | None = getattr(number, "key", None)
    return key_of_plain(number) if key is None else key


def key_of_plain(value: Value) -> int:
    """The key of an integer, a truth value, a Fraction, a float, or an arb."""
    if type(value) is arb:
        if not value.is_exact() or not value.is_finite():
            return fresh_key()
        mantissa, exponent = map(int, value.man_exp())
        return mantissa * pow(2, exponent, PRIME) % PRIME
    if isinstance(value, float) and not math.isfinite(value):
        return fresh_key()
    number = Fraction(bool(value) if isinstance(value, np.bool_) else value)
    over, under = int(number.numerator), int(number.denominator)
    return over * _invert(under) % PRIME if under % PRIME else fresh_key()


def settle(
    row: Op, found: arb, args: Sequence[Value], values: Sequence[arb]
) -> tuple[arb, int | None]:
    """An op's value, whole where it has to be; and its key, where more than the ball is asked."""
    if row in JUMPING:
        found = whole(found, values[0], lambda: key_of(args[0]))
    if not RUN.keyed or found.is_exact():
        return found, None
    return found, key_of_result(row, list(map(key_of, args)), values)


def key_of_result(row: Op, keys: Sequence[int], values: Sequence[arb]) -> int:
    """The key of an op's value, from those of its arguments (and what they are)."""
    try:
        if row in FIELD:
            return FIELD[row](*keys) % PRIME
        exponent = values[1].unique_fmpz() if row is POWER and values[1].is_exact() else None
        if exponent is not None and exponent == values[1] and abs(exponent) < POWERS:
            return pow(keys[0], int(exponent), PRIME)
    except ValueError:  # no inverse: zero, as far as keys can tell
        return fresh_key()
    return _hash(row.name, *keys) if TABLE.get(row.name) is row else fresh_key()


def _hash(*parts: Value) -> int:
    return hash(parts) * MIXED % PRIME


def sign_of(difference: arb, sides: Callable[[], tuple[int, int]]) -> int:
    """The sign of a difference, beyond doubt; `sides` are the keys of what is compared."""
    if difference.is_nan():
        raise ValueError("a comparison with a value that is not a number")
    if difference > 0 or difference < 0:
        if RUN.as_floats and not RANGE[0] < abs(difference) < RANGE[1]:
            raise Undecided("a choice hangs on a number outside the range of float64")
        return 1 if difference > 0 else -1
    if difference == 0 or (RUN.keyed and len(set(sides())) == 1):
        RUN.ties += 1
        return 0
    raise Undecided(
        "a choice hangs on the sign of a number that is smaller than "
        f"{difference.abs_upper().str(2, radius=False)}, and {ctx.prec} bits do not tell it"
    )


def whole(found: arb, argument: arb, key: Callable[[], int]) -> arb:
    """The floor or ceiling of an argument, where the ball of it leaves that open."""
    if found.is_exact() or not found.is_finite():
        return found
    near = argument.unique_fmpz()
    if near is not None and RUN.keyed and key() == int(near) % PRIME:
        return arb(near)
    raise Undecided(
        f"a choice hangs on whether {argument.str(6, radius=False)} is a whole number, "
        f"and {ctx.prec} bits do not tell"
    )
