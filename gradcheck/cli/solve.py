"""`gradcheck solve`: problem files, an expression, or scripts of one's own."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import RenderableType

from gradcheck.cli.files import is_script, problems, there
from gradcheck.cli.group import as_json_lines, command
from gradcheck.cli.screen import BROKEN, REPORTED, fault_of, screen
from gradcheck.errors import GradcheckError, OutOfBudget, TextError
from gradcheck.opinions.opinion import Case, NotScalar
from gradcheck.opinions.reverse import reverse
from gradcheck.problem import Problem, is_training
from gradcheck.problem.domain import check_value
from gradcheck.problem.draw import given_point
from gradcheck.problem.question import question
from gradcheck.problem.record import Point
from gradcheck.report.verdicts import NOT_SHOWN, json_line, problem_report, summary
from gradcheck.texts import Formulas
from gradcheck.verdict.consult import Verdict, consult

if TYPE_CHECKING:
    from gradcheck.plots import Draft

AGREE, MALFORMED, DISSENT = 0, 2, 3


# The verdict on a problem, what is printed of it (JSON is a text), and its pictures.
Solved = tuple[str, RenderableType, Iterable["Draft"]]
SOLVE = """gradcheck solve problems/chain-rule.yaml --steps
gradcheck solve -e 'x^3 + 2sin x' x=2"""


@command(epilog=SOLVE)
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
@as_json_lines
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
    directories of them, or scripts and notebooks of your own (.py, .ipynb), which are run with
    `torch` meaning gradcheck; `-` is standard input. With -e, NAME=VALUE are the inputs: x=2,
    'W=[[1, 2], [3, 4]]', or X=3x2 for an array that is drawn. Exit code 0: all agree (or are kinks
    and the like, said so), 1: a script ends in an error, 2: malformed, 3: the opinions contradict
    each other. Curves need the extra `plot`; graphs (SVG and DOT) do not.
    """
    ran = [] if expression is not None else _run_scripts(paths, as_json)
    if ran:
        if steps or entries or plot is not None:
            click.echo("--steps, --entries and --plot are for problem files, not scripts", err=True)
        paths = tuple(path for path in paths if not is_script(Path(path)))
        if not paths:
            sys.exit(max(ran))
    if expression is None:
        chosen = problems(there(paths), only)
    else:
        chosen = [question(expression, paths, wrt)]
    if student is not None:
        from gradcheck.grading.variants import variant_for  # noqa: PLC0415

        chosen = [variant_for(problem, student) for problem in chosen]
    codes = [*ran, solve_all(chosen, steps, entries, as_json, plot)]
    if lint and not as_json:
        from gradcheck.cli.author import lint_all  # noqa: PLC0415

        lint_all(chosen, self_tests_only=False)
    sys.exit(max(codes))


def _run_scripts(paths: tuple[str, ...], as_json: bool) -> list[int]:
    """Run each script that is named, in its turn; their exit codes."""
    named = [path for path in there(paths) if is_script(path)]
    if not named:
        return []
    from gradcheck.cli.script import solve_script  # noqa: PLC0415

    return [solve_script(file, as_json) for file in named]


def solve_all(
    chosen: Sequence[Problem], steps: bool, entries: bool, as_json: bool, plot: Path | None
) -> int:
    """Solve every problem and print it, with its steps and all entries; draw it into `plot`.

    Gives the exit code of the command. Raises Unwritable where the pictures cannot be written.
    """
    out, err = screen(), screen(stderr=True)
    album = None
    if plot is not None:
        from gradcheck.plots import Album  # noqa: PLC0415

        album = Album(plot, [problem.id for problem in chosen])
    said: list[str] = []
    broken = False
    for problem in chosen:
        try:
            verdict, shown, drafts = _solve(problem, steps, entries, as_json, plot is not None)
        except (GradcheckError, NotScalar) as error:
            err.print(_place_complaint(problem, error), markup=False, soft_wrap=True)
            continue
        except Exception as error:  # noqa: BLE001 - a fault at one problem leaves the others
            broken = True
            words = f"{_place_complaint(problem, fault_of(error))}\n{REPORTED}"
            err.print(words, markup=False, soft_wrap=True)
            continue
        said.append(verdict)
        if as_json:
            print(shown, flush=True)
        else:
            out.print(shown)
        if album is not None:
            album.add(problem, drafts)
    if not as_json and len(said) > 1:
        out.print(summary(said))
    if album is not None:
        to = err if as_json else out
        for note in album.notes:
            to.print(note, style="dim", markup=False, soft_wrap=True)
        to.print(album.words(), markup=False, soft_wrap=True)
    if broken:
        return BROKEN
    if len(said) < len(chosen):
        return MALFORMED
    return DISSENT if "dissent" in said else AGREE


def _solve(problem: Problem, with_steps: bool, entries: bool, as_json: bool, drawn: bool) -> Solved:
    """The three opinions on the gradient of a program's value; or on its own passes back."""
    if is_training(problem):
        return _training(problem, with_steps, as_json, drawn)
    point = given_point(problem)
    case = problem.case(point)
    verdict = _consult(problem, point, case)
    try:
        forms = _forms(problem, point, verdict)
    except OutOfBudget:  # of what is shown, which never ends what is judged
        forms = NOT_SHOWN
    if as_json:
        shown: RenderableType = json_line(problem, point, verdict, forms)
    else:
        steps = None
        if with_steps:
            from gradcheck.report.steps import steps_shown  # noqa: PLC0415
            from gradcheck.texts.steps import derive  # noqa: PLC0415

            steps = steps_shown(derive(problem, point))
        shown = problem_report(problem, point, verdict, steps, forms, entries=entries)
    if not drawn:
        return verdict.verdict, shown, ()
    from gradcheck.plots import of_case  # noqa: PLC0415

    return verdict.verdict, shown, of_case(problem, case, verdict)


def _consult(problem: Problem, point: Point, case: Case) -> Verdict:
    """The verdict; where reverse mode has no number of the right shape, what is wrong is raised."""
    try:
        mine = reverse(case)
    except NotScalar:
        check_value(problem, point)
        raise
    value, due = mine.value, problem.cotangent
    if value is None or not value.finite or (due is not None and due.shape != value.shape):
        check_value(problem, point)
    return consult(case, mine=mine)


def _forms(problem: Problem, point: Point, verdict: Verdict) -> Formulas:
    """The gradients as formulas where all agree; of single numbers with what they hang on."""
    if verdict.verdict != "agree":
        return NOT_SHOWN
    if all(i.shape == () for i in problem.inputs.values()):
        from gradcheck.texts.paths import path_forms  # noqa: PLC0415

        return Formulas(paths=path_forms(problem, point, verdict))
    from gradcheck.texts.forms import formulas  # noqa: PLC0415

    return formulas(problem, point, verdict.opinions["reverse"].gradients)


def _training(problem: Problem, with_steps: bool, as_json: bool, drawn: bool) -> Solved:
    """A program that goes back by itself: its events and its ledger."""
    from gradcheck.report.passes import training_line, training_report, verdict_of  # noqa: PLC0415
    from gradcheck.training.preparing import run_and_judge  # noqa: PLC0415

    reference = run_and_judge(problem)
    if as_json:
        shown: RenderableType = training_line(problem, reference)
    else:
        shown = training_report(problem, reference, with_steps)
    said = verdict_of(reference, reference.trace.error)
    if not drawn:
        return said, shown, ()
    from gradcheck.plots import of_training  # noqa: PLC0415

    return said, shown, of_training(problem, reference)


def _place_complaint(problem: Problem, error: Exception | str) -> str:
    """The complaint with its place; the problem's own where it has one and the complaint none."""
    placed = isinstance(error, TextError) and any(c.line for c in error.complaints)
    if placed or not problem.file or str(error).startswith(problem.file):
        return str(error)
    return f"{problem.file}:{problem.line}:1: {problem.id}: {error}"
