"""What a typed word means: a declared name, a constant, or a function under its NumPy name.

A declared name always wins: an input may be called e, i, C or gamma.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from gradcheck.answers.signs import GREEK
from gradcheck.ops import BY_SPELLING, TABLE

SCHOOL = {
    **dict.fromkeys(["log_2", "ld", "lb"], "log2"),
    **dict.fromkeys(["lg", "log_10"], "log10"),
    "log_e": "log",
    "tg": "tan",
    **dict.fromkeys(["ctg", "cotan"], "cot"),
    "cosec": "csc",
    "arctg": "arctan",
    "arcctg": "acot",
    "arccosec": "acsc",
    "sh": "sinh",
    "ch": "cosh",
    "th": "tanh",
    "cth": "coth",
    "cosech": "csch",
    **dict.fromkeys(["arsinh", "argsinh"], "arcsinh"),
    **dict.fromkeys(["arcosh", "argcosh"], "arccosh"),
    **dict.fromkeys(["artanh", "argtanh"], "arctanh"),
    "arsech": "asech",
    "arcsch": "acsch",
    "arcoth": "acoth",
    "Abs": "absolute",
    **dict.fromkeys(["sgn", "signum"], "sign"),
    "sigma": "sigmoid",
    "Gamma": "gamma",
}
"""What schools and countries write, and the NumPy names it stands for."""

ALIASES = BY_SPELLING | SCHOOL
"""Spellings and the NumPy names they stand for."""

INVERSES = {
    "sin": "arcsin",
    "cos": "arccos",
    "tan": "arctan",
    "sec": "asec",
    "csc": "acsc",
    "cot": "acot",
    "sinh": "arcsinh",
    "cosh": "arccosh",
    "tanh": "arctanh",
    "sech": "asech",
    "csch": "acsch",
    "coth": "acoth",
}

ARITY = {
    name: row.operands
    for name, row in TABLE.items()
    if row.operands is not None and not row.params and not row.arrange
}
"""How many arguments a function takes; those that are not here take what they are given."""

FUNCTIONS = frozenset(TABLE)
"""The functions the reader knows something about; a caller may accept fewer, or others."""

LETTERS = {word: letter for letter, word in GREEK.items()}
SUBSCRIPT = re.compile(r"(.+)_([0-9]+|[A-Za-z])")


class Meaning(NamedTuple):
    """What a word is ("name", "constant" or "function") and the identifier it stands for."""

    kind: str
    name: str


@dataclass(frozen=True)
class Words:
    """The vocabulary of one problem: what its answers may use."""

    names: frozenset[str]
    functions: frozenset[str]
    constants: frozenset[str]
    met: dict[str, Meaning] = field(default_factory=dict, compare=False, repr=False)

    def meaning(self, word: str) -> Meaning | None:
        """A declared name, else a constant, else a function, else nothing.

        Only what has a meaning is remembered: strangers think of any number of words.
        """
        known = self.met.get(word)
        if known is None:
            known = self._first_meaning(word)
            if known is not None:
                self.met[word] = known
        return known

    def _first_meaning(self, word: str) -> Meaning | None:
        """The meaning of a word met for the first time."""
        for spelling in _spellings(word):
            if spelling in self.names:
                return Meaning("name", spelling)
        for spelling in _spellings(word):
            if spelling in self.constants:
                return Meaning("constant", spelling)
        for spelling in _spellings(word):
            function = self.function(spelling)
            if function:
                return Meaning("function", function)
        return None

    def function(self, word: str) -> str | None:
        """The NumPy name of an accepted function, else nothing."""
        named = ALIASES.get(word, word)
        return next((name for name in (named, word) if name in self.functions), None)

    def spellings(self) -> Iterator[str]:
        """Every word that may be typed, names first."""
        yield from self.names
        yield from self.constants
        yield from self.functions
        yield from (short for short, name in ALIASES.items() if name in self.functions)


def vocabulary(
    names: Collection[str], functions: Collection[str], constants: Collection[str]
) -> Words:
    """The vocabulary made of these collections; the same one for the same collections."""
    return _made(frozenset(names), frozenset(functions), frozenset(constants))


@lru_cache(maxsize=256)
def _made(names: frozenset[str], functions: frozenset[str], constants: frozenset[str]) -> Words:
    return Words(names, functions, constants)


def _spellings(word: str) -> Iterator[str]:
    """The identifiers a typed word may stand for: θ is theta or back, x_1 is x_1 or x1."""
    yield word
    head, below = word[0], word[1:]
    if head in GREEK:
        yield from _joined(GREEK[head], below)
        if head == "λ":
            yield from ("lam" + below, "lambda_" + below)
    stem, *rest = word.split("_", 1)
    if stem in LETTERS:
        yield from _joined(LETTERS[stem], "_" + rest[0] if rest else "")
    yield from _joined(*word.split("_", 1)) if "_" in word[1:] else ()


def _joined(stem: str, below: str) -> Iterator[str]:
    """A stem with its subscript, with and without the low line."""
    yield stem + below
    yield stem + below.lstrip("_")
