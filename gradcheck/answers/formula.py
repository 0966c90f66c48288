"""A formula as it was typed, and the tree that was understood."""

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from gradcheck.answers.characters import characters
from gradcheck.answers.commas import commas
from gradcheck.answers.complaint import refused
from gradcheck.answers.definitions import definitions
from gradcheck.answers.draft import Draft
from gradcheck.answers.echo import echo
from gradcheck.answers.gradients import gradients
from gradcheck.answers.grammar import parse
from gradcheck.answers.indices import indices
from gradcheck.answers.listing import listing
from gradcheck.answers.magnitude import checked
from gradcheck.answers.numerals import half_unit
from gradcheck.answers.piecewise import piecewise
from gradcheck.answers.rereading import reads_again
from gradcheck.answers.words import Words, vocabulary
from gradcheck.answers.wrapping import unwrap
from gradcheck.errors import TextError

LENGTH = 2_000  # characters
LISTED = re.compile(r"[,&\[;\n]")  # where a list may be, and one number may be due instead


@dataclass(frozen=True)
class Formula:
    """One typed formula; `text` is what was typed without what stood around it.

    `tree` has the nodes Name, Constant (int or Fraction; True, False, None as arguments), BinOp,
    UnaryOp, Call, Subscript, Slice, Tuple, List, Attribute (T, size, ndim, shape) and Compare, each
    with its place in `text`. `understood` is the tree in NumPy's spelling, `notes` say which rule
    was applied where a spelling is ambiguous, `half_unit` is half a unit of the last digit of a
    bare decimal.
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
    plain = text.isascii() and LISTED.search(text) is None
    return _remembered(text, vocabulary(names, functions, constants), single and not plain)


@lru_cache(maxsize=16)
def _remembered(text: str, words: Words, single: bool) -> Formula:
    """The formula in a text; the last few are known, as answers are looked at more than once."""
    if len(text) > LENGTH:
        cure = "simplify it first, or give numbers"
        raise refused(text[:40], 0, f"{len(text)} characters: at most {LENGTH} are read", cure)
    draft = Draft.of(text)
    try:
        characters(draft)
        listing(draft, words, single)
        definitions(draft, words)
        gradients(draft, words.names)
        piecewise(draft, words.names)
        indices(draft, words.names, {name: len(shape) for name, shape in words.sized})
        unwrap(draft, words)
        commas(draft, words, single)
        tree, notes = parse(draft.text, words)
        checked(tree, draft.text)
        said = tuple(dict.fromkeys((*draft.notes, *notes)))
        half = half_unit(tree.body, draft.text)
        formula = Formula(draft.text, tree, echo(tree), said, half)
        _faithful(formula, words)
        return formula
    except TextError as error:
        raise draft.placed(error) from None


def _faithful(formula: Formula, words: Words) -> None:
    """Refuse a formula whose echo cannot be read again as the same tree."""
    text = formula.text
    try:
        again = reads_again(formula.tree, formula.understood, words)
    except TextError:
        message = "written out in full, the formula is too long"
        raise refused(text, 0, message, "simplify it first, or give numbers") from None
    if not again:
        raise refused(
            text, 0, "the formula can be read in two ways", "write * and brackets in full"
        )
