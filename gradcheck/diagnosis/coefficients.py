"""A term of the answer whose coefficient is off: the one mistake that has a number to be found."""

from collections.abc import Callable, Mapping
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

# Whether a row with a factor turns the gradient into the answer; rows, and what they may mention.
Fits = Callable[[Mistake, Value], bool]
Told = list[tuple[Mistake, Mapping[str, str]]]


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

        def fits(row: Mistake, factor: Value, share: Array = share) -> bool:
            made = row.wrong(right, share, factor)
            return bool(np.all(np.abs(made - wanted.flat) <= allowed))

        if np.any(share) and np.all(np.isfinite(share)):
            factor = ratio(wanted.flat - right + share, share, scale)
            told = _constant(prepared, wanted, each, fits) or _slip(each, part, factor, fits)
            found += [Hypothesis(row, each.span, texts=texts) for row, texts in told]
    return [*found, *_find_added(prepared, wanted, right, scale)]


def _slip(term: PreparedTerm, part: str, factor: float, fits: Fits) -> Told:
    """A whole number in a whole number's place, or a simple fraction before a term."""
    if not fits(coefficient_slip, factor):
        return []
    due, simple = term.coefficient(part), _simple(factor)
    written = None if due is None else round(due * factor)
    if due and written and abs(written) <= LARGEST and fits(number_slip, written / due):
        texts = {"factor": str(written), "c": str(due)}
        return [(number_slip, texts)] if written != due else []
    if simple in (None, 0, 1) or not fits(coefficient_slip, float(simple or 0)):
        return []
    return [(coefficient_slip, {"factor": str(simple)})]


def _constant(prepared: Prepared, wanted: GivenAnswer, term: PreparedTerm, fits: Fits) -> Told:
    """A constant of the problem that is missing from a term, or there once too often."""
    for name in sorted(term.names & prepared.constants.keys()):
        value = prepared.constants[name][wanted.points][:, None]
        for row, factor in ((constant_missing, 1 / value), (constant_again, value)):
            if np.any(np.abs(value) != 1) and fits(row, factor):
                return [(row, {"c": name})]
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
