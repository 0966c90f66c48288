"""The commands. Everything heavy is imported inside a command, so that --help answers at once."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from gradcheck.problem import ProblemSet

MALFORMED = 2
BROKEN = 70  # a fault of our own: sysexits' EX_SOFTWARE
LONGEST = 300
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
Command = TypeVar("Command", bound=Callable[..., Any])


class Examples(click.Command):
    """A command whose help ends with an example, as it would be typed."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the epilog line by line, unwrapped."""
        if self.epilog:
            formatter.write_paragraph()
            with formatter.section("Example"):
                for line in self.epilog.splitlines():
                    formatter.write(f"  {line}\n")


class Careful(click.Group):
    """Commands that end with a sentence, whatever happens: no traceback reaches a user."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what nobody foresaw is our fault, and said to be."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get("GRADCHECK_TRACEBACK"):
                raise
            words = " ".join(str(error).split())[:LONGEST]
            click.echo(f"a fault of gradcheck itself: {type(error).__name__}: {words}", err=True)
            cure = "please report it with the files; GRADCHECK_TRACEBACK=1 shows where it happened"
            click.echo(cure, err=True)
            sys.exit(BROKEN)


@click.group(cls=Careful, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gradcheck")
def main() -> None:
    r"""Check derivatives with three independent opinions, and name the mistakes.

    \b
      gradcheck solve problems/first-derivatives.yaml
      gradcheck grade problems/first-derivatives.yaml answers.yaml
    """


@main.command(cls=Examples, epilog="gradcheck solve problems/chain-rule.yaml --steps")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--problem", "only", metavar="ID", multiple=True, help="Only this problem.")
@click.option("--steps", is_flag=True, help="Show the chain rule node by node.")
@click.option(
    "--plot",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Draw recorded series, errors against steps, and graphs into DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON Lines on standard output.")
def solve(
    paths: tuple[Path, ...], only: tuple[str, ...], steps: bool, plot: Path | None, as_json: bool
) -> None:
    """Ask reverse mode, the closed form and finite differences; say where they agree.

    PATHS are problem files or directories of them. Exit code 0: all agree (or are kinks and the
    like, said so), 2: malformed, 3: the opinions contradict each other. Pictures (SVG) need the
    extra `plot`; a graph's text (DOT) does not.
    """
    sets = _sets(paths)
    from gradcheck.commands.solve import How, solve_all  # noqa: PLC0415

    sys.exit(solve_all(sets, frozenset(only), How(steps, as_json, plot)))


GRADE_EXAMPLES = """gradcheck grade problems/chain-rule.yaml ada.yaml --json
gradcheck grade problems/chain-rule.yaml download.zip --names canvas -o graded"""


@main.command(cls=Examples, epilog=GRADE_EXAMPLES)
@click.argument("problems", type=click.Path(exists=True, path_type=Path))
@click.argument("answers", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="JSON Lines on standard output.")
@click.option(
    "--feedback",
    type=click.Choice(["verdict", "class", "place", "full"]),
    default="full",
    show_default=True,
    help="How much is told about a mistake.",
)
@click.option("--fail-under", type=float, metavar="F", help="Exit 1 if a student has less than F.")
@click.option("--verbose", is_flag=True, help="Show what was understood of right answers too.")
@click.option(
    "-o",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the batch in DIR, with pages and grades; a stopped run goes on where it was.",
)
@click.option("--jobs", type=click.IntRange(0), metavar="N", help="Processes; 0: all cores.")
@click.option("--scheduler", default="", metavar="ADDRESS", help="Judge on a Dask cluster.")
@click.option("--roster", type=EXISTING, metavar="FILE", help="CSV of who is expected.")
@click.option("--mapping", type=EXISTING, metavar="FILE", help="What a form's columns mean.")
@click.option("--names", default="", metavar="NAMES", help="canvas, moodle or a pattern of names.")
@click.option("--diff", is_flag=True, help="Say who gains or loses what, against the last time.")
@click.option("--only", "students", multiple=True, metavar="STUDENT", help="Only this student.")
@click.option("--problem", "ids", multiple=True, metavar="ID", help="Only this problem.")
def grade(
    problems: Path,
    answers: tuple[Path, ...],
    students: tuple[str, ...],
    ids: tuple[str, ...],
    **how: Any,
) -> None:
    """Judge and diagnose answers: right, or wrong with a witness and the name of the mistake.

    ANSWERS are YAML or JSON files, one a student, directories or zip archives of them, notebooks,
    or CSV. Exit code 0: all graded, 1: a student is under the threshold, 2: malformed problems,
    3: some answers need review.
    """
    sets = _sets((problems,))
    from gradcheck.batch.collect import Chosen  # noqa: PLC0415
    from gradcheck.commands.grade import How, grade_all  # noqa: PLC0415

    sys.exit(grade_all(sets, answers, How(**how, chosen=Chosen(students, ids))))


REPORT_EXAMPLES = """gradcheck report graded
gradcheck report graded --as canvas --points export.csv"""


@main.command(cls=Examples, epilog=REPORT_EXAMPLES)
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--as",
    "form",
    type=click.Choice(["html", "canvas", "moodle", "gradescope", "junit", "csv"]),
    default="html",
    show_default=True,
    help="Pages, or what a learning platform reads.",
)
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="Where to.")
@click.option("--points", "export", type=EXISTING, metavar="FILE", help="A platform's own export.")
@click.option("--column", default="", metavar="NAME", help="The export's column for the points.")
def report(directory: Path, form: str, out: Path | None, export: Path | None, column: str) -> None:
    """Render a graded batch again, from its ledger alone.

    With --points, the gradebook that Canvas or Moodle exported comes back with the points in it and
    every other cell as it was. Exit code 0: written, 2: it cannot be.
    """
    from gradcheck.commands import report as command  # noqa: PLC0415

    sys.exit(command.report(directory, form, out, export, column))


@main.command(cls=Examples, epilog="gradcheck lint problems/chain-rule.yaml")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--self-tests-only", is_flag=True, help="Only run the right: and wrong: entries.")
@click.option("--confusion", is_flag=True, help="Make every mistake and say how it is named.")
def lint(paths: tuple[Path, ...], self_tests_only: bool, confusion: bool) -> None:
    """Say which mistakes a problem could never reveal or tell apart, and run its self-tests.

    Exit code 0: clean, 1: findings, 2: malformed.
    """
    sets = _sets(paths)
    from gradcheck.commands.lint import lint_all, print_confusion  # noqa: PLC0415

    sys.exit(print_confusion(sets) if confusion else lint_all(sets, self_tests_only))


@main.command(cls=Examples, epilog="gradcheck ops")
def ops() -> None:
    """List the functions that have a derivative, with their domains and kinks."""
    from gradcheck.commands.catalogues import print_ops  # noqa: PLC0415

    print_ops()


@main.command(cls=Examples, epilog="gradcheck mistakes")
def mistakes() -> None:
    """List the mistakes that can be named, with an example each."""
    from gradcheck.commands.catalogues import print_mistakes  # noqa: PLC0415

    print_mistakes()


@main.command(cls=Examples, epilog="gradcheck schema > problem-schema.json")
def schema() -> None:
    """Print the JSON Schema of problem files, for editors."""
    import json  # noqa: PLC0415

    from gradcheck.problem.model import schema as form  # noqa: PLC0415

    click.echo(json.dumps(form(), indent=2))


PROBLEM_ENDINGS = (".yaml", ".yml", ".json")


def _files(paths: tuple[Path, ...], endings: tuple[str, ...]) -> Iterator[Path]:
    """The files themselves, and those with such endings in directories, in order."""
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.suffix in endings and p.is_file())
        else:
            yield path


def _sets(paths: tuple[Path, ...]) -> "list[ProblemSet]":
    """All problem sets; every malformed file is complained of before anything runs."""
    from gradcheck.errors import GradcheckError  # noqa: PLC0415
    from gradcheck.problem import load  # noqa: PLC0415

    sets, complaints = [], []
    for file in _files(paths, PROBLEM_ENDINGS):
        try:
            sets.append(load(file))
        except (GradcheckError, OSError) as error:
            complaints.append(str(error))
    if complaints or not sets:
        click.echo("\n".join(complaints) or "no problem files there", err=True)
        sys.exit(MALFORMED)
    return sets
