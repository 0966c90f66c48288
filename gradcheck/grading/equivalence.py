"""Whether two answers are the same beyond doubt, in ball arithmetic.

Two balls that do not overlap *prove* a difference, and the point is kept as the witness. Agreement
to 30 digits at every point counts as equal. A ball that is too wide asks for more precision, never
for a guess; where precision runs out the outcome is undecided.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import arb

from gradcheck.errors import GradcheckError
from gradcheck.numbers.ball import exact, middle
from gradcheck.numbers.run import Undecided, precision
from gradcheck.training.outputs import FACTOR, ROUNDING, VISIBLE, is_printed
from gradcheck.values import Array, Value

Values: TypeAlias = arb | Array
At: TypeAlias = Callable[[int], Values]

BITS = (128, 320, 1024, 4096)
CONFIRMED = 1536  # bits at which the last point is looked at again: a term of 1e-400 is a term
DIGITS = 100  # bits: 30 digits
NOTHING = 1e-90  # where both are zero there are no digits to agree


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
PROVEN = ("different", "shape")


def compare(
    answers: Sequence[At], due: Sequence[At], tolerance: float = 0.0, rounding: Sequence[Array] = ()
) -> Outcome:
    """An answer and its reference at several points; each maps a number of bits to arbs.

    The first proven difference decides, if it is more than what may be rounded. An answer that is
    equal at some points and has no value at others, where the reference has one, is `narrower`; one
    that has no value anywhere is different. Of numbers that were given for one point `rounding` is
    half a unit of the last typed digit of each (None: exact), and float64's own error.
    """
    outcome = _compare_each(answers, due, rounding)
    if outcome.kind != "different" or not tolerance:
        return outcome
    for pair in zip(answers, due, strict=True):
        a, b = map(find_floats, pair)
        if a is None or b is None or a.shape != b.shape:
            return outcome
        if np.any(np.abs(a - b) > tolerance * np.abs(b)):
            return outcome
    return Outcome("equal", rounded=True)  # by no more than a share of what is due


def _compare_each(
    answers: Sequence[At], references: Sequence[At], rounding: Sequence[Array]
) -> Outcome:
    found: list[Outcome] = []
    with precision(BITS[0]):
        for k, (answer, reference) in enumerate(zip(answers, references, strict=True)):
            found.append(_compare_at(k, BITS[0], answer, reference, *rounding))
            if found[-1].kind in PROVEN:
                return found[-1]
    for k, outcome in enumerate(found):
        if outcome.kind == "undecided":
            found[k] = decide(k, answers[k], references[k], *rounding, steps=BITS[1:])
        if found[k].kind in (*PROVEN, "undecided"):
            return found[k]
    lost = [outcome for outcome in found if outcome.kind == "narrower"]
    if lost:
        return lost[0] if len(lost) < len(found) else replace(lost[0], kind="different")
    if rounding:
        return found[0]
    last = decide(len(found) - 1, answers[-1], references[-1], steps=(CONFIRMED,))
    return last if last.kind == "different" else EQUAL


def decide(k: int, a: At, b: At, *rounding: Array, steps: Sequence[int] = BITS) -> Outcome:
    """How two compare at the k-th point: by as many bits as it takes."""
    found = Outcome("undecided", k)
    for bits in steps:
        with precision(bits):
            found = _compare_at(k, bits, a, b, *rounding)
        if found.kind != "undecided":
            break
    return found


def _compare_at(k: int, bits: int, answer: At, reference: At, *rounding: Array) -> Outcome:
    """One point, at the precision set: the first difference, else the first doubt, else equal."""
    expected: Values | None = None
    try:
        expected = reference(bits)
        yours = answer(bits)
    except Undecided:
        return Outcome("undecided", k)
    except NoValue as error:
        if expected is None:  # a line of working has no value here: there is nothing to compare
            return Outcome("undecided", k)
        first = np.ravel(np.asarray(expected, dtype=object))[: not rounding]
        return Outcome("narrower", k, expected=next(iter(first), None), why=str(error))
    if not rounding and type(yours) is arb and type(expected) is arb:
        kind = _compare_pair(yours, expected)
        return EQUAL if kind == "equal" else Outcome(kind, k, (), yours, expected)
    mine, due = np.asarray(yours, dtype=object), np.asarray(expected, dtype=object)
    if mine.shape != due.shape:
        said = [
            f"an array of shape {v.shape}" if v.shape else "a single number" for v in (mine, due)
        ]
        return Outcome("shape", k, why="the answer is {}, the gradient {}".format(*said))
    doubt, rounded = None, False
    level = level_of(due) if rounding else arb(0)
    for index in np.ndindex(due.shape):
        a, b, *known = (each.item(*index) for each in (mine, due, *rounding))
        kind, (half, noise) = _compare_pair(a, b), known or (None, 0.0)
        if kind == "different":  # just at the edge of its room counts
            if abs(a - b) > tolerance(a, half, noise, level):
                return Outcome(kind, k, index, a, b)
            rounded |= not is_printed(abs(a.mid()), exact(half))
        elif kind == "undecided":
            doubt = doubt or Outcome(kind, k, index, a, b)
    return doubt or Outcome("equal", k, rounded=rounded)


def _compare_pair(yours: arb, expected: arb) -> str:
    if not (yours.is_finite() and expected.is_finite()):
        return "undecided"
    if not yours.overlaps(expected):
        return "different"
    for ball in (yours, expected):
        if ball.rel_accuracy_bits() < DIGITS and not ball.rad() < NOTHING:
            return "undecided"
    return "equal"


def level_of(values: Array) -> arb:
    return max((abs(ball.mid()) for ball in values.flat), default=arb(0))


def tolerance(yours: arb, half_unit: Fraction | None, noise: float, level: arb) -> arb:
    """How far off a typed number may lie: half its last digit, or float64's own error.

    A typed zero shows no digit, so it may only be off by what a program's zero would be.
    """
    if half_unit is None:
        return arb(0)
    half, size = exact(half_unit), abs(yours.mid())
    if size == 0:
        return arb.min(arb(FACTOR * noise), level * ROUNDING)
    printed = arb.min(arb(FACTOR * noise) + size * ROUNDING, size * VISIBLE)
    return arb.max(half, printed) if is_printed(size, half) else half


def widen(yours: arb, half_unit: Fraction | None, noise: float, level: arb) -> arb:
    """The ball of all that may have been rounded to a typed number."""
    return arb(yours.mid(), tolerance(yours, half_unit, noise, level))


def bare(found: Array) -> Values:
    """Numbers as they are compared: a single one without an array around it."""
    return found if found.shape else found.item()


def find_floats(at: At) -> Array | None:
    """The answer at a point as floats; None where it is not made of finite numbers."""
    try:
        with precision(BITS[0]):
            found: Value = at(BITS[0])
    except GradcheckError:
        return None
    if isinstance(found, arb):  # most are, and NumPy would take its time
        number = middle(found)
        return np.array(number) if math.isfinite(number) else None
    numbers = np.array([middle(ball) for ball in found.flat], dtype=float).reshape(found.shape)
    return numbers if np.all(np.isfinite(numbers)) else None
