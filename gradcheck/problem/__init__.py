"""Problems: read from files, checked, and asked about at points."""

from gradcheck.problem.load import load, load_text
from gradcheck.problem.record import Input, Part, Problem, ProblemSet, is_training

__all__ = ["Input", "Part", "Problem", "ProblemSet", "is_training", "load", "load_text"]
