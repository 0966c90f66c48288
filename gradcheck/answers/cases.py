r"""Formulas by cases, as where(condition, value, otherwise).

`1 if x > 0 else 0`, `1 for x > 0, 0 for x < 0`, `x > 0: 1; x < 0: -1`, `x > 0 ? 1 : 0`, the rows of
`\begin{cases}` and `{1, x > 0; 0, x < 0}`. Where no case holds there is no value: 0/0.
"""

import ast
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from gradcheck.answers.tokens import Token, levels
from gradcheck.answers.words import Words

IF = frozenset(
    ["if", "for", "when", "at", "where", "wenn", "falls", "für", "si", "se", "pour", "para"]
)
ELSE = frozenset(["otherwise", "elsewhere", "else", "sonst", "sinon", "altrimenti"])
THEN = frozenset(["then", "dann", "alors"])
ELIF = frozenset(["elif", "elseif"])
AND, OR = frozenset(["and", "und", "et"]), frozenset(["or", "oder", "ou"])
UNEQUAL = frozenset(["<", ">", "<=", ">=", "!="])
COMPARED = UNEQUAL | {"=", "=="}
COMPLEMENTS = ({">", "<="}, {"<", ">="}, {"==", "!="}, {"=", "!="})
NOWHERE = frozenset(["undefined", "dne", "notdefined", "isundefined", "doesnotexist"])

Value = Callable[[Sequence[Token]], ast.expr]
Tokens = Sequence[Token]


class Case(NamedTuple):
    """A value and its condition; None where it holds everywhere else."""

    value: Tokens
    condition: Tokens | None


def looks_like_cases(tokens: Tokens, words: Words) -> bool:
    """Whether a text may be a formula by cases."""
    if any(t.kind == "begin" and t.text == "cases" for t in tokens):
        return False
    said = any(_is_word(t, IF | ELSE | ELIF, words) for t in tokens)
    signs = COMPARED if any(_is_word(t, ELSE, words) for t in tokens) else UNEQUAL
    compared = any(t.kind == "op" and t.text in signs for t in tokens)
    return compared and (said or _parts(tokens, words) is not None)


def _parts(tokens: Tokens, words: Words) -> bool | None:
    """Whether something parts cases outside of brackets; None where nothing does."""
    braced = bool(tokens) and tokens[0].text in ("{", "(")
    for token, level in zip(tokens, levels(tokens), strict=True):
        braced = braced and level > 0
        parts = token.kind == "line" or token.text in (",", ";", "?", ":", "=>")
        if parts and level <= braced:
            return True
    return None


def by_cases(
    tokens: Tokens, words: Words, value: Value, environment: bool = False
) -> ast.expr | None:
    """The nested where(...) of a formula by cases; None where it is none."""
    tokens = [t for k, t in enumerate(tokens) if not _is_all(tokens, k, words)]
    tokens, braced = _unbraced(tokens)
    compared = [t for t in tokens if t.kind == "op" and t.text in UNEQUAL]
    several = len(compared) > 1 or any(t.kind == "line" for t in tokens)
    signs = COMPARED if braced or environment else UNEQUAL if several else frozenset[str]()
    cases = _turned_round(tokens, words) or _cases(_items(tokens, words), signs)
    if not cases or cases[0].condition is None:
        return None
    if all(c.condition is not None and not _has(c.condition, UNEQUAL) for c in cases):
        return None  # `2u where u = x^2`, `4 for x = 2`
    if len(cases) > 1 and _are_complements(cases[-2].condition, cases[-1].condition):
        cases[-1] = Case(cases[-1].value, None)
    return _written(cases, words, value)


def _written(cases: list[Case], words: Words, value: Value) -> ast.expr:
    """The cases as nested choices."""
    last = cases[-1]
    end = last.value[-1].end
    otherwise: ast.expr = _nothing(end)
    if last.condition is None:
        otherwise, cases = _value(last.value, value), cases[:-1]
    for case in reversed(cases):
        assert case.condition is not None
        found = _value(case.value, value)
        for alternative in reversed(_split(case.condition, OR)):
            test = _condition(alternative, value)
            name = _placed(ast.Name("where", ast.Load()), case.value)
            otherwise = _placed(ast.Call(name, [test, found, otherwise], []), case.value)
    return otherwise


def _value(tokens: Tokens, value: Value) -> ast.expr:
    said = "".join(t.text.lower() for t in tokens)
    return _nothing(tokens[-1].end) if said in NOWHERE else value(tokens)


def _nothing(at: int) -> ast.expr:
    """0/0: no value."""
    zeros = [ast.Constant(0), ast.Constant(0)]
    found = ast.BinOp(zeros[0], ast.Div(), zeros[1])
    for node in (*zeros, found):
        node.lineno = node.end_lineno = 1
        node.col_offset = node.end_col_offset = at
    return found


def _placed(node: ast.expr, tokens: Tokens) -> ast.expr:
    node.lineno = node.end_lineno = 1
    node.col_offset, node.end_col_offset = tokens[0].start, tokens[-1].end
    return node


def _condition(tokens: Tokens, value: Value) -> ast.expr:
    """A condition whose parts all hold: `0 < x < 1` and `x > 0 and y > 0` are products."""
    found: ast.expr | None = None
    for part in _split(tokens, AND):
        places = [k for k, t in enumerate(part) if t.kind == "op" and t.text in COMPARED]
        ends = [-1, *places, len(part)]
        sides = [part[a + 1 : b] for a, b in pairwise(ends)]
        for left, right, at in zip(sides, sides[1:], places, strict=False):
            sign = part[at]._replace(text="==") if part[at].text == "=" else part[at]
            test = value([*left, sign, *right])
            both = None if found is None else ast.BinOp(found, ast.Mult(), test)
            found = test if both is None else _placed(both, tokens)
    assert found is not None
    return found


def _is_word(token: Token, words_: frozenset[str], words: Words) -> bool:
    return token.kind == "word" and token.text in words_ and words.meaning(token.text) is None


def _is_all(tokens: Tokens, k: int, words: Words) -> bool:
    """`all` in `for all x > 0`."""
    said = tokens[k].text.lower() in ("all", "any", "every", "alle", "tout")
    return said and k > 0 and _is_word(tokens[k - 1], IF, words)


def _unbraced(tokens: list[Token]) -> tuple[list[Token], bool]:
    """The tokens without the brace before all cases, which may be closed or not."""
    if not tokens or tokens[0].text not in ("{", "("):
        return tokens, False
    brace = tokens[0]
    for k, level in enumerate(levels(tokens)):
        if level == 0 and k:
            if k == len(tokens) - 1 and brace.text == "{":
                return tokens[1:-1], True
            return tokens, False
    if brace.text == "{":
        rows = [t for k, t in enumerate(tokens) if not (t.text == "{" and _begins(tokens, k))]
        return rows, True
    return tokens[1:], True


def _begins(tokens: Tokens, k: int) -> bool:
    return k == 0 or tokens[k - 1].kind == "line"


def _has(tokens: Tokens | None, signs: frozenset[str]) -> bool:
    return any(t.kind == "op" and t.text in signs for t in tokens or ())


def _are_complements(first: Tokens | None, second: Tokens | None) -> bool:
    """Whether one of two conditions always holds: `x > 0` and `x <= 0`."""
    if first is None or second is None:
        return False
    sides = [[t.text for t in c if t.text not in COMPARED] for c in (first, second)]
    signs = [[t.text for t in c if t.text in COMPARED] for c in (first, second)]
    return (
        sides[0] == sides[1]
        and len(signs[0]) == len(signs[1]) == 1
        and ({signs[0][0], signs[1][0]} in COMPLEMENTS)
    )


def _split(tokens: Tokens, at: frozenset[str]) -> list[Tokens]:
    """What such words part."""
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.text.lower() in at:
            found.append([])
        else:
            found[-1].append(token)
    return [each for each in found if each]


# -- values with their conditions behind them ------------------------------------------------------


class Item(NamedTuple):
    """A stretch of tokens, a word, or a sign that parts."""

    kind: str
    tokens: Tokens


def _items(tokens: Tokens, words: Words) -> list[Item]:
    """The words and signs that part cases, outside of brackets, and what stands between them."""
    found: list[Item] = []
    run: list[Token] = []
    for k, (token, level) in enumerate(zip(tokens, levels(tokens), strict=True)):
        kind = _kind(tokens, k, words) if level == 0 else ""
        if not kind:
            run.append(token)
            continue
        if run:
            found.append(Item("text", run))
        found.append(Item(kind, [token]))
        run = []
    return [*found, Item("text", run)] if run else found


def _kind(tokens: Tokens, k: int, words: Words) -> str:
    """What a token does between cases: if, else, row, part, or nothing."""
    token = tokens[k]
    if token.kind == "line" or (token.kind == "op" and token.text == ";"):
        return "row"
    if token.kind == "op" and token.text in (",", "&"):
        tight = 0 < k < len(tokens) - 1 and not tokens[k + 1].spaced
        numbers = tight and tokens[k - 1].kind == tokens[k + 1].kind == "number"
        return "" if numbers and token.text == "," else "part"
    if token.text.lower() == "where" and k + 1 < len(tokens) and tokens[k + 1].text == "(":
        return ""
    if _is_word(token, IF, words):
        return "if"
    if _is_word(token, ELSE, words):
        return "else"
    if _is_word(token, ELIF, words):
        return "if"
    if _is_word(token, AND, words):
        rest = tokens[k + 1 :]
        for t in rest:
            if t.text in UNEQUAL | {",", ";"} or t.kind == "line":
                return ""
            if _is_word(t, IF | ELSE, words):
                return "row"
    return ""


def _cases(items: list[Item], signs: frozenset[str]) -> list[Case] | None:
    """Values with their conditions, in order; None where something is neither.

    A condition that has one of the `signs` may stand behind a comma alone.
    """
    cases, at, last = list[Case](), 0, False
    while at < len(items):
        kind, value = items[at]
        at += 1
        if kind == "else":
            last = [item.kind for item in items[at : at + 1]] != ["if"]
        if kind != "text":
            continue
        if cases and cases[-1].condition is None:
            return None
        parted = at
        while at < len(items) and items[at].kind == "part":
            at += 1
        kinds = [item.kind for item in items[at : at + 2]]
        condition: Tokens | None = None
        if kinds == ["if", "text"]:
            said = "".join(t.text.lower() for t in value)
            if items[at].tokens[0].text == "at" and said not in NOWHERE:
                return None
            condition = items[at + 1].tokens
            at += 2
        elif (behind := _behind(value)) is not None:
            value, condition = behind
        elif kinds[:1] == ["text"] and signs and at > parted:
            condition = items[at].tokens
            if not _has(condition, signs):
                return None
            at += 1
        elif not last and kinds[:1] != ["else"]:
            return None
        if condition is not None and not _has(condition, COMPARED):
            return None
        cases.append(Case(value, condition))
    return cases


def _behind(tokens: Tokens) -> tuple[Tokens, Tokens] | None:
    """`1 (x > 0)`: what holds, and its condition in brackets."""
    if len(tokens) < 5 or tokens[-1].text not in (")", "]"):
        return None
    opening = max((k for k, t in enumerate(tokens) if t.text in ("(", "[")), default=0)
    inside = tokens[opening + 1 : -1]
    spaced = tokens[opening].spaced and opening > 0
    return (tokens[:opening], inside) if spaced and _has(inside, UNEQUAL) else None


# -- conditions with their values behind them ------------------------------------------------------


def _turned_round(tokens: Tokens, words: Words) -> list[Case] | None:
    """`x > 0: 1; x < 0: -1`, `if x > 0 then 1 else 0`, `x > 0 ? 1 : 0`; None for all else."""
    texts = [t.text for t in tokens]
    if "?" in texts and ":" in texts[texts.index("?") :]:
        at = texts.index("?")
        colon = texts.index(":", at)
        first = Case(tokens[at + 1 : colon], tokens[:at])
        return [first, Case(tokens[colon + 1 :], None)] if _has(tokens[:at], UNEQUAL) else None
    found: list[Case] = []
    for row in _rows(tokens, words):
        last = _is_word(row[0], ELSE, words)
        rest = row[1:] if last or _is_word(row[0], IF | ELIF, words) else list(row)
        if last and rest and _is_word(rest[0], IF, words):
            rest, last = rest[1:], False
        if last:
            rest = rest[1:] if rest and rest[0].text == ":" else rest
            if not rest:
                return None
            found.append(Case(rest, None))
            continue
        then = _then(rest, words)
        if then is None or not _has(rest[:then], COMPARED) or then + 1 >= len(rest):
            return None
        found.append(Case(rest[then + 1 :], rest[:then]))
    return found or None


def _then(row: Tokens, words: Words) -> int | None:
    """Where a condition ends and its value begins."""
    for k, token in enumerate(row):
        if _is_word(token, THEN, words):
            return k
        if token.kind == "op" and token.text in (":", "=>") and _has(row[:k], COMPARED):
            return k
    return None


def _rows(tokens: Tokens, words: Words) -> list[list[Token]]:
    """The rows that signs part, or an `else` that follows a value."""
    rows: list[list[Token]] = [[]]
    for k, (token, level) in enumerate(zip(tokens, levels(tokens), strict=True)):
        if level == 0 and _kind(tokens, k, words) in ("row", "part"):
            if not (token.kind == "line" and rows[-1] and rows[-1][-1].text == ":"):
                rows.append([])
            continue
        before = rows[-1][-1] if rows[-1] else None
        if _is_word(token, ELSE | ELIF, words) and level == 0 and before is not None:
            rows.append([])
        rows[-1].append(token)
    return [row for row in rows if row]
