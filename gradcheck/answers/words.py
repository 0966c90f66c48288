"""What a typed word means: a declared name, a constant, or a function under its NumPy name.

A declared name always wins: an input may be called e, i, C or gamma.
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from gradcheck.answers.tokens import DERIVATIVE, GREEK, as_table, clip
from gradcheck.ops import BY_SPELLING, COMPOUNDS, TABLE
from gradcheck.ops.row import ANSWERED

SCHOOL = as_table("""
log: log_e; log2: log_2 ld lb; log10: lg log_10; sqrt: raiz racine wurzel; sign: sgn signum
sin: sen seno sinus; cos: coseno cosinus kosinus; tan: tg tang tangens; csc: cosec
cot: ctg cotg cotan cotang; sinh: sh senh; cosh: ch; tanh: th tgh; coth: cth ctgh cotgh
csch: cosech; arcsin: arcsen asen; arctan: arctg arctang atg; acot: arcctg arccotg arcotg
acsc: arccosec; arcsinh: arsinh argsinh arsh argsh; arccosh: arcosh argcosh arch argch
arctanh: artanh argtanh arth argth; asech: arsech; acsch: arcsch; acoth: arcoth
absolute: Abs; trace: tr; where: If Wenn; sigmoid: sigma; gamma: Gamma
""")
"""What schools and countries write, and the NumPy names it stands for."""

ALIASES = BY_SPELLING | SCHOOL
"""Spellings and the NumPy names they stand for."""

INVERTIBLE = "sin cos tan sec csc cot sinh cosh tanh sech csch coth"
INVERSES = {name: ALIASES.get(f"a{name}", f"a{name}") for name in INVERTIBLE.split()}

ARITY = {
    name: row.operands
    for name, row in TABLE.items()
    if row.operands is not None and not row.params and not row.arrange
}
"""How many arguments a function takes; those that are not here take what they are given."""

JOINING = ("hstack", "vstack", "column_stack", "dstack", "kron", "vecdot")
FUNCTIONS = frozenset(TABLE) | frozenset(name for name in JOINING if name in COMPOUNDS) | ANSWERED
"""The functions the reader knows something about; a caller may accept fewer, or others."""

SUBMODULES = {"linalg", "special", "nn", "functional"}
MODULES = {"np", "numpy", "torch", "math", "Math", "jnp", "sympy", "sp", "F", "tf"}
WRAPPERS = {"array", "asarray", "tensor"}
LITERALS = {"True": True, "False": False, "None": None}

LETTERS = {word: letter for letter, word in GREEK.items()}
IN_PYTHON = {"lambda": ("lam", "lambda_", "lmbda", "lmbd"), "epsilon": ("eps",)}
"""What programs call these letters: `lambda` is a word of Python's."""
NUMBERED = re.compile(r"([A-Za-z]+)([0-9]+)")
ACCENTED = re.compile(r"([A-Za-z]+?)_?(hat|bar|tilde)")
ENTRY = re.compile(r"([^\W\d_]\w*?)(?:_|(?=\d+\Z))(\d{1,3}|[a-z]{1,3})")
KEPT = {*MODULES, *WRAPPERS, *LITERALS, "T", "Σ_"}
SHORTEST = 2  # letters of a function's name inside a word
REMEMBERED = 4_096  # words
MOST = 2  # ways to take a word apart that are looked for
SUBSCRIPT = re.compile(r"(.+)_([0-9]+|[A-Za-z]{1,3})")


class Meaning(NamedTuple):
    """What a word is and the identifier it stands for.

    Its kind is "name", "constant", "function", or "entry" of an array: `x,1`, `A,12`, `A,ij`.
    """

    kind: str = ""
    name: str = ""

    def __bool__(self) -> bool:
        return self.kind != ""


UNKNOWN = Meaning()


@dataclass(frozen=True, eq=False)
class Words:
    """The vocabulary of one problem; `sized` are the names whose shapes are known.

    Of them `values` are those that the program makes, `places` whole numbers that index.
    """

    names: frozenset[str]
    functions: frozenset[str]
    constants: frozenset[str]
    sized: frozenset[tuple[str, tuple[int, ...]]] = frozenset()
    values: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()

    @cached_property
    def meaning(self) -> Callable[[str], Meaning]:
        """What a word is as it stands; strangers think of any number of words."""
        return lru_cache(REMEMBERED)(self._find)

    @cached_property
    def meant(self) -> Callable[[str], Meaning]:
        """The same; else that of the word in other letters, or the entry that it counts."""
        return lru_cache(REMEMBERED)(self._find_alike)

    def _find(self, word: str) -> Meaning:
        spellings = [*_list_spellings(word)]
        plain = [] if "_" in word else spellings  # p_i is not pi
        found = [
            *(Meaning("name", each) for each in spellings if each in self.names),
            *(Meaning("constant", each) for each in plain if each in self.constants),
            *(Meaning("function", name) for each in spellings if (name := self.function(each))),
        ]
        return found[0] if found else UNKNOWN

    def _find_alike(self, word: str) -> Meaning:
        known = self.meaning(word)
        if not known and word not in KEPT:  # the one declared that differs in capitals only
            lower = word.lower()
            names = [name for name in self.names if name.lower() == lower]
            if len(names) == 1:
                return Meaning("name", names[0])
            known = UNKNOWN if names else self.meaning(lower)
            product = known.kind == "function" and self.names.issuperset(word)  # Lg
            if product or (len(lower) == 1 and known.kind != "constant"):
                known = UNKNOWN
        return known if known or word in LITERALS else self.entry(word)

    def entry(self, word: str) -> Meaning:
        """`x_1` or `x1` as the first entry of a vector x, `x_i` as any."""
        found = ENTRY.fullmatch(word)
        name, below = (self.meant(found[1]).name, found[2]) if found else ("", "")
        shape = self.shapes.get(name)
        if not shape:
            return UNKNOWN
        if shape[1:] == () and shape == self.shapes.get(below):  # t C_t, of arrays t and C
            return Meaning("name", name)
        places = [below] if below.isdigit() and len(shape) == 1 else list(below)
        rows = below.isalpha() or word.startswith(f"{name}_")
        fits = len(places) == len(shape) or (rows and len(places) < len(shape))
        counted = zip(places, shape, strict=False)
        if not fits or any(k.isdigit() and not 0 < int(k) <= n for k, n in counted):
            return UNKNOWN
        return Meaning("entry", f"{name},{below}") if self.names.isdisjoint(below) else UNKNOWN

    def __reduce__(self) -> tuple[type["Words"], tuple[object, ...]]:
        """What is remembered of words is not sent along."""
        known = self.names, self.functions, self.constants, self.sized, self.values, self.places
        return Words, known

    def function(self, word: str) -> str | None:
        named = ALIASES.get(word, word)
        return next((name for name in (named, word) if name in self.functions), None)

    def is_function(self, piece: str) -> bool:
        return not piece.isdigit() and self.meaning(piece).kind == "function"

    def takes_several(self, word: str) -> bool:
        meaning = self.meant(word)
        if not meaning and (ways := segment(self, word, opens=True)):
            meaning = self.meaning(ways[0][-1])
        return meaning.kind == "function" and ARITY.get(meaning.name) != 1

    def spell(self, pieces: tuple[str, ...]) -> str:
        """Pieces as they would be typed: `x*sin x`; arrays side by side, which may be matrices."""
        text = ""
        for piece in pieces:
            apart = self.is_function(piece) or self.shapes.get(piece)
            text += piece + (" " if apart else "" if piece.isdigit() else "*")
        return text.rstrip(" *")

    def as_products(self, word: str) -> list[tuple[str, ...]]:
        """The product that a function's name might be meant as: `a*sin`; or nothing."""
        ways = segment(self, word, opens=True) if word[0] in self.names and word[2:] else []
        return [w for w in ways if w[0] in self.names and self.is_function(w[-1])][:1]

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return dict.fromkeys(self.constants - self.names, ()) | dict(self.sized)

    @cached_property
    def spellings(self) -> list[str]:
        short = [each for each, name in ALIASES.items() if name in self.functions]
        return sorted({*self.names, *self.constants, *self.functions, *short})

    @cached_property
    def gradients(self) -> frozenset[str]:
        return frozenset(n for n in self.names if n[0] == "d" and n[1:] in self.names)

    @cached_property
    def arrays(self) -> bool:
        return any(self.shapes.values())


_make_words = lru_cache(maxsize=256)(Words)


def make_vocabulary(
    names: Collection[str], functions: Collection[str], constants: Collection[str]
) -> Words:
    """The vocabulary made of these collections; the same one for the same collections.

    Names that come as a mapping to inputs have their `shape`; no `value` where a program makes it.
    """
    inputs = names if isinstance(names, Mapping) else {}
    sized = frozenset([(name, each.shape) for name, each in inputs.items()])
    free = [name for name, each in inputs.items() if getattr(each, "value", 0) is None]
    made = frozenset(name for name in free if not inputs[name].requires_grad)
    places = frozenset(name for name, each in inputs.items() if getattr(each, "place", False))
    known = map(frozenset, (names, functions, constants))
    return _make_words(*known, sized, made, places)


def _list_spellings(word: str) -> Iterator[str]:
    """The identifiers a typed word may stand for: θ is theta or back, x_1 is x_1 or x1."""
    yield word
    head, below = word[0], word[1:]
    if head in GREEK:
        yield from _list_spellings(GREEK[head] + below)
    stem, *rest = word.split("_", 1)
    if stem.startswith("var") and stem[3:] in LETTERS:  # LaTeX's other form of a letter
        yield from _list_spellings(word[3:])
    stems = (LETTERS[stem], *IN_PYTHON.get(stem, ())) if stem in LETTERS else ()
    for letter in (*stems, *([stem] if stem and any(rest) else ())):
        below = "_" + rest[0] if rest and letter != stem else "".join(rest)
        yield letter + below
        yield letter + below.lstrip("_")
    if found := ACCENTED.fullmatch(word):  # y_hat, yhat
        yield from ("_".join(found.groups()), "".join(found.groups()))
    if found := NUMBERED.fullmatch(word):
        yield f"{found[1]}_{found[2]}"


@lru_cache(maxsize=4096)
def segment(words: Words, word: str, opens: bool) -> list[tuple[str, ...]]:
    """The first few ways to take a word apart, in any letters; `opens`: a bracket follows it.

    Digits may follow a function's name only: `x2` could be anything.
    """
    if word.lower() in STOP:
        return []
    return _split_word(words, word, opens) or _split_word(words, word.lower(), opens)


def _split_word(words: Words, word: str, opens: bool) -> list[tuple[str, ...]]:
    known: dict[int, list[tuple[str, ...]]] = {len(word): [()]}
    for start in range(len(word) - 1, -1, -1):
        known[start] = []
        for stop in range(start + 1, len(word) + 1):
            if known[stop] and _fits(words, word, start, stop, opens and stop == len(word)):
                known[start] += [(word[start:stop], *rest) for rest in known[stop]]
        known[start] = known[start][: MOST + 1]
    return [way for way in known[0] if len(way) > 1]


def _fits(words: Words, word: str, start: int, stop: int, opens: bool) -> bool:
    piece = word[start:stop]
    if piece[-1] == "_":
        return False
    if piece.isdigit():
        before = any(words.is_function(word[k:start]) for k in range(start - SHORTEST + 1))
        return before and (stop == len(word) or not word[stop].isdigit())
    if "_" in piece and words.entry(piece):
        return stop == len(word) or not word[stop].isdigit()
    if not words.is_function(piece):
        return bool(words.meaning(piece))
    takes_one = ARITY.get(words.function(piece) or "") == 1
    return (len(piece) >= SHORTEST or piece in GREEK) and (opens or takes_one)


SENTENCES = (
    "the a an so is it its by we i be or and of to in on at as for if my this that then thus "
    "hence here with from using use used get got because since therefore answer derivative "
    "are not no never nicht kein keine pas non when where let set "
    "ans result solution maybe probably perhaps think guess gives equals also finally simply "
    "right correct final done qed ok okay thanks sorry which entrywise elementwise about wrt "
    "approximately"
)
STOP = frozenset(f(word) for word in SENTENCES.split() for f in (str, str.capitalize, str.upper))
"""Words of sentences: never taken apart into names and functions."""

SPECIAL = {
    "C": "an answer needs no constant of integration",
    **dict.fromkeys(["inf", "infinity", "nan"], "a derivative is a formula; infinity is not read"),
    **dict.fromkeys(["True", "False"], "truth values stand only after keepdims="),
    "None": "None stands only in an index or after axis=",
    **dict.fromkeys(["or", "and", "oder", "ou"], "give one formula"),
    **dict.fromkeys(
        ["if", "If", "IF", "for", "when", "else", "otherwise", "piecewise", "Piecewise"],
        "cases are written `1 if x > 0 else 0`",
    ),
    **dict.fromkeys(["int", "integral"], "give the formula itself, without integral signs"),
}


def list_hints(words: Words, word: str, called: bool) -> str:
    of = word[1:] if word[0] == "d" and "d" not in words.names else ""
    differential = len(of) == 1 and (of in words.names or of in "xyzfgut")
    if differential or word == "d" or not word.isidentifier():
        return DERIVATIVE  # `dx`, `dy`, and `d` in `d/dx`
    entry = SUBSCRIPT.fullmatch(word)
    if entry and entry[1] in words.names:
        return f"write {entry[1]}[0] for the first entry"
    if word in SPECIAL:
        return SPECIAL[word]
    likely = [each for each in words.spellings if abs(len(each) - len(word)) <= 2]
    if near := difflib.get_close_matches(word, likely, n=1, cutoff=0.76):
        return f"did you mean {near[0]}?"
    if called:
        return "write * if a product is meant" if word in words.names else "use a known function"
    listed = clip(", ".join(sorted(words.names)), 60)
    return f"the names of this problem are {listed}" if listed else "this problem declares no names"
