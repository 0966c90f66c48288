"""Typed answers read over the names that the tests of answers share."""

import re
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from gradcheck.answers import FUNCTIONS, Formula, read_formula
from gradcheck.errors import Complaint, TextError
from gradcheck.language.kinds import FORMULAS

NAMES = ("x", "y", "a", "n", "theta", "x_1", "x2", "X", "W", "b", "y_true", "aa")


def read(text: str, names: Collection[str] = NAMES) -> Formula:
    return read_formula(text, names=names, functions=FUNCTIONS | FORMULAS.functions)


def complaint(text: str, names: Collection[str] = NAMES) -> Complaint:
    try:
        read(text, names)
    except TextError as error:
        (only,) = error.complaints
        return only
    raise AssertionError(f"{text} was read")


# -- tables of what people type, beside what it means: `tests/answers/*.txt`, written by hand ------


FOLDER = Path(__file__).parents[1] / "answers"
INVISIBLE = {
    "nbsp": "\u00a0",
    "thin": "\u2009",
    "narrow": "\u202f",
    "zero": "\u200b",
    "bom": "\ufeff",
    "apply": "\u2061",
    "times": "\u2062",
    "shy": "\u00ad",
    "tab": "\t",
    "ff": "\f",
    "bs": "\b",
    "nl": "\n",
}


class Fresh(NamedTuple):
    """A question as `check` takes it, an answer, and whether a teacher calls it right."""

    expression: str
    given: tuple[str, ...]
    wrt: str
    typed: str
    right: bool


class Sized(NamedTuple):
    shape: tuple[int, ...]


def spellings() -> list[tuple[Collection[str], str, str]]:
    """The inputs, a typed formula, and its echo.

    A line that begins with @ has the inputs of the rows below it, with their shapes where those
    are known: `X=5x3`, `y=` of a single number.
    """
    listed = []
    for inputs, line in lines_under("spellings"):
        typed, understood = line.split(" => ")
        listed.append((named(inputs), unhide(typed.strip()), understood.strip()))
    return listed


def lines_under(name: str) -> Iterator[tuple[str, str]]:
    """Each line of a table, after the names of the inputs above it."""
    inputs = ""
    for line in lines(name):
        if line.startswith("@ "):
            inputs = line[2:]
        else:
            yield inputs, line


def named(inputs: str) -> Collection[str]:
    parts = [part.partition("=") for part in inputs.split()]
    if "=" not in inputs:
        return tuple(name for name, _, _ in parts)
    return {n: Sized(tuple(map(int, re.findall(r"\d+", shape)))) for n, _, shape in parts}


def unhide(typed: str) -> str:
    """A text with what cannot be seen, written {nl}, {tab} and the like."""
    return re.sub(r"\{([a-z]+)\}", lambda found: INVISIBLE.get(found[1], found[0]), typed)


def refused() -> list[tuple[Collection[str], int, str, str]]:
    """The inputs, the column of a fault, a typed text, and a phrase of what is said of it."""
    listed = []
    for inputs, line in lines_under("refused"):
        column, *typed, phrase = line.split(" | ")
        listed.append((named(inputs), int(column), " | ".join(typed).strip(), phrase.strip()))
    return listed


def typed_answers() -> list[tuple[tuple[str, ...], str, str]]:
    """The names of the problem, a meaning in Python, and a spelling of it.

    A line without indentation is a meaning, after the names if they are not just x; the indented
    lines are its spellings, parted by ¦, with {tab}, {nbsp} and the like for what cannot be seen.
    """
    listed, names, meaning = [], ("x",), ""
    for line in lines("typed_answers"):
        if not line.startswith(" "):
            head, _, meaning = line.rpartition(": ")
            names = tuple(head.split()) or ("x",)
            continue
        for typed in line.strip().split(" ¦ "):
            listed.append((names, meaning, unhide(typed)))
    return listed


def fresh_answers() -> list[Fresh]:
    """Answers with a teacher's verdict, written before any reader was tried on them.

    A line without indentation is a question: the expression, its inputs, and by which of them,
    parted by ¦. Below it stand right answers after `+`, wrong ones after `-`.
    """
    found: list[Fresh] = []
    expression, given, wrt = "", (), ""
    for line in lines("fresh_answers"):
        if line.startswith(" "):
            sign, _, typed = line.strip().partition(" ")
            found.append(Fresh(expression, given, wrt, unhide(typed), sign == "+"))
            continue
        expression, inputs, wrt = (*[part.strip() for part in line.split("¦")], "")[:3]
        given = tuple(shlex.split(inputs))
    return found


def lines(name: str) -> list[str]:
    text = (FOLDER / f"{name}.txt").read_text("utf-8")
    return [line for line in text.split("\n") if line and not line.startswith("## ")]
