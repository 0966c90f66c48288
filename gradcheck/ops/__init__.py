"""The table of ops: one row a function (see `row`)."""

from gradcheck.ops import (
    activations,
    arithmetic,
    exponential,
    linear,
    reductions,
    selection,
    shapes,
    trigonometric,
)
from gradcheck.ops.row import BY_FUNCTION, TABLE, Composed, Example, Interval, Op, op

__all__ = [
    "BY_FUNCTION",
    "TABLE",
    "Composed",
    "Example",
    "Interval",
    "Op",
    "activations",
    "arithmetic",
    "exponential",
    "linear",
    "op",
    "reductions",
    "selection",
    "shapes",
    "trigonometric",
]
