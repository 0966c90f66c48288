"""What the commands print on: a terminal with its width, or a pipe that has none."""

import os
import sys
from collections.abc import Mapping
from typing import IO, Any

from rich.console import Console
from rich.text import Text

from gradcheck.report.figures import visible
from gradcheck.report.judgements import findings
from gradcheck.report.tables import ENDLESS, indent

CODE = "    "  # how a line of a program begins among findings


class Trimmed:
    """A stream to which every line goes without the blanks at its end."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Whole lines come at once, as rich writes them."""
        self.stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def screen(*, stderr: bool = False) -> Console:
    """A console; what goes into a pipe is neither wrapped nor padded, unless COLUMNS says so."""
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(stderr=stderr, highlight=False)
    width = int(os.environ.get("COLUMNS") or ENDLESS)
    return Console(file=Trimmed(stream), highlight=False, width=width)  # type: ignore[arg-type]


def show_judged(to: Console, line: Mapping[str, Any], source: str) -> None:
    """Below its head: what was understood of an answer, what is found of it, and remarks.

    Words wrap under their beginning, lines of a program stay as typed.
    """
    said = [f"understood  {line['understood']}"] if line["understood"] else []
    told = [*said, *map(visible, findings(line, source))]
    marked = [(words, "") for words in told] + [(visible(r), "dim") for r in line["remarks"] or ()]
    for words, style in marked:
        for row in words.split("\n"):
            if row.startswith(CODE):
                to.print(Text(f"  {row}", style=style), soft_wrap=True)
            else:
                to.print(indent(Text(row, style=style), 2))
