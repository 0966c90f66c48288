"""Pictures of a verdict: recorded series, V curves, graphs. Records first, then their drawing."""

from gradcheck.plots.drawing import (
    Draft,
    Drawn,
    Unwritable,
    of_case,
    of_training,
    pictures,
    ready,
    write,
)
from gradcheck.plots.names import distinct

__all__ = [
    "Draft",
    "Drawn",
    "Unwritable",
    "distinct",
    "of_case",
    "of_training",
    "pictures",
    "ready",
    "write",
]
