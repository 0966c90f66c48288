"""Words as people run them together, and square brackets that group, among the tokens of a text.

A word that nobody declared is one of the known ones in other letters (`Sin`, `X` where only x is
declared), or falls apart into known words in just one way (`xsin2x`, `2xy`). Digits may follow a
function's name only: `x2` could be anything. What was done is noted; what could be two things is
refused.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gradcheck.answers.complaint import refused
from gradcheck.answers.scanner import Token
from gradcheck.answers.words import ARITY, LITERALS, MODULES, SUBMODULES, WRAPPERS, Words

KEPT = {*MODULES, *WRAPPERS, *LITERALS, "T"}
PREFIXES = ("arc", "ar", "arg")
SHORTEST = 2  # letters of a function's name inside a word
MOST = 2  # ways to take a word apart that are looked for
INDEX = ("None", "-", "[", "]")
NO_SUM = (",", ":", "shape", "size", "argmax", "argmin", "argsort")  # what brackets hold that index

SEVERAL = ("outer", "Max", "Min", "ArcTan", "Power")  # Mathematica's, of several arguments

Pieces = tuple[str, ...]


def respelled(tokens: Sequence[Token], words: Words, text: str, notes: list[str]) -> list[Token]:
    """The tokens with known words for the others, and round brackets where square ones group."""
    result: list[Token] = []
    for at, token in enumerate(tokens):
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.kind != "name":
            result.append(token)
        elif _is_inverse(token, result, words):
            result[-1] = token._replace(text=result[-1].text + token.text, start=result[-1].start)
        elif _is_strange(token, result, after, words):
            opens = after is not None and after.text == "("
            known = _known(token, words, opens, text)
            notes += [f"{token.text} is read as {_shown(words, known)}"] if known else []
            result += _pieces(token, known or (token.text,))
        else:
            _doubt(token, words, notes)
            result.append(token)
    return _grouped(_dotted(result, words) if "." in text else result, words, notes)


def _dotted(tokens: list[Token], words: Words) -> list[Token]:
    """`cos(x) . 2x` and `2x.cos(x)`: among single numbers a point between factors is a product."""
    if words.arrays:
        return tokens
    return [
        token._replace(text="*") if token.text == "." and _multiplies(tokens, at, words) else token
        for at, token in enumerate(tokens)
    ]


def _multiplies(tokens: Sequence[Token], at: int, words: Words) -> bool:
    """Whether a point stands between factors; `x.cos()` is a method."""
    if not at or at + 1 == len(tokens) or tokens[at - 1].text in {*MODULES, *SUBMODULES}:
        return False
    after, texts = tokens[at + 1], [token.text for token in tokens[at + 2 : at + 4]]
    if not _is_function(words, after.text):
        return after.kind == "number" or after.text == "(" or after.text in words.names
    return texts[:1] != ["("] or (texts[1:] != [")"] and ARITY.get(after.text) == 1)


def _doubt(token: Token, words: Words, notes: list[str]) -> None:
    """Note a function that a declared name and another function could be: `asin` beside a."""
    product = as_product(token, words)
    if product:
        notes.append(f"{token.text} is read as the function; a product is written {product}")


def as_product(token: Token, words: Words) -> str:
    """The product that a function's name might be meant as: `a*sin`; or nothing."""
    if token.kind != "name" or not _is_function(words, token.text):
        return ""
    ways = _ways(words, token.text, opens=True)
    products = [way for way in ways if way[0] in words.names and _is_function(words, way[-1])]
    return _shown(words, products[0]) if products else ""


def _is_inverse(token: Token, before: Sequence[Token], words: Words) -> bool:
    """Whether `sin` comes after `arc`."""
    first = before[-1].text if before and before[-1].kind == "name" else ""
    prefixed = first in PREFIXES and words.meaning(first) is None and token.kind == "name"
    return prefixed and words.function(first + token.text) is not None


def _is_strange(token: Token, before: Sequence[Token], after: Token | None, words: Words) -> bool:
    """Whether a token is a word without a meaning, in a place where words have one."""
    if token.kind != "name" or token.text in KEPT or words.meaning(token.text):
        return False
    method = bool(before) and before[-1].text == "." and not _is_module(before[-2:-1])
    keyword = after is not None and after.text == "="
    return not (method or keyword)


def _is_module(before: Sequence[Token]) -> bool:
    return bool(before) and before[0].text in MODULES


def _known(token: Token, words: Words, opens: bool, text: str) -> Pieces:
    """The known words that a strange one is read as; none where it stays strange."""
    same = _same_letters(words, token.text)
    if same:
        return (same,)
    ways = _ways(words, token.text, opens) or _ways(words, token.text.lower(), opens)
    if len(ways) > 1:
        first, second = (_shown(words, way) for way in ways[:2])
        message = f"{token.text} can be read in more than one way"
        width = token.end - token.start
        raise refused(text, token.start, message, f"write {first}, or {second}", width)
    return ways[0] if ways else ()


def _same_letters(words: Words, word: str) -> str:
    """The one declared name, constant or function that differs in capitals only; or nothing."""
    names = [name for name in words.names if name.lower() == word.lower()]
    if len(names) == 1 and (len(word) > 1 or word.upper() != "T"):
        return names[0]
    lower = word.lower()
    known = words.meaning(lower) if not names and lower != word else None
    return lower if known and (len(lower) > 1 or known.kind == "constant") else ""


def falls_apart(words: Words, word: str) -> bool:
    """Whether a word can be read as known words run together, in any letters."""
    return bool(_ways(words, word, False) or _ways(words, word.lower(), False))


@lru_cache(maxsize=4096)
def _ways(words: Words, word: str, opens: bool) -> list[Pieces]:
    """The first few ways to take a word apart; `opens` says that a round bracket follows it."""
    known: dict[int, list[Pieces]] = {len(word): [()]}
    for start in range(len(word) - 1, -1, -1):
        known[start] = []
        for stop in range(start + 1, len(word) + 1):
            for rest in known[stop]:
                if _fits(words, word, start, stop, opens and stop == len(word)):
                    known[start].append((word[start:stop], *rest))
        known[start] = known[start][: MOST + 1]
    return [way for way in known[0] if len(way) > 1]


def _fits(words: Words, word: str, start: int, stop: int, opens: bool) -> bool:
    """Whether a stretch of a word can be a piece of it."""
    piece = word[start:stop]
    if piece.isdigit():
        before = any(_is_function(words, word[k:start]) for k in range(start - SHORTEST + 1))
        return before and (stop == len(word) or not word[stop].isdigit())
    if not _is_function(words, piece):
        return words.meaning(piece) is not None
    takes_one = ARITY.get(words.function(piece) or "") == 1
    return len(piece) >= SHORTEST and (opens or takes_one)


def _is_function(words: Words, piece: str) -> bool:
    meaning = words.meaning(piece) if piece and not piece.isdigit() else None
    return meaning is not None and meaning.kind == "function"


def _shown(words: Words, pieces: Pieces) -> str:
    """Pieces as they would be typed: `x*sin x`; arrays side by side, which may be matrices."""
    text = ""
    for piece in pieces:
        apart = _is_function(words, piece) or words.shapes.get(piece)
        joint = " " if apart else "" if piece.isdigit() else "*"
        text += piece + joint
    return text.rstrip(" *")


def _pieces(token: Token, pieces: Pieces) -> Iterator[Token]:
    """A token for each piece of a word; a backslash before it belongs to the first."""
    at = token.start
    for k, piece in enumerate(pieces):
        last = k == len(pieces) - 1
        stop = token.end if last else at + len(piece) + (k == 0) * _extra(token)
        kind = "number" if piece.isdigit() else "name"
        yield Token(kind, piece, at, max(stop, at), token.spaced and k == 0)
        at = stop


def _extra(token: Token) -> int:
    """How much longer a word is in the text than read: the backslash of a command."""
    return 1 if token.end - token.start == len(token.text) + 1 else 0


# -- square brackets -----------------------------------------------------------------------------


def _grouped(tokens: list[Token], words: Words, notes: list[str]) -> list[Token]:
    """Square brackets that group become round ones: `2Cos[x]`, `x[x + 1]`, `[x + 1](x - 1)`."""
    if not any(token.text == "[" for token in tokens):
        return tokens
    for opening, closing in _pairs(tokens):
        if opening and _groups(tokens, opening, closing, words):
            tokens[opening] = tokens[opening]._replace(text="(")
            tokens[closing] = tokens[closing]._replace(text=")")
            notes.append("square brackets are read as round ones")
    return tokens


def _pairs(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The places of the square brackets that match."""
    stack: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind == "op" and token.text in ("(", "[", "{"):
            stack.append(at)
        elif token.kind == "op" and token.text in (")", "]", "}") and stack:
            opening = stack.pop()
            if tokens[opening].text == "[" and token.text == "]":
                yield opening, at


def _groups(tokens: Sequence[Token], opening: int, closing: int, words: Words) -> bool:
    """Whether square brackets after something are no index: after a function, or around a sum."""
    before, inside = tokens[opening - 1], tokens[opening + 1 : closing]
    if opening and before.text in SEVERAL:
        return True
    if not inside or any(token.text in NO_SUM for token in inside):
        return False
    if before.kind in ("number", "fraction") or before.text in ("√", "∛"):
        return True
    if _is_argument(tokens, opening, words):
        return True
    turned = before.kind == "transpose"
    if before.kind != "name" and before.text not in (")", "]", "}") and not turned:
        return False
    if all(token.kind == "number" or token.text in INDEX for token in inside):
        return False
    return len(inside) > 1 or before.text in words.scalars


def _is_argument(tokens: Sequence[Token], opening: int, words: Words) -> bool:
    """Whether a bracket comes right after a function's name, or after the power of one."""
    before = tokens[opening - 1]
    if before.kind == "name" and _is_function(words, before.text):
        return opening < 2 or tokens[opening - 2].text != "."
    powered = opening >= 3 and tokens[opening - 2].text == "^"
    name = tokens[opening - 3] if powered else before
    return powered and name.kind == "name" and _is_function(words, name.text)
