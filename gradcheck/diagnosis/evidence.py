"""How much an answer says: how many hypotheses would meet one like it by accident.

Accidents are of two kinds. By digits: an answer is taken as drawn from all that could have been
typed with as many, in the range of the values that the mistakes give. A number like 12 is met by
every third mistake, 12.37 by one in a hundred, a formula's floats at several points by none. And by
formula: it may be a short one that has nothing to do with the mistakes, or the value of one. Of
those there are not many, whatever their digits, and two mistakes come to each of them in some way.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np

from gradcheck.diagnosis.closeness import RELATIVE
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.tables import Given
from gradcheck.opinions.opinion import Array

MOST = 1e-3  # accidents: one wrong story in a thousand answers that none of the mistakes gave
NEGLIGIBLE = MOST / 1000
ZERO = 1.0  # the size of a number that is typed as 0
LARGEST = 100  # denominators of fractions that somebody may have typed
LOST = 1e-12  # what a float may lose of such a fraction

# Formulas c x^p f(x), c a fraction of numbers up to 12. Of those that people write there are about
# a thousand: ten exponents, ten functions, a dozen coefficients that are seen at all.
SHORT = 1000
COEFFICIENT = 12
EXPONENTS = np.array([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 4, 5, 6])
FUNCTIONS = (np.ones_like, np.sin, np.cos, np.tan, np.exp, np.log, lambda x: 1 / np.cos(x))
FACTORS = (1, 2, 3, 4, 5)  # of x within the function


def accidents(
    prepared: Prepared, part: str, wanted: Given, pairs: bool = False, vague: bool = False
) -> float:
    """The expected number of mistakes (or `pairs` of them) that give such an answer by accident."""
    by_form = by_formula(prepared, part, wanted, pairs, vague)
    return max(by_digits(prepared, part, wanted, pairs), by_form)


def by_formula(
    prepared: Prepared, part: str, wanted: Given, pairs: bool = False, vague: bool = False
) -> float:
    """Accidents of an answer that is, or may be the value of, a short formula.

    Of a single number that cannot be ruled out. Where the formula is seen, at several points, one
    mistake is likelier than the accident, two are not, nor is a `vague` one: any term is the
    derivative of a power that was misread in some way.
    """
    short = wanted.flat.size == 1 or ((pairs or vague) and _one_term(prepared, part, wanted))
    return _stories(prepared, part, wanted, pairs) / SHORT if short else 0.0


def by_digits(prepared: Prepared, part: str, wanted: Given, pairs: bool = False) -> float:
    """Accidents of an answer by how many digits it has; a constant is one number at all points."""
    stories = _stories(prepared, part, wanted, pairs)
    flat = _typed(wanted)
    chance = 1.0
    for a, slack in zip(flat.flat, np.broadcast_to(wanted.slack, flat.shape).flat, strict=True):
        room = max(_unit(a), 2 * slack)
        chance *= room / (4 * max(abs(a), room))
        if stories * chance < NEGLIGIBLE:
            return 0.0
    return float(stories * chance)


def _stories(prepared: Prepared, part: str, wanted: Given, pairs: bool) -> int:
    """How many mistakes, or pairs of them, give something of the answer's size."""
    found = prepared.tables[part].get(wanted.shape)
    if found is None:
        return 0
    flat = _typed(wanted)
    values = found.flat[:, wanted.points][:, : len(flat)]
    reach = 2 * np.maximum(np.where(flat == 0, ZERO, np.abs(flat)), 2 * wanted.slack)
    near = int(np.sum(np.all(np.abs(values) <= reach, axis=(1, 2))))
    return near**2 if pairs else near


def _typed(wanted: Given) -> Array:
    """The numbers that were typed: of a constant the first point's."""
    constant = wanted.shape == () and not np.ptp(wanted.flat)
    return wanted.flat[:1] if constant else wanted.flat


def _one_term(prepared: Prepared, part: str, wanted: Given) -> bool:
    """Whether the answer is c x^p f(k x) at all points, c a simple fraction and x its input."""
    if wanted.shape != ():
        return False
    x = np.array([prepared.inputs[k][part] for k in wanted.points], dtype=float)
    with np.errstate(all="ignore"):
        outer = np.array([f(k * x) for f in FUNCTIONS for k in FACTORS])
        terms = (outer[:, None] * x ** EXPONENTS[:, None]).reshape(-1, len(x))
        ratios = wanted.flat[:, 0] / terms
        level = np.ptp(ratios, axis=1) <= RELATIVE * np.abs(ratios[:, 0])
    return any(map(_simple, ratios[level, 0]))


def _simple(ratio: float) -> bool:
    """Whether a number is a fraction of small whole numbers."""
    fraction = Fraction(float(ratio)).limit_denominator(COEFFICIENT)
    near = abs(float(fraction) - ratio) <= RELATIVE * abs(ratio)
    return near and 0 < abs(fraction.numerator) <= COEFFICIENT


def _unit(a: float) -> float:
    """How far apart the numbers lie that are typed like this one: digits, or a simple fraction."""
    exponent = Decimal(repr(float(a))).normalize().as_tuple().exponent
    decimal = 10.0 ** min(int(exponent), 0)
    simple = Fraction(float(a)).limit_denominator(LARGEST)
    fits = abs(float(simple) - a) <= LOST * abs(a)
    return max(decimal, 1.0 / simple.denominator**2 if fits else 0.0, 2 * RELATIVE * abs(a))
