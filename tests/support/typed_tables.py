"""Tables of what people type, beside what it means: `tests/answers/*.txt`, written by hand."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

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


def spellings() -> list[tuple[str, str]]:
    """Typed formulas, and the echo of each."""
    rows = (line.split(" => ") for line in lines("spellings"))
    return [(typed.strip(), understood.strip()) for typed, understood in rows]


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
            shown = re.sub(r"\{([a-z]+)\}", lambda m: INVISIBLE.get(m[1], m[0]), typed)
            listed.append((names, meaning, shown))
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
            found.append(Fresh(expression, given, wrt, typed, sign == "+"))
            continue
        expression, inputs, wrt = (*[part.strip() for part in line.split("¦")], "")[:3]
        given = tuple(shlex.split(inputs))
    return found


def lines(name: str) -> list[str]:
    """The lines of a table; `##` is a heading."""
    text = (FOLDER / f"{name}.txt").read_text("utf-8")
    return [line for line in text.split("\n") if line and not line.startswith("## ")]
