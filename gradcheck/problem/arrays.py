"""Numbers as they are written, in nested lists, as arrays of exact fractions.

A number may be written as a formula without names, `1/3` or `pi/4`: exact where it is a simple
fraction, else to PLACES digits, so that exact answers at it are right.
"""

import re
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, fmpq

from gradcheck.documents import WrittenFloat
from gradcheck.errors import TYPED_EXPONENT, GradcheckError
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import FORMULAS, KINDS, VOCABULARY
from gradcheck.language.run import run
from gradcheck.numbers.run import precision
from gradcheck.values import Array, Value

LITERAL = re.compile(r"[-+\d.eE_\s]*")


def exact_array(value: Value) -> Array | None:
    """Nested lists of numbers as an object array of Fractions; None if ragged, or no numbers."""
    if not isinstance(value, list):
        number = exact_number(value)
        return None if number is None else np.array(number, dtype=object)
    rows = [row for entry in value if (row := exact_array(entry)) is not None]
    shapes = {row.shape for row in rows}
    if len(rows) < len(value) or len(shapes) > 1:
        return None
    out = np.empty((len(rows), *next(iter(shapes), ())), dtype=object)
    for k, row in enumerate(rows):
        out[k, ...] = row
    return out


def exact_number(value: Value) -> Fraction | None:
    """One tenth for 0.1, the number that was written, not the float nearest to it; None for else.

    A text may be a formula.
    """
    if isinstance(value, str):
        return formula_value(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, WrittenFloat):
        return value.exact
    return Fraction(repr(value) if isinstance(value, float) else value)


PLACES, BITS = 60, 400  # twice the digits to which an answer is compared
SIMPLE = 10**20  # denominators up to which a number is told from all that are not rational


@lru_cache(maxsize=1_000)  # the form of a file is checked first, then it is read
def formula_value(text: str) -> Fraction | None:
    """The value of a formula such as `1/3` or `sqrt(2)/2`; None where it is none, or no number."""
    from gradcheck.answers import read_formula  # noqa: PLC0415 - most files hold none

    if LITERAL.fullmatch(text):  # a number in quotes is a text
        return None
    kind = KINDS["ball"]
    with precision(BITS):
        try:
            read = read_formula(text, names=(), functions=FORMULAS.functions).understood
            program = check_program(read, declared=(), vocabulary=VOCABULARY)
            found = run(program, {}, kind, Budget()).value
            return None if np.shape(found) else _simplest(np.asarray(found).item().x)
        except (GradcheckError, ArithmeticError, AttributeError, ValueError):
            return None


def _simplest(found: arb) -> Fraction | None:
    """The simple fraction that a ball holds, or its number to PLACES digits."""
    if not found.is_finite() or abs(found) > 10**TYPED_EXPONENT:
        return None
    near = Fraction(found.str(2 * PLACES, radius=False)).limit_denominator(SIMPLE)
    if found.contains(fmpq(near.numerator, near.denominator)):
        return near
    return Fraction(found.str(PLACES, radius=False))
