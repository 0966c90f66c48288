"""The catalogue of mistakes: calculus, backprop, the whole answer; one row a mistake."""

from importlib import import_module

from gradcheck.mistakes.row import CATALOGUE, Accumulation, Edge, Mistake, Start, Whole

FILES = (
    "backprop", "chain", "functions", "norms", "powers", "products", "selecting",
    "sums", "whole_answer",
)  # fmt: skip
for _name in FILES:  # each enters its rows
    import_module(f"{__name__}.{_name}")

__all__ = ["CATALOGUE", "Accumulation", "Edge", "Mistake", "Start", "Whole"]
