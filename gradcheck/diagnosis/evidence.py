"""How much an answer says: how many hypotheses would meet one like it by accident.

An answer is taken as drawn from all that could have been typed with as many digits, in the range
of the values that the mistakes give. A number like 12 is met by every third mistake, 12.37 by one
in a hundred, a formula's floats at several points by none.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np

from gradcheck.diagnosis.closeness import RELATIVE
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.tables import Given

MOST = 1e-3  # accidents: one wrong story in a thousand answers that none of the mistakes gave
LARGEST = 100  # denominators of fractions that somebody may have typed
LOST = 1e-12  # what a float may lose of such a fraction


def accidents(prepared: Prepared, part: str, wanted: Given, pairs: bool = False) -> float:
    """The expected number of mistakes (or `pairs` of them) that give such an answer by accident.

    Those are counted that give something of its size; a constant is one number at all points.
    """
    found = prepared.tables[part].get(wanted.shape)
    if found is None:
        return 0.0
    constant = wanted.shape == () and not np.ptp(wanted.flat)
    points = slice(1) if constant else slice(None)
    flat = wanted.flat[points]
    units = np.array([_unit(a) for a in flat.flat]).reshape(flat.shape)
    room = np.maximum(units, 2 * np.broadcast_to(wanted.slack, flat.shape))
    reach = 2 * np.maximum(np.abs(flat), room)
    values = found.flat[:, wanted.points][:, points]
    near = int(np.sum(np.all(np.abs(values) <= reach, axis=(1, 2))))
    return float((near**2 if pairs else near) * np.prod(room / (2 * reach)))


def _unit(a: float) -> float:
    """How far apart the numbers lie that are typed like this one: digits, or a simple fraction."""
    exponent = Decimal(repr(float(a))).normalize().as_tuple().exponent
    decimal = 10.0 ** min(int(exponent), 0)
    simple = Fraction(float(a)).limit_denominator(LARGEST)
    fits = abs(float(simple) - a) <= LOST * abs(a)
    return max(decimal, 1.0 / simple.denominator**2 if fits else 0.0, 2 * RELATIVE * abs(a))
