"""Other readings of a formula: where a bracket may be missing that its writer had in mind.

`1/2x` is read as (1/2)*x; its writer may have meant 1/(2x). One pair of brackets is put in, or two,
where a reader goes on though a writer may not have stopped: after a sign of division, a sign of
power or a function without brackets; around a sum before such a sign; around a function before a
power. Brackets that are there, or braces of LaTeX, leave no doubt.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, pairwise
from typing import NamedTuple

from gradcheck.answers.formula import Formula, check_limits
from gradcheck.answers.grammar import Parser
from gradcheck.answers.operands import Reading
from gradcheck.answers.tokens import Token, closing_at
from gradcheck.answers.words import Words
from gradcheck.errors import TextError

SINGLE, PAIRED, FURTHER = 16, 8, 3  # as many are tried, after one sign: the likeliest come first
OPENING, CLOSING = ("(", "[", "{", "|("), (")", "]", "}", "|)")
ENDS = ("number", "word", "transpose")
DIVISION, SIGNS = ("/", ":"), frozenset(["/", ":", "^", "√", "∛"])
SEPARATORS = frozenset([",", "=", "<", ">", "<=", ">="])
Pair = tuple[int, int]  # the first and the last token inside of brackets


class Other(NamedTuple):
    tree: ast.Expression
    typed: str


def rebracket(formula: Formula) -> Iterator[Other]:
    tokens, words = formula.tokens, formula.words
    missing = dict.fromkeys(pairs_missing(tokens, words)) if words is not None else ()
    pieces = [pair for pair in missing if not _is_one_bracket(tokens, *pair)]
    if words is None or not pieces:
        return
    known = _places(formula.tree.body)
    singles = [
        (first, last)
        for first, last in pieces
        if tokens[first - 1].text not in (*DIVISION, "^")  # else: is it read as one piece anyway?
        or (tokens[first].start, tokens[last].end) not in known
    ][:SINGLE]
    doubles = [(a, b) for a, b in combinations(singles, 2) if a[1] < b[0] or b[1] < a[0]][:PAIRED]
    for pairs in chain(((pair,) for pair in singles), doubles):
        found, typed = list(tokens), formula.text
        for first, last in sorted(pairs, reverse=True):
            start, end = tokens[first].start, tokens[last].end
            typed = f"{typed[:start]}({typed[start:end]}){typed[end:]}"
            inside = [tokens[first]._replace(spaced=False), *found[first + 1 : last + 1]]
            opening = Token("op", "(", start, start, tokens[first].spaced)
            found[first : last + 1] = [opening, *inside, Token("op", ")", end, end)]
        reading = Reading(formula.text, words)
        try:
            body = Parser(reading, found).whole()
            check_limits(body, reading, len(found))
        except TextError:
            continue
        stop = tokens[-1].end + 2 * len(pairs)
        yield Other(ast.Expression(body), typed[tokens[0].start : stop])


def _is_one_bracket(tokens: Sequence[Token], first: int, last: int) -> bool:
    ends = tokens[first].text in OPENING and tokens[last].text in CLOSING
    return ends and closing_at(tokens[: last + 1], first) == last


def _places(tree: ast.expr) -> set[tuple[int, int | None]]:
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        for inner in vars(node).values():
            if isinstance(inner, ast.AST):
                nodes.append(inner)
            elif isinstance(inner, list):
                nodes += inner
    return {(node.col_offset, node.end_col_offset) for node in nodes if isinstance(node, ast.expr)}


def pairs_missing(tokens: Sequence[Token], words: Words) -> Iterator[Pair]:
    after = [*[token.text for token in tokens[1:]], ""]
    for at, token in enumerate(tokens):
        function = token.kind == "word" and is_function(token, words)
        if not function and token.text not in SIGNS:
            continue
        opened = after[at] in (*OPENING, "^")
        if token.text in DIVISION or (not opened and (token.text in SIGNS or function)):
            yield from _after(tokens, at, words)
        if function and not opened:
            yield from _before_power(tokens, at, at)
        if function and after[at] == "^" and at + 3 < len(tokens):
            last = next(_ends(tokens, at + 2), -1)
            if last >= 0 and after[last] not in ("", *OPENING):
                yield from _after(tokens, last, words)  # sec^2 x/a may be sec^2(x/a)
        if token.text in ("/", "^"):
            yield from _sums(tokens, at)
    for at, token in enumerate(tokens[:-2]):
        if after[at] == "^" and token.kind in ENDS:
            yield from _before_power(tokens, at, at + 2)


def _after(tokens: Sequence[Token], sign: int, words: Words) -> Iterator[Pair]:
    """From after a sign to the end of each further factor, then of each further term."""
    found, text = 0, tokens[sign].text
    for last in _ends(tokens, sign + 1):
        inside = tokens[sign + 1 : last + 1]
        if text != "/" and _is_set_apart(text, inside):
            return
        named = "word" in [token.kind for token in inside]
        if text == "^" and not named:
            kinds = [token.kind if token.kind == "number" else token.text for token in inside]
            named = kinds[-3:] == ["number", "/", "number"] and kinds[:-3] in ([], ["-"], ["+"])
        powered = last + 1 < len(tokens) and tokens[last + 1].text == "^"
        if named and not powered and not is_function(tokens[last], words):
            found += 1
            yield sign + 1, last
        if found == FURTHER:
            return


def _is_set_apart(sign: str, inside: Sequence[Token]) -> bool:
    """Whether blanks say that the writer had stopped: `x^2 sin x`, `e^x + 1`."""
    if sign == "^" and any(token.spaced for token in inside[1:]):
        return True
    return any(a.text in ("+", "-") and a.spaced and b.spaced for a, b in pairwise(inside))


def _sums(tokens: Sequence[Token], sign: int) -> Iterator[Pair]:
    """The sum that stands before a sign, from where its level begins, or from a later term."""
    level, starts = 0, [0]
    for at in range(sign - 1, -1, -1):
        level += (tokens[at].text in CLOSING) - (tokens[at].text in OPENING)
        if level < 0 or (level == 0 and tokens[at].text in SEPARATORS):
            starts[0] = at + 1
            break
        if level == 0 and tokens[at].text in ("+", "-") and at:
            starts.insert(1, at + 1)
    for first in starts:
        inside = tokens[first:sign]
        named = any(token.kind == "word" for token in inside)
        summed = any(token.text in ("+", "-") for token in inside[1:])
        if named and summed and not _is_set_apart("", inside):
            yield first, sign - 1


def _before_power(tokens: Sequence[Token], start: int, first: int) -> Iterator[Pair]:
    """From a token to what stands before the next power: `cos x` in cos x^2."""
    for last in _ends(tokens, first):
        if last > start and last + 1 < len(tokens) and tokens[last + 1].text == "^":
            yield start, last
            return
        if any(token.text in ("+", "-", "/", "*", "·") for token in tokens[first : last + 1]):
            return


def _ends(tokens: Sequence[Token], first: int) -> Iterator[int]:
    """Where a factor ends, up to the end of the bracket or a sign that parts."""
    level = 0
    for at, token in enumerate(tokens[first:], first):
        level += (token.text in OPENING) - (token.text in CLOSING)
        if level < 0 or (level == 0 and token.text in SEPARATORS):
            return
        suffixed = at + 1 < len(tokens) and tokens[at + 1].text in (".", "[", "_")
        if level == 0 and (token.kind in ENDS or token.text in CLOSING) and not suffixed:
            yield at


def is_function(token: Token, words: Words) -> bool:
    meaning = words.meant(token.text) if token.kind == "word" else None
    return meaning is not None and meaning.kind == "function"
