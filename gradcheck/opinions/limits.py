"""Every threshold of the opinions and of the verdict, and the experiment that set it.

Rulers: 33 hard functions (kinks, poles, cancellation, noise) on which the scan's were chosen; three
sweeps of 2,000 points of 22 smooth families that they were not chosen on, and three of 2,000 points
beside narrow bends (tests/opinions/floats), where 99.9 % of the bars held the slope of mpmath;
random programs against balls (tests/verdict). EPSILON is a unit of rounding, 2.2e-16.
"""

import math

import numpy as np

EPSILON = 2.0**-52
TINY = 2.0**-1074
SMALLEST = float(np.finfo(np.float64).smallest_normal)
GOLDEN = (math.sqrt(5) - 1) / 2  # spreads steps so that none meets the binary rounding inside f

# -- exact numbers ---------------------------------------------------------------------------------

LINE_BITS = 128  # of the closed form at first: 38 digits
BLAME_BITS = 384  # of one op by itself
BALL_BITS = 256  # of differences: three times the largest exponent of a step, so nothing cancels
STEPS = (64, 72, 80)
STEPS_DEEP = (1064, 1072, 1080)  # where a floor jumps more often: as far as float64 reaches
STEPS_INSIDE = (200, 208, 216)  # of differences inside of differences: not felt by those outside
"""Steps of 2^-64, 2^-72 and 2^-80 of the input: the nearest kink that float64 can write beside an
input lies at 2^-53 of it, so none is stepped over; each is a 256th of the one before."""
BEND = 2.0**-50  # of a slope: far above the truncation of such steps, far below float64's kinks
BALLS = 3_000_000  # ball operations, about three seconds
NODES = 20_000  # numbers of the line: about a second
SAMPLED = 8  # entries whose slopes stand for the others where the line is longer
FOLDED = 400_000  # numbers made for these: about two seconds
LONGEST = 200_000  # numbers of the line where every entry is needed: about ten seconds
READABLE = 120  # operations of a closed form that is written out
WRITTEN_OUT = 64  # entries of gradients that are written out

# -- reverse mode's rounding, by sampling (Vignes 1993) --------------------------------------------

SAMPLES = 4
UNITS = 8.0  # of rounding: an op that rounds inside may not answer to a single one
SPREAD_SAFETY = 1.5
"""These together so that the bars covered the truth in every sweep of random programs."""
SWAYED = 1e-3  # of a number: what rounding may move while a few samples tell how far ...
HUMBLE = 16.0  # ... and how many times wider a bar is where it moves more
ROW = 2**16 + 1  # draws that are kept: no multiple of the sizes of arrays, so that rows differ

# -- a scan of floats: how sure a pattern must be to be believed -----------------------------------

COLUMNS = 6  # of extrapolation; further ones only amplify noise
WINDOW = 6  # rungs that tell of a plateau of noise
SCAN_SAFETY = 2.0  # times the bar of an extrapolation
CLEAR = 64  # units of rounding above which a rise of f is one of f's own
CARRIED = 1024  # units that a value may carry by itself: exp makes at most 745 of one
STEEPEST = 0.02, 0.9995  # the powers of h that are told from a jump (h^0) and from a slope (h^1)
SMALL_STEP = 1e-6  # f stepping by less than this part of itself may be rounding, not a step of f's

# -- the quick look --------------------------------------------------------------------------------

LOOKED = 2.0 ** np.array([-20, -11, -10, -9]) * (1 + GOLDEN / 4)
"""Steps: three for extrapolation, one near the point for what hides there. An error of order h^4
and rounding of eps/h are least together near eps^(1/5), 2^-10.4."""
SURE = 1e-8  # of a slope: with a wider bar an entry is scanned
QUIET = 32  # units of rounding that a value may carry before more is asked
LOUDER = 16
"""How many times what the fine step is heard to carry the bar allows for. Where more digits cancel
inside f, the differences of the coarse steps are by chance as alike as not; that both sums of the
fine step, odd and even, are 16 times quieter than the noise is seldom: of 1,100 random points of
the families at most one bar may miss."""
LENGTHS = (1.0, 2.0**-6, 2.0**-10)  # nearer where networks of relus bend within
ENOUGH = 1e-7  # of the steepest slope: a bar that settles a direction
SETTLED = 1e-6  # of the steepest slope: the widest bar of scans that settles anything

# -- black boxes -----------------------------------------------------------------------------------

ENTRIES = 400  # that are looked at one by one; beyond, directions
SCANNED = 16  # entries up to which each is scanned, whatever a quick look says
DIRECTIONS = 8
CONFIRMING = 2  # directions, where two opinions know every entry already
WIDTH = math.sqrt(12)  # of even draws whose mean square is 1
MOVING = (1.0, -1.0, 1e-3, -1e-3)  # of the length of a scan: where what an entry moves is seen
HEARD = 4  # times the noise of a scan, an rms of differences: nearly all of a normal distribution

# -- where opinions meet ---------------------------------------------------------------------------

TIGHT = 1e-4  # of an entry's size: a wider bar decides nothing (a mistake is rarely smaller)
COMPARED = 1 - 1e-12  # of a bar: what comparing in floats instead of balls may lose
DIGITS_LOST = 1e-8  # of an entry's size: half of float64's sixteen digits
NOTHING = 1e-20  # of the inputs: what cancels to less is zero
MORE_SAMPLES = 32  # of reverse mode's rounding, before it is blamed: few runs miss what cancels
ASIDE = 1e-3  # of the inputs: a generic point beside a tie
MISSED = 1e-6  # the chance that is stated of missing a wrong entry
PRODUCT = 16 * EPSILON  # of the length of a product's terms: their rounding, summed in pairs
"""Checked by the stated power: one entry planted a thousand times is seen each time."""
NEIGHBOURS = 48  # points beside a kink that are asked
BESIDE = 1e-10  # of the inputs: how near they are
LIKE = 1e-6  # of the largest entry: how near a gradient is that of a point beside a kink

# -- passes back of a script, judged on what was recorded: operations of one evaluation ------------

EXACT_WORK = 4_000  # beyond, floats alone are asked: balls would take a second
LONG_WORK = 100_000  # beyond, two directions are enough
MOST_WORK = 10_000_000  # of all passes that are judged together: about a minute
REPLAYED = 1e-9  # of the largest entry: between what was recorded and its replay

# -- blame: one op by itself -----------------------------------------------------------------------

LARGE = 2000  # entries of an op and its operands: larger ones are not looked at
WRONG = 1e-7  # of a number: the slips of the tests are off by 1e-3, rounding by far less
ROUNDED = 1e-13  # of an op's operands and value: what float64 may lose inside of it
LOST = 2.0**-49  # of the result itself: a basic operation loses a sixteenth of this

# -- claims: backward passes and gradients that are given ------------------------------------------

RTOL = 1e-9
NOISE = 4.0
"""Times reverse mode's own rounding: another order of operations may lose more. Of 388 right
backward passes at ten seeds none needed more."""
FLOOR = 1e-13  # of the largest entry: some 450 units of rounding, as sums of a thousand terms lose
FORMULA = 64
"""Units of rounding: what a formula of a dozen steps loses of an entry by itself, or in balls by
the constants of its text (`3 * 0.044715` is rounded before a ball meets it)."""
LOOSE = 1e-4
"""Of the largest entry: where rounding moves a number more, finer arithmetic judges; and
what floats alone cannot tell from rounding, for wrong formulas of the corpora are off by more."""
PRECISIONS = (256, 2048)  # bits: 1 - y of a y that is 1e-77, and of one that is 1e-616, beside 1
SECONDS_GROSS, SECONDS_FINE = 0.5, 6.0
"""That a claim may take in balls: 100,000 entries take some 20 operations of each. What is off by
more than `LOOSE` moved inputs refute as well, unless a step inside of the formula loses it."""
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
MENDED = 1e-7  # of an entry: how near a repaired gradient is to the reference
LINEAR = 2.0**20  # units of rounding: what cancellation inside a linear map may cost
SPARED = 3  # directions: a single wrong entry hides from all at one in a million below 80 bars
SETTLED_BY_ONE = 1e-10  # of a part's largest entry: what rounding may move of a gradient
SHORT = 16  # entries up to which the closed form is asked too
DISTURBED = 2
"""Disturbed runs; one beside a gradient that is given, which is rounded in its own way. Each moves
some 20 times as far as rounding itself: of 14,034 entries of random programs 14 lay beyond the bar
of one run, and 5 beyond those of two as of four (underflow, numbers that cancel to nothing). A bar
that is too narrow opens the full consultation, which makes its own runs; one that hides digits that
cancel would have to be narrow at every entry."""
SHORT_STEPS = 300  # of the closed form, about five milliseconds
TIED = 16  # points beside a kink: a unit that is tied takes either branch at one in two of them
