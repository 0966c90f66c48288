"""The thresholds by which claims are judged, each with what set it."""

EPSILON = 2.0**-52
RTOL = 1e-9
NOISE = 4.0
"""Times reverse mode's own rounding: another order of operations may lose more. Of 388 right
backward passes at ten seeds none needed more."""
FLOOR = 1e-13  # of the largest entry: some 450 units of rounding, as sums of a thousand terms lose
UNITS = 64  # of rounding: what a formula of a dozen steps loses of an entry by itself
LOOSE = 1e-4
"""Of the largest entry: where rounding moves a number more, finer arithmetic judges; and
what floats alone cannot tell from rounding, for wrong formulas of the corpora are off by more."""
PRECISIONS = (256, 2048)  # bits: 1 - y of a y that is 1e-77, and of one that is 1e-616, beside 1
PROVEN = 1e-20  # of an entry, in balls: far below what float64 can hold
NARROW = 1e-9  # of an entry: a ball so wide that it says nothing of a formula is not believed
MOVED = 4.0
"""Times what a few units of rounding in the inputs move: a spread of few runs is within that of the
truth but for one entry in 10,000."""
COARSE = 2.0**-26
"""A move of the inputs that shows lost digits where a few units do not: `cos(x)` near 0 is the same
number for many neighbours of x. A formula that keeps its digits moves by as little."""
FAINT = EPSILON * 1e3
"""Of the value: differences of slopes of which float64 shows nothing (tanh' at 20)."""
WIDE = 1 / 16
"""Of the largest slope: no bar that is wider settles anything. A factor of two or a sign lost is at
least a half of an entry, which is seen in all that are an eighth of the largest or more."""
