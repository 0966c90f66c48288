"""Where elementary functions have no real value, no influence to be seen, or another rule.

The words of the rows' cells `undefined`, `unseen` and `kinks`. Each rule sees balls (arbs): it is
true only if it holds all over them.
"""

from collections.abc import Iterator

from flint import arb

from gradcheck.ops.row import Interval, Op
from gradcheck.values import Routine

UNSEEN = arb(2) ** 1400
"""More than the bits of a term that still counts: 1e-400, at 1536 bits (`grading.equivalence`)."""
SATURATED = 1000
"""exp(-1000) is 2^-1442: below UNSEEN."""


def is_lost(a: arb, b: arb) -> bool:
    """Two terms of which one is too small beside the other ever to be seen."""
    small, large = (a, b) if abs(a.mid()) < abs(b.mid()) else (b, a)
    return bool(small != 0 and abs(small) * UNSEEN < abs(large))


def is_saturated(x: arb) -> bool:
    """So far out that the function is at its limit, to more digits than are ever compared."""
    return bool(abs(x) > SATURATED)


KNOTS: dict[str, Routine] = {
    "a = b": lambda a, b: a - b,
    "integers": lambda x, *_: abs(x) - 1,  # rounding first shows beyond 1
    "half-integers": lambda x, *_: abs(x) - 1,
    "multiples of b": lambda a, b: abs(a) - abs(b),
    "a = 0 or b = 0": lambda a, b: b,
}
"""What is zero at (one of) the kinks that a row's words name."""


def knots(kinks: tuple[float, ...] | str) -> Iterator[Routine]:
    """For each kink of a row what is zero there, of the op's arguments; of many, the first."""
    if isinstance(kinks, str):
        yield from [KNOTS[kinks]] if kinks in KNOTS else []
    else:
        for kink in kinks:
            yield lambda x, *_, kink=kink: x - kink


def edges(row: Op) -> Iterator[tuple[int, float]]:
    """Where an op's domain ends and where it has kinks: an argument's number, and its value."""
    several = (row.domain,) if isinstance(row.domain, Interval) else row.domain
    for i, interval in enumerate(several):
        yield from ((i, bound) for bound in interval if float(bound).is_integer())
    if not isinstance(row.kinks, str):
        yield from ((0, kink) for kink in row.kinks)


ENDLESS = (
    dict.fromkeys(("tan", "sec"), "cos({}) != 0")
    | dict.fromkeys(("csc", "cot"), "sin({}) != 0")
    | dict.fromkeys(("floor", "ceil", "trunc"), "{} is no whole number")
    | dict.fromkeys(("gamma", "loggamma", "digamma"), "{} is not 0, -1, -2, ...")
)
"""Rows with poles or jumps without end, and the condition under which there is none."""
