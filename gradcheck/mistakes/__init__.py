"""The catalogue of mistakes: calculus, backprop, the whole answer; one row a mistake."""

from gradcheck.mistakes import backprop, calculus, whole_answer  # noqa: F401 - enter their rows
from gradcheck.mistakes.row import CATALOGUE, Edge, Mistake, Whole

__all__ = ["CATALOGUE", "Edge", "Mistake", "Whole"]
