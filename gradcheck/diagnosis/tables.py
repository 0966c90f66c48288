"""An answer beside the right gradient, and which of many prepared gradients it is equal to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

import numpy as np

from gradcheck.values import Array, Value

RELATIVE = 1e-8  # of the entry: two floats that were computed in different ways
ABSOLUTE = 1e-11  # of the largest entry at the point: what is left where large terms cancel
CANCELLED = 1e-14  # of the right gradient: what is left of it where a mistake takes it all away
NUMBERS, DIGITS = 2, 3  # an answer's, that carry one mistake


def is_equal(a: Value, b: Value) -> bool:
    """Equal shapes, and entries equal to rounding (relative to b and to its largest entry)."""
    if np.shape(a) != np.shape(b):
        return False
    with np.errstate(invalid="ignore"):
        return bool((np.abs(np.ravel(a) - np.ravel(b)) <= bound_rounding(np.ravel(b), 0.0)).all())


def bound_rounding(flat: Value, scale: Value) -> Value:
    """What rounding may do to gradients (..., point, entry), where `scale` (point,) is usual."""
    least = np.maximum(ABSOLUTE * scale_of(flat), CANCELLED * scale)
    return RELATIVE * np.abs(flat) + least[..., None]


def scale_of(flat: Value) -> Value:
    """The size of the largest entry at each point, of (point, entry); nan is no entry."""
    return np.fmax.reduce(np.abs(flat), axis=-1, initial=0.0)


def find_ratio(a: Value, b: Value, scale: Value) -> float:
    """The number k for which a is nearest to k b, where every point (point, entry) counts alike."""
    weight = np.where(scale == 0, 1.0, scale)[:, None]
    a, b = a / weight, b / weight
    k = float(np.vdot(b, a) / np.vdot(b, b))
    return k if math.isfinite(k) else 0.0


def flatten(arrays: Sequence[Value]) -> Array:
    """Arrays of one shape as (point, entry)."""
    return np.array(arrays, dtype=float).reshape(len(arrays), -1)


@dataclass(eq=False)
class GivenAnswer:
    """An answer where it is known (point, entry), and the right gradient if its shape is that.

    `points` are the numbers of the points, `slack` half a unit of the digits typed for an entry.
    """

    points: list[int]
    flat: Array
    shape: tuple[int, ...]
    slack: Array
    right: Array | None
    level: Array = field(init=False)  # what is usual of the right gradient at each point
    scale: Array = field(init=False)  # of both
    excess: Array = field(init=False)  # what it has too much; of no meaning in another shape

    def __post_init__(self) -> None:
        right = np.zeros((len(self.flat), 1)) if self.right is None else self.right
        self.level = scale_of(right)
        self.scale = np.maximum(scale_of(self.flat), self.level)
        self.excess = self.flat - right

    @cached_property
    def allowed(self) -> Array:
        """What rounding may have done to it."""
        found: Array = bound_rounding(self.flat, self.scale)
        return found

    @property
    def is_right(self) -> bool:
        """Whether it is the gradient at every known point, but for rounding."""
        if self.right is None:
            return False
        allowed = RELATIVE * np.abs(self.right) + ABSOLUTE * self.level[:, None] + self.slack
        return bool((np.abs(self.excess) <= allowed).all())

    def is_made(self, other: Value) -> bool:
        """Whether another way gives just this answer."""
        return bool((np.abs(other - self.flat) <= self.allowed).all())

    @cached_property
    def numbers(self) -> list[float]:
        """Its different numbers that are not zero; of a constant there is one."""
        return list({f"{a:.10g}": a for a in self.flat.ravel().tolist() if a}.values())

    def carries(self, mistakes: int = 1) -> bool:
        """Whether it is evidence enough for so many mistakes."""
        if len(self.numbers) >= NUMBERS * mistakes:
            return True
        return sum(map(_count_digits, self.numbers)) >= DIGITS * mistakes

    @property
    def is_single(self) -> bool:
        """Whether it is one number, at one point or everywhere."""
        return len(self.numbers) < NUMBERS

    def is_monomial(self, x: Array) -> bool:
        """Whether it is c x^p at all points: two numbers, which never carry two mistakes."""
        a = self.flat[:, 0]
        if self.shape or len(x) != len(a) or x.ndim > 1 or len(a) < NUMBERS + 1:
            return False
        with np.errstate(all="ignore"):
            powers = np.diff(np.log(np.abs(a))) / np.diff(np.log(np.abs(x)))
        return bool(np.ptp(powers) <= RELATIVE * (1 + np.max(np.abs(powers))))


def _count_digits(a: float) -> int:
    """How many digits a number was typed with; a formula's float has them all."""
    short = float(f"{a:.9g}")
    known = short if abs(short - a) <= RELATIVE * abs(a) else a
    return len(Decimal(repr(known)).normalize().as_tuple().digits)


@dataclass(frozen=True, eq=False)
class MistakeTable:
    """Gradients of one shape, one row each: (row, point, entry), with what rounding may do.

    A row with an entry that is no number fits nothing.
    """

    who: Array
    flat: Array
    allowed: Array

    @classmethod
    def of(cls, who: Value, rows: Value, scale: Array) -> "MistakeTable":
        """Rows at each point, where the right gradient has this `scale` (P,)."""
        rows = np.where(np.isfinite(rows), rows, np.nan)
        return cls(np.array(who), rows, bound_rounding(rows, scale))

    def fitting(self, wanted: GivenAnswer, flat: Array | None = None) -> Array:
        """Numbers of the rows that are equal to the answer at every known point."""
        flat = wanted.flat if flat is None else flat
        at: Value = slice(None)  # the rows that are left: hardly any after the first point
        for n, k in enumerate(wanted.points if len(self.who) else ()):
            fits = np.abs(self.flat[at, k] - flat[n]) <= self.allowed[at, k] + wanted.slack
            (here,) = (fits[:, 0] if flat.shape[1] == 1 else fits.all(axis=1)).nonzero()
            at = here if n == 0 else at[here]
            if not len(here):
                break
        found: Array = self.who[at]
        return found


NOTHING_FITS = MistakeTable(np.empty(0, dtype=int), np.empty((0, 0, 0)), np.empty((0, 0, 0)))
