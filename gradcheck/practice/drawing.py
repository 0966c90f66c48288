"""Candidates for problems: the rules' templates expanded, and inputs that are easily written.

The rules of differentiation are grammars, which stand in `rules.yaml`.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import gcd
from random import Random
from typing import Any

from gradcheck.documents import read_yaml
from gradcheck.texts.notation import write_latex

WORD = re.compile(r"<(\w+)>")
TERMS = re.compile(r"\b(\d+)\*x(?:\*\*\d+)? [+-] (\d+)\b(?!\.)")  # 6*x**2 + 3, 6*x - 3*x
TURNED = re.compile(r"\b(\d+) [+-] (\d+)\*x")
VALUES = ("0.4", "0.6", "0.7", "0.8", "1.2", "1.3", "1.4", "1.6")
CONSTANTS = ("2", "3", "4", "5")
SHAPES: Mapping[str, tuple[int, ...]] = {"X": (3, 2), "Y": (3, 2), "w": (2,), "v": (3,)}
LEAVES = ("x", "y", "X", "w")
# Operations in a textbook's exercise and in its answer, by level. Counted in hand-written sets
# before the first problem was drawn: one rule has at most 4, an exam's problem some 10; an answer
# of more than 30 operations does not stand on one line.
LONGEST_FUNCTION: Mapping[int, int] = {1: 5, 2: 8, 3: 11}
LONGEST_ANSWER: Mapping[int, int] = {1: 12, 2: 20, 3: 30}
LEVELS = (1, 2, 3)


@dataclass(frozen=True)
class Kind:
    """Problems of one kind: templates by level, and the mistakes that every one must reveal.

    `rule` is the rule of differentiation that they exercise, `title` what a student reads. `also`
    are mistakes that many of them reveal too, where a problem for such a mistake is asked.
    """

    rule: str
    title: str
    levels: Mapping[int, tuple[str, ...]]
    mistakes: tuple[str, ...]
    also: tuple[str, ...]

    def knows(self, mistake: str) -> bool:
        return mistake in self.mistakes or mistake in self.also


_FILE: Any = read_yaml((files("gradcheck") / "practice" / "rules.yaml").read_bytes()).value


def _make_kind(rule: Mapping[str, str], said: Mapping[str, Sequence[str]]) -> Kind:
    groups = _FILE["groups"]
    levels = {level: tuple(said[f"level {level}"]) for level in LEVELS}
    mistakes, also = (
        tuple(id for name in said.get(key, ()) for id in groups.get(name, (name,)))
        for key in ("mistakes", "also")
    )
    return Kind(rule["name"], rule["title"], levels, mistakes, also)


PIECES: Mapping[str, Sequence[str]] = _FILE["pieces"]
RULES: Mapping[str, Sequence[Kind]] = {
    rule["name"]: [_make_kind(rule, said) for said in rule["kinds"]] for rule in _FILE["rules"]
}


# -- a candidate -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A program of a kind, with the values of its inputs as they are written in a file."""

    kind: Kind
    level: int
    program: str
    inputs: Mapping[str, str]


def draw_candidate(kind: Kind, level: int, random: Random) -> Candidate:
    """Draw a template of a kind and level, what its words stand for, and the inputs."""
    template = random.choice(kind.levels[level])
    program = expand(template, random)
    while not tidy(program):
        program = expand(template, random)
    names = sorted({n.id for n in ast.walk(ast.parse(program)) if isinstance(n, ast.Name)})
    numbers = random.sample(VALUES, len(VALUES)), random.sample(CONSTANTS, len(CONSTANTS))
    inputs = {name: _draw_value(name, *numbers) for name in names if name in "axykXYwv"}
    return Candidate(kind, level, program, inputs)


def expand(template: str, random: Random) -> str:
    """The template with every word in angle brackets replaced, until there is none."""
    return WORD.sub(lambda word: expand(random.choice(PIECES[word[1]]), random), template)


def tidy(program: str) -> bool:
    """Whether no sum of two terms has a common factor that everybody would take out first."""
    pairs = [*TERMS.findall(program), *TURNED.findall(program)]
    return all(gcd(int(a), int(b)) == 1 for a, b in pairs)


def count_operations(text: str) -> int:
    nodes = ast.walk(ast.parse(text, mode="eval"))
    return sum(isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call) for node in nodes)


def _draw_value(name: str, values: list[str], constants: list[str]) -> str:
    """A short decimal, a small whole number that is no variable, or a shape; no number twice."""
    if name in SHAPES:
        fixed = "" if name in LEAVES else ", requires_grad: false"
        return f"{{shape: {list(SHAPES[name])}{fixed}}}"
    if name in LEAVES:
        return values.pop()
    return f"{{value: {constants.pop()}, requires_grad: false}}"


NONE: Mapping[str, str] = {}


def write_down(
    drawn: Candidate,
    id: str,
    right: Mapping[str, str] = NONE,
    wrong: Sequence[tuple[str, str, str]] = (),
) -> str:
    """The problem as YAML, with its right answer and (part, answer, mistake) as self-tests."""
    inputs = ", ".join(f"{name}: {value}" for name, value in drawn.inputs.items())
    lines = [
        f"id: {id}",
        f"title: {drawn.kind.title}",
        f"prompt: {_quote(write_task(drawn))}",
        f"inputs: {{{inputs}}}",
        f"program: {_quote(drawn.program)}",
    ]
    if right:
        lines += ["right:", f"  - {_write_mapping(right)}"]
    if wrong:
        lines += ["wrong:"]
        lines += [f"  - {{answer: {_write_mapping({p: a})}, mistake: {m}}}" for p, a, m in wrong]
    return "".join(f"{line}\n" for line in lines)


def write_task(drawn: Candidate) -> str:
    """What the student reads: the function as mathematics, and by what to differentiate."""
    by = [f"${name}$" for name in drawn.inputs if name in LEAVES]
    fixed = [f"${name}$" for name in drawn.inputs if name not in LEAVES]
    several = "partial derivatives" if len(by) > 1 else "derivative"
    kind = "gradient" if any("shape" in value for value in drawn.inputs.values()) else several
    words = f"Give the {kind} of ${write_latex(drawn.program)}$ by {_join_names(by)}."
    if not fixed:
        return words
    return f"{words} {_join_names(fixed)} {'are constants' if len(fixed) > 1 else 'is a constant'}."


def _join_names(names: Sequence[str]) -> str:
    """`x`, `x and y`, `x, y and z`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def to_set(title: str, entries: Sequence[str]) -> str:
    blocks = [entry.rstrip("\n").replace("\n", "\n    ") for entry in entries]
    return "".join([f"title: {title}\nproblems:\n", *(f"  - {block}\n" for block in blocks)])


def _write_mapping(texts: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {_quote(text)}" for name, text in texts.items()) + "}"


def _quote(text: str) -> str:
    """A text that YAML reads as it is, in quotes where it would not be one."""
    plain = text.replace(" ", "").isidentifier() and text not in ("y", "n")
    return text if plain else json.dumps(text, ensure_ascii=False)
