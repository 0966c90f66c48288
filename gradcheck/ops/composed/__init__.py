"""Functions that are formulas of the rows: every kind of number follows them by its own ops."""

from gradcheck.ops.composed import (
    cutting,
    elementary,
    layout,
    losses,
    networks,
    numpys,
    ordered,
    picking,
    pooling,
    products,
    recurrent,
    resizing,
    samples,
    windows,
)

__all__ = [
    "cutting",
    "elementary",
    "layout",
    "losses",
    "networks",
    "numpys",
    "ordered",
    "picking",
    "pooling",
    "products",
    "recurrent",
    "resizing",
    "samples",
    "windows",
]
