r"""Index notation, `sum_n X[n,i] R[n,j]` or `\sum_j A_{ij} x_j`, written out as einsum.

A sum reaches to the end of its product. The axes of the result are its free letters in the order
of the alphabet, or as a left side `[j,i] =` has them. What does not read so stays as it is.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gradcheck.answers.draft import Draft
from gradcheck.answers.signs import FRACTIONS, SUPERSCRIPTS

SUSPECT = re.compile(r"\[\s*[a-z]\s*[,\]]|_\s*\{?[a-z]|[Σ∑]")
DRESS = re.compile(
    r"\\(?:mathbf|boldsymbol|bm|mathrm|vec)\s*\{(\w+)\}|\\(?:left|right|,|;|!|limits)|\$"
)
SHORT = re.compile(r"\\[dt]?frac\s*(\d)\s*(\d)")
HALVES = re.compile(f"[{''.join(FRACTIONS)}]")
LEFT = re.compile(
    r"\s*(?:[^=<>]*?(?:\[\s*([a-z](?:\s*,\s*[a-z])*)\s*\]"
    r"|_\{(?P<braced>[a-z](?:[\s,]*[a-z])*)\}|_(?P<bare>[a-z]{1,4}))[\s}]*)?=(?!=)"
)
SUM = (
    r"(?:\\sum|\bsum|[Σ∑])\s*_\s*(?:\{(?P<many>[^{}]*)\}|(?P<one>[a-z](?:,[a-z])*))"
    r"(?:\s*\^\s*(?:\{[^{}]*\}|\w))?"
    r"|(?P<every>(?:\\sum(?![A-Za-z])|[Σ∑])|\bsum(?=\s+[A-Za-z\d]))"
)
BELOW = (
    r"(?:\[(?P<square>\s*[a-z](?:\s*,\s*[a-z])*\s*)\]"
    r"|_\{(?P<braced>[a-z\s,]+)\}|_(?P<bare>[a-z]+)(?![A-Za-z0-9_]))"
)
UNNAMED = re.sub(r"\?P<\w+>", "?:", BELOW)
FUNCTIONS = "exp log ln tanh sigmoid sqrt sin cos abs softplus relu sign"
REST = (
    r"(?P<number>\d+(?:\.\d*)?)|(?P<frac>\\[dt]?frac)|(?P<times>\*(?!\*)|·|⋅|\\cdot|\\times|⊙|\\odot)"
    r"|(?P<power>\*\*|\^)|(?P<op>[-+/−])|(?P<open>[({])|(?P<close>[)}])"
    r"|(?P<call>(?:norm|trace|det|sum|mean)\([^()\[\]=_]*\))|(?P<total>\bsum)(?=\s*\()"
    rf"|\\?(?P<function>{'|'.join(FUNCTIONS.split())})(?=\s*[({{])"
    r"|(?P<plain>[A-Za-z_]\w*(?:\.(?:size|shape\[\d\]))?)|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
)
PARTS = re.compile(r"[a-z]")
SIGNS = {"−": "-"}
MOST = 60  # tokens
DEEPEST = 4  # axes: more letters below are a word


WHOLE = re.compile(rf"(?:\\?(?P<of>softmax|sigma|{'|'.join(FUNCTIONS.split())}))?\s*\(")
OWN = re.compile(r"_\s*\{?[a-z]{1,2}\}?(?![a-z])|\[\s*[a-z]\s*[,\]]")  # letters below
ALPHABETICAL = "letters below are read as indices"
EVERY = "?"  # the letter of a sum that names none


class _Stays(Exception):
    """A text that is no index notation."""


class _Token(NamedTuple):
    kind: str
    text: str
    letters: tuple[str, ...] = ()


class _Array(NamedTuple):
    """NumPy's text, the letter of each axis, and whether it binds as tightly as a factor."""

    text: str
    letters: tuple[str, ...] = ()
    atom: bool = True


def indices(draft: Draft, names: Collection[str], axes: Mapping[str, int]) -> None:
    """Put einsum in the place of index notation; `axes` counts those of names, where known."""
    if not SUSPECT.search(draft.text):
        return
    try:
        found = _written(_undressed(draft.text), names, axes)
    except _Stays:
        return
    written, ordered = found
    draft.swap(re.compile(r".+", re.DOTALL), lambda match: written)
    draft.note(f"{ALPHABETICAL}, ordered as on the left" if ordered else ALPHABETICAL)


def _undressed(text: str) -> str:
    """The text without LaTeX's fonts and spaces; fractions of two digits and `½` in full."""
    text = SHORT.sub(r"\\frac{\1}{\2}", DRESS.sub(lambda m: m[1] or "", text))
    return HALVES.sub(lambda m: "({}/{})".format(*FRACTIONS[m[0]]), text)


def _written(text: str, names: Collection[str], axes: Mapping[str, int]) -> tuple[str, bool]:
    """NumPy's text, and whether a left side gave the order of its axes."""
    left = LEFT.match(text)
    order = tuple(PARTS.findall(left[1])) if left and left[1] else None
    below = PARTS.findall(left["braced"] or left["bare"] or "") if left else []
    tokens = list(_tokens(text[left.end() if left else 0 :], frozenset(names)))
    if not any(t.letters for t in tokens if t.kind == "at") or len(tokens) > MOST:
        raise _Stays
    if any(len(t.letters) != axes.get(t.text, len(t.letters)) for t in tokens if t.kind == "at"):
        raise _Stays
    reader = _Reader(tokens)
    found = reader.sum()
    if reader.at < len(tokens):
        raise _Stays
    free = tuple(sorted(set(found.letters)))
    if order is not None and set(order) != set(free):
        raise _Stays
    if below and sorted(below) == list(free):  # else the left side is a word: y_pred
        order = tuple(below)
    return _aligned(found, order or free).text, order is not None


def _tokens(text: str, names: frozenset[str]) -> Iterator[_Token]:
    at = 0
    pattern = _pattern(names)
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        token, stop = _whole(text, at)
        if token is None:
            match = pattern.match(text, at)
            if match is None:
                raise _Stays
            token, stop = _token(match, names), match.end()
        yield token
        at = stop


def _whole(text: str, at: int) -> tuple[_Token | None, int]:
    """`(P - Y)_{ij}`: a bracket without letters of its own, with letters below; where it ends."""
    opened = WHOLE.match(text, at)
    if opened is None:
        return None, at
    level, stop = 1, opened.end()
    while stop < len(text) and level:
        level += (text[stop] == "(") - (text[stop] == ")")
        stop += 1
    below = re.compile(BELOW).match(text, stop)
    if below is None or OWN.search(text, opened.end(), stop - 1):
        return None, at
    letters = tuple(PARTS.findall(below["square"] or below["braced"] or below["bare"]))
    inside = f"({text[opened.end() : stop - 1]})"
    return _Token("at", f"{opened['of'] or ''}{inside}", letters), below.end()


@lru_cache(maxsize=64)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"
    tensor = rf"(?P<tensor>(?:{known}|\\?delta|δ)){BELOW}"
    return re.compile(rf"{SUM}|{tensor}|(?P<run>(?:{known})+?)(?=(?:{known}){UNNAMED})|{REST}")


def _token(match: re.Match[str], names: frozenset[str]) -> _Token:
    if match["many"] is not None or match["one"] is not None:
        below = (match["many"] or match["one"]).partition("=")[0]
        letters = tuple(PARTS.findall(below))
        if not letters or not re.fullmatch(r"[a-z\s,]+", below) or names & set(letters):
            raise _Stays
        return _Token("sum", match[0], letters)
    if match["every"] is not None:
        return _Token("sum", match[0], (EVERY,))
    if match["tensor"] is not None:
        letters = tuple(PARTS.findall(match["square"] or match["braced"] or match["bare"]))
        word = f"{match['tensor']}_{''.join(letters)}"
        if names & {word, *letters} or len(letters) > DEEPEST:
            raise _Stays
        return _Token("at", match["tensor"].removeprefix("\\"), letters)
    kind = match.lastgroup or ""
    text = match[kind]
    if kind == "run":
        return _Token("plain", text)
    if kind == "raised":
        return _Token("raised", "".join(SUPERSCRIPTS[c] for c in text))
    return _Token(kind, SIGNS.get(text, text))


@dataclass
class _Reader:
    """Reads tokens from left to right."""

    tokens: Sequence[_Token]
    at: int = 0

    def _kind(self) -> str:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else ""

    def _next(self) -> _Token:
        if self.at == len(self.tokens):
            raise _Stays
        self.at += 1
        return self.tokens[self.at - 1]

    def _takes(self, kind: str, *texts: str) -> str:
        if self._kind() == kind and (not texts or self.tokens[self.at].text in texts):
            return self._next().text
        return ""

    def sum(self) -> _Array:
        """Products added up."""
        negative = self._takes("op", "-")
        found = self.product()
        if negative:
            found = _Array(f"-{_bracketed(found)}", found.letters, atom=False)
        while sign := self._takes("op", "+", "-"):
            other = self.product()
            letters = tuple(sorted({*found.letters, *other.letters}))
            sides = _aligned(found, letters).text, _bracketed(_aligned(other, letters))
            found = _Array(f"{sides[0]} {sign} {sides[1]}", letters, atom=False)
        return found

    def product(self, gone: Sequence[str] = ()) -> _Array:
        """Factors side by side, summed over letters; a sum among them takes in what follows it."""
        factors: list[_Array] = []
        below: list[str] = []
        while self._kind() == "sum":  # a sum of sums is one
            gone = (*gone, *self._next().letters)
        while True:
            inner = self._kind() == "sum"
            factors.append(self.product(self._next().letters) if inner else self.power())
            while self._takes("op", "/"):
                divisor = self.power()
                if divisor.letters:
                    text = f"1/{_bracketed(divisor)}"
                    factors.append(_Array(text, divisor.letters, atom=False))
                else:
                    below.append(_bracketed(divisor))
            if not (self._takes("times") or self._kind() in STARTS):
                break
        found = _multiplied(factors, gone)
        return found._replace(text="/".join([found.text, *below])) if below else found

    def power(self) -> _Array:
        """A factor, perhaps raised to a number."""
        base = self.factor()
        exponent = self._takes("raised")
        if not exponent and self._takes("power"):
            braced = self._takes("open", "{")
            exponent = self._takes("number")
            if not exponent or (braced and not self._takes("close", "}")):
                raise _Stays
        if not exponent:
            return base
        return _Array(f"{_bracketed(base)}**{exponent}", base.letters, atom=True)

    def factor(self) -> _Array:
        """A tensor at letters, a number, a bracket, a function or a fraction."""
        token = self._next()
        if token.kind in ("number", "plain", "call"):
            return _Array(token.text)
        if token.kind == "open":
            inner = self.sum()
            if not self._takes("close"):
                raise _Stays
            return _Array(f"({inner.text})", inner.letters)
        if token.kind == "total":
            return _multiplied([self.factor()], (EVERY,))
        if token.kind == "function":
            inner = self.factor()
            return _Array(f"{token.text}{_in_round(inner.text)}", inner.letters)
        if token.kind == "frac":
            above, below = self.factor(), self.factor()
            letters = tuple(sorted({*above.letters, *below.letters}))
            sides = (_bracketed(_aligned(a, letters)) for a in (above, below))
            return _Array("/".join(sides), letters)
        if token.kind == "at":
            return self._tensor(token)
        raise _Stays

    def _tensor(self, token: _Token) -> _Array:
        if token.text in ("delta", "δ"):
            sizes = [self._size(letter) for letter in token.letters]
            return _Array(f"eye({next(filter(None, sizes), '')})", token.letters)
        once = tuple(dict.fromkeys(token.letters))
        if len(once) == len(token.letters):
            return _Array(token.text, once)
        return _Array(f"einsum('{''.join(token.letters)}->{''.join(once)}', {token.text})", once)

    def _size(self, letter: str) -> str:
        """How long a letter runs: from the first tensor that it stands below."""
        for token in self.tokens:
            plain = token.text not in DELTAS and "(" not in token.text
            if token.kind == "at" and letter in token.letters and plain:
                return f"{token.text}.shape[{token.letters.index(letter)}]"
        return ""


STARTS = frozenset({"at", "number", "plain", "call", "total", "open", "function", "frac", "sum"})
DELTAS = ("delta", "δ")


def _multiplied(factors: Sequence[_Array], gone: Sequence[str]) -> _Array:
    """A product, summed over some letters."""
    every = dict.fromkeys(x for f in factors for x in f.letters)
    if EVERY in gone and len(every) == len(gone):
        gone = tuple(every)
    if not set(gone) <= set(every):
        raise _Stays
    out = tuple(sorted(x for x in every if x not in gone))
    arrays = [f for f in factors if f.letters]
    numbers = [_bracketed(f) for f in factors if not f.letters]
    if len(arrays) == 1 and not gone:
        parts, out = [*numbers, _bracketed(arrays[0])], arrays[0].letters
    elif arrays:
        words = ",".join("".join(a.letters) for a in arrays)
        given = ", ".join(a.text for a in arrays)
        parts = [*numbers, f"einsum('{words}->{''.join(out)}', {given})"]
    else:
        parts = numbers
    if len(factors) == 1 and not gone:
        return factors[0]
    return _Array("*".join(parts), out)


def _aligned(found: _Array, letters: tuple[str, ...]) -> _Array:
    """An array with its axes in an order, ready to be broadcast along those it lacks."""
    own = tuple(x for x in letters if x in found.letters)
    text = found.text
    if own != found.letters:
        text = f"einsum('{''.join(found.letters)}->{''.join(own)}', {text})"
        found = _Array(text, own)
    first = next((k for k, x in enumerate(letters) if x in own), len(letters))
    if not own or letters[first:] == own:
        return found
    places = ", ".join(":" if x in own else "None" for x in letters[first:])
    return _Array(f"{_bracketed(found)}[{places}]", letters)


def _bracketed(found: _Array) -> str:
    return found.text if found.atom else f"({found.text})"


def _in_round(text: str) -> str:
    return text if text.startswith("(") and text.endswith(")") else f"({text})"
