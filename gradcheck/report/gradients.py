"""The gradients of arrays, a line each: shape, norm, widest bar, verdict, closed form; entries."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from gradcheck.report.figures import bar, plain
from gradcheck.report.rows import indent
from gradcheck.texts import Formulas, PathForm
from gradcheck.texts.notation import Notation
from gradcheck.values import Array
from gradcheck.verdict.consult import PartVerdict, Verdict

MOST, EDGE = 8, 3  # rows and columns that are shown, of larger arrays at either end
BUDGET = 24  # lines of entries under one problem; beyond, the lines alone fill a screen
DIGITS, LOOKED_AT = 5, 1_000  # of a number; entries that say how wide a column is
SIGNS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("-", "−"))


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
        signs = in_signs(console)
        notation = Notation(self.forms.axes, self.forms.sizes) if signs else None
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
        notes = [legend(notation)] if notation is not None and notation.sizes else []
        notes += [] if shown else [Text("every entry: --entries", style="dim")]
        if notes:
            yield Text("; ", style="dim").join(notes)

    def _line(
        self, part: PartVerdict, notation: Notation | None, width: int
    ) -> Iterator[RenderableType]:
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
        yield indent(Text(text), 4)

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
