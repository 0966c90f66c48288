"""The table of ops: one row a function (see `row`), and the formulas that are made of them."""

from gradcheck.ops import (
    activations,
    arithmetic,
    decompositions,
    elementary,
    linear,
    losses,
    networks,
    numpys,
    places,
    reductions,
    shapes,
)
from gradcheck.ops.formula import BY_COMPOUND, COMPOUNDS, everything
from gradcheck.ops.row import BY_FUNCTION, BY_SPELLING, TABLE, Composed, Op
from gradcheck.ops.scipys import row_of

__all__ = [
    "BY_COMPOUND",
    "BY_FUNCTION",
    "BY_SPELLING",
    "COMPOUNDS",
    "TABLE",
    "Composed",
    "Op",
    "activations",
    "arithmetic",
    "decompositions",
    "elementary",
    "everything",
    "linear",
    "losses",
    "networks",
    "numpys",
    "places",
    "reductions",
    "row_of",
    "shapes",
]
