"""Typed answers read over the names that the tests of answers share."""

from collections.abc import Collection

from gradcheck.answers import FUNCTIONS, Formula, read_formula
from gradcheck.errors import Complaint, TextError
from gradcheck.language.kinds import FORMULAS

NAMES = ("x", "y", "a", "n", "theta", "x_1", "x2", "X", "W", "b", "y_true", "aa")


def read(text: str, names: Collection[str] = NAMES) -> Formula:
    return read_formula(text, names=names, functions=FUNCTIONS | FORMULAS.functions)


def complaint(text: str, names: Collection[str] = NAMES) -> Complaint:
    try:
        read(text, names)
    except TextError as error:
        (only,) = error.complaints
        return only
    raise AssertionError(f"{text} was read")
