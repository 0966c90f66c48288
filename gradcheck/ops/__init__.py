"""The table of ops: one row a function (see `row`), and the formulas that are made of them."""

import sys

from gradcheck.ops import linear, losses, networks, numpys
from gradcheck.ops.row import (
    BY_COMPOUND,
    BY_FUNCTION,
    BY_SPELLING,
    COMPOUNDS,
    TABLE,
    Composed,
    Op,
    everything,
)
from gradcheck.values import Routine

__all__ = [
    "BY_COMPOUND", "BY_FUNCTION", "BY_SPELLING", "COMPOUNDS", "SCIPYS", "TABLE", "Composed", "Op",
    "everything", "linear", "losses", "networks", "numpys", "row_of",
]  # fmt: skip

SAME = ("cbrt", "erf", "erfc", "erfinv", "exp2", "expm1", "gamma", "log1p", "logit", "xlogy")
SCIPYS = {name: name for name in SAME} | {
    "expit": "sigmoid", "gammaln": "loggamma", "log_expit": "logsigmoid", "psi": "digamma",
}  # fmt: skip
"""The rows of `scipy.special`'s ufuncs, by their own names. Its `loggamma` is none of them: below
zero it has no real value."""


def row_of(function: Routine) -> Op | None:
    """The row of one of NumPy's functions, or of SciPy's once a program has loaded SciPy."""
    row = BY_FUNCTION.get(function)
    if row is None:
        name = getattr(function, "__name__", "")
        theirs = getattr(sys.modules.get("scipy.special"), name, None)
        if name in SCIPYS and theirs is function:
            row = BY_FUNCTION[function] = TABLE[SCIPYS[name]]
    return row
