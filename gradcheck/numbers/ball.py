"""Ball: python-flint's arb, a midpoint and a proven radius, as a number that NumPy can carry."""

import math
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat, fmpq

from gradcheck.numbers.keys import JUMPING, key_of, key_of_plain, key_of_result, sign_of, whole
from gradcheck.numbers.run import RUN
from gradcheck.numbers.scalars import Scalar, Scalars, each, equip
from gradcheck.ops.row import Composed, Op
from gradcheck.values import Array, Routine, Value


class Ball(Scalar):
    """A real number known to lie within a ball; arithmetic keeps the promise."""

    __slots__ = ("_key", "x")
    cell = "ball"

    def __init__(self, x: Value, key: int | None = None) -> None:
        """Wrap an arb, or anything `exact` reads."""
        if type(x) is arb:
            self.x, self._key = x, key
        else:
            self.x = exact(x)
            self._key = key_of_plain(x) if type(x) is Fraction else key
        RUN.made += 1

    @classmethod
    def elementwise(cls, row: Op, *args: Value) -> Value:
        """The row's ball cell on the arbs inside; a composed cell works on Balls themselves."""
        rule = row.ball
        if isinstance(rule, Composed):
            return rule.function(*(a if type(a) is Ball else Ball(a) for a in args))
        values = [a.x if type(a) is Ball else exact(a) for a in args]
        found: arb = rule(*values)  # type: ignore[misc]
        if row in JUMPING:
            found = whole(found, values[0], lambda: key_of(args[0]))
        if not RUN.keyed or found.is_exact():
            return Ball(found)
        return Ball(found, key_of_result(row, list(map(key_of, args)), values))

    @property
    def key(self) -> int:
        """See `keys`."""
        if self._key is None:
            self._key = key_of_plain(self.x)
        return self._key

    def bare(self) -> Value:
        """The arb."""
        return self.x

    @classmethod
    def exactly(cls, value: Value) -> "Ball":
        """A plain number as a ball."""
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
        return f"Ball({self.x})"

    def _sign(self, other: Value) -> int:
        difference = self.x - (other.x if type(other) is Ball else exact(other))
        return sign_of(difference, lambda: (self.key, key_of(other)))


equip(Ball)


def exact(value: Value) -> arb:
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


def balls(values: Value) -> Scalars:
    """An array (or nested lists) of plain numbers, Fractions or arbs as an array of Balls."""
    return each(lambda entry: entry if type(entry) is Ball else Ball(entry), values).view(Scalars)


def arbs(values: Value) -> Array:
    """The arbs inside an array of Balls and plain numbers, as an object array."""
    return each(lambda entry: entry.x if type(entry) is Ball else exact(entry), values)


def middle(ball: arb) -> float:
    """The midpoint as the nearest float; nan for a ball that holds no number."""
    return float(ball.mid()) if ball.is_finite() else math.nan


def radius(ball: arb) -> float:
    """The radius as a float, never rounded down to less than it is."""
    if ball.is_exact():
        return 0.0 if ball.is_finite() else math.inf
    return math.nextafter(float(ball.rad()), math.inf) if ball.is_finite() else math.inf
