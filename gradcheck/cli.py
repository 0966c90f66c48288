"""The commands. Everything heavy is imported inside a command, so that --help answers at once."""

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradcheck.errors import GradcheckError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gradcheck.problem import Problem, ProblemSet

MALFORMED = 2
STOPPED = 130  # as a shell says of what SIGINT ended
BROKEN = 70  # a fault of our own: sysexits' EX_SOFTWARE
LONGEST = 300
TOPICS = (
    "answers",
    "language",
    "problems",
    "variants",
    "generate",
    "marking",
    "batches",
    "python",
    "notebooks",
    "lessons",
    "why",
)
YOUNG = 200_000
"""Objects between two collections, mypy's number: what is imported stays, and to search it took a
tenth of a `solve`; Python's own 700 are for programs that make less at once."""
EXAMPLES = """gradcheck solve problems/first-derivatives.yaml
gradcheck grade problems/first-derivatives.yaml answers.yaml
gradcheck check 'x**3 + 2*sin(x)' '3x^2 - 2cos x'"""
SOLVE = """gradcheck solve problems/chain-rule.yaml --steps
gradcheck solve -e 'x^3 + 2sin x' x=2"""
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


class Exemplified(click.Command):
    """A command whose help ends with examples, as they would be typed."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the epilog line by line, unwrapped."""
        if self.epilog:
            formatter.write_paragraph()
            with formatter.section("Example"):
                for line in self.epilog.splitlines():
                    formatter.write(f"  {line}\n")


class Careful(Exemplified, click.Group):
    """Commands that end with a sentence, whatever happens: no traceback reaches a user."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command of that name; of an unknown one the nearest is said."""
        if args and self.get_command(ctx, args[0]) is None:
            close = get_close_matches(args[0], self.commands, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"No such command '{args[0]}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what nobody foresaw is our fault, and said to be."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except GradcheckError as error:
            click.echo(error, err=True)
            sys.exit(MALFORMED)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            sys.exit(STOPPED)
        except Exception as error:
            if os.environ.get("GRADCHECK_TRACEBACK"):
                raise
            words = " ".join(str(error).split())[:LONGEST]
            click.echo(f"a fault of gradcheck itself: {type(error).__name__}: {words}", err=True)
            cure = "please report it with the files; GRADCHECK_TRACEBACK=1 shows where it happened"
            click.echo(cure, err=True)
            sys.exit(BROKEN)


@click.group(cls=Careful, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gradcheck")
def main() -> None:
    """Check derivatives with three independent opinions, and name the mistakes."""
    gc.set_threshold(YOUNG)
    atexit.register(gc.freeze)  # a last search of what ends anyway took a fifth of a `solve`
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait cost a tenth of a second


@main.command(cls=Exemplified, epilog=SOLVE)
@click.argument("paths", nargs=-1, metavar="PATHS... | NAME=VALUE...")
@click.option("-e", "--expression", metavar="EXPR", help="Ask about this, not about a file.")
@click.option("--wrt", metavar="NAME", multiple=True, help="With -e: differentiate by this alone.")
@click.option("--problem", "only", metavar="ID", multiple=True, help="Only this problem.")
@click.option("--student", metavar="NAME", help="With the numbers that this student has.")
@click.option("--steps", is_flag=True, help="Show the chain rule node by node.")
@click.option("--entries", is_flag=True, help="Show every entry of every array.")
@click.option(
    "--plot",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Draw recorded series, errors against steps, kinks and graphs into DIR.",
)
@click.option("--lint", is_flag=True, help="Then say what the problems could never reveal.")
@click.option("--json", "as_json", is_flag=True, help="JSON Lines on standard output.")
def solve(  # noqa: PLR0917 - click gives them by name
    paths: tuple[str, ...],
    expression: str | None,
    wrt: tuple[str, ...],
    only: tuple[str, ...],
    student: str | None,
    steps: bool,
    entries: bool,
    plot: Path | None,
    lint: bool,
    as_json: bool,
) -> None:
    """Ask three opinions for a gradient; say where they agree.

    The opinions are reverse mode, the closed form and finite differences. PATHS are problem files,
    directories of them, or scripts (.py); `-` is standard input. With -e, NAME=VALUE are the
    inputs: x=2, 'W=[[1, 2], [3, 4]]', or X=3x2 for an array that is drawn. Exit code 0: all agree
    (or are kinks and the like, said so), 1: a script ends in an error, 2: malformed, 3: the
    opinions contradict each other. Pictures (SVG) need the extra `plot`; a graph's text (DOT) does
    not.
    """
    if expression is None:
        chosen = _chosen(_sets(_there(paths)), only)
    else:
        from gradcheck.problem.question import question  # noqa: PLC0415

        chosen = [question(expression, paths, wrt)]
    if student is not None:
        from gradcheck.grading.variants import variant_for  # noqa: PLC0415

        chosen = [variant_for(problem, student) for problem in chosen]
    from gradcheck.commands.solve import How, solve_all  # noqa: PLC0415

    code = solve_all(chosen, How(steps, as_json, plot, entries))
    if lint and not as_json:
        from gradcheck.commands.lint import lint_all  # noqa: PLC0415

        lint_all(chosen, self_tests_only=False)
    sys.exit(code)


@main.command(
    cls=Exemplified,
    epilog="gradcheck check 'x**3 + 2*sin(x)' '3x^2 - 2cos x'",
    context_settings={"ignore_unknown_options": True},  # an answer may begin with a minus
)
@click.argument("expression")
@click.argument("answer")
@click.argument("given", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--wrt", metavar="NAME", help="By which input, where there are several.")
@click.option("--json", "as_json", is_flag=True, help="The line of `grade --json`.")
def check(
    expression: str, answer: str, given: tuple[str, ...], wrt: str | None, as_json: bool
) -> None:
    """Judge one derivative without a file: right, or why not.

    ANSWER is typed mathematics or numbers, of several inputs in a list: `[2xy, x^2]`; an input
    without a value is drawn. Exit code 0: right, 1: wrong, 2: unreadable, 3: needs review.
    """
    from gradcheck.commands.check import check_answer  # noqa: PLC0415

    sys.exit(check_answer(expression, answer, given, wrt, as_json))


GRADE_EXAMPLES = """gradcheck grade problems/chain-rule.yaml ada.yaml --json
gradcheck grade problems/chain-rule.yaml download.zip --names canvas -o graded"""


@main.command(cls=Exemplified, epilog=GRADE_EXAMPLES)
@click.argument("problems", type=click.Path(exists=True, path_type=Path))
@click.argument(
    "answers",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)
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
    or CSV; `-` is a YAML or JSON text from standard input. Exit code 0: all graded, 1: a student is
    under the threshold, 2: malformed problems, 3: some answers need review.
    """
    from gradcheck.batch.executors import processes  # noqa: PLC0415

    how["jobs"] = processes(how["jobs"], how["scheduler"], kept=how["directory"] is not None)
    sets = _sets((problems,))
    from gradcheck.batch.collect import Chosen  # noqa: PLC0415
    from gradcheck.commands.grade import How, grade_all  # noqa: PLC0415

    sys.exit(grade_all(sets, answers, How(**how, chosen=Chosen(students, ids))))


REPORT_EXAMPLES = """gradcheck report graded
gradcheck report graded --as canvas --points export.csv"""


@main.command(cls=Exemplified, epilog=REPORT_EXAMPLES)
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
@click.option("--comments", is_flag=True, help="Fill the export's empty feedback cells too.")
def report(directory: Path, form: str, out: Path | None, export: Path | None, **how: Any) -> None:
    """Render a graded batch again, from its ledger alone.

    With --points, the gradebook that Canvas or Moodle exported comes back with the points in it and
    every other cell as it was; --comments fills Moodle's empty feedback cells too. Exit code 0:
    written, 2: it cannot be.
    """
    from gradcheck.commands import report as command  # noqa: PLC0415

    given = command.Export(export, **how) if export else None
    sys.exit(command.report(directory, form, out, given))


SERVE_EXAMPLES = """gradcheck serve problems
gradcheck serve problems --port 8080 -o attempts"""


@main.command(cls=Exemplified, epilog=SERVE_EXAMPLES)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Who may reach the pages.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option(
    "-o",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep attempts in DIR, in the ledger that `gradcheck report` reads.",
)
@click.option(
    "--feedback",
    type=click.Choice(["verdict", "class", "place", "full"]),
    default="full",
    show_default=True,
    help="How much the hints tell of a mistake.",
)
@click.option(
    "--workers", type=click.IntRange(0), default=0, help="Processes that judge; 0: all cores."
)
@click.option("--secure", is_flag=True, help="Behind https: the name is sent nowhere else.")
def serve(paths: tuple[Path, ...], **how: Any) -> None:
    """Practise in a browser: answers shown as they are understood, judged and diagnosed.

    Needs the extra `web`. The pages are for this machine alone unless --host says otherwise.
    """
    sets = _sets(paths)
    from gradcheck.commands.serve import How  # noqa: PLC0415
    from gradcheck.commands.serve import serve as command  # noqa: PLC0415

    sys.exit(command(sets, How(**how)))


@main.command(cls=Exemplified, epilog="gradcheck mine graded/")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="JSON Lines on standard output.")
def mine(directory: Path, as_json: bool) -> None:
    """Group a graded batch's unnamed answers, and propose what was differentiated instead.

    Exit code 0: done, 2: there is no graded batch.
    """
    from gradcheck.commands import mine as command  # noqa: PLC0415

    sys.exit(command.mine(directory, as_json))


@main.command(cls=Exemplified, epilog="gradcheck lint problems/chain-rule.yaml")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True, path_type=Path)
)
@click.option("--self-tests-only", is_flag=True, help="Only run the right: and wrong: entries.")
@click.option("--confusion", is_flag=True, help="Make every mistake and say how it is named.")
def lint(paths: tuple[Path, ...], self_tests_only: bool, confusion: bool) -> None:
    """Say which mistakes a problem could never reveal or tell apart, and run its self-tests.

    Exit code 0: clean, 1: findings, 2: malformed.
    """
    sets = _sets(paths)
    from gradcheck.commands.lint import lint_all, print_confusion  # noqa: PLC0415

    problems = _chosen(sets, ())
    sys.exit(print_confusion(problems) if confusion else lint_all(problems, self_tests_only))


VARIANTS_EXAMPLE = "gradcheck variants problems/variants.yaml --students roster.csv -o sheets"


@main.command(cls=Exemplified, epilog=VARIANTS_EXAMPLE)
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True, path_type=Path)
)
@click.option("--students", type=EXISTING, required=True, metavar="ROSTER", help="CSV of students.")
@click.option(
    "-o",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Where the sheets go.",
)
def variants(paths: tuple[Path, ...], students: Path, directory: Path) -> None:
    """Write each student's sheet, with numbers of their own, as HTML and Markdown.

    ROSTER has a column `student` (and `name`, what people call them). Numbers are drawn from the
    name: `gradcheck grade` finds the same ones. Exit code 0: written, 2: it cannot be.
    """
    sets = _sets(paths)
    from gradcheck.commands import variants as command  # noqa: PLC0415

    sys.exit(command.write_variants(sets, students, directory))


GENERATE_EXAMPLES = """gradcheck generate --rules chain,product --level 2 --count 5
gradcheck generate --reveals missing-inner-derivative > practice.yaml"""


@main.command(cls=Exemplified, epilog=GENERATE_EXAMPLES)
@click.option("--rules", default="", metavar="NAMES", help="power, sum, product, chain, ...")
@click.option("--level", type=click.IntRange(1, 3), help="1: the rule alone, 3: several in one.")
@click.option("--count", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N")
@click.option("--reveals", default="", metavar="MISTAKE-ID", help="Each must show this mistake.")
@click.option("--seed", type=int, default=0, metavar="N", help="Another seed, other problems.")
def generate(**how: Any) -> None:
    """Write a set of practice problems, solved and with self-tests, to standard output.

    Without --rules all of them in turn, without --level from easy to hard. Exit code 0: written,
    2: there is no such rule or mistake.
    """
    from gradcheck.commands import generate as command  # noqa: PLC0415

    sys.exit(command.generate(command.How(**how)))


@main.command(cls=Exemplified, epilog="gradcheck ops")
def ops() -> None:
    """List the functions that have a derivative, with their domains and kinks."""
    from gradcheck.report.catalogues import ops_table  # noqa: PLC0415

    _print(ops_table())


@main.command(cls=Exemplified, epilog="gradcheck mistakes")
def mistakes() -> None:
    """List the mistakes that can be named, with an example each."""
    from gradcheck.report.catalogues import mistakes_page  # noqa: PLC0415

    _print(mistakes_page())


@main.command(cls=Exemplified, epilog="gradcheck schema > problem-schema.json")
def schema() -> None:
    """Print the JSON Schema of problem files, for editors."""
    import json  # noqa: PLC0415

    from gradcheck.problem.model import schema as form  # noqa: PLC0415

    click.echo(json.dumps(form(), indent=2))


@main.command(name="help", cls=Exemplified, epilog="gradcheck help answers")
@click.argument("topic", required=False, type=click.Choice(TOPICS), metavar="TOPIC")
@click.pass_context
def help_(ctx: click.Context, topic: str | None) -> None:
    """Read about a topic.

    One of answers, language, problems, variants, generate, marking, batches, python, notebooks,
    lessons, why.
    """
    if topic is None:
        click.echo(main.get_help(ctx.parent or ctx))
        return
    from gradcheck.commands.help import show_help  # noqa: PLC0415

    show_help(topic)


STDIN = Path("-")
PROBLEM_ENDINGS = (".yaml", ".yml", ".json")


def _there(paths: tuple[str, ...]) -> tuple[Path, ...]:
    """Paths that exist; raises click's complaint where one does not, or none is named."""
    if not paths:
        raise click.UsageError("name a problem file or a directory, or ask with -e EXPR")
    kind = click.Path(exists=True, allow_dash=True, path_type=Path)
    return tuple(kind.convert(path, None, click.get_current_context()) for path in paths)


def _files(paths: tuple[Path, ...], endings: tuple[str, ...]) -> Iterator[Path]:
    """The files themselves, and those with such endings in directories, in order."""
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.suffix in endings and p.is_file())
        else:
            yield path


def _sets(paths: tuple[Path, ...]) -> "list[ProblemSet]":
    """All problem sets; every malformed file is complained of before anything runs."""
    sets, complaints = [], []
    for file in _files(paths, PROBLEM_ENDINGS):
        try:
            sets.append(_set(file))
        except (GradcheckError, OSError) as error:
            complaints.append(str(error))
    if complaints or not sets:
        click.echo("\n".join(complaints) or "no problem files there", err=True)
        sys.exit(MALFORMED)
    return sets


def _set(file: Path) -> "ProblemSet":
    """A problem file, a script, or standard input; raises GradcheckError or OSError."""
    from gradcheck.problem.load import load, load_text  # noqa: PLC0415
    from gradcheck.problem.script import ENDING, script  # noqa: PLC0415

    if file == STDIN:
        return load_text(sys.stdin.buffer.read(), "-")
    return script(file) if file.suffix == ENDING else load(file)


def _chosen(sets: "list[ProblemSet]", only: tuple[str, ...]) -> "list[Problem]":
    """The problems of these ids, all where none is named; raises GradcheckError for an unknown."""
    problems = [problem for each in sets for problem in each.problems]
    known = {problem.id for problem in problems}
    for name in only:
        if name not in known:
            raise GradcheckError(f"no problem is called {name} - one of {', '.join(sorted(known))}")
    return [problem for problem in problems if not only or problem.id in only]


def _print(shown: "RenderableType") -> None:
    """A page or a table on standard output."""
    from gradcheck.commands.screen import screen  # noqa: PLC0415

    screen().print(shown)
