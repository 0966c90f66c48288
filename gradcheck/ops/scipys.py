"""SciPy's special functions as rows, where a program uses them: SciPy itself is never imported."""

import sys

from gradcheck.ops.row import BY_FUNCTION, TABLE, Op
from gradcheck.values import Routine

SAME = {
    "cbrt": "cbrt",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gamma": "gamma",
    "gammaln": "loggamma",
    "log1p": "log1p",
    "log_expit": "logsigmoid",
    "psi": "digamma",
    "xlogy": "xlogy",
}
"""The rows of `scipy.special`'s ufuncs, by their own names. Its `loggamma` is none of them: below
zero it has no real value."""


def row_of(function: Routine) -> Op | None:
    """The row of one of NumPy's functions, or of SciPy's once SciPy is loaded."""
    row = BY_FUNCTION.get(function)
    if row is None:
        name = getattr(function, "__name__", "")
        theirs = getattr(sys.modules.get("scipy.special"), name, None)
        if name in SAME and theirs is function:
            row = BY_FUNCTION[function] = TABLE[SAME[name]]
    return row
