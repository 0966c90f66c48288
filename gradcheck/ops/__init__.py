"""The table of ops: one row a function (see `row`), and the formulas that are made of them."""

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
from gradcheck.ops.special import SCIPYS, row_of

__all__ = [
    "BY_COMPOUND", "BY_FUNCTION", "BY_SPELLING", "COMPOUNDS", "SCIPYS", "TABLE", "Composed", "Op",
    "everything", "linear", "losses", "networks", "numpys", "row_of",
]  # fmt: skip
