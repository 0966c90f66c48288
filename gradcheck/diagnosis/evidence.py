"""How much an answer says: how many hypotheses would meet one like it by accident.

Accidents are of two kinds. By digits: an answer is taken as drawn from all that could have been
typed with as many, in the range of the values that the mistakes give. A number like 12 is met by
every third mistake, 12.37 by one in a hundred, a formula's floats at several points by none. And by
formula: it may be a short one that has nothing to do with the mistakes, or the value of one. Of
those there are not many, whatever their digits, and two mistakes come to each of them in some way.
"""

import math
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

# Formulas c x^p f(k x) and c (x + b)^p, c a fraction of numbers up to 12. Of those that people
# write there are about a thousand: ten exponents, ten functions, a dozen coefficients.
SHORT = 1000
COEFFICIENT = 12
EXPONENTS = np.array([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 4, 5, 6])
FUNCTIONS = (np.ones_like, np.sin, np.cos, np.tan, np.exp, np.log, lambda x: 1 / np.cos(x))
FACTORS = (1, 2, 3, 4, 5)  # of x within the function
SHIFTS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)  # of x before the power

# The size of such a formula is 1 for each thing that is not the plainest: a coefficient, 2 if it is
# no whole number; a function, 2 if of a multiple; x, 2 if it has a power or a summand. Of size 1
# there are -12 to 12 without 1, x and six functions; of size 2, of those c x (23), c f (138), x f
# (6), powers (10), f(k x) (24), fractions (some 100) and x + b (10). Of larger ones, thousands.
COUNTS = {0: 1, 1: 31, 2: 342}
UNRELATED = 0.1  # of 1,500 wrong answers from elsewhere 9.5 % came of no mistake that is known
ODDS = 20  # to one that the mistake was made: 5 % is what is called significant


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
    mistake is mostly likelier than the accident (`likely`), two are not, nor is a `vague` one: any
    term is the derivative of a power that was misread in some way.
    """
    single = wanted.flat.size == 1
    short = single or ((pairs or vague) and size(prepared, part, wanted) is not None)
    return _stories(prepared, part, wanted, pairs) / SHORT if short else 0.0


def likely(common: float, prepared: Prepared, part: str, wanted: Given) -> bool:
    """Whether one mistake is likelier than that a short formula has nothing to do with it.

    Bayes' rule: of those who make a mistake of the catalogue so many make this one as it is common
    among all that can be made in the problem; of the others each writes one of the formulas that
    are no larger.
    """
    short = size(prepared, part, wanted) if wanted.flat.size > 1 else None
    if short is None or short not in COUNTS:
        return True
    every = sum(made.mistake.common for made in prepared.made)
    return common / every * (1 - UNRELATED) >= ODDS * UNRELATED / COUNTS[short]


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


def size(prepared: Prepared, part: str, wanted: Given) -> int | None:
    """The size of the smallest short formula that the answer is at all points; None if of none."""
    x = np.array([prepared.inputs[k][part] for k in wanted.points], dtype=float)
    if wanted.shape != () or x.ndim > 1:
        return None
    with np.errstate(all="ignore"):
        terms, sizes = _terms(x)
        ratios = wanted.flat[:, 0] / terms
        level = np.ptp(ratios, axis=1) <= RELATIVE * np.abs(ratios[:, 0])
    level &= np.all(np.isfinite(ratios), axis=1)
    found = [n + _coefficient(r) for n, r in zip(sizes[level], ratios[level, 0], strict=True)]
    return int(min(found)) if found and min(found) < math.inf else None


def _terms(x: Array) -> tuple[Array, Array]:
    """All x^p f(k x) and (x + b)^p at the points, and their sizes."""
    powers = x ** EXPONENTS[:, None]
    steps = np.where(EXPONENTS == 0, 0, np.where(EXPONENTS == 1, 1, 2))
    outer = np.array([f(k * x) for f in FUNCTIONS for k in FACTORS])
    kinds = np.array([0 if f is FUNCTIONS[0] else 1 + (k > 1) for f in FUNCTIONS for k in FACTORS])
    moved = np.array([(x + b) ** p for b in SHIFTS for p in EXPONENTS if p])
    further = np.array([2 + (p != 1) for b in SHIFTS for p in EXPONENTS if p])
    terms = np.concatenate([(outer[:, None] * powers).reshape(-1, len(x)), moved])
    return terms, np.concatenate([(kinds[:, None] + steps).ravel(), further])


def _coefficient(ratio: float) -> float:
    """The size of a coefficient; infinite if it is no fraction of small whole numbers."""
    fraction = Fraction(float(ratio)).limit_denominator(COEFFICIENT)
    near = abs(float(fraction) - ratio) <= RELATIVE * abs(ratio)
    if not near or not 0 < abs(fraction.numerator) <= COEFFICIENT:
        return math.inf
    return 0 if fraction == 1 else 1 if fraction.denominator == 1 else 2


def _unit(a: float) -> float:
    """How far apart the numbers lie that are typed like this one: digits, or a simple fraction."""
    exponent = Decimal(repr(float(a))).normalize().as_tuple().exponent
    decimal = 10.0 ** min(int(exponent), 0)
    simple = Fraction(float(a)).limit_denominator(LARGEST)
    fits = abs(float(simple) - a) <= LOST * abs(a)
    return max(decimal, 1.0 / simple.denominator**2 if fits else 0.0, 2 * RELATIVE * abs(a))
