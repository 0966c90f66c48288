"""A formula as it was typed, and the tree that was understood."""

import ast
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from gradcheck.answers.characters import characters
from gradcheck.answers.commas import commas
from gradcheck.answers.complaint import refused
from gradcheck.answers.draft import Draft
from gradcheck.answers.echo import echo
from gradcheck.answers.grammar import parse
from gradcheck.answers.magnitude import checked
from gradcheck.answers.numerals import half_unit
from gradcheck.answers.trees import alike
from gradcheck.answers.words import Words, vocabulary
from gradcheck.answers.wrapping import unwrap
from gradcheck.errors import TextError

LENGTH = 2_000  # characters


@dataclass(frozen=True)
class Formula:
    """One typed formula; `text` is what was typed without what stood around it.

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
    single: bool = False,
) -> Formula:
    """The formula in a text; TextError with one complaint at its column if there is none.

    `single` says that one number is due, not a list: a bare `2,5` is then a decimal number.
    """
    words = vocabulary(names, functions, constants)
    if len(text) > LENGTH:
        cure = "simplify it first, or give numbers"
        raise refused(text[:40], 0, f"{len(text)} characters: at most {LENGTH} are read", cure)
    draft = Draft.of(text)
    try:
        characters(draft)
        unwrap(draft, words)
        commas(draft, words, single)
        return _read(draft, words)
    except TextError as error:
        raise draft.placed(error) from None


def _read(draft: Draft, words: Words) -> Formula:
    """The formula in a text that has been made readable."""
    text = draft.text
    tree, notes = parse(text, words)
    checked(tree, text)
    understood = echo(tree)
    _faithful(tree, understood, words, text)
    said = tuple(dict.fromkeys((*draft.notes, *notes)))
    return Formula(text, tree, understood, said, half_unit(tree.body, text))


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
