"""A term of the answer whose coefficient is off: the one mistake that has a number to be found."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gradcheck.diagnosis.hypothesis import Hypothesis
from gradcheck.diagnosis.preparing import Prepared, PreparedTerm
from gradcheck.diagnosis.tables import RELATIVE, GivenAnswer, ratio, room, scale_of
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.sums import (
    coefficient_slip,
    constant_added,
    constant_again,
    constant_missing,
    number_slip,
)
from gradcheck.values import Array, Value

DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # others are a ratio, not a slip
LARGEST = 100
VALUES = 3  # below, any term could be scaled to fit


def coefficients(prepared: Prepared, part: str, wanted: GivenAnswer) -> list[Hypothesis]:
    """Each term of the sum that, times a number, turns the gradient into the answer.

    The number is a constant of the problem or one over it, or a simple fraction.
    """
    right = prepared.right_at(part, wanted)
    if wanted.flat.size < VALUES or np.any(wanted.slack) or right is None:
        return []
    scale = np.maximum(scale_of(right), scale_of(wanted.flat))
    allowed = room(wanted.flat, scale)
    found: list[Hypothesis] = []
    for each in prepared.terms:
        share = each.shares[part][wanted.points]
        if np.any(share) and np.all(np.isfinite(share)):
            scaled = _Scaled(each, right, share, wanted.flat, allowed)
            factor = ratio(wanted.flat - right + share, share, scale)
            found += _constant(prepared, wanted, scaled) or _slip(scaled, part, factor)
    return [*found, *_find_added(prepared, wanted, right, scale)]


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A term of the sum: its share of the right gradient (point, entry), and what is wanted."""

    term: PreparedTerm
    right: Array
    share: Array
    answer: Array
    allowed: Array

    def fits(self, row: Mistake, factor: Value) -> bool:
        """Whether a factor before the term turns the gradient into the answer at each point."""
        made = row.wrong(self.right, self.share, factor)
        return bool(np.all(np.abs(made - self.answer) <= self.allowed))


def _slip(scaled: _Scaled, part: str, factor: float) -> list[Hypothesis]:
    """A whole number in a whole number's place, or a simple fraction before a term."""
    if not scaled.fits(coefficient_slip, factor):
        return []
    due, simple = scaled.term.coefficient(part), _simple(factor)
    written = None if due is None else round(due * factor)
    if due and written and abs(written) <= LARGEST and scaled.fits(number_slip, written / due):
        texts = {"factor": str(written), "c": str(due)}
        return [Hypothesis(number_slip, scaled.term.span, texts=texts)] if written != due else []
    if simple in (None, 0, 1) or not scaled.fits(coefficient_slip, float(simple or 0)):
        return []
    return [Hypothesis(coefficient_slip, scaled.term.span, texts={"factor": str(simple)})]


def _constant(prepared: Prepared, wanted: GivenAnswer, scaled: _Scaled) -> list[Hypothesis]:
    """A constant of the problem that is missing from a term, or there once too often."""
    for name in sorted(scaled.term.names & prepared.constants.keys()):
        value = prepared.constants[name][wanted.points][:, None]
        for row, factor in ((constant_missing, 1 / value), (constant_again, value)):
            if np.any(np.abs(value) != 1) and scaled.fits(row, factor):
                return [Hypothesis(row, scaled.term.span, texts={"c": name})]
    return []


def _simple(number: float) -> Fraction | None:
    """A fraction that somebody may write, if the number is one."""
    simple = Fraction(number).limit_denominator(max(DENOMINATORS))
    fits = abs(number - simple) <= RELATIVE * abs(simple) and abs(simple) <= LARGEST
    return simple if fits and simple.denominator in DENOMINATORS else None


def _find_added(
    prepared: Prepared, wanted: GivenAnswer, right: Array, scale: Array
) -> list[Hypothesis]:
    """A constant of the problem, or a simple number, added to the derivative everywhere."""
    if wanted.shape != ():
        return []
    at = np.argmin(scale)
    simple = _simple(float((wanted.flat - right)[at, 0]))
    tried: list[tuple[str, Value]] = []
    for name, values in prepared.constants.items():
        value = values[wanted.points][:, None]
        tried += [(f"plus {name}", value), (f"minus {name}", -value)]
    if simple:
        tried.append((f"{'plus' if simple > 0 else 'minus'} {abs(simple)}", float(simple)))
    allowed = room(wanted.flat, scale)
    for said, number in tried:
        made = constant_added.wrong(right, number)
        if np.any(number) and np.all(np.abs(made - wanted.flat) <= allowed):
            return [Hypothesis(constant_added, prepared.span, texts={"factor": said})]
    return []
