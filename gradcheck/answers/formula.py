"""A formula as it was typed, and the tree that was understood."""

import ast
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from gradcheck.answers.complaint import refused
from gradcheck.answers.echo import echo
from gradcheck.answers.grammar import parse
from gradcheck.answers.magnitude import checked
from gradcheck.answers.numerals import half_unit
from gradcheck.answers.trees import alike
from gradcheck.answers.words import Words, vocabulary
from gradcheck.errors import TextError


@dataclass(frozen=True)
class Formula:
    """One typed formula.

    `tree` has the nodes Name, Constant (int or Fraction; True, False, None as arguments), BinOp,
    UnaryOp, Call, Subscript, Slice, Tuple, List, Attribute (T) and Compare, each with its place in
    `text`. `understood` is the tree in NumPy's spelling, `notes` say which rule was applied where a
    spelling is ambiguous, `half_unit` is half a unit of the last digit of a bare decimal.
    """

    text: str
    tree: ast.Expression
    understood: str
    notes: tuple[str, ...]
    half_unit: Fraction | None


def read_formula(
    text: str,
    *,
    names: Collection[str],
    functions: Collection[str],
    constants: Collection[str] = ("pi", "e"),
) -> Formula:
    """The formula in a text; TextError with one complaint at its column if there is none."""
    words = vocabulary(names, functions, constants)
    tree, notes = parse(text, words)
    checked(tree, text)
    understood = echo(tree)
    _faithful(tree, understood, words, text)
    return Formula(text, tree, understood, tuple(notes), half_unit(tree.body, text))


def _faithful(tree: ast.Expression, understood: str, words: Words, text: str) -> None:
    """Refuse a formula whose echo cannot be read again as the same tree."""
    try:
        again, _ = parse(understood, words)
    except TextError:
        message = "written out in full, the formula is too long"
        raise refused(text, 0, message, "simplify it first, or give numbers") from None
    if not alike(again, tree):
        raise refused(
            text, 0, "the formula can be read in two ways", "write * and brackets in full"
        )
