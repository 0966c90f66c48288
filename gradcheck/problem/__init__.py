"""Problems: read from files, checked, and asked about at points."""

from gradcheck.problem.load import load, load_text
from gradcheck.problem.record import Input, Part, Problem, ProblemSet

__all__ = ["Input", "Part", "Problem", "ProblemSet", "load", "load_text"]
