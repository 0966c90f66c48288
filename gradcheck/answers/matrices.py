"""Signs of matrix notation that are words elsewhere: `X'`, `X^TR`, `n` for the number of rows."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from gradcheck.answers.scanner import Token
from gradcheck.answers.words import Words

COUNTS = ("n", "N")  # what people call the number of samples


def matrices_read(tokens: Sequence[Token], words: Words, notes: list[str]) -> list[Token]:
    """The tokens with transposes and sizes in their places, where arrays are declared."""
    if not any(words.shapes.values()):
        return list(tokens)
    known = set(words.shapes)
    found = [list(_read(tokens, at, known, words, notes)) for at, token in enumerate(tokens)]
    return list(chain.from_iterable(found))


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
    if token.kind == "name" and token.text in COUNTS and words.meaning(token.text) is None:
        return _rows(token, words, notes)
    return [token]


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
    first = {name: shape[0] for name, shape in words.shapes.items() if shape}
    usual = Counter(first.values()).most_common(2)
    if len(usual) > 1 and usual[0][1] == usual[1][1]:
        return [token]
    name = min((n for n, length in first.items() if length == usual[0][0]), key=_first_data)
    notes.append(f"{token.text} is read as {name}.shape[0]")
    signs = (("op", "."), ("name", "shape"), ("op", "["), ("number", "0"), ("op", "]"))
    spelled = (("name", name), *signs)
    return [Token(kind, text, token.start, token.end) for kind, text in spelled]


def _first_data(name: str) -> tuple[bool, str]:
    """X before all others."""
    return (name != "X", name)
