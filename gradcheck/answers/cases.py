r"""Formulas by cases, as where(condition, value, otherwise).

`1 if x > 0 else 0`, `1 for x > 0, 0 otherwise`, `{1, x > 0; 0, x < 0}`, a line for each case, and
the rows of `\begin{cases}`. Where no case holds there is no value: 0/0.
"""

import ast
from collections.abc import Callable, Container

from gradcheck.answers.tokens import (
    UNEQUAL,
    Token,
    Tokens,
    as_set,
    count_levels,
    find_closing,
    parts_digits,
    split,
)
from gradcheck.answers.tree import COMPARED
from gradcheck.answers.words import Words

IF = as_set("if for when at where with provided whenever wenn falls für si pour")
ELSE = as_set("otherwise elsewhere else sonst sinon altrimenti")
BEFORE = IF | ELSE
OR = as_set("or oder ou")
AND = as_set("and und et")
UNDEFINED = as_set("undefined dne notdefined isundefined doesnotexist")
OPPOSITE = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "=": "!=", "!=": "="}

Read = Callable[[Tokens], ast.expr]
Branch = tuple[Tokens, Tokens | None]
"""A value and its condition; None where it holds everywhere else."""


def by_cases(
    tokens: Tokens, words: Words, value: Read, condition: Read, *, environment: bool = False
) -> ast.expr | None:
    """The nested where(...) of a formula by cases; None where it is none.

    In an environment, or where there are several, a condition may stand without its `if`.
    """
    if not _has(tokens, COMPARED):
        return None
    if len(tokens) > 2 and tokens[0].text == "{" and 0 not in list(count_levels(tokens))[:-1]:
        tokens = tokens[1:-1]

    def nothing(held: Tokens) -> ast.expr:
        end = held[-1].end
        return value([Token("op" if text == "/" else "number", text, end, end) for text in "0/0"])

    def parts(k: int, _: Tokens) -> bool:
        if tokens[k].text in AND:  # `1 when x > 0 and 0 when x < 0`
            after = [t.text for t in tokens[k + 1 :] if t.text in IF | UNEQUAL]
            return bool(after) and after[0] in IF
        return bool(_sort(tokens[k], words, tokens[k + 1 : k + 2])) and not parts_digits(tokens, k)

    ends = {"", "\n", "&", ";", ","}  # a full stop before one of these says nothing
    texts = [*(t.text for t in tokens[1:]), ""]
    tokens = [
        t for t, after in zip(tokens, texts, strict=True) if t.text != "." or after not in ends
    ]
    runs = [(_sort(sign, words), run) for sign, run in split(tokens, parts)]
    runs = [(sort, run) for sort, run in runs if run or sort in ("if", "else")]
    several = sum(t.text in UNEQUAL for t in tokens) > 1 or [s for s, _ in runs] == ["", "part"]
    bare = COMPARED if environment else UNEQUAL if several else ()
    branches = _pair(runs, words, bare)
    if not branches or branches[0][1] is None:
        return None
    conditions = [tests for _, tests in branches if tests is not None]
    if len(conditions) == len(branches):
        if not any(_has(each, UNEQUAL) for each in conditions):
            return None  # `2u where u = x^2`, `4 for x = 2`
        before, last = ([t.text for t in each] for each in [conditions[0], *conditions][-2:])
        if len(branches) > 1 and last == [OPPOSITE.get(text, text) for text in before]:
            branches[-1] = branches[-1][0], None

    otherwise = nothing(branches[-1][0]) if branches[-1][1] else value(branches.pop()[0])
    for held, tests in reversed(branches):
        alternatives = _split_alternatives(tests or ())
        if not all(_has(each, COMPARED) for each in alternatives):
            return None
        nowhere = "".join(t.text.lower() for t in held) in UNDEFINED
        found = nothing(held) if nowhere else value(held)
        for test in reversed(alternatives):
            call = ast.Call(ast.Name("where", ast.Load()), [condition(test), found, otherwise], [])
            for node in (call, call.func):
                node.lineno, node.col_offset, node.end_col_offset = 1, held[0].start, held[-1].end
            otherwise = call
    return otherwise


def frame_cases(tokens: Tokens) -> list[Token]:
    """Brackets around cases are those of an environment: `2x*(1 if x > 0 else -1)`."""
    found = [*tokens]
    for opening in (k for k, token in enumerate(tokens) if token.text == "("):
        stop = find_closing(tokens, opening)
        inside = tokens[opening + 1 : stop]
        own = [t.text for t, level in zip(inside, count_levels(inside), strict=True) if not level]
        if tokens[stop].text == ")" and "if" in own and "else" in own:
            found[opening] = tokens[opening]._replace(text="⦃")
            found[stop] = tokens[stop]._replace(text="⟧")
    return found


def _split_alternatives(tests: Tokens) -> list[list[Token]]:
    return [run for _, run in split(tests, lambda k, _: tests[k].text.lower() in OR) if run]


def _pair(
    runs: list[tuple[str, list[Token]]], words: Words, bare: Container[str]
) -> list[Branch] | None:
    """Each value with the condition that follows it; None where something is left over."""
    found: list[Branch] = []
    held: Tokens = ()
    due = False  # a condition, for there was an `if`
    for sort, run in runs:
        if sort == "if":
            if due or not held:
                return None
            due = True
        if run and held:
            if not (due or compares(run, bare)):
                return None
            found.append((held, run))
            held, due = (), False
        elif run:
            if compares(run, UNEQUAL):
                return None
            behind = _read_condition_behind(run, words, sure=len(runs) == 1)
            found += [behind] if behind else []
            held = () if behind else run
    if held and (due or all(sort != "else" for sort, _ in runs)):
        return None
    return [*found, (held, None)] if held else found


def _read_condition_behind(tokens: Tokens, words: Words, *, sure: bool) -> Branch | None:
    """`1 (x > 0)`: what holds, and its condition in brackets; `sure` of what is no factor."""
    opening = max((k for k, t in enumerate(tokens) if t.text == "("), default=0)
    inside = tokens[opening + 1 : -1]
    spaced = opening > 0 and tokens[opening].spaced and tokens[-1].text == ")"
    if not (spaced and _has(inside, UNEQUAL)):
        return None
    said = _sort(inside[0], words) == "if"
    if sure and not (said or any(t.text == "!=" for t in inside)):
        return None
    return tokens[:opening], inside[said:]


def _sort(token: Token, words: Words, after: Tokens = ()) -> str:
    if token.text in ("\n", "&", ";", ","):
        return "part"
    if token.text == "where" and token.kind == "word":
        return "" if after and after[0].text == "(" else "if"
    if token.text not in BEFORE or words.meaning(token.text):
        return ""
    return "if" if token.text in IF else "else"


def _has(tokens: Tokens, signs: Container[str]) -> bool:
    return any(t.text in signs for t in tokens)


def compares(tokens: Tokens, signs: Container[str]) -> bool:
    return any(t.text in signs and not k for t, k in zip(tokens, count_levels(tokens), strict=True))
