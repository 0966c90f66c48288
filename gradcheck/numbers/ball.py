"""Ball: python-flint's arb, a midpoint and a proven radius, as a number that NumPy can carry."""

import math
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat

from gradcheck.numbers.keys import exact, key_of_plain, settle
from gradcheck.numbers.run import RUN
from gradcheck.numbers.scalars import Scalar, Scalars, ball_of, each
from gradcheck.ops.row import Op
from gradcheck.values import Array, Routine, Value

__all__ = ["Ball", "arbs", "balls", "exact", "middle", "radius"]


class Ball(Scalar):
    """A real number known to lie within a ball, `x`; arithmetic keeps the promise."""

    __slots__ = ()
    cell = "ball"
    x = Scalar.value  # type: ignore[misc]

    def __init__(self, x: Value, key: int | None = None) -> None:
        """Wrap an arb, or anything `exact` reads."""
        self.value = x if type(x) is arb else exact(x)
        self._key = key_of_plain(x) if type(x) is Fraction else key
        RUN.made += 1

    @classmethod
    def apply(cls, row: Op, rule: Routine, args: tuple[Value, ...]) -> Value:
        """The row's ball cell on the arbs inside."""
        values = [a.value if type(a) is Ball else exact(a) for a in args]
        return Ball(*settle(row, rule(*values), args, values))

    def bare(self) -> arb:
        return self.value

    @classmethod
    def exactly(cls, value: Value) -> "Ball":
        return cls(value)

    @classmethod
    def by_matrices(
        cls, rule: Routine, signature: str, share: int, operands: tuple[Value, ...]
    ) -> Value:
        """A rule on flint's matrices, for each matrix of the stacks (NumPy's `signature`).

        The work counts as a ball for every `share` of its rows times columns times columns.
        """

        def once(*stack: Value) -> Value:
            RUN.made += stack[0].size * stack[-1].shape[-1] // share
            found = rule(*[arb_mat(len(m), m.shape[1], arbs(m).ravel().tolist()) for m in stack])
            return Ball(found) if type(found) is arb else np.asarray(balls(found.table()))

        apply = np.vectorize(once, otypes=[object], signature=signature)
        return apply(*[np.asarray(v, dtype=object) for v in operands])

    def __repr__(self) -> str:
        return f"Ball({self.value})"


def balls(values: Value) -> Scalars:
    """An array (or nested lists) of plain numbers, Fractions or arbs as an array of Balls."""
    return each(lambda entry: entry if type(entry) is Ball else Ball(entry), values).view(Scalars)


def arbs(values: Value) -> Array:
    """The arbs inside an array of Balls and plain numbers, as an object array."""
    return each(ball_of, values)


def middle(ball: arb) -> float:
    """The midpoint as the nearest float; nan for a ball that holds no number."""
    return float(ball.mid()) if ball.is_finite() else math.nan


def radius(ball: arb) -> float:
    """The radius as a float, never rounded down to less than it is."""
    if ball.is_exact():
        return 0.0 if ball.is_finite() else math.inf
    return math.nextafter(float(ball.rad()), math.inf) if ball.is_finite() else math.inf
