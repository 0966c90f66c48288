"""Signs of matrix notation that are words elsewhere: `X'`, `X^TR`, `‖x‖`, `I`, `n` for the rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from gradcheck.answers.scanner import Token
from gradcheck.answers.words import Words

COUNTS = ("n", "N")  # what people call the number of samples
LENGTHS = ("len", "length")
SUMS_OF_R = {
    "colSums": ("sum", "0"),
    "rowSums": ("sum", "1"),
    "colMeans": ("mean", "0"),
    "rowMeans": ("mean", "1"),
}
AXIS = (("name", "axis"), ("op", "="))
FIRST = (("op", "."), ("name", "shape"), ("op", "["), ("number", "0"), ("op", "]"))
MATRIX = 2  # axes
NORM_BAR = "‖"
BELOW_NORM = ("_2", "_F")  # the same norm


def matrices_read(tokens: Sequence[Token], words: Words, notes: list[str]) -> list[Token]:
    """The tokens with transposes and sizes in their places, where arrays are declared."""
    if not words.arrays:
        return _norms(tokens)
    tokens = _norms(_double_bars(tokens))
    known = set(words.shapes)
    found = [list(_read(tokens, at, known, words, notes)) for at, token in enumerate(tokens)]
    return list(chain.from_iterable(found))


def _double_bars(tokens: Sequence[Token]) -> Sequence[Token]:
    """`||x||` as `‖x‖`, where all bars come in such pairs."""
    bars = [at for at, token in enumerate(tokens) if token.text == "|"]
    pairs = list(zip(bars[::2], bars[1::2], strict=False))
    if len(bars) % 4 or any(right != left + 1 or tokens[right].spaced for left, right in pairs):
        return tokens
    opened = {
        left: tokens[left]._replace(text=NORM_BAR, end=tokens[right].end) for left, right in pairs
    }
    closed = {right for _, right in pairs}
    return [opened.get(at, token) for at, token in enumerate(tokens) if at not in closed]


def _norms(tokens: Sequence[Token]) -> list[Token]:
    """Double bars as the function: they open and close in turn."""
    if not any(token.text == NORM_BAR for token in tokens):
        return list(tokens)
    found: list[Token] = []
    opened = False
    for token in tokens:
        if token.text == NORM_BAR and opened:
            found.append(token._replace(text=")"))
        elif token.text == NORM_BAR:
            start = token.start
            found.append(Token("name", "norm", start, start, token.spaced))
            found.append(Token("op", "(", start, token.end))
        elif not (found and found[-1].text == ")" and token.text in BELOW_NORM):
            found.append(token)
        opened ^= token.text == NORM_BAR
    return found


def _read(
    tokens: Sequence[Token], at: int, known: set[str], words: Words, notes: list[str]
) -> Sequence[Token]:
    """What one token stands for."""
    token = tokens[at]
    before = tokens[at - 1] if at else None
    if token.text == "'" and before is not None and _can_be_turned(before, known, words):
        typed = f"{before.text}'" if before.kind == "name" else "a prime after a bracket"
        turned = f"{before.text}.T" if before.kind == "name" else ".T"
        notes.append(f"{typed} is read as the transpose {turned}")
        return [Token("transpose", "T", token.start, token.end)]
    raised = before is not None and before.text == "^" and token.kind == "name"
    if raised and token.text[0] == "T" and token.text not in known and _run(token.text[1:], known):
        middle = token.start + 1
        return [
            Token("transpose", "T", token.start, middle),
            Token("name", token.text[1:], middle, token.end),
        ]
    if token.text == "." and _is_product(tokens, at, words):
        notes.append("a dot between arrays is read as the matrix product")
        return [token._replace(text="@")]
    if (sized := _sized(tokens, at, words)) is not None:
        return sized
    if _counted(tokens, at, words):
        return []
    if token.text == ")" and (axis := _closes_a_sum(tokens, at, words)):
        return [*_spelled(token, (("op", ","), *AXIS, ("number", axis))), token]
    if token.text == ")" and at >= 3 and _counted(tokens, at - 3, words):
        return [*_spelled(token, FIRST), token]
    if token.kind != "name" or words.meaning(token.text) is not None:
        return [token]
    after = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if token.text in COUNTS:
        return _rows(token, words, notes)
    if token.text == "I":
        return _identity(token, words, notes)
    return [token._replace(text=_called(token.text, after, known))]


def _called(word: str, after: str, known: set[str]) -> str:
    """A function of R's, `t(X)` or `colSums(X)`, or `tr(A)`, by its usual name."""
    if word == "tr" and after in ("(", "[") and not {"t", "r"} <= known:
        return "trace"
    if word == "t" and after == "(":
        return "transpose"
    return SUMS_OF_R[word][0] if word in SUMS_OF_R and after == "(" else word


def _is_product(tokens: Sequence[Token], at: int, words: Words) -> bool:
    """Whether a dot is Mathematica's product: `A.x`, `Transpose[A].(y - z)`."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if after is None or after.text == "T":
        return False
    if after.text == "Transpose":
        return True
    return after.text == "(" or (after.kind == "name" and bool(words.shapes.get(after.text)))


def _counted(tokens: Sequence[Token], at: int, words: Words) -> bool:
    """Whether `len(y)` begins here, which is read as y.shape[0]."""
    if tokens[at].text not in LENGTHS or words.meaning(tokens[at].text) is not None:
        return False
    texts = [token.text for token in tokens[at + 1 : at + 4]]
    return len(texts) == 3 and texts[::2] == ["(", ")"] and bool(words.shapes.get(texts[1]))


def _closes_a_sum(tokens: Sequence[Token], at: int, words: Words) -> str:
    """The axis of R's `colSums(...)` and its like, where such a bracket is closed here; or ""."""
    level = 0
    for k in range(at, 0, -1):
        level += (tokens[k].text == ")") - (tokens[k].text == "(")
        if level == 0:
            name = tokens[k - 1].text
            return SUMS_OF_R[name][1] if name in SUMS_OF_R and not words.meaning(name) else ""
    return ""


def _sized(tokens: Sequence[Token], at: int, words: Words) -> Sequence[Token] | None:
    """MATLAB's `size(X, 1)`, in a text with its primes, as X.shape[0]."""
    first = next((at - k for k in range(6) if at >= k and tokens[at - k].text == "size"), None)
    if first is None or not any(token.text == "'" for token in tokens):
        return None
    texts = [token.text for token in tokens[first + 1 : first + 6]]
    if texts[::2] != ["(", ",", ")"] or not words.shapes.get(texts[1]) or texts[3] not in "12":
        return None
    if at > first:
        return []
    place = (("number", str(int(texts[3]) - 1)), ("op", "]"))
    return _spelled(tokens[first], (("name", texts[1]), *FIRST[:3], *place))


def _can_be_turned(before: Token, known: set[str], words: Words) -> bool:
    """Whether a prime after this is a transpose: after an array, a bracket, names run together."""
    if before.text in (")", "]"):
        return True
    if before.kind != "name":
        return False
    together = words.meaning(before.text) is None and _run(before.text, known)
    return bool(words.shapes.get(before.text)) or together


def _run(word: str, known: set[str]) -> bool:
    """Whether a word is one or more known names run together."""
    ends = {0}
    for at in range(len(word)):
        if at in ends:
            ends |= {at + len(name) for name in known if word.startswith(name, at)}
    return bool(word) and len(word) in ends


def _rows(token: Token, words: Words, notes: list[str]) -> Sequence[Token]:
    """`n` as the length that most arrays begin with; it stays where no one length is the usual."""
    name = rows_named(words.shapes)
    if name is None:
        return [token]
    notes.append(f"{token.text} is read as {name}.shape[0]")
    return _spelled(token, (("name", name), *FIRST))


def rows_named(shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    """The array whose first length `n` is; None where no one length is the usual, and X has none.

    Where two lengths are as common, it is that of X.
    """
    first = {name: shape[0] for name, shape in shapes.items() if shape}
    usual = Counter(first.values()).most_common(2)
    if len(usual) > 1 and usual[0][1] == usual[1][1]:
        tied = [
            n for n, length in first.items() if list(first.values()).count(length) == usual[0][1]
        ]
        return "X" if "X" in tied else None
    if not usual:
        return None
    return min((n for n, length in first.items() if length == usual[0][0]), key=_first_data)


def _identity(token: Token, words: Words, notes: list[str]) -> Sequence[Token]:
    """`I` as the identity, where all square matrices (or else all vectors) are of one length."""
    square = {n: s[0] for n, s in words.shapes.items() if len(s) == MATRIX and s[0] == s[1]}
    vectors = {n: s[0] for n, s in words.shapes.items() if len(s) == 1}
    lengths = square or vectors
    if len(set(lengths.values())) != 1:
        return [token]
    name = min(lengths, key=_first_data)
    notes.append(f"I is read as eye({name}.shape[0])")
    eye = (("name", "eye"), ("op", "("), ("name", name), *FIRST, ("op", ")"))
    return _spelled(token, eye)


def _spelled(token: Token, signs: Sequence[tuple[str, str]]) -> list[Token]:
    """Tokens in the place of one."""
    return [Token(kind, text, token.start, token.end) for kind, text in signs]


def _first_data(name: str) -> tuple[bool, str]:
    """X before all others."""
    return (name != "X", name)
