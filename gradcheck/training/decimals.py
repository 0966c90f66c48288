"""The numbers of a text as they were written: 0.1 is a tenth, and not the float beside it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from gradcheck.engine.tape import Step
from gradcheck.errors import GradcheckError
from gradcheck.language.kinds import CONSTANTS, KINDS, NumberKind
from gradcheck.opinions.tape import Given, Record
from gradcheck.values import Array, Numbers, Params

DIGITS = 15  # that a float64 keeps of any decimal
SMALL = 1_000  # of a denominator


def exactly(record: Record, kind: str) -> Record:
    """The same record with each float of the text as the number that it was written as.

    Raises GradcheckError on a float of which that cannot be told: it was computed, and rounded.
    """
    if kind in ("tensor", "float"):
        return record
    numbers = KINDS[kind]
    given: dict[Step, Given] = {}
    for node in record.nodes:
        found = record.given[node]
        pairs = zip(node.edges, found.operands, strict=True)
        operands = tuple(v if edge is not None else _exact(v, numbers) for edge, v in pairs)
        params: Params = {n: _exact(v, numbers) for n, v in found.params.items()}
        given[node] = replace(found, operands=operands, params=params)
    return replace(record, given=given)


def _exact(value: Numbers, kind: NumberKind) -> Numbers:
    """Floats as numbers of a kind, in lists too; others as they are."""
    if type(value) in (list, tuple):
        return type(value)(_exact(each, kind) for each in value)
    if isinstance(value, float | np.floating) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "f" and not value.shape
    ):
        return _number(float(value), kind)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return kind.lift(exact_array(value))
    return value


def _number(value: float, kind: NumberKind) -> Numbers:
    """A Fraction, or a small multiple of pi or e."""
    try:
        return kind.lift(fraction(value))
    except GradcheckError:
        for name, (number, *_) in CONSTANTS.items():
            times = Fraction(value / number).limit_denominator(SMALL)
            if float(times) * number == value:
                return kind.constant(name) * kind.lift(times)
        raise


def exact_array(value: Array) -> Array:
    """The decimals that floats were written as; raises GradcheckError where they are none."""
    out = np.empty(value.shape, dtype=object)
    for index, each in np.ndenumerate(value):
        out[index] = fraction(float(each))
    return out


def fraction(value: float) -> Fraction:
    """A float as the decimal of at most 15 digits that it was written as, or as a small fraction.

    So many digits come back from a float64 as they went in. Of the numbers below 1,000 that are
    computed otherwise, one in 10^9 is a float of a fraction whose denominator is below 1,000.
    """
    if not np.isfinite(value):
        raise GradcheckError(f"{value} is no number")
    text = repr(float(value))
    digits = text.partition("e")[0].replace(".", "").lstrip("-0")
    if len(digits.rstrip("0")) <= DIGITS:
        return Fraction(text)
    small = Fraction(value).limit_denominator(SMALL)
    if float(small) != value:
        raise GradcheckError(f"{text} was computed, and is known to the digits of a float only")
    return small
