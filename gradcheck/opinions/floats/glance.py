"""A first glance at a slope: nine samples where a scan takes two hundred.

It answers only where it is sure; whatever looks unusual is left to the scan. One thing it cannot
see: a function whose digits are all lost in a constant looks like a straight line to nine samples.
"""

import math
from itertools import pairwise

import numpy as np

from gradcheck.opinions.floats.richardson import (
    EPS,
    GOLDEN,
    TINY,
    Function,
    Samples,
    Side,
    sampled,
    slope_to,
)
from gradcheck.opinions.floats.scan import Scanned

SURE = 1e-8  # of the slope: a wider bar asks for the scan
HEARD = 32  # units of rounding that a value may carry before the scan is asked
LOUDER = 16
"""How many times what the fine rung is heard to carry the bar allows for: nothing more than HEARD
where that is two units. Where more digits cancel inside f, the differences of the coarse rungs are
by chance as alike as not; that both sums of the fine rung, odd and even, are 16 times quieter than
the noise too is seldom (measured in `test_coverage`)."""
STEPS = 2.0 ** np.array([-20, -11, -10, -9]) * (1 + GOLDEN / 4)
"""Of the natural length: three for extrapolation, one near the point for what hides there. An error
of order h^4 and rounding of eps/h are least together near eps^(1/5), 2^-10.4. The steps are no
powers of two (see `ladder`)."""


def glance(
    f: Function, x: float, length: float = 1.0, here: float | None = None, sure: float = SURE
) -> Scanned | None:
    """The derivative of f at x with its bar; None where more must be asked. `here` is f(x).

    `sure` is the widest bar that needs no more, as a part of the slope.

    Central differences at 2^-9, 2^-10 and 2^-11 of the length on which f varies are extrapolated
    twice; the bar is what two of the once extrapolated differ by, the rounding of f, and the noise
    heard in its values at 2^-20, where a parabola leaves nothing else. The slopes to either side
    there must agree with it as closely as that rounding lets them, so no kink or jump lies at x.
    """
    known = {} if here is None else {float(x): here}
    samples = Samples(f, float(x), length, length, known)
    samples.ahead(places_of(float(x), length))
    with np.errstate(all="ignore"):
        sides = sampled(samples, -1, length * STEPS), sampled(samples, 1, length * STEPS)
        seen = _slope(*sides, samples.here())
    if seen is None or not seen[1] <= sure * abs(seen[0]):
        return None
    value, bar = seen
    words = "nine samples agree"
    steps = (float(length * STEPS[1]), length)
    return Scanned("smooth", value, bar, value, value, words, len(samples.seen), steps)


def places_of(x: float, length: float) -> list[float]:
    """Where a glance at x samples."""
    steps = length * STEPS
    return [*(x - steps).tolist(), *(x + steps).tolist()]


def _slope(left: Side, right: Side, f0: float) -> tuple[float, float] | None:
    """The slope and its bar from one fine and three coarse rungs a side."""
    steps = ((left.steps + right.steps) / 2).tolist()  # numbers: four are too few for arrays
    if not all(steps):  # x is so large that it does not move
        return None
    before, after = left.values.tolist(), right.values.tolist()
    largest = (max(abs(a), abs(b), abs(f0)) for a, b in zip(before, after, strict=True))
    noise = [HEARD * (EPS * top + TINY) / h for top, h in zip(largest, steps, strict=True)]
    from_left, from_right = slope_to(left, f0).tolist(), slope_to(right, f0).tolist()
    central = [(a + b) / 2 for a, b in zip(from_left, from_right, strict=True)]
    rise = [b - a for a, b in zip(from_left, from_right, strict=True)]
    once = [fine + (fine - coarse) / 3 for fine, coarse in pairwise(central[1:])]
    value = once[0] + (once[0] - once[1]) / 15
    bend = rise[1] * steps[0] / steps[1]
    apart = abs(once[0] - once[1])
    turn = abs(bend) + noise[0] + noise[1] + apart
    near = abs(from_left[0] - value) <= turn and abs(from_right[0] - value) <= turn
    strayed = max(abs(central[0] - value), abs(rise[0] - bend)) * steps[0]
    bar = apart + max(noise[1], LOUDER * strayed / steps[1])
    return (value, bar) if near and math.isfinite(bar) else None
