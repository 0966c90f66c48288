"""The README's outputs and tables, made anew: `python -m tests.support.readme` writes them."""

import contextlib
import re
import shlex
import tempfile
from collections.abc import Collection
from pathlib import Path

from click.testing import CliRunner

from gradcheck.cli import main
from gradcheck.mistakes.training import TRAINING
from gradcheck.mistakes.whole_answer import TYPING
from gradcheck.report.catalogues import sort_rows, write_answer

README = Path(__file__).parents[2] / "README.md"
HELP = README.parent / "gradcheck" / "help"
NAMED = re.compile(r"in `(?P<name>[\w.]+)`:\n\n```(?:yaml|csv)\n(?P<text>.*?)```", re.DOTALL)
SHOWN = re.compile(r"```console\n\$ gradcheck (?P<words>[^\n]*)\n.*?```", re.DOTALL)
TABLE = re.compile(r"(?<=## The catalogues\n\n).*?(?=\n## |\Z)", re.DOTALL)
CATALOGUES = (
    "`gradcheck ops` lists the functions with a derivative, `gradcheck mistakes` all mistakes that "
    "can be\nnamed, with the words for the student. Some of them:\n\n"
)
SOME = frozenset([
    "sign-error", "missing-inner-derivative", "power-not-reduced", "quotient-swapped",
    "broadcast-not-summed", "overwritten-not-accumulated", "elementwise-for-matmul",
    "missing-zero-grad",
])  # fmt: skip


def rendered(text: str) -> str:
    """The text with every `$ gradcheck ...` block showing what the command prints now."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("problems", "tests"):
            (Path(folder) / name).symlink_to(README.parent / name)
        for match in NAMED.finditer(text):
            (Path(folder) / match["name"]).write_text(match["text"])
        text = SHOWN.sub(lambda m: _shown(m["words"], folder), text)
    return TABLE.sub(lambda m: CATALOGUES + _table(SOME) + "\n", text)


def _table(ids: Collection[str]) -> str:
    """Some of the catalogue as a Markdown table: one line an id, the example of its first row."""
    lines = ["| mistake | family | for example |", "| --- | --- | --- |"]
    seen: set[str] = set()
    for row in (*sort_rows(), *TRAINING, *TYPING):
        if row.id in ids and row.id not in seen:
            seen.add(row.id)
            example = f"{_on_a_line(row.example.program)} → {write_answer(row)}".replace("|", "\\|")
            lines.append(f"| `{row.id}` | {row.family} | `{example}` |")
    return "\n".join(lines)


def _on_a_line(program: str) -> str:
    """A program of several lines in one, to be read, not to be run."""
    lines = [line.strip() for line in program.strip().splitlines()]
    return "; ".join(lines).replace(":;", ":")


def _shown(words: str, folder: str) -> str:
    with contextlib.chdir(folder):
        screen = {"COLUMNS": "76", "NO_COLOR": "1"}
        done = CliRunner().invoke(main, shlex.split(words), prog_name="gradcheck", env=screen)
    output = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
    return f"```console\n$ gradcheck {words}\n{output}\n```"


if __name__ == "__main__":
    for file in (README, *HELP.glob("*.md")):
        file.write_text(rendered(file.read_text()))
