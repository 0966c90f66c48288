"""Closed forms as LaTeX."""

import ast
from dataclasses import dataclass

from gradcheck.texts.notation import GREEK, POWER, WORD, Notation, Written
from gradcheck.texts.trees import PREFIX

FUNCTIONS = frozenset(["exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "det"])
"""What LaTeX has a command for."""


@dataclass(frozen=True)
class Latex(Notation):
    """The notation, spelled in LaTeX."""

    minus = "-"

    def sign(self, sign: str) -> str:
        """An operator."""
        found = {"⊙": r"\odot", "·": r"\cdot", "≥": r"\ge", "≤": r"\le", "≠": r"\ne"}
        return found.get(sign, sign)

    def plain(self, text: str) -> str:
        """What stays as NumPy has it."""
        return rf"\texttt{{{text.replace('_', chr(92) + '_')}}}"

    def bracket(self, inner: str) -> str:
        """One where a condition holds, else zero."""
        return rf"\left[{inner}\right]"

    def fence(self, mark: str, inner: str) -> str:
        """Between two bars."""
        bar = r"\|" if mark == "‖" else "|"
        return rf"\left{bar}{inner}\right{bar}"

    def name(self, name: str) -> str:
        r"""`W1` as W_1, `sigma` as \sigma."""
        if name.startswith(PREFIX):
            below = self.name(name.removeprefix(PREFIX))
            return rf"\frac{{\partial {self.name(self.end)}}}{{\partial {below}}}"
        found = WORD.fullmatch(name)
        if found is None:
            return rf"\mathit{{{name.replace('_', chr(92) + '_')}}}"
        letters = found[1]
        if letters in GREEK:
            letters = "\\" + letters.replace("lamda", "lambda")
        elif len(letters) > 1:
            letters = rf"\mathit{{{letters}}}"
        return f"{letters}_{{{found[2]}}}" if found[2] else letters

    def function(self, name: str) -> str:
        """The name of a function."""
        if name == "sigmoid":
            return r"\sigma"
        return f"\\{name}" if name in FUNCTIONS else rf"\operatorname{{{name}}}"

    def raised(self, base: str, mark: str) -> str:
        """A transpose or an inverse."""
        return f"{base}^{{{mark.replace('⊤', chr(92) + 'top ').strip()}}}"

    def power(self, base: str, exponent: ast.expr) -> str:
        """A power."""
        return f"{base}^{{{self.of(exponent)[0]}}}"

    def root(self, inner: ast.expr) -> str:
        """A square root."""
        return rf"\sqrt{{{self.of(inner)[0]}}}"

    def fraction(self, above: str, below: str, bracket: bool) -> Written:
        """A fraction."""
        return rf"\frac{{{_bare(above)}}}{{{below}}}", POWER


def _bare(text: str) -> str:
    """A text without the brackets around the whole of it."""
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if k == len(text) - 1 and letter == ")" else text
    return text
