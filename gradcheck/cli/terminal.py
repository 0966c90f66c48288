"""The problem files that are named on the command line, and what is printed on."""

import os
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from gradcheck.cli.group import MALFORMED, explain, suggest
from gradcheck.documents import BYTES, STDIN
from gradcheck.errors import GradcheckError
from gradcheck.language.vocabulary import join_names, suggest_nearest
from gradcheck.report.figures import escape_controls
from gradcheck.report.tables import ENDLESS, indent

if TYPE_CHECKING:
    from gradcheck.problem import Problem, ProblemSet

PROBLEM_ENDINGS = (".yaml", ".yml", ".json")
MEMORY = 4 << 30  # bytes: some array that a stranger's program makes is told by no number in it


class SetPath(click.Path):
    """A path; where there is nothing of that name, the shipped set that is called so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not Path(value).exists() and str(value) != str(STDIN):
            from gradcheck.problem.load import find_set, list_sets  # noqa: PLC0415

            value = find_set(str(value)) or value
            if not Path(value).exists():
                hint = suggest(str(value), [path.stem for path in list_sets()])
                self.fail(f"Path '{value}' does not exist.{hint}", param, ctx)
        return super().convert(value, param, ctx)


PATH = SetPath(exists=True, allow_dash=True, path_type=Path)
named = click.argument("paths", nargs=-1, required=True, type=PATH)


def is_script(path: Path) -> bool:
    return path.suffix in (".py", ".ipynb") and not path.is_dir()


def bound_memory() -> None:
    """From here on this process and its children have so much memory at most."""
    with suppress(ImportError):  # on Windows
        import resource  # noqa: PLC0415

        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (soft if 0 <= soft < MEMORY else MEMORY, hard))


def load_sets(paths: tuple[Path, ...]) -> "list[ProblemSet]":
    """All problem sets; every malformed file is complained of before anything runs."""
    bound_memory()
    read, complaints = [], []
    for path in paths:
        inside = (p for p in path.rglob("*") if p.suffix in PROBLEM_ENDINGS and p.is_file())
        for file in sorted(inside) if path.is_dir() else [path]:
            try:
                read.append(_set(file))
            except (GradcheckError, OSError) as error:
                complaints.append(explain(error)[1])
    if complaints or not read:
        click.echo("\n".join(complaints) or "no problem files there", err=True)
        sys.exit(MALFORMED)
    return read


def _set(file: Path) -> "ProblemSet":
    from gradcheck.problem.load import load, load_text  # noqa: PLC0415

    if file == STDIN:
        return load_text(sys.stdin.buffer.read(BYTES + 1), "-")
    if is_script(file):
        raise GradcheckError(f"{file}: a script is no problem file - `gradcheck solve` runs it")
    return load(file)


def check_id(name: str, known: Collection[str]) -> None:
    """Raise GradcheckError where no problem is called so."""
    if name not in known:
        near, every = suggest_nearest(name, known), join_names(known).replace("`", "")
        cure = f"{near} there are {every}" if near else f"one of {every}"
        raise GradcheckError(f"no problem is called `{name}` - {cure}")


def load_problems(paths: tuple[Path, ...], only: tuple[str, ...] = ()) -> "list[Problem]":
    """The problems of these ids, all where none is named; raises GradcheckError for an unknown."""
    every = [problem for each in load_sets(paths) for problem in each.problems]
    known = {problem.id for problem in every}
    for name in only:
        check_id(name, known)
    return [problem for problem in every if not only or problem.id in only]


# -- what is printed on ----------------------------------------------------------------------------


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


def open_screen(*, stderr: bool = False) -> Console:
    """A console; what goes into a pipe is neither wrapped nor padded, unless COLUMNS says so."""
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(stderr=stderr, highlight=False)
    width = int(os.environ.get("COLUMNS") or ENDLESS)
    trimmed: Any = Trimmed(stream)
    return Console(file=trimmed, highlight=False, width=width, force_terminal=False)


def show_judged(
    to: Console, line: Mapping[str, Any], source: str, before: str = "", after: str = ""
) -> None:
    """The verdict on an answer; below it what was understood, what is found of it, and remarks.

    Words wrap under their beginning, lines of a program stay as typed.
    """
    from gradcheck.report.judgements import STYLES, list_findings  # noqa: PLC0415

    verdict, tags = line["verdict"], line["tags"]
    head = Text.assemble((before, "bold"), (verdict, f"bold {STYLES[verdict]}"))
    head.append(f" ({', '.join(tags)})" if tags else "", style="bold dim")
    to.print(head.append(after, style="dim"), soft_wrap=True)
    told = [f"understood  {line['understood']}"] if line["understood"] else []
    marked = [(words, "") for words in (*told, *list_findings(line, source))]
    marked += [(words, "dim") for words in line["remarks"] or ()]
    for words, style in marked:
        for row in escape_controls(words).split("\n"):
            if row.startswith(CODE):
                to.print(Text(f"  {row}", style=style), soft_wrap=True)
            else:
                to.print(indent(Text(row, style=style), 2))
