"""Where elementary functions have no real value beyond doubt, and where they change their rule.

Each rule sees balls: it is true only if it holds all over them.
"""

from collections.abc import Callable
from typing import Any

from flint import arb

from gradcheck.language.rules.vocabulary import words

Rule = Callable[..., Any]


def _pole(x: arb) -> bool:
    """Zero or a negative whole number."""
    return bool(x <= 0 and x.is_exact() and x.is_integer())


def _not_positive(x: arb) -> bool:
    return bool(x <= 0)


def _inside_one(x: arb) -> bool:
    return bool(abs(x) < 1)


def _outside_one(x: arb) -> bool:
    return bool(abs(x) > 1)


def _is_zero(x: arb) -> bool:
    return bool(x == 0)


def _no_power(base: arb, exponent: arb) -> bool:
    """A negative number to a fractional power, or zero to a negative one."""
    return bool((base < 0 and not exponent.contains_integer()) or (base == 0 and exponent < 0))


OUTSIDE: dict[str, Rule] = {
    "divide": lambda a, b: b == 0,
    "remainder": lambda a, b: b == 0,
    "fmod": lambda a, b: b == 0,
    "reciprocal": _is_zero,
    "power": _no_power,
    "float_power": _no_power,
    "sqrt": lambda x: x < 0,
    "log": _not_positive,
    "log2": _not_positive,
    "log10": _not_positive,
    "log1p": lambda x: x <= -1,
    "arcsin": _outside_one,
    "arccos": _outside_one,
    "arccosh": lambda x: x < 1,
    "arctanh": lambda x: abs(x) >= 1,
    "asec": _inside_one,
    "acsc": _inside_one,
    "asech": lambda x: x <= 0 or x > 1,
    "acsch": _is_zero,
    "acoth": lambda x: abs(x) <= 1,
    "csc": _is_zero,
    "cot": _is_zero,
    "csch": _is_zero,
    "coth": _is_zero,
    "gamma": _pole,
    "loggamma": _pole,
    "digamma": _pole,
}


def _itself(x: arb, *_: arb) -> arb:
    return x


def _difference(a: arb, b: arb) -> arb:
    return a - b


def _beyond_one(x: arb) -> arb:
    """Rounding first shows beyond 1."""
    return abs(x) - 1


def _lost(a: arb, b: arb) -> bool:
    """Two terms of which one is too small beside the other ever to be seen."""
    small, large = (a, b) if abs(a.mid()) < abs(b.mid()) else (b, a)
    return bool(small != 0 and abs(small) * UNSEEN < abs(large))


def _saturated(x: arb) -> bool:
    """So far out that the function is at its limit, to more digits than are ever compared."""
    return bool(abs(x) > SATURATED)


UNSEEN = arb(2) ** 1400
SATURATED = 1000
# Where a piece of a formula has no influence that could be seen.
HIDDEN: dict[str, Rule] = {
    "add": _lost,
    "subtract": _lost,
    "logaddexp": lambda a, b: _saturated(a - b),
} | dict.fromkeys(words("tanh erf erfc sigmoid softplus log1p expm1"), _saturated)


# What is zero where the function changes its rule.
KNOTS: dict[str, Rule] = (
    dict.fromkeys(words("absolute sign relu relu6 hardtanh leaky_relu elu selu cbrt"), _itself)
    | dict.fromkeys(words("heaviside softsign"), _itself)
    | dict.fromkeys(words("maximum minimum fmax fmin test"), _difference)
    | dict.fromkeys(words("floor ceil trunc rint round"), _beyond_one)
    | dict.fromkeys(words("remainder fmod"), lambda a, b: abs(a) - abs(b))
    | {"copysign": lambda a, b: b}
)
