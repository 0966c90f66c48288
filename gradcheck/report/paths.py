"""A derivative with what it holds under, in four notations."""

import re
from collections.abc import Callable

from gradcheck.report.latex import latex
from gradcheck.report.prose import to_mathml
from gradcheck.texts import PathForm
from gradcheck.texts.notation import Notation

WORDS = re.compile(r"(, | or | and )")  # between conditions
SIGNS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("-", "−"))


def plain(found: PathForm) -> str:
    """`1/x  for x > 0`."""
    return f"{found.text}  for {found.where}" if found.where else found.text


def in_signs(found: PathForm) -> str:
    """The same in the signs that people write."""
    text = Notation({}).write(found.text)
    return f"{text}  for {_condition(found.where)}" if found.where else text


def in_latex(found: PathForm) -> str:
    """A formula with its condition; empty where it has no LaTeX."""
    text = latex(found.text)
    if not text or not found.where:
        return text
    return text + _text("  for ") + _each(found.where, latex, _text)


def in_mathml(found: PathForm) -> str:
    """The same as a `math` element; empty where it has none."""
    return to_mathml(in_latex(found))


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
