"""Answers that can be read in two ways, where the shape says that the usual one was not meant."""

from collections.abc import Collection

import numpy as np

from gradcheck.answers.grammar import OUTER
from gradcheck.answers.indices import ALPHABETICAL
from gradcheck.grading.formulas.values import Readings
from gradcheck.grading.key import Key


def other_shape(key: Key, part: str, ready: Readings, notes: Collection[str]) -> str:
    """What to write instead of a formula of another shape than the gradient's; "" where it is one.

    Letters below may count rows or columns, and a column times a row may be meant as the product of
    a row and a column.
    """
    bits = 128
    shape = np.asarray(ready.at(key.spots[0])(bits)).shape
    due = np.asarray(key.reference(0, part)(bits)).shape
    if ALPHABETICAL in notes and shape != due and sorted(shape) == sorted(due):
        axes = " and ".join(map(str, due))
        return (
            f"which letter counts the rows? The gradient has {axes} - "
            "write the letters in their order in front, as in [k,j] = ..."
        )
    if OUTER in notes and due == () and len(set(shape)) == 1:
        return (
            "a column times a row is a matrix, and one number is due - "
            "write u @ v or sum(u*v) for the product of two vectors"
        )
    return ""
