"""Problems: read from files, checked, and asked about at points."""

from gradcheck.problem.record import Input, Part, Problem, ProblemSet, is_training, load, load_text

__all__ = ["Input", "Part", "Problem", "ProblemSet", "is_training", "load", "load_text"]
