"""Tables that fit their screen; the gradients of arrays, a line each, and their entries."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gradcheck.report.figures import format_bar, plain
from gradcheck.texts import Formulas, PathForm
from gradcheck.texts.notation import Notation
from gradcheck.values import Array
from gradcheck.verdict.consult import PartVerdict, Verdict

MOST, EDGE = 8, 3  # rows and columns that are shown, of larger arrays at either end
BUDGET = 24  # lines of entries under one problem; beyond, the lines alone fill a screen
DIGITS, LOOKED_AT = 5, 1_000  # of a number; entries that say how wide a column is
DEL, SIGNS = "∂", (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("-", "−"))


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

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """A line or two a tensor, and its entries where there is room for all of them."""
        signs = is_in_signs(console)
        notation = Notation({}, self.forms.sizes) if signs else None
        width = options.max_width
        parts = [self.verdict.parts[name] for name in self.shapes]
        blocks = {
            part.name: list_entries(part.gradient.value, width - 4, self.all_entries)
            for part in parts
            if part.gradient is not None
        }
        shown = self.all_entries or sum(map(len, blocks.values())) <= BUDGET
        for part in parts:
            yield from self._line(part, notation, width)
            if shown:
                yield from (Text(f"    {line}", style="dim") for line in blocks.get(part.name, ()))
        notes = [write_legend(notation)] if notation and notation.sizes else []
        notes += [] if shown else [Text("every entry: --entries", style="dim")]
        if notes:
            yield Text("; ", style="dim").join(notes)

    def _line(
        self, part: PartVerdict, notation: Notation | None, width: int
    ) -> Iterator[RenderableType]:
        times = "x" if notation is None else "×"
        shape = times.join(map(str, self.shapes[part.name])) or "scalar"
        name = name_derivative(part.name, *((DEL, notation.name) if notation else ()))
        line = Text.assemble((name, "bold"), f"  {shape}")
        if part.gradient is not None and part.gradient.finite:
            norm = plain(float(np.linalg.norm(part.gradient.value)), 6)
            line.append(f"  norm {norm}")
            line.append(f"  {format_bar(self._find_widest(part.name))}", style="dim")
        line.append(f"  {part.verdict}", style=self.styles[part.verdict])
        text = self.forms.texts.get(part.name, "")
        text = text if notation is None else self.forms.signs.get(part.name, text)
        yield from put_behind(line, text and f"  = {text}", width - 2)

    def _find_widest(self, name: str) -> float:
        opinions = self.verdict.opinions.values()
        known = [o.gradients[name].error for o in opinions if name in o.gradients]
        return max((float(np.max(error, initial=0.0)) for error in known), default=np.inf)


def name_derivative(part: str, sign: str = "d", name: Callable[[str], str] = str) -> str:
    """`d/dx`; of a block `x.y` of second derivatives `d²/dx dy`, or `d2/dx2` where it is `x.x`."""
    first, _, second = part.rpartition(".")
    if not first or second in ("grad", "weight", "bias"):
        return f"{sign}/{sign}{name(part)}"
    high = "²" if sign == DEL else "2"
    if first == second:
        return f"{sign}{high}/{sign}{name(first)}{high}"
    return f"{sign}{high}/{sign}{name(first)} {sign}{name(second)}"


def is_in_signs(console: Console) -> bool:
    """Whether mathematics is shown in signs: on a terminal that has them."""
    return console.is_terminal and "utf" in console.encoding.lower()


def write_legend(notation: Notation) -> Text:
    """What `n` stands for."""
    sizes: dict[str, str] = {}
    for size, letter in notation.sizes.items():
        sizes.setdefault(letter, size)
    return Text(", ".join(f"{letter} = {size}" for letter, size in sizes.items()), style="dim")


@dataclass(frozen=True)
class FormulaLine:
    """A closed form of a single number: in signs on a terminal, as SymPy has it in a pipe."""

    label: str
    found: PathForm

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        text, where = self.found.text, self.found.where
        if is_in_signs(console):
            text, where = Notation({}).write(text), _format_condition(where)
        yield Text(f"{self.label} = {text}{where and f'  for {where}'}")


def _format_condition(text: str) -> str:
    for plain_sign, sign in SIGNS:
        text = text.replace(plain_sign, sign)
    return re.sub(r"sqrt\((\w+)\)", r"√\1", text).replace("*", "·")


def list_entries(values: Array, width: int, everything: bool = False) -> list[str]:
    """The entries in columns, as NumPy sets them; of large axes the first and the last ones."""
    texts = (plain(float(value), DIGITS) for value in values.flat[:LOOKED_AT])
    wide = max(map(len, texts), default=0)
    written = np.array2string(
        values + 0.0,
        max_line_width=width,
        threshold=values.size + 1 if everything else MOST * MOST,
        edgeitems=EDGE,
        formatter={"float_kind": lambda value: plain(float(value), DIGITS).rjust(wide)},
    )
    return written.replace("[", " ").replace("]", "").splitlines()


# -- tables ----------------------------------------------------------------------------------------


ENDLESS = 100_000
"""Columns: wider than any line."""


class TextTable(Table):
    """Rows under headings; those whose names are in `right` end at their right edge.

    Where its columns would be cut, each row is a paragraph.
    """

    def __init__(self, heads: Sequence[str], right: Sequence[str] = (), gap: int = 2) -> None:
        super().__init__(box=None, pad_edge=False, padding=(0, gap, 0, 0))
        for k, head in enumerate(heads):
            self.add_column(
                head,
                no_wrap=True,
                style="bold" if k == 0 else "",
                justify="right" if head in right else "left",
            )

    def add(self, *cells: str | Text) -> None:
        """One more row; cells that are left out are empty."""
        self.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))

    def count_more(self, more: int) -> None:
        """Say how many rows are left out, if any."""
        if more > 0:
            self.add(f"... {more} more")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(width=ENDLESS)
        if console.measure(self, options=wide).maximum <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        heads = [str(column.header) for column in self.columns]
        room = max(map(len, heads[1:]), default=0)
        for first, *others in zip(*(column.cells for column in self.columns), strict=True):
            yield Text.assemble(first, style="bold")
            for head, cell in zip(heads[1:], others, strict=True):
                if str(cell):
                    yield Text.assemble((f"  {head:{room}}  ", "dim"), cell)


def put_behind(head: Text, text: str, width: int) -> Iterator[RenderableType]:
    """A text behind a head, or where it does not fit, in a line of its own."""
    fits = not text or head.cell_len + len(text) <= width
    yield head.append(text) if fits else head
    if not fits:
        yield indent(Text(text.lstrip()), 4)


def indent(shown: RenderableType, by: int) -> Padding:
    """Moved to the right, every line of it."""
    return Padding(shown, (0, 0, 0, by), expand=False)
