"""The LaTeX of prompts as presentation MathML: read by its own rules, never evaluated.

Only what prompts say; whatever else stands between dollars is shown as it was typed.
"""

import re
from collections.abc import Callable
from html import escape

from gradcheck.report.mathml import MATHML
from gradcheck.texts.notation import GREEK

APPLY = MATHML.apply  # a function to what stands behind it: invisible
LONGEST = 1_000
DEEPEST = 30
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]|\s+|.", re.DOTALL)
NAMES = """sin cos tan cot sec csc arcsin arccos arctan
 sinh cosh tanh ln log exp det max min lim"""
FUNCTIONS = frozenset(NAMES.split())
OPERATORS = {
    "cdot": "⋅", "times": "×", "odot": "⊙", "pm": "±", "mp": "∓", "to": "→", "mapsto": "↦",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈",
    "in": "∈", "sum": "∑", "prod": "∏", "int": "∫", "dots": "…", "ldots": "…", "cdots": "⋯",
    "lVert": "‖", "rVert": "‖", "Vert": "‖", "lvert": "|", "rvert": "|", "mid": "|", "infty": "∞",
    "nabla": "∇", "partial": "∂", "circ": "∘", "div": "÷", "colon": ":", "{": "{", "}": "}",
}  # fmt: skip
LETTERS = GREEK | {
    "ell": "ℓ", "top": "⊤", "varepsilon": "ε", "Delta": "Δ", "Gamma": "Γ",
    "Sigma": "Σ", "Theta": "Θ", "Lambda": "Λ", "Omega": "Ω", "Phi": "Φ", "Psi": "Ψ", "Pi": "Π",
}  # fmt: skip
SPACES = {",": "0.17em", ";": "0.28em", ":": "0.22em", " ": "0.25em", "quad": "1em", "!": "0em"}
SKIPPED = frozenset({"left", "right", "displaystyle", "limits", "big", "Big", "bigl", "bigr"})
WORDS = frozenset({"mathrm", "text", "operatorname", "textrm", "mathit", "mathbf"})
SIGNS = {"-": "−", "*": "∗", "'": "′"}


class _Unknown(Exception):
    """LaTeX that prompts do not use."""


def tex(source: str) -> str:
    """Mathematics as a `math` element; empty where it is not known how to write it."""
    if len(source) > LONGEST:
        return ""
    try:
        return f"<math>{_Reader(source).whole()}</math>"
    except (_Unknown, IndexError):
        return ""


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, source: str) -> None:
        self.tokens: list[str] = [t for t in TOKEN.findall(source) if not t.isspace()]
        self.words = source
        self.at = 0
        self.depth = 0

    def whole(self) -> str:
        found = self._row("")
        if self.at < len(self.tokens):
            raise _Unknown
        return found

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _row(self, end: str) -> str:
        """Everything up to a closing brace, or to the end."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise _Unknown
        found = []
        while self.at < len(self.tokens) and self._peek() != end:
            found.append(self._scripted())
        self.depth -= 1
        return f"<mrow>{''.join(found)}</mrow>"

    def _scripted(self) -> str:
        """An atom with what is written below and above it."""
        atom = self._atom()
        scripts: dict[str, str] = {}
        while self._peek() in ("^", "_", "'"):
            sign = self._next()
            scripts["^" if sign == "'" else sign] = "<mo>′</mo>" if sign == "'" else self._atom()
        if not scripts:
            return atom
        applied = atom.endswith(APPLY)
        base = atom.removesuffix(APPLY)
        if len(scripts) == 2:
            found = f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>"
        else:
            tag = "msub" if "_" in scripts else "msup"
            found = f"<{tag}>{base}{next(iter(scripts.values()))}</{tag}>"
        return found + APPLY * applied

    def _atom(self) -> str:
        token = self._next()
        if token == "{":
            found = self._row("}")
            if self._next() != "}":
                raise _Unknown
            return found
        if token in ("}", "^", "_", "&", "$", "#", "%"):
            raise _Unknown
        if token.startswith("\\") and len(token) > 1:
            return self._command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        return f"<mo>{escape(SIGNS.get(token, token))}</mo>"

    def _command(self, name: str) -> str:
        special: dict[str, Callable[[], str]] = {
            "frac": lambda: f"<mfrac>{self._atom()}{self._atom()}</mfrac>",
            "sqrt": lambda: f"<msqrt>{self._atom()}</msqrt>",
        }
        if name in special:
            return special[name]()
        if name in WORDS:
            return f"<mtext>{escape(self._words())}</mtext>"
        if name in FUNCTIONS:
            return f"<mi>{name}</mi>{APPLY}"
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in OPERATORS:
            return f"<mo>{OPERATORS[name]}</mo>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"></mspace>'
        if name in SKIPPED:
            return self._atom()
        raise _Unknown

    def _words(self) -> str:
        """Letters in braces, as they are."""
        if self._next() != "{":
            raise _Unknown
        found = []
        while (token := self._next()) != "}":
            found.append(token)
        return "".join(found)
