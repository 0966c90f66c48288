r"""Formulas by cases, as where(condition, value, otherwise).

`1 if x > 0 else 0`, `1 for x > 0, 0 otherwise`, `{1, x > 0; 0, x < 0}`, a line for each case, and
the rows of `\begin{cases}`. Where no case holds there is no value: 0/0.
"""

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gradcheck.answers.characters import as_set
from gradcheck.answers.tokens import UNEQUAL, Token, levels, split
from gradcheck.answers.words import Words

IF = as_set("if for when at where with provided whenever wenn falls für si pour")
ELSE = as_set("otherwise elsewhere else sonst sinon altrimenti")
OR = as_set("or oder ou")
UNDEFINED = as_set("undefined dne notdefined isundefined doesnotexist")
OPPOSITE = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "=": "!=", "!=": "="}
COMPARED = UNEQUAL | {"=", "=="}

Tokens = Sequence[Token]
Read = Callable[[Tokens], ast.expr]


class Branch(NamedTuple):
    """A value and its condition; None where it holds everywhere else."""

    value: Tokens
    condition: Tokens | None


def by_cases(
    tokens: Tokens, words: Words, value: Read, condition: Read, *, environment: bool = False
) -> ast.expr | None:
    """The nested where(...) of a formula by cases; None where it is none.

    In an environment, or where there are several, a condition may stand without its `if`.
    """
    braced = len(tokens) > 2 and tokens[0].text == "{" and 0 not in list(levels(tokens))[:-1]
    tokens = tokens[1:-1] if braced else tokens
    runs = _runs(tokens, words)
    several = sum(t.text in UNEQUAL for t in tokens) > 1 or [kind for kind, _ in runs] == [
        "",
        "part",
    ]
    bare = COMPARED if environment else UNEQUAL if several else frozenset[str]()
    branches = _branches(runs, words, bare)
    if not branches or branches[0].condition is None:
        return None
    conditions = [b.condition for b in branches if b.condition is not None]
    total = len(conditions) < len(branches)
    if not total and not any(_has(each, UNEQUAL) for each in conditions):
        return None  # `2u where u = x^2`, `4 for x = 2`
    alternatives = [_alternatives(each) for each in conditions]
    if not all(_has(each, COMPARED) for found in alternatives for each in found):
        return None
    if not total and len(branches) > 1:
        before, last = ([t.text for t in each] for each in conditions[-2:])
        if last == [OPPOSITE.get(text, text) for text in before]:
            branches[-1] = Branch(branches[-1].value, None)

    otherwise = _zero_by_zero(branches[-1].value[-1].end)
    if branches[-1].condition is None:
        otherwise = value(branches.pop().value)
    for branch, tests in reversed([*zip(branches, alternatives, strict=False)]):
        said = "".join(t.text.lower() for t in branch.value)
        nowhere = _zero_by_zero(branch.value[-1].end)
        found = nowhere if said in UNDEFINED else value(branch.value)
        for test in reversed(tests):
            where = _place(ast.Name("where", ast.Load()), branch.value)
            choice = ast.Call(where, [condition(test), found, otherwise], [])
            otherwise = _place(choice, branch.value)
    return otherwise


def _branches(
    runs: list[tuple[str, Tokens]], words: Words, bare: frozenset[str]
) -> list[Branch] | None:
    found: list[Branch] = []
    held: Tokens = ()
    due = otherwise = False
    for kind, run in runs:
        otherwise |= kind == "else"
        if kind == "if" and (due or not held):
            return None
        due |= kind == "if"
        if run and held:
            if not (due or _compares(run, bare)):
                return None
            found.append(Branch(held, run))
            held, due = (), False
        elif run:
            if _compares(run, UNEQUAL):
                return None
            behind = _behind(run, words, sure=len(runs) == 1)
            found += [behind] if behind else []
            held = () if behind else run
    if held and (due or not otherwise):
        return None
    return [*found, Branch(held, None)] if held else found


def _runs(tokens: Tokens, words: Words) -> list[tuple[str, Tokens]]:
    """What stands between the words and signs that part cases, and which of them is before it."""
    parted = split(tokens, lambda k, _: bool(_kind(tokens[k], words, tokens[k + 1 : k + 2])))
    found = [(_kind(sign, words) if sign else "", run) for sign, run in parted]
    return [run for run in found if run[0] in ("if", "else") or run[1]]


def _behind(tokens: Tokens, words: Words, *, sure: bool) -> Branch | None:
    """`1 (x > 0)`: what holds, and its condition in brackets; `sure` of what is no factor."""
    opening = max((k for k, t in enumerate(tokens) if t.text == "("), default=0)
    inside = tokens[opening + 1 : -1]
    spaced = opening > 0 and tokens[opening].spaced and tokens[-1].text == ")"
    said = bool(inside) and _kind(inside[0], words) == "if"
    if not (spaced and _has(inside, UNEQUAL)):
        return None
    if sure and not (said or any(t.text == "!=" for t in inside)):
        return None
    return Branch(tokens[:opening], inside[1:] if said else inside)


def _kind(token: Token, words: Words, after: Tokens = ()) -> str:
    if token.kind == "line" or (token.kind == "op" and token.text in ("&", ";", ",")):
        return "part"
    if token.kind != "word" or token.text not in IF | ELSE:
        return ""
    if token.text == "where":
        return "" if after and after[0].text == "(" else "if"
    if words.meaning(token.text):
        return ""
    return "if" if token.text in IF else "else"


def _zero_by_zero(at: int) -> ast.expr:
    end = [Token("end", "", at, at)]
    zeros = [_place(ast.Constant(0), end) for _ in range(2)]
    return _place(ast.BinOp(zeros[0], ast.Div(), zeros[1]), end)


def _place(node: ast.expr, tokens: Tokens) -> ast.expr:
    node.lineno = node.end_lineno = 1
    node.col_offset, node.end_col_offset = tokens[0].start, tokens[-1].end
    return node


def _has(tokens: Tokens, signs: frozenset[str]) -> bool:
    return any(t.kind == "op" and t.text in signs for t in tokens)


def _compares(tokens: Tokens, signs: frozenset[str]) -> bool:
    places = zip(tokens, levels(tokens), strict=True)
    return any(level == 0 and t.text in signs for t, level in places)


def _alternatives(tokens: Tokens) -> list[Tokens]:
    parted = split(tokens, lambda k, _: tokens[k].text.lower() in OR)
    return [run for _, run in parted if run]
