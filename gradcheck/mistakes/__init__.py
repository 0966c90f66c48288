"""The catalogue of mistakes: calculus, backprop, the whole answer; one row a mistake."""

from gradcheck.mistakes import (
    backprop,
    chain,
    functions,
    meeting,
    powers,
    products,
    quotients,
    selecting,
    sums,
    whole,
)
from gradcheck.mistakes.row import (
    CATALOGUE,
    Edge,
    Example,
    Meeting,
    Mistake,
    Start,
    Step,
    Whole,
)  # fmt: skip

__all__ = [
    "CATALOGUE",
    "Edge",
    "Example",
    "Meeting",
    "Mistake",
    "Start",
    "Step",
    "Whole",
    "backprop",
    "chain",
    "functions",
    "meeting",
    "powers",
    "products",
    "quotients",
    "selecting",
    "sums",
    "whole",
]
