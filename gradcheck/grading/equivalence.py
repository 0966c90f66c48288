"""Whether two answers are the same beyond doubt, in ball arithmetic.

Two balls that do not overlap *prove* a difference, and the point is kept as the witness. Agreement
to 30 digits at every point counts as equal. A ball that is too wide asks for more precision, never
for a guess; where precision runs out the outcome is undecided.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import arb

from gradcheck.errors import GradcheckError
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import Undecided, precision
from gradcheck.values import Array, Value

Values: TypeAlias = arb | Array
At: TypeAlias = Callable[[int], Values]

BITS = (128, 320, 1024, 4096)
CONFIRMED = 1536  # bits at which the last point is looked at again: a term of 1e-400 is a term
DIGITS = 100  # bits: 30 digits
NOTHING = 1e-90  # where both are zero there are no digits to agree
PRINTED = 10**11  # a number of more digits came out of a program, with its rounding error
ROUNDING = 1e-12  # of such a number, relative
DOUBTFUL = 1e-6  # relative; an error bar beyond it excuses nothing


class NoValue(GradcheckError):
    """The answer has no value at a point, beyond doubt; the message says which piece of it."""


@dataclass(frozen=True)
class Outcome:
    """How an answer compares: `equal`, `different`, `shape`, `narrower` domain, or `undecided`.

    `point` and `index` say where it was seen, `yours` and `expected` what stood there (`yours` is
    None where the answer has no value), `why` what is to be said of it.
    """

    kind: str
    point: int = 0
    index: tuple[int, ...] = ()
    yours: arb | None = None
    expected: arb | None = None
    rounded: bool = False
    why: str = ""


EQUAL = Outcome("equal")


def compare(answers: Sequence[At], references: Sequence[At]) -> Outcome:
    """An answer and its reference at several points; each maps a number of bits to arbs.

    The first proven difference decides. An answer that is equal at some points and has no value at
    others, where the reference has one, is `narrower`; one that has no value anywhere is different.
    """
    found: list[Outcome] = []
    with precision(BITS[0]):
        for k, (answer, reference) in enumerate(zip(answers, references, strict=True)):
            found.append(_compare_at(k, BITS[0], answer, reference))
            if found[-1].kind in ("different", "shape"):
                return found[-1]
    for k, outcome in enumerate(found):
        if outcome.kind == "undecided":
            found[k] = _compare_with_more_bits(k, answers[k], references[k], outcome)
            if found[k].kind in ("different", "shape", "undecided"):
                return found[k]
    return _combine(found) or _confirm(len(found) - 1, answers[-1], references[-1])


def _compare_with_more_bits(k: int, answer: At, reference: At, last: Outcome) -> Outcome:
    """One point with more and more bits, until it is decided or patience ends."""
    for bits in BITS[1:]:
        with precision(bits):
            last = _compare_at(k, bits, answer, reference)
        if last.kind != "undecided":
            break
    return last


def _combine(found: Sequence[Outcome]) -> Outcome | None:
    """What points without a value come to; None where the answer has one at all of them."""
    lost = [outcome for outcome in found if outcome.kind == "narrower"]
    if not lost:
        return None
    return lost[0] if len(lost) < len(found) else replace(lost[0], kind="different")


def _confirm(k: int, answer: At, reference: At) -> Outcome:
    """Equal; unless many more digits at one point prove the difference after all."""
    with precision(CONFIRMED):
        last = _compare_at(k, CONFIRMED, answer, reference)
    return last if last.kind == "different" else EQUAL


def _compare_at(k: int, bits: int, answer: At, reference: At) -> Outcome:
    """One point at one precision."""
    try:
        expected = reference(bits)
        yours = answer(bits)
    except Undecided:
        return Outcome("undecided", k)
    except NoValue as error:
        return Outcome("narrower", k, expected=_first(expected), why=str(error))
    if type(yours) is arb and type(expected) is arb:
        kind = _pair(yours, expected)
        return EQUAL if kind == "equal" else Outcome(kind, k, (), yours, expected)
    mine, due = np.asarray(yours, dtype=object), np.asarray(expected, dtype=object)
    if mine.shape != due.shape:
        return Outcome("shape", k, why=_shapes(yours, expected))
    return _entries(k, mine, due)


def _pair(yours: arb, expected: arb) -> str:
    """Two balls: proven different, equal to 30 digits, or neither yet."""
    if not (yours.is_finite() and expected.is_finite()):
        return "undecided"
    if not yours.overlaps(expected):
        return "different"
    return "equal" if _sharp(yours) and _sharp(expected) else "undecided"


def _sharp(ball: arb) -> bool:
    return bool(ball.rel_accuracy_bits() >= DIGITS or ball.rad() < NOTHING)


def _entries(k: int, yours: Array, expected: Array) -> Outcome:
    """All entries of one point: the first difference, else the first doubt, else equal."""
    doubt = None
    for index in np.ndindex(expected.shape):
        a: Value = yours[index]
        b: Value = expected[index]
        kind = _pair(a, b)
        if kind == "different":
            return Outcome(kind, k, index, a, b)
        if kind == "undecided" and doubt is None:
            doubt = Outcome(kind, k, index, a, b)
    return doubt or Outcome("equal", k)


def _first(expected: Values) -> arb | None:
    return expected if isinstance(expected, arb) else next(iter(expected.flat), None)


def _shapes(yours: Values, expected: Values) -> str:
    mine, due = (_describe(np.asarray(values, dtype=object).shape) for values in (yours, expected))
    return f"the answer is {mine}, the gradient {due}"


def _describe(shape: tuple[int, ...]) -> str:
    return f"an array of shape {shape}" if shape else "a single number"


# -- numbers at the given point ------------------------------------------------------------------


def compare_numbers(numbers: At, half_units: Array, reference: At, noise: Array) -> Outcome:
    """Numbers that were given for one point, against the reference there.

    `half_units` are half a unit of the last typed digit (None: given exactly); `noise` is
    float64's own error on the entry, which excuses numbers that a program printed in full.
    """
    last = Outcome("undecided")
    for bits in BITS:
        with precision(bits):
            found = _compare_numbers_at(bits, numbers, half_units, reference, noise)
        last = found or last
        if found is not None and found.kind != "undecided":
            return found
    return last


def _compare_numbers_at(
    bits: int, numbers: At, half_units: Array, reference: At, noise: Array
) -> Outcome | None:
    """Numbers at one precision; None where it does not do for a value."""
    try:
        yours, expected = (np.asarray(at(bits), dtype=object) for at in (numbers, reference))
    except Undecided:
        return None
    except NoValue as error:
        return Outcome("different", why=str(error))
    if yours.shape != expected.shape:
        return Outcome("shape", why=_shapes(yours, expected))
    return _compare_rounded(yours, half_units, expected, noise)


def _compare_rounded(yours: Array, half_units: Array, expected: Array, noise: Array) -> Outcome:
    """Every entry: equal, within its last digit, different, or too close to say."""
    level = max((abs(ball.mid()) for ball in expected.flat), default=arb(0))
    doubt, rounded = None, False
    for index in np.ndindex(expected.shape):
        a: Value = yours[index]
        b: Value = expected[index]
        half: Value = half_units[index]
        kind = _pair(a, b)
        if kind == "different" and half is not None:
            kind = _within(a, b, tolerance(a, half, float(noise[index]), level))
            rounded |= kind == "rounded" and not _is_printed(a, half)
        if kind == "different":
            return Outcome(kind, 0, index, a, b)
        if kind == "undecided" and doubt is None:
            doubt = Outcome(kind, 0, index, a, b)
    return doubt or Outcome("equal", rounded=rounded)


def _within(yours: arb, expected: arb, allowed: arb) -> str:
    """Whether a typed number lies off by no more than its room; just at its edge counts."""
    off = abs(yours - expected)
    return "different" if off > allowed else "rounded"


def tolerance(yours: arb, half_unit: Fraction, noise: float, level: arb) -> arb:
    """How far off a typed number may lie: half its last digit, or float64's own error.

    A typed zero shows no digit, so it may only be off by what a program's zero would be.
    """
    half = arb(half_unit.numerator) / half_unit.denominator
    size = abs(yours.mid())
    if size == 0:
        return arb.min(arb(4 * noise), level * ROUNDING)
    printed = arb.min(arb(4 * noise) + size * ROUNDING, size * DOUBTFUL)
    return arb.max(half, printed) if _is_printed(yours, half_unit) else half


def _is_printed(yours: arb, half_unit: Fraction) -> bool:
    """Whether a number has so many digits that a program must have printed it."""
    return bool(abs(yours.mid()) * half_unit.denominator > half_unit.numerator * PRINTED)


def floats(at: At) -> Array | None:
    """The answer at a point as floats; None where it is not made of finite numbers."""
    try:
        with precision(BITS[0]):
            values = at(BITS[0])
    except GradcheckError:
        return None
    if isinstance(values, arb):
        number = middle(values)
        return np.array(number) if math.isfinite(number) else None
    numbers = np.array([middle(ball) for ball in values.flat], dtype=float).reshape(values.shape)
    return numbers if np.all(np.isfinite(numbers)) else None


def sides(values: Sequence[arb]) -> Iterator[int]:
    """On which side of zero numbers lie; those that touch it lie on none."""
    for value in values:
        if value > 0 or value < 0:
            yield 1 if value > 0 else -1
