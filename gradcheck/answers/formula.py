"""A formula as it was typed, and the tree that was understood."""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from gradcheck.answers.characters import in_plain
from gradcheck.answers.complaint import refused
from gradcheck.answers.echo import echo
from gradcheck.answers.limits import within_limits
from gradcheck.answers.numerals import half_unit
from gradcheck.answers.outline import Outline, Step
from gradcheck.answers.tokens import Token, tokenize
from gradcheck.answers.words import Words, vocabulary
from gradcheck.errors import TextError

LENGTH = 2_000  # characters
TURNS = 8  # doubts that are turned, each alone
FEW = frozenset[int]()


@dataclass(frozen=True)
class Formula:
    """One typed formula; `text` is what was typed, with all that stood around it.

    `tree` has the nodes Name, Constant (int or Fraction; True, False, None as arguments), BinOp,
    UnaryOp, Call, Subscript, Slice, Tuple, List, Attribute (T, size, ndim, shape) and Compare, each
    with its place in `text`. `understood` is the tree in NumPy's spelling, `notes` say which rule
    was applied where a spelling is ambiguous, `half_unit` is half a unit of the last digit of a
    bare decimal. `steps` are those of the working, the formula itself the last of them; `doubts`
    the places that another reader would have read otherwise.
    """

    text: str
    tree: ast.Expression
    understood: str
    notes: tuple[str, ...]
    half_unit: Fraction | None
    steps: tuple[Step, ...] = ()
    doubts: tuple[int, ...] = ()
    tokens: tuple[Token, ...] = ()  # of the formula itself

    def piece(self, node: ast.expr) -> "Formula":
        """An entry of the formula as a formula of its own."""
        tree = ast.Expression(node)
        return Formula(self.text, tree, echo(tree), (), half_unit(node, self.text))


def read_formula(
    text: str,
    *,
    names: Collection[str],
    functions: Collection[str],
    constants: Collection[str] = ("pi", "e"),
    single: bool = False,
    by: str = "",
) -> Formula:
    """The formula in a text; TextError with one complaint at its column if there is none.

    `single` says that one number is due, not a list: a bare `2,5` is then a decimal number. `by` is
    the name that a prime differentiates by in a step of working.
    """
    return _remembered(text, vocabulary(names, functions, constants), single, by, FEW)


def other_readings(
    formula: Formula,
    *,
    names: Collection[str],
    functions: Collection[str],
    constants: Collection[str] = ("pi", "e"),
    single: bool = False,
    by: str = "",
) -> Iterator[Formula]:
    """The formula as another reader might have read it: one doubt turned, then all of them."""
    words = vocabulary(names, functions, constants)
    each = [frozenset([at]) for at in formula.doubts[:TURNS]]
    seen = {formula.understood}
    for turned in dict.fromkeys([*each, frozenset(formula.doubts)]):
        try:
            found = _remembered(formula.text, words, single, by, turned)
        except TextError:
            continue
        if found.understood not in seen:
            seen.add(found.understood)
            yield found


@lru_cache(maxsize=64)
def _remembered(text: str, words: Words, single: bool, by: str, turned: frozenset[int]) -> Formula:
    """The formula in a text; the last few are known, as answers are looked at more than once."""
    if len(text) > LENGTH:
        cure = "simplify it first, or give numbers"
        raise refused(text[:40], 0, f"{len(text)} characters: at most {LENGTH} are read", cure)
    plain = in_plain(text)
    outline = Outline(text, tokenize(text, plain), words, single, by, turned, list(plain.notes))
    body = outline.formula()
    if single and isinstance(body, ast.List) and len(body.elts) == 1:
        body = body.elts[0]
        outline.notes.append("square brackets are read as round ones")
    within_limits(body, text)
    tree = ast.Expression(body)
    notes = tuple(dict.fromkeys(outline.notes))
    doubts = tuple(dict.fromkeys(outline.doubts))
    steps = tuple(outline.steps)
    half = half_unit(body, text)
    return Formula(text, tree, echo(tree), notes, half, steps, doubts, tuple(outline.read))
