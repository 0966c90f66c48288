"""A term of the answer whose coefficient is off: the one mistake that has a number to be found."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from gradcheck.diagnosis.closeness import ratio, room, scale_of
from gradcheck.diagnosis.hypothesis import Hypothesis
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.tables import Given
from gradcheck.mistakes.sums import coefficient_slip, constant_added
from gradcheck.opinions.opinion import Array

DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # others are a ratio, not a slip
LARGEST = 100
VALUES = 3  # below, any term could be scaled to fit


def coefficients(prepared: Prepared, part: str, wanted: Given) -> list[Hypothesis]:
    """Each term of the sum that, times a simple fraction, turns the gradient into the answer."""
    right = np.array([np.ravel(prepared.right[k][part]) for k in wanted.points])
    if wanted.flat.size < VALUES or np.any(wanted.slack) or right.shape != wanted.flat.shape:
        return []
    scale = np.maximum(scale_of(right), scale_of(wanted.flat))
    found = []
    for span, shares in prepared.terms:
        share = np.array([np.ravel(shares[k][part]) for k in wanted.points])
        factor = _factor(wanted.flat, right, share, scale)
        if factor is not None:
            texts: Mapping[str, str] = {"factor": str(factor)}
            found.append(Hypothesis(coefficient_slip, span, texts=texts))
    return [*found, *_added(wanted, right, scale)]


def _factor(answer: Array, right: Array, share: Array, scale: Array) -> Fraction | None:
    """The simple fraction before the term that turns the gradient into the answer at each point."""
    if not np.any(share) or not np.all(np.isfinite(share)):
        return None
    factor = ratio(answer - right + share, share, scale)
    simple = Fraction(factor).limit_denominator(max(DENOMINATORS))
    if simple in (0, 1) or abs(simple) > LARGEST or simple.denominator not in DENOMINATORS:
        return None
    made = coefficient_slip.wrong(right, share, float(simple))
    return simple if np.all(np.abs(made - answer) <= room(answer, scale)) else None


def _added(wanted: Given, right: Array, scale: Array) -> list[Hypothesis]:
    """A simple number that turns the derivative into the answer when it is added everywhere."""
    if wanted.shape != ():
        return []
    number = float((wanted.flat - right)[np.argmin(scale), 0])
    simple = Fraction(number).limit_denominator(max(DENOMINATORS))
    if simple == 0 or abs(simple) > LARGEST or simple.denominator not in DENOMINATORS:
        return []
    made = constant_added.wrong(right, float(simple))
    if np.any(np.abs(made - wanted.flat) > room(wanted.flat, scale)):
        return []
    return [Hypothesis(constant_added, None, texts={"factor": str(simple)})]
