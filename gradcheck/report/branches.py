"""A derivative in pieces, with the conditions under which each holds, in four notations."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from gradcheck.closed_forms.notation import Notation
from gradcheck.closed_forms.shown import Branches
from gradcheck.report.latex import cases, latex
from gradcheck.report.mathml import to_mathml

WORDS = re.compile(r"(, | or | and )")  # between conditions
SIGNS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("-", "−"))


@dataclass(frozen=True)
class _Way:
    """How a formula, a condition and words around them are written."""

    formula: Callable[[str], str]
    condition: Callable[[str], str]
    words: Callable[[str], str] = str


def plain(found: Branches) -> str:
    """`1 if x > 0, -1 if x < 0, not defined at x = 0`; `1/x for x > 0`."""
    return _said(found, _Way(str, str))


def in_signs(found: Branches) -> str:
    """The same in the signs that people write."""
    return _said(found, _Way(Notation({}).written, _condition))


def in_latex(found: Branches) -> str:
    r"""A formula with its condition, or `\begin{cases}`; empty where a piece has no LaTeX."""
    way = _Way(latex, lambda text: _each(text, latex, _text), _text)
    if not all(latex(form) for form, _ in found.pieces):
        return ""
    if len(found.pieces) == 1:
        return _said(found, way)
    return cases([(way.formula(form), way.condition(w)) for form, w in found.pieces])


def in_mathml(found: Branches) -> str:
    """The same as a `math` element; empty where a piece has none."""
    return to_mathml(in_latex(found))


def _said(found: Branches, way: _Way) -> str:
    if len(found.pieces) == 1:
        ((form, where),) = found.pieces
        shown = way.formula(form)
        return f"{shown}{way.words('  for ')}{way.condition(where)}" if where else shown
    said = [
        f"{way.formula(form)}{way.words(' if ')}{way.condition(where)}"
        for form, where in found.pieces
    ]
    if found.undefined:
        where = way.condition(", ".join(found.undefined))
        said.append(f"{way.words('not defined at ')}{where}")
    return ", ".join(said)


def _condition(text: str) -> str:
    for plain_sign, sign in SIGNS:
        text = text.replace(plain_sign, sign)
    return re.sub(r"sqrt\((\w+)\)", r"√\1", text).replace("*", "·")


def _each(text: str, formula: Callable[[str], str], words: Callable[[str], str]) -> str:
    """Conditions one by one, with the words between them."""
    pieces = WORDS.split(text)
    return "".join(
        words(piece) if k % 2 else formula(piece) or words(piece) for k, piece in enumerate(pieces)
    )


def _text(words: str) -> str:
    return rf"\text{{{words}}}"
