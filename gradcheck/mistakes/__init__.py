"""The catalogue of mistakes: calculus, backprop; one row a mistake."""

from gradcheck.mistakes import backprop, calculus
from gradcheck.mistakes.row import CATALOGUE, Mistake

__all__ = ["CATALOGUE", "Mistake", "backprop", "calculus"]
