"""Whether two answers are the same beyond doubt, in ball arithmetic.

Two balls that do not overlap *prove* a difference, and the point is kept as the witness. Agreement
to 30 digits at every point counts as equal. A ball that is too wide asks for more precision, never
for a guess; where precision runs out the outcome is undecided.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from gradcheck.numbers.ball import Undecided, precision

Array = np.ndarray[Any, Any]
BITS = (128, 256, 1024, 4096)
DIGITS = 1e-30
LEAST = 1e-60
At = Callable[[int], Array]


@dataclass(frozen=True)
class Outcome:
    """How an answer compares: `equal`, `different`, `shape`, `narrower` domain, or `undecided`.

    `point` and `index` say where it was seen, `yours` and `expected` what stood there.
    """

    kind: str
    point: int = 0
    index: tuple[int, ...] = ()
    yours: arb | None = None
    expected: arb | None = None
    rounded: bool = False


def compare(answers: Sequence[At], references: Sequence[At]) -> Outcome:
    """An answer and its reference at several points; each maps a number of bits to arrays of arbs.

    The first proven difference decides; an answer that has no value where the reference has one is
    `narrower`, if it is equal everywhere else.
    """
    weaker: Outcome | None = None
    for k, (answer, reference) in enumerate(zip(answers, references, strict=True)):
        found = _at_point(k, answer, reference)
        if found.kind in ("different", "shape"):
            return found
        if found.kind != "equal" and (weaker is None or found.kind == "undecided"):
            weaker = found
    return weaker or Outcome("equal")


def _at_point(k: int, answer: At, reference: At) -> Outcome:
    last = Outcome("undecided", k)
    for bits in BITS:
        with precision(bits):
            try:
                yours, expected = answer(bits), reference(bits)
            except Undecided:
                continue
        if np.shape(yours) != np.shape(expected):
            return Outcome("shape", k)
        last = _entries(k, yours, expected)
        if last.kind in ("equal", "different") or (last.kind == "narrower" and bits > BITS[0]):
            return last
    return last


def _entries(k: int, yours: Array, expected: Array) -> Outcome:
    """All entries of one point at one precision: the first difference, or the weakest agreement."""
    weaker = Outcome("equal", k)
    for index in np.ndindex(np.shape(expected)):
        a, b = yours[index], expected[index]
        if a.is_finite() and b.is_finite():
            if not a.overlaps(b):
                return Outcome("different", k, index, a, b)
            if not (_sharp(a, b) and _sharp(b, a)):
                weaker = Outcome("undecided", k, index, a, b)
        elif b.is_finite() and weaker.kind == "equal":
            weaker = Outcome("narrower", k, index, a, b)
    return weaker


def _sharp(ball: arb, other: arb) -> bool:
    size = max(abs(float(ball.mid())), abs(float(other.mid())), LEAST)
    return bool(ball.rad() <= arb(DIGITS) * arb(size))


def compare_numbers(
    values: Array, half_units: Array, reference: Array, noise: Array
) -> Outcome:
    """Typed numbers against the reference at the given point.

    `values` are Fractions; `half_units` half a unit of the last typed digit (None: exact, typed as
    an integer); `noise` is float64's own error on the entry, for numbers that a program printed.
    """
    if values.shape != reference.shape:
        return Outcome("shape")
    rounded = False
    for index in np.ndindex(reference.shape):
        ball, typed = reference[index], _rational(values[index])
        if not ball.is_finite():
            return Outcome("undecided", 0, index, typed, ball)
        if typed.overlaps(ball) and ball.rad() < arb(1e-25) * (abs(ball.mid()) + arb(LEAST)):
            continue
        room = _room(half_units[index], values[index], float(noise[index]))
        if not typed.overlaps(arb(ball.mid(), ball.rad() + arb(room))):
            return Outcome("different", 0, index, typed, ball)
        rounded = True
    return Outcome("equal", rounded=rounded)


def _room(half_unit: Fraction | None, value: Fraction, noise: float) -> float:
    """How far a typed number may lie off: half its last digit; float noise if it has many digits."""
    if half_unit is None:
        return 0.0
    digits = abs(value) / half_unit if half_unit else Fraction(0)
    printed = digits > 10**11
    return max(float(half_unit) * (1 + 1e-12), 4 * noise + 1e-12 * abs(float(value)) if printed else 0.0)


def _rational(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))
