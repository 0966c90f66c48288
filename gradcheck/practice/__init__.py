"""Practice: problems drawn by rule and level, and the next problem for a mistake."""

from gradcheck.practice.exercise import Exercise, generate_exercises, next_problem

__all__ = ["Exercise", "generate_exercises", "next_problem"]
