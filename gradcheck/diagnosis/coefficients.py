"""A term of the answer whose coefficient is off: the one mistake that has a number to be found."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from gradcheck.diagnosis.hypothesis import Hypothesis
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.tables import Given
from gradcheck.mistakes.sums import coefficient_slip
from gradcheck.opinions.opinion import Array

DENOMINATOR = 12
LARGEST = 100
VALUES = 3  # below, any term could be scaled to fit


def coefficients(prepared: Prepared, part: str, wanted: Given) -> list[Hypothesis]:
    """Each term of the sum that, times a simple fraction, turns the gradient into the answer."""
    right = np.array([np.ravel(prepared.right[k][part]) for k in wanted.points])
    if wanted.flat.size < VALUES or wanted.slack or right.shape != wanted.flat.shape:
        return []
    found = []
    for span, shares in prepared.terms:
        share = np.array([np.ravel(shares[k][part]) for k in wanted.points])
        factor = _factor(wanted.flat - right, share)
        if factor is not None:
            texts: Mapping[str, str] = {"factor": str(factor)}
            found.append(Hypothesis(coefficient_slip, span, texts=texts))
    return found


def _factor(excess: Array, share: Array) -> Fraction | None:
    """1 + k where the excess is k times the share, if that is a simple fraction."""
    if not np.any(share) or not np.all(np.isfinite(share)) or not np.all(np.isfinite(excess)):
        return None
    k = float(np.vdot(share, excess) / np.vdot(share, share))
    if np.max(np.abs(excess - k * share)) > 1e-9 * np.max(np.abs(excess)):
        return None
    simple = Fraction(1 + k).limit_denominator(DENOMINATOR)
    near = abs(float(simple) - 1 - k) <= 1e-8 * max(1.0, abs(k))
    return simple if near and abs(simple) <= LARGEST and simple != 1 else None
