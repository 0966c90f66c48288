"""The gradients of arrays, a line each: shape, norm, widest bar, verdict, closed form; entries."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console, ConsoleOptions
from rich.text import Text

from gradcheck.report.figures import bar, plain
from gradcheck.texts import Formulas, PathForm
from gradcheck.texts.notation import Notation
from gradcheck.verdict.consult import PartVerdict, Verdict

MOST = 8  # rows and columns of a matrix that is shown, and an ellipsis beyond
BUDGET = 24  # lines of entries under one problem; beyond, the lines alone fill a screen
DIGITS = 5
SLICES = 2
SIGNS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("-", "−"))
OPERATORS = "+-−*/·⊙@=,"
LEAST_CHOICE = 10  # columns: a number in so many digits, its sign, and a blank


@dataclass(frozen=True)
class Gradients:
    """What is said of every array's gradient; on a terminal in signs, in a pipe in NumPy's text.

    `all_entries` shows every entry, however many there are.
    """

    verdict: Verdict
    shapes: Mapping[str, tuple[int, ...]]
    forms: Formulas
    styles: Mapping[str, str]
    all_entries: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """A line or two a tensor, and its entries where there is room for all of them."""
        signs = in_signs(console)
        notation = Notation(self.forms.axes, self.forms.sizes) if signs else None
        width = options.max_width
        parts = [self.verdict.parts[name] for name in self.shapes]
        blocks = {part.name: self._entries(part, width, signs) for part in parts}
        shown = self.all_entries or sum(map(len, blocks.values())) <= BUDGET
        for part in parts:
            yield from self._line(part, notation, width)
            if shown:
                yield from (Text(f"    {line}", style="dim") for line in blocks[part.name])
        notes = [legend(notation)] if notation is not None and notation.sizes else []
        notes += [] if shown else [Text("every entry: --entries", style="dim")]
        if notes:
            yield Text("; ", style="dim").join(notes)

    def _line(self, part: PartVerdict, notation: Notation | None, width: int) -> Iterator[Text]:
        times = "x" if notation is None else "×"
        shape = times.join(map(str, self.shapes[part.name])) or "scalar"
        line = Text.assemble((_label(part.name, notation), "bold"), f"  {shape}")
        if part.gradient is not None and part.gradient.finite:
            norm = plain(float(np.linalg.norm(part.gradient.value)), 6)
            line.append(f"  norm {norm}")
            line.append(f"  {bar(self._widest(part.name))}", style="dim")
        line.append(f"  {part.verdict}", style=self.styles[part.verdict])
        text = self._form(part.name, signs=notation is not None)
        if not text:
            yield line
            return
        if line.cell_len + len(text) + 4 <= width:
            yield line.append(f"  {text}")
            return
        yield line
        yield from fold_lines(text, width)

    def _form(self, name: str, *, signs: bool) -> str:
        """`= X.T @ R`; nothing without."""
        text = self.forms.texts.get(name, "")
        text = self.forms.signs.get(name, text) if signs else text
        return text and f"= {text}"

    def _widest(self, name: str) -> float:
        """The widest error bar that any opinion has on an entry."""
        opinions = self.verdict.opinions.values()
        known = [o.gradients[name].error for o in opinions if name in o.gradients]
        return max((float(np.max(error, initial=0.0)) for error in known), default=np.inf)

    def _entries(self, part: PartVerdict, width: int, signs: bool) -> list[str]:
        if part.gradient is None:
            return []
        dots = "…" if signs else "..."
        return list(matrix(part.gradient.value, width - 4, dots, self.all_entries))


def derivative(part: str, sign: str = "d", name: Callable[[str], str] = str) -> str:
    """`d/dx`; of a block `x.y` of second derivatives `d²/dx dy`, or `d2/dx2` where it is `x.x`."""
    first, _, second = part.partition(".")
    if not second or second == "grad":
        return f"{sign}/{sign}{name(part)}"
    high = "²" if sign == "∂" else "2"
    if first == second:
        return f"{sign}{high}/{sign}{name(first)}{high}"
    return f"{sign}{high}/{sign}{name(first)} {sign}{name(second)}"


def in_signs(console: Console) -> bool:
    """Whether mathematics is shown in signs: on a terminal that has them."""
    return console.is_terminal and "utf" in console.encoding.lower()


def legend(notation: Notation) -> Text:
    """What `n` stands for."""
    words = dict.fromkeys(notation.sizes.values())
    sizes = [next(s for s, each in notation.sizes.items() if each == letter) for letter in words]
    pairs = (f"{letter} = {size}" for letter, size in zip(words, sizes, strict=True))
    return Text(", ".join(pairs), style="dim")


@dataclass(frozen=True)
class FormulaLine:
    """A closed form of a single number: in signs on a terminal, as SymPy has it in a pipe."""

    label: str
    found: PathForm

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """One line."""
        text, where = self.found.text, self.found.where
        if in_signs(console):
            text, where = Notation({}).write(text), _condition(where)
        yield Text(f"{self.label} = {text}{where and f'  for {where}'}")


def _condition(text: str) -> str:
    """`x > 0` in the signs that people write."""
    for plain_sign, sign in SIGNS:
        text = text.replace(plain_sign, sign)
    return re.sub(r"sqrt\((\w+)\)", r"√\1", text).replace("*", "·")


def _label(name: str, notation: Notation | None) -> str:
    return derivative(name) if notation is None else derivative(name, "∂", notation.name)


def fold_lines(text: str, width: int) -> Iterator[Text]:
    """A long formula on several lines, indented further after the first.

    It is broken before a sign, as far outside of brackets as the last half of a line allows.
    """
    room, indent = max(width - 6, 20), "    "
    while len(text) > room and (at := _break(text, room)) is not None:
        yield Text(f"{indent}{text[:at]}")
        text, indent = text[at + 1 :], "      "
    yield Text(f"{indent}{text}")


def _break(text: str, room: int) -> int | None:
    """The blank at which a line ends."""
    found: list[tuple[int, int]] = []
    depth = square = 0
    for k, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        square += (letter == "[") - (letter == "]")
        if letter == " " and not square and text[k - 1] not in OPERATORS:
            found.append((depth, k))
    inside = [(depth, k) for depth, k in found if room // 2 <= k <= room]
    if inside:
        return min(inside, key=lambda place: (place[0], -place[1]))[1]
    early = [k for _, k in found if 8 <= k <= room] or [k for _, k in found if k > room][:1]
    return early[-1] if early else None


def matrix(values: Any, width: int, dots: str, everything: bool = False) -> Iterator[str]:
    """Rows of numbers in columns; of more than two axes slice by slice."""
    if values.ndim > 2:
        last = len(values) if everything else min(len(values), SLICES)
        for k in range(last):
            yield f"[{k}]"
            yield from matrix(values[k], width, dots, everything)
        if last < len(values):
            yield f"{dots} ({len(values)} of them)"
        return
    rows = np.atleast_2d(values)
    most = max(width // LEAST_CHOICE, 1)
    across = _chosen(rows.shape[1], rows.shape[1] if everything else min(MOST, most))
    down = _chosen(rows.shape[0], rows.shape[0] if everything else MOST)
    cells = [
        [dots if i is None or j is None else _number(rows[i, j]) for j in across] for i in down
    ]
    wide = [max(len(row[j]) for row in cells) for j in range(len(across))]
    for row in cells:
        yield "  ".join(cell.rjust(w) for cell, w in zip(row, wide, strict=True))


def _number(value: float) -> str:
    return plain(float(value) + 0.0, DIGITS)


def _chosen(count: int, most: int) -> Sequence[int | None]:
    """The places that are shown: all, or the first and the last with a gap (None) between."""
    if count <= most:
        return range(count)
    head = max(most - 2, 1)
    return [*range(head), None, count - 1]
