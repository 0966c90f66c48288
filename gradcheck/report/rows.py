"""Tables that fit their screen: columns where there is room, else one cell a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

ENDLESS = 100_000
"""Columns: wider than any line."""
Cell = str | Text


@dataclass
class TextTable:
    """Rows under headings; those whose names are in `right` end at their right edge."""

    heads: Sequence[str]
    right: Sequence[str] = ()
    gap: int = 2  # blanks between columns
    rows: list[Sequence[Cell]] = field(default_factory=list)

    def add(self, *cells: Cell) -> None:
        """One more row; cells that are left out are empty."""
        self.rows.append((*cells, *[""] * (len(self.heads) - len(cells))))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | Text]:
        """The table, or its rows as paragraphs where its columns would be cut."""
        table = self._table()
        wide = options.update(width=ENDLESS)
        if console.measure(table, options=wide).maximum <= options.max_width:
            yield table
        else:
            yield from self._paragraphs()

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, self.gap, 0, 0))
        for k, head in enumerate(self.heads):
            table.add_column(head, no_wrap=True, style="bold" if k == 0 else "")
            if head in self.right:
                table.columns[k].justify = "right"
        for cells in self.rows:
            table.add_row(*map(_text, cells))
        return table

    def _paragraphs(self) -> Iterator[Text]:
        """The first cell, and below it every other one after its heading."""
        wide = max(map(len, self.heads[1:]), default=0)
        for first, *others in self.rows:
            yield Text.assemble(_text(first), style="bold")
            for head, cell in zip(self.heads[1:], others, strict=True):
                if str(cell):
                    line = Text(f"  {head:{wide}}  ", style="dim")
                    yield Text.assemble(line, _text(cell))


def _text(cell: Cell) -> Text:
    return Text(cell) if isinstance(cell, str) else cell


def indent(shown: RenderableType, by: int) -> Padding:
    """Moved to the right, every line of it."""
    return Padding(shown, (0, 0, 0, by), expand=False)
