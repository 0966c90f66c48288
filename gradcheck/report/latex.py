"""A formula in LaTeX, for sheets and notebooks."""

import re
from itertools import starmap

from gradcheck.report.notation import Notation, notated
from gradcheck.texts.notation import GREEK

COMMANDS = """sin cos tan sec csc cot arcsin arccos arctan sinh cosh tanh coth ln max min"""
FUNCTIONS = {word: rf"\{word}" for word in COMMANDS.split()} | {
    "log": r"\ln",
    "log2": r"\log_{2}",
    "log10": r"\log_{10}",
}
SIGNS = {
    "−": "-",
    "=": " = ",
    "⋅": r" \cdot ",
    "≤": r" \le ",
    "≥": r" \ge ",
    "≠": r" \ne ",
    ",": ", ",
}
BREAK = r" \\ "  # between the rows of cases
SPECIAL = re.compile(r"[\\{}$&#^_%~]")


def _plain(word: str) -> str:
    """A word without the characters that LaTeX takes for commands."""
    return SPECIAL.sub(lambda found: rf"\{found[0]}" if found[0] not in "\\^~" else "", word)


def _name(word: str) -> str:
    if word in GREEK and word not in ("omicron", "lamda"):
        return rf"\{word}"
    return _plain(word) if len(word) == 1 else rf"\mathit{{{_plain(word)}}}"


def _row(value: str, condition: str) -> str:
    return rf"{value} & \text{{if }} {condition}" if condition else rf"{value} & \text{{otherwise}}"


LATEX = Notation(
    name=_name,
    function=lambda word: FUNCTIONS.get(word, rf"\operatorname{{{_plain(word)}}}"),
    number=str,
    sign=lambda sign: SIGNS.get(sign, sign),
    word=lambda word: rf"\text{{{_plain(word)}}}",
    group=lambda inner: inner,
    bracketed=lambda inner, left, right: rf"\left{left}{inner}\right{right}",
    fraction=lambda above, below: rf"\frac{{{above}}}{{{below}}}",
    raised=lambda base, exponent: f"{base}^{{{exponent}}}",
    below=lambda base, index: f"{base}_{{{index}}}",
    root=lambda inner: rf"\sqrt{{{inner}}}",
    cases=lambda rows: rf"\begin{{cases}}{BREAK.join(starmap(_row, rows))}\end{{cases}}",
    times=r"\,",
    apply="",
)


def latex(text: str) -> str:
    """A formula in NumPy's spelling as LaTeX, without dollars; empty where it is none."""
    return notated(text, LATEX)
