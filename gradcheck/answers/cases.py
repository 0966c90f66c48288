r"""Formulas by cases, as where(condition, value, otherwise).

`1 if x > 0 else 0`, `1 for x > 0, 0 otherwise`, `{1, x > 0; 0, x < 0}`, a line for each case, and
the rows of `\begin{cases}`. Where no case holds there is no value: 0/0.
"""

import ast
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from gradcheck.answers.tokens import UNEQUAL, Token, is_decimal_comma, levels
from gradcheck.answers.words import Words

IF = frozenset([
    "if", "for", "when", "at", "where", "with", "provided", "whenever", "wenn", "falls", "für",
    "si", "pour",
])  # fmt: skip
ELSE = frozenset(["otherwise", "elsewhere", "else", "sonst", "sinon", "altrimenti"])
AND, OR = frozenset(["and", "und", "et"]), frozenset(["or", "oder", "ou"])
OPPOSITE = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "=": "!=", "!=": "="}
COMPARED = UNEQUAL | {"=", "=="}
NOT = frozenset(["!="])
UNDEFINED = frozenset(["undefined", "dne", "notdefined", "isundefined", "doesnotexist"])

Tokens = Sequence[Token]
Value = Callable[[Tokens], ast.expr]


class Branch(NamedTuple):
    """A value and its condition; None where it holds everywhere else."""

    value: Tokens
    condition: Tokens | None


def looks_like_cases(tokens: Tokens, words: Words) -> bool:
    """Whether a text may be a formula by cases, outside of an environment."""
    if any(t.text == "⦃" for t in tokens):
        return False
    kinds = {_kind(tokens, k, words) for k in range(len(tokens))}
    otherwise = "else" in kinds
    said = otherwise or "if" in kinds or _behind(tokens, words, sure=True) is not None
    braced = bool(tokens) and tokens[0].text == "{"
    parted = any(
        (t.kind == "line" or t.text in (",", ";", ":", "=>", "?")) and level <= braced
        for t, level in zip(tokens, levels(tokens), strict=True)
    )
    return (said or parted) and _has(tokens, COMPARED if otherwise else UNEQUAL)


def compares(tokens: Tokens, signs: frozenset[str] = UNEQUAL) -> Token | None:
    """The first sign of comparison outside of brackets."""
    places = zip(tokens, levels(tokens), strict=True)
    return next((t for t, level in places if level == 0 and t.text in signs), None)


def by_cases(
    tokens: Tokens, words: Words, value: Value, environment: bool = False
) -> ast.expr | None:
    """The nested where(...) of a formula by cases; None where it is none.

    In an environment, or where there are several, a condition may stand without its `if`.
    """
    braced = len(tokens) > 2 and tokens[0].text == "{" and 0 not in list(levels(tokens))[:-1]
    tokens = tokens[1:-1] if braced else tokens
    several = sum(t.text in UNEQUAL for t in tokens) > 1
    alone = [kind for kind, _ in _items(tokens, words)] == ["text", "part", "text"]
    bare = COMPARED if environment else UNEQUAL if several or alone else frozenset[str]()
    branches = _branches(tokens, words, bare)
    if not branches or branches[0].condition is None:
        return None
    conditions = [b.condition for b in branches if b.condition is not None]
    tests = [test for each in conditions for part in _split(each, OR) for test in _split(part, AND)]
    if not all(_has(test, COMPARED) for test in tests):
        return None
    if len(conditions) == len(branches) and not any(_has(each, UNEQUAL) for each in conditions):
        return None  # `2u where u = x^2`, `4 for x = 2`
    if len(conditions) == len(branches) > 1:
        before, last = ([t.text for t in each] for each in conditions[-2:])
        if last == [OPPOSITE.get(text, text) for text in before]:
            branches[-1] = Branch(branches[-1].value, None)
    return _nest(branches, value)


def _branches(tokens: Tokens, words: Words, bare: frozenset[str]) -> list[Branch] | None:
    """Values with their conditions, in order; None where something is neither."""
    found: list[Branch] = []
    held: Tokens = ()
    due, otherwise = False, False
    for kind, run in _items(tokens, words):
        if kind == "else":
            otherwise = True
        elif kind == "if":
            if not held or due:
                return None
            due = True
        elif kind == "text" and not held and compares(run):
            return None
        elif kind == "text" and not held:
            behind = _behind(run, words)
            found += [behind] if behind else []
            held = () if behind else run
        elif kind == "text":
            if not (due or compares(run, bare)):
                return None
            found.append(Branch(held, run))
            held, due = (), False
    if held and (due or not otherwise):
        return None
    return [*found, Branch(held, None)] if held else found


def _behind(tokens: Tokens, words: Words, *, sure: bool = False) -> Branch | None:
    """`1 (x > 0)`: what holds, and its condition in brackets; `sure` of what is no factor."""
    opening = max((k for k, t in enumerate(tokens) if t.text == "("), default=0)
    inside = tokens[opening + 1 : -1]
    spaced = opening > 0 and tokens[opening].spaced and tokens[-1].text == ")"
    said = bool(inside) and _is_word(inside[0], IF, words)
    if not (spaced and _has(inside, UNEQUAL)) or (sure and not (said or _has(inside, NOT))):
        return None
    return Branch(tokens[:opening], inside[1:] if said else inside)


def _items(tokens: Tokens, words: Words) -> list[tuple[str, Tokens]]:
    """The words and signs that part cases, outside of brackets, and the text between them."""
    found: list[tuple[str, Tokens]] = []
    run: list[Token] = []
    for k, (token, level) in enumerate(zip(tokens, levels(tokens), strict=True)):
        kind = _kind(tokens, k, words) if level == 0 else ""
        if not kind:
            run.append(token)
            continue
        if run:
            found.append(("text", run))
        found.append((kind, [token]))
        run = []
    return [*found, ("text", run)] if run else found


def _kind(tokens: Tokens, k: int, words: Words) -> str:
    """What a token does between cases: if, else, part, or nothing."""
    token, after = tokens[k], tokens[k + 1] if k + 1 < len(tokens) else None
    if token.kind == "line" or (token.kind == "op" and token.text in ("&", ";")):
        return "part"
    if token.kind == "op" and token.text == ",":
        return "" if is_decimal_comma(tokens, k) else "part"
    if _is_word(token, ELSE, words):
        return "else"
    called = token.text == "where" and after is not None and after.text == "("
    return "if" if _is_word(token, IF, words) and not called else ""


def _nest(branches: list[Branch], value: Value) -> ast.expr:
    """The branches as nested choices."""
    last = branches[-1]
    otherwise = _zero_by_zero(last.value[-1].end)
    if last.condition is None:
        otherwise, branches = _read(last.value, value), branches[:-1]
    for branch in reversed(branches):
        assert branch.condition is not None
        found = _read(branch.value, value)
        for alternative in reversed(_split(branch.condition, OR)):
            test = _condition(alternative, value)
            name = _place(ast.Name("where", ast.Load()), branch.value)
            otherwise = _place(ast.Call(name, [test, found, otherwise], []), branch.value)
    return otherwise


def _read(tokens: Tokens, value: Value) -> ast.expr:
    said = "".join(t.text.lower() for t in tokens)
    return _zero_by_zero(tokens[-1].end) if said in UNDEFINED else value(tokens)


def _zero_by_zero(at: int) -> ast.expr:
    """0/0: no value."""
    end = [Token("end", "", at, at)]
    zeros = [_place(ast.Constant(0), end) for _ in range(2)]
    return _place(ast.BinOp(zeros[0], ast.Div(), zeros[1]), end)


def _place(node: ast.expr, tokens: Tokens) -> ast.expr:
    node.lineno = node.end_lineno = 1
    node.col_offset, node.end_col_offset = tokens[0].start, tokens[-1].end
    return node


def _condition(tokens: Tokens, value: Value) -> ast.expr:
    """A condition whose parts all hold: `0 < x < 1` and `x > 0 and y > 0` are products."""
    tests: list[ast.expr] = []
    for part in _split(tokens, AND):
        places = [k for k, t in enumerate(part) if t.kind == "op" and t.text in COMPARED]
        sides = [part[a + 1 : b] for a, b in pairwise([-1, *places, len(part)])]
        for left, right, at in zip(sides, sides[1:], places, strict=False):
            sign = part[at]._replace(text="==") if part[at].text == "=" else part[at]
            tests.append(value([*left, sign, *right]))
    found = tests[0]
    for test in tests[1:]:
        found = _place(ast.BinOp(found, ast.Mult(), test), tokens)
    return found


def _is_word(token: Token, among: frozenset[str], words: Words) -> bool:
    meant = words.meaning(token.text) is not None and token.text != "where"
    return token.kind == "word" and token.text in among and not meant


def _has(tokens: Tokens, signs: frozenset[str]) -> bool:
    return any(t.kind == "op" and t.text in signs for t in tokens)


def _split(tokens: Tokens, at: frozenset[str]) -> list[Tokens]:
    """What such words part."""
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.text.lower() in at:
            found.append([])
        else:
            found[-1].append(token)
    return [each for each in found if each]
