r"""Lines of working: steps below each other, or joined by equals signs; the last is the answer.

A step may hold derivatives that are not yet taken, `d/dx(x^2)`, `\frac{d}{dx}(x^2)`, `(x^2)'`. What
stands left of an equals sign as a name, `f'(x) =`, is no step; lines that are about another name
(`u = x^2`) belong to no chain of equal steps, and are left out.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gradcheck.answers.wrapping import NAMED, PRIME, names_a_derivative

ROUGHLY = re.compile(r"(?<=\S)\s*(?:≈|\\approx\b).*", re.DOTALL)  # a number at some point
BREAK = re.compile(r"\\\\|\n")
EQUALS = re.compile(r"(?<![<>=!:])=(?![=>])|⟹|\\Rightarrow|=>")
FRAME = re.compile(r"\\(?:begin|end)\{\w+\*?\}|\\q?quad\b|&|\$")
OPERATOR = re.compile(
    r"\\[dt]?frac\s*\{\s*(?:d|\\partial)\s*\}\s*\{\s*(?:d|\\partial)\s*(\w+)\s*\}|"
    r"(?:\bd|∂|\\partial\s?)\s?/\s?(?:d|∂|\\partial\s?)\s?([A-Za-z]\w*)"
)
PRIMED = re.compile(r"\s*(?:'|′|’|\^\{?\\prime\}?)")
BRACKET_PRIMED = re.compile(rf"[)\]}}]{PRIMED.pattern}")
GOES_ON = frozenset("+*/^·×⋅")  # a formula does not begin with these
ENDS = GOES_ON | {"-", "−"}
SIGNS = re.compile(r"[*/·×]|\\cdot|\\times")
CLOSING = {"(": ")", "[": "]", "{": "}"}


PLAIN = re.compile(r"[^\\\n=≈⟹&$]*")  # without anything that ends a step, or frames it


@dataclass(frozen=True)
class Step:
    """One step: its text, where it begins in what was typed, its line (from 1), what names it."""

    text: str
    start: int
    line: int
    label: str = ""


@dataclass(frozen=True)
class Untaken:
    """A step with a name in place of each derivative that is not yet taken: (text, variable)."""

    text: str
    derivatives: Mapping[str, tuple[str, str]] = field(default_factory=lambda: MappingProxyType({}))


def steps(typed: str, *, minus: bool = False) -> list[Step]:
    """The steps of an answer that lead to its last one; a single step is no working.

    A line that begins with a minus is a step of its own, unless `minus` says that it goes on.
    """
    found = [
        step
        for step in _all(typed, GOES_ON | {"-", "−"} if minus else GOES_ON)
        if step.text.strip()
    ]
    if not found:
        return []
    label = next((step.label for step in reversed(found) if step.label), "")
    return [step for step in found if step.label in ("", label)]


def _all(typed: str, going_on: Collection[str]) -> Iterator[Step]:
    """Every piece between line breaks and equals signs; the label of a line holds until another."""
    text = FRAME.sub(_blank, typed)
    label = ""
    for number, start, stop in _lines(text, going_on):
        pieces = list(between(text, EQUALS, start, stop))
        named = [p for p in pieces[:-1] if _names(text[slice(*p)])]
        if pieces and pieces[0] in named:
            label = re.sub(r"\s", "", text[slice(*pieces[0])])
        yield from (
            Step(BREAK.sub(_blank, ROUGHLY.sub("", text[a:b])), a, number, label)
            for a, b in pieces
            if (a, b) not in named
        )


def _blank(match: re.Match[str]) -> str:
    """Spaces in the place of what is left out: what stands behind it keeps its place."""
    return " " * len(match[0])


def _lines(text: str, going_on: Collection[str]) -> Iterator[tuple[int, int, int]]:
    """The lines with their numbers: one that begins with such a sign goes on with the one before.

    So does one after a line that ends with a sign. What the whole begins with is a bullet.
    """
    bullet = text.strip()[:1]
    number, start, stop = 1, 0, 0
    for n, (a, b) in enumerate(between(text, BREAK, 0, len(text)), 1):
        first, last = text[a:b].strip()[:1], text[start:stop].rstrip()[-1:]
        if not first:
            continue
        if n > 1 and not (first != bullet and first in going_on) and last not in ENDS:
            yield number, start, stop
            number, start = n, a
        stop = b
    yield number, start, stop


def between(text: str, sign: re.Pattern[str], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The places between signs that stand outside of brackets."""
    at, level = start, 0
    for match in re.finditer(rf"[()\[\]{{}}]|{sign.pattern}", text[:stop]):
        if match.start() < start:
            continue
        if match[0] in "([{" or match[0] in ")]}":
            level += 1 if match[0] in "([{" else -1
        elif level <= 0:
            yield at, match.start()
            at = match.end()
    yield at, stop


def _names(piece: str) -> bool:
    """Whether a piece is a name for what follows it: `f'(x)`, `dy/dx`, `u`."""
    bare = piece.strip()
    operator = OPERATOR.match(bare)
    if operator and bare[operator.end() :].strip()[:1] in CLOSING:
        inner = bare[operator.end() :].strip()[1:-1].strip()
        return bool(NAMED.fullmatch(inner)) and len(inner) > 1
    if BRACKET_PRIMED.search(bare):
        return False
    return names_a_derivative(bare) or bool(NAMED.fullmatch(PRIME.sub("", bare)))


def untaken(text: str, variable: str) -> Untaken:
    """A step's derivatives that are not yet taken, each replaced by a name of its own.

    A prime stands for the derivative by `variable`. ValueError where it is unclear of what.
    """
    found: dict[str, tuple[str, str]] = {}
    while (there := _next(text)) is not None:
        place, inner, by = there
        name = f"derivative_{len(found)}"
        found[name] = (text[inner[0] : inner[1]], by or variable)
        text = f"{text[: place[0]]} {name} {text[place[1] :]}"
    return Untaken(text, found)


Place = tuple[int, int]


def _next(text: str) -> tuple[Place, Place, str] | None:
    """The first derivative in a text: its place, that of what is differentiated, and by what."""
    operator = OPERATOR.search(text)
    if operator is not None:
        inner, stop = _operand(text, operator.end())
        return (operator.start(), stop), inner, operator[1] or operator[2]
    for closing in re.finditer(r"[)\]}]", text):
        prime = PRIMED.match(text, closing.end())
        if prime is not None:
            start = _opening(text, closing.start())
            return (start, prime.end()), (start + 1, closing.start()), ""
    return None


def _operand(text: str, at: int) -> tuple[Place, int]:
    """What a `d/dx` stands before: a bracket, or all up to the next sum; and where it ends.

    ValueError where a sign of multiplication leaves open whether it still belongs to that.
    """
    at += len(text[at:]) - len(text[at:].lstrip())
    stop = _end(text, at)
    bracket = text[at : at + 1] in CLOSING
    if not bracket and SIGNS.search(text, at, stop):
        raise ValueError(text)
    return ((at + 1, stop - 1) if bracket else (at, stop)), stop


def _end(text: str, at: int) -> int:
    """Where a bracket that opens here is closed; else where the product that begins here ends."""
    level, bracket = 0, text[at : at + 1] in CLOSING
    for k in range(at, len(text)):
        level += (text[k] in "([{") - (text[k] in ")]}")
        if level < 0 or (level == 0 and not bracket and text[k] in "+-" and k > at):
            return k
        if level == 0 and bracket:
            return k + 1
    if bracket:
        raise ValueError(text)
    return len(text)


def _opening(text: str, closing: int) -> int:
    """Where the bracket that is closed here was opened."""
    level = 0
    for k in range(closing, -1, -1):
        level += (text[k] in ")]}") - (text[k] in "([{")
        if level == 0:
            return k
    raise ValueError(text)
