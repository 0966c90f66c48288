"""Ball: python-flint's arb, a midpoint and a proven radius, as a number that NumPy can carry."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from gradcheck.errors import GradcheckError
from gradcheck.numbers.scalars import Scalar, Scalars, equip
from gradcheck.ops.row import Composed, Op


class Undecided(GradcheckError, ArithmeticError):
    """A comparison of two balls that overlap: only more precision can tell."""


class precision:  # noqa: N801 - a block, as `contextmanager` would make it, at a third of its time
    """Work with so many bits inside the block (flint's own setting, put back afterwards)."""

    __slots__ = ("before", "bits")

    def __init__(self, bits: int) -> None:
        """Nothing is set yet."""
        self.bits = bits

    def __enter__(self) -> None:
        """Set it."""
        self.before = ctx.prec
        ctx.prec = self.bits

    def __exit__(self, *_: object) -> None:
        """Put back what was set before."""
        ctx.prec = self.before


class Ties:
    """What to do when balls overlap at the end of patience: raise, or call it equal and count."""

    __slots__ = ("count", "equal")

    def __init__(self) -> None:
        """Raise, nothing counted."""
        self.equal = False
        self.count = 0


TIES = Ties()
MADE = [0]  # how many balls were made so far: the measure of work that does not depend on a clock


class Ball(Scalar):
    """A real number known to lie within a ball; arithmetic keeps the promise."""

    __slots__ = ("x",)
    cell = "ball"

    def __init__(self, x: Any) -> None:
        """Wrap an arb, or anything `exact` reads."""
        self.x = x if type(x) is arb else exact(x)
        MADE[0] += 1

    @classmethod
    def elementwise(cls, row: Op, *args: Any) -> Any:
        """The row's ball cell on the arbs inside; a composed cell works on Balls themselves."""
        rule = row.ball
        if isinstance(rule, Composed):
            return rule.function(*(a if type(a) is Ball else Ball(a) for a in args))
        return Ball(rule(*[a.x if type(a) is Ball else exact(a) for a in args]))  # type: ignore[misc]

    def bare(self) -> Any:
        """The arb."""
        return self.x

    @classmethod
    def exactly(cls, value: Any) -> "Ball":
        """A plain number as a ball."""
        return cls(value)

    @classmethod
    def by_matrices(
        cls, rule: Callable[..., Any], signature: str, share: int, operands: tuple[Any, ...]
    ) -> Any:
        """A rule on flint's matrices, for each matrix of the stacks (NumPy's `signature`).

        The work counts as a ball for every `share` of its rows times columns times columns.
        """

        def once(*stack: Any) -> Any:
            MADE[0] += stack[0].size * stack[-1].shape[-1] // share
            found = rule(*[arb_mat(len(m), m.shape[1], arbs(m).ravel().tolist()) for m in stack])
            return Ball(found) if type(found) is arb else np.asarray(balls(found.table()))

        apply = np.vectorize(once, otypes=[object], signature=signature)
        return apply(*[np.asarray(v, dtype=object) for v in operands])

    def __repr__(self) -> str:
        return f"Ball({self.x})"

    def _sign(self, other: Any) -> int:
        """The sign of self - other, beyond doubt."""
        difference = self.x - (other.x if type(other) is Ball else exact(other))
        if difference > 0:
            return 1
        if difference < 0:
            return -1
        if difference == 0:
            TIES.count += 1
            return 0
        if TIES.equal and not difference.mid().is_nan():
            TIES.count += 1
            return 0
        if difference.is_nan():
            raise ValueError("a comparison with a value that is not a number")
        raise Undecided


equip(Ball)


def exact(value: Any) -> arb:
    """A plain number as a ball: integers and floats exactly, fractions to working precision."""
    if type(value) is Fraction:  # nearly always
        return arb(fmpq(value.numerator, value.denominator))
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return arb(int(value))
    if isinstance(value, float | np.floating):
        return arb(float(value))
    if isinstance(value, arb):
        return value
    raise TypeError(f"a real number was expected, {type(value).__name__} came")


def balls(values: Any) -> Scalars:
    """An array (or nested lists) of plain numbers, Fractions or arbs as an array of Balls."""
    return _each(values, lambda entry: entry if type(entry) is Ball else Ball(entry)).view(Scalars)


def arbs(values: Any) -> np.ndarray[Any, Any]:
    """The arbs inside an array of Balls and plain numbers, as an object array."""
    return _each(values, lambda entry: entry.x if type(entry) is Ball else exact(entry))


def _each(values: Any, convert: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
    """An object array of the same shape, each entry converted."""
    source = np.asarray(values, dtype=object)
    out = np.empty(source.size, dtype=object)
    out[:] = [convert(entry) for entry in source.flat]
    return out.reshape(source.shape)


def middle(ball: arb) -> float:
    """The midpoint as the nearest float; nan for a ball that holds no number."""
    return float(ball.mid()) if ball.is_finite() else math.nan


def radius(ball: arb) -> float:
    """The radius as a float, never rounded down to less than it is."""
    if ball.is_exact():
        return 0.0 if ball.is_finite() else math.inf
    return math.nextafter(float(ball.rad()), math.inf) if ball.is_finite() else math.inf
