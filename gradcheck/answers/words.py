"""What a typed word means: a declared name, a constant, or a function under its NumPy name.

A declared name always wins: an input may be called e, i, C or gamma.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from gradcheck.answers.signs import GREEK
from gradcheck.ops import BY_SPELLING, COMPOUNDS, TABLE

SCHOOL = {
    **dict.fromkeys(["log_2", "ld", "lb"], "log2"),
    **dict.fromkeys(["lg", "log_10"], "log10"),
    "log_e": "log",
    **dict.fromkeys(["sen", "seno", "sinus"], "sin"),
    **dict.fromkeys(["coseno", "cosinus", "kosinus"], "cos"),
    **dict.fromkeys(["tg", "tang", "tangens"], "tan"),
    **dict.fromkeys(["ctg", "cotg", "cotan", "cotang"], "cot"),
    "cosec": "csc",
    **dict.fromkeys(["arcsen", "asen"], "arcsin"),
    **dict.fromkeys(["arctg", "arctang", "atg"], "arctan"),
    **dict.fromkeys(["arcctg", "arccotg", "arcotg"], "acot"),
    "arccosec": "acsc",
    **dict.fromkeys(["raiz", "racine", "wurzel"], "sqrt"),
    **dict.fromkeys(["sh", "senh"], "sinh"),
    "ch": "cosh",
    **dict.fromkeys(["th", "tgh"], "tanh"),
    **dict.fromkeys(["cth", "ctgh", "cotgh"], "coth"),
    "cosech": "csch",
    **dict.fromkeys(["arsinh", "argsinh", "arsh", "argsh"], "arcsinh"),
    **dict.fromkeys(["arcosh", "argcosh", "arch", "argch"], "arccosh"),
    **dict.fromkeys(["artanh", "argtanh", "arth", "argth"], "arctanh"),
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

JOINING = ("hstack", "vstack", "column_stack", "dstack", "kron", "vecdot")
FUNCTIONS = frozenset(TABLE) | frozenset(name for name in JOINING if name in COMPOUNDS)
"""The functions the reader knows something about; a caller may accept fewer, or others."""

SUBMODULES = {"linalg", "special", "nn", "functional"}
MODULES = {"np", "numpy", "torch", "math", "Math", "jnp", "sympy", "sp"}
WRAPPERS = {"array", "asarray", "tensor"}
LITERALS = {"True": True, "False": False, "None": None}

LETTERS = {word: letter for letter, word in GREEK.items()}
IN_PYTHON = {"lambda": ("lam", "lambda_", "lmbda", "lmbd"), "epsilon": ("eps",)}
"""What programs call these letters: `lambda` is a word of Python's."""
NUMBERED = re.compile(r"([A-Za-z]+)([0-9]+)")
SUBSCRIPT = re.compile(r"(.+)_([0-9]+|[A-Za-z])")


class Meaning(NamedTuple):
    """What a word is ("name", "constant" or "function") and the identifier it stands for."""

    kind: str
    name: str


@dataclass(frozen=True)
class Words:
    """The vocabulary of one problem; `sized` are the names whose shapes are known."""

    names: frozenset[str]
    functions: frozenset[str]
    constants: frozenset[str]
    sized: frozenset[tuple[str, tuple[int, ...]]] = frozenset()
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

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shapes that are known; a constant has none to speak of."""
        return dict.fromkeys(self.constants - self.names, ()) | dict(self.sized)

    @cached_property
    def arrays(self) -> bool:
        """Whether any name is known to be an array."""
        return any(self.shapes.values())

    @cached_property
    def scalars(self) -> frozenset[str]:
        """The names of single numbers."""
        return frozenset(name for name, shape in self.sized if not shape)

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
    """The vocabulary made of these collections; the same one for the same collections.

    Names that come as a mapping to inputs have their `shape`.
    """
    inputs = names if isinstance(names, Mapping) else {}
    sized = frozenset((name, each.shape) for name, each in inputs.items())
    return _made(frozenset(names), frozenset(functions), frozenset(constants), sized)


@lru_cache(maxsize=256)
def _made(
    names: frozenset[str],
    functions: frozenset[str],
    constants: frozenset[str],
    sized: frozenset[tuple[str, tuple[int, ...]]],
) -> Words:
    return Words(names, functions, constants, sized)


def _spellings(word: str) -> Iterator[str]:
    """The identifiers a typed word may stand for: θ is theta or back, x_1 is x_1 or x1."""
    yield word
    head, below = word[0], word[1:]
    if head in GREEK:
        yield from _spellings(GREEK[head] + below)
    stem, *rest = word.split("_", 1)
    if stem.startswith("var") and stem[3:] in LETTERS:  # LaTeX's other form of a letter
        yield from _spellings(word[3:])
    if stem in LETTERS:
        for letter in (LETTERS[stem], *IN_PYTHON.get(stem, ())):
            yield from _joined(letter, "_" + rest[0] if rest else "")
    yield from _joined(*word.split("_", 1)) if "_" in word[1:] else ()
    yield from (f"{m[1]}_{m[2]}" for m in [NUMBERED.fullmatch(word)] if m)


def _joined(stem: str, below: str) -> Iterator[str]:
    """A stem with its subscript, with and without the low line."""
    yield stem + below
    yield stem + below.lstrip("_")
