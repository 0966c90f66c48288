"""Other readings of a formula: where a bracket may be missing that its writer had in mind.

`1/2x` is read as (1/2)*x; its writer may have meant 1/(2x). One pair of brackets is put in, or two,
where a reader goes on though a writer may not have stopped: after a sign of division, a sign of
power or a function without brackets; around a sum before such a sign; around a function before a
power. Brackets that are there, or braces of LaTeX, leave no doubt.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations

from gradcheck.answers.respelling import as_product, respelled
from gradcheck.answers.scanner import Token
from gradcheck.answers.tokens import tokenize
from gradcheck.answers.words import Words

SINGLE, PAIRED = 24, 16  # as many are tried: the likeliest come first
OPENING, CLOSING = ("(", "[", "{", "|("), (")", "]", "}", "|)")
BRACKET_OR_POWER = (*OPENING, "^")
ENDS = ("number", "name", "fraction", "transpose")
SUMMING = ("", "+", "-", ")")
PARTING = (*SUMMING, "*", "/")  # after these nothing belongs to what stood before
END = Token("end", "", 0, 0)  # before the first token, and after the last
INVERSE = re.compile(
    r"(\\?[A-Za-z]+)\s*(?:\^|\*\*)\s*[({]?-1[)}]?\s*(\([^()]*\)|\{[^{}]*\}|\w+)", re.ASCII
)

Pair = tuple[int, int]


def bracketed_otherwise(text: str, words: Words) -> Iterator[str]:
    """The text with brackets put in where they may be missing, the likeliest first."""
    tokens = respelled(tokenize(text), words, text, [])
    singles = list(dict.fromkeys(pairs_missing(tokens, words)))[:SINGLE]
    doubles = [pair for pair in combinations(singles, 2) if _apart(*pair)][:PAIRED]
    idle = {pair for pair in singles if is_idle(tokens, pair, words)}
    for pairs in chain(((pair,) for pair in singles), doubles):
        if idle.isdisjoint(pairs):
            yield with_brackets(text, pairs)
    for token in tokens:
        product = as_product(token, words)
        if product:
            yield f"{text[: token.start]}{product} {text[token.end :]}"
    inverse = INVERSE.sub(r"(\1 \2)^(-1)", text)
    if inverse != text:
        yield inverse


def pairs_missing(tokens: Sequence[Token], words: Words) -> Iterator[Pair]:
    """Places in the text between which brackets may be missing."""
    for at, token in enumerate(tokens):
        after = at + 1 < len(tokens) and tokens[at + 1].text in BRACKET_OR_POWER
        function = _is_function(token, words)
        if token.text == "/" or (not after and (token.text in ("^", "√", "∛") or function)):
            yield from _after(tokens, at, words)
        if function and not after:
            yield from _before(tokens, at, at, "^")
        if function:
            yield from _after_a_power(tokens, at, words)
        if token.text in ("/", "^"):
            yield from _sums(tokens, at, words)
    for at, token in enumerate(tokens[:-2]):
        if tokens[at + 1].text == "^" and token.kind in ENDS:
            yield from _before(tokens, at, at + 2, "^")


def _after(tokens: Sequence[Token], sign: int, words: Words) -> Iterator[Pair]:
    """From after a sign to the end of each further factor, then of each further term."""
    summed = False
    for last in _ends(tokens, sign + 1):
        inside = tokens[sign + 1 : last + 1]
        summed = summed or any(token.text in ("+", "-") for token in inside[1:])
        named = any(token.kind == "name" for token in inside)
        fraction = tokens[sign].text == "^" and _is_fraction(inside)
        powered = last + 1 < len(tokens) and tokens[last + 1].text == "^"
        if (named or fraction) and not powered and not _is_function(tokens[last], words):
            yield inside[0].start, inside[-1].end


def _after_a_power(tokens: Sequence[Token], function: int, words: Words) -> Iterator[Pair]:
    """After the power of a function: `sec^2 x/a` may be sec^2(x/a)."""
    if function + 3 >= len(tokens) or tokens[function + 1].text != "^":
        return
    last = next(_ends(tokens, function + 2), len(tokens))
    if last + 1 < len(tokens) and tokens[last + 1].text not in OPENING:
        yield from _after(tokens, last, words)


def _sums(tokens: Sequence[Token], sign: int, words: Words) -> Iterator[Pair]:
    """The sum that stands before a sign, from where its level begins."""
    first = _level_start(tokens, sign)
    inside = tokens[first:sign]
    named = any(token.kind == "name" for token in inside)
    if named and any(token.text in ("+", "-") for token in inside[1:]):
        yield inside[0].start, inside[-1].end


def _before(tokens: Sequence[Token], start: int, first: int, sign: str) -> Iterator[Pair]:
    """From a token to what stands before the next such sign: `cos x` in cos x^2."""
    for last in _ends(tokens, first):
        if last > start and last + 1 < len(tokens) and tokens[last + 1].text == sign:
            yield tokens[start].start, tokens[last].end
            return
        if any(token.text in ("+", "-", "/", "*") for token in tokens[first : last + 1]):
            return


def _ends(tokens: Sequence[Token], first: int) -> Iterator[int]:
    """The tokens at which a value ends, on the level of the first one."""
    level = 0
    for at in range(first, len(tokens)):
        token = tokens[at]
        level += (token.text in OPENING) - (token.text in CLOSING)
        if level < 0 or (level == 0 and token.text in (",", "=", "<", ">", "<=", ">=")):
            return
        suffixed = at + 1 < len(tokens) and tokens[at + 1].text in (".", "[")
        if level == 0 and (token.kind in ENDS or token.text in CLOSING) and not suffixed:
            yield at


def _level_start(tokens: Sequence[Token], sign: int) -> int:
    """The first token of the level that a sign stands on."""
    level = 0
    for at in range(sign - 1, -1, -1):
        level += (tokens[at].text in CLOSING) - (tokens[at].text in OPENING)
        if level < 0 or (level == 0 and tokens[at].text in (",", "=", "<", ">", "<=", ">=")):
            return at + 1
    return 0


def _is_function(token: Token, words: Words) -> bool:
    meaning = words.meaning(token.text) if token.kind == "name" else None
    return meaning is not None and meaning.kind == "function"


def _is_fraction(tokens: Sequence[Token]) -> bool:
    """Whether tokens are `1/2` or `-3/2`: with brackets, an exponent."""
    kinds = [token.kind if token.kind == "number" else token.text for token in tokens]
    return kinds[-3:] == ["number", "/", "number"] and kinds[:-3] in ([], ["-"], ["+"])


def is_idle(tokens: Sequence[Token], pair: Pair, words: Words) -> bool:
    """Whether brackets are sure to change nothing, or to leave a function without its argument.

    Only to save reading the text again: what is not told here is found to be so later.
    """
    first = next(k for k, token in enumerate(tokens) if token.start == pair[0])
    last = next(k for k, token in enumerate(tokens) if token.end == pair[1] and k >= first)
    around = (tokens[first - 1] if first else END, (*tokens[last + 1 : last + 2], END)[0])
    inside = tokens[first : last + 1]
    powered = around[0].text == "^" and _is_function((END, *tokens[:first])[-2], words)
    if _stands_alone(inside, words) or (powered and around[1].text in ("", "+", "*", "/", ")")):
        return True
    return _changes_nothing(inside, *around, words)


def _stands_alone(inside: Sequence[Token], words: Words) -> bool:
    """Whether a function is the last thing in brackets, with or without its power: (x + sin^2)."""
    ends = [inside[-1], *([inside[-3]] if len(inside) > 2 and inside[-2].text == "^" else [])]
    return any(_is_function(token, words) for token in ends)


def _changes_nothing(inside: Sequence[Token], before: Token, after: Token, words: Words) -> bool:
    """Whether brackets change nothing: `sin (x) + 1`, `1/(x^2) + 1`, `(2x)/3`, `1/(sin(x))`."""
    if before.text in ("(", "") and after.text == "/":
        return not any(t.text in ("+", "-") and n == 0 for t, n in [*_levels(inside)][1:])
    called = len(inside) > 1 and _is_function(inside[0], words)
    kinds = [token.kind if token.kind != "op" else token.text for token in inside]
    squared = before.text == "/" and kinds[-2:] in (["^", "number"], ["^", "name"])
    if after.text in PARTING and _is_bracketed(inside[called : -2 if squared else None]):
        return True
    if called or (after.text not in PARTING and not _is_function(after, words)):
        return False
    if kinds == ["number", "name"] and _is_function(before, words):
        return after.text in SUMMING and not _is_function(inside[1], words)
    return kinds == ["name"] or (squared and kinds[:-2] == ["name"] and after.text in PARTING)


def _is_bracketed(tokens: Sequence[Token]) -> bool:
    """Whether tokens are one pair of round brackets with what it holds."""
    if not tokens or tokens[0].text != "(":
        return False
    before_last = [level for _, level in _levels(tokens[:-1])]
    return tokens[-1].text == ")" and bool(before_last) and min(before_last) > 0


def _levels(tokens: Sequence[Token]) -> Iterator[tuple[Token, int]]:
    """Each token with how many brackets are open there."""
    level = 0
    for token in tokens:
        level += (token.text in OPENING) - (token.text in CLOSING)
        yield token, level


def _apart(a: Pair, b: Pair) -> bool:
    """Whether two pairs of brackets stand beside each other."""
    return a[1] <= b[0] or b[1] <= a[0]


def with_brackets(text: str, pairs: Sequence[Pair]) -> str:
    """The text with brackets at these places."""
    for start, stop in sorted(pairs, reverse=True):
        text = f"{text[:start]}({text[start:stop]}){text[stop:]}"
    return text
