"""The catalogue of mistakes: calculus, backprop, the whole answer; one row a mistake."""

from gradcheck.mistakes import (
    accumulation,
    backprop,
    broadcasting,
    chain,
    functions,
    powers,
    products,
    quotients,
    selecting,
    sums,
    whole_answer,
)
from gradcheck.mistakes.row import (
    CATALOGUE,
    Accumulation,
    Edge,
    Example,
    Mistake,
    Operation,
    Start,
    Whole,
)

__all__ = [
    "CATALOGUE",
    "Accumulation",
    "Edge",
    "Example",
    "Mistake",
    "Operation",
    "Start",
    "Whole",
    "accumulation",
    "backprop",
    "broadcasting",
    "chain",
    "functions",
    "powers",
    "products",
    "quotients",
    "selecting",
    "sums",
    "whole_answer",
]
