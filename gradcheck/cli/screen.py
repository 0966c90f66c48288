"""What the commands print on: a terminal with its width, or a pipe that has none."""

import os
import sys
from collections.abc import Mapping
from typing import IO, Any

from rich.console import Console
from rich.text import Text

from gradcheck.errors import OURS
from gradcheck.report.findings import findings, visible
from gradcheck.report.rows import ENDLESS, indent


class Trimmed:
    """A stream to which every line goes without the blanks at its end."""

    def __init__(self, stream: IO[str]) -> None:
        """Write to this stream."""
        self.stream = stream

    def write(self, text: str) -> int:
        """Whole lines come at once, as rich writes them."""
        self.stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's."""
        return getattr(self.stream, name)


BROKEN = 70  # the exit code of a fault of our own: sysexits' EX_SOFTWARE
LONGEST = 300
REPORTED = "please report it with the files; GRADCHECK_TRACEBACK=1 shows where it happened"
CODE = "    "  # how a line of a program begins among findings


def fault_of(error: Exception) -> str:
    """What is said of a fault of ours; raises it where somebody asks to see where it happened."""
    if os.environ.get("GRADCHECK_TRACEBACK"):
        raise error
    return f"{OURS}: {type(error).__name__}: {' '.join(str(error).split())[:LONGEST]}"


def show_judged(to: Console, line: Mapping[str, Any], source: str) -> None:
    """Below its head: what was understood of an answer, what is found of it, and remarks."""
    if line["understood"]:
        say(to, f"understood  {line['understood']}")
    for words in findings(line, source):
        say(to, visible(words))
    for remark in line["remarks"] or ():
        say(to, visible(remark), "dim")


def say(to: Console, words: str, style: str = "") -> None:
    """Findings below a head: words wrap under their beginning, lines of a program stay as typed."""
    for line in words.split("\n"):
        if line.startswith(CODE):
            to.print(Text(f"  {line}", style=style), soft_wrap=True)
        else:
            to.print(indent(Text(line, style=style), 2))


def screen(*, stderr: bool = False) -> Console:
    """A console; what goes into a pipe is neither wrapped nor padded, unless COLUMNS says so."""
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(stderr=stderr, highlight=False)
    width = int(os.environ.get("COLUMNS") or ENDLESS)
    return Console(file=Trimmed(stream), highlight=False, width=width)  # type: ignore[arg-type]
