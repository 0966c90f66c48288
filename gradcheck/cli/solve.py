"""`gradcheck solve`: problem files, an expression, or scripts of one's own."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from rich.console import RenderableType

from gradcheck.cli.group import FINE, IN_DOUBT, as_json_lines, command, explain, to_directory
from gradcheck.cli.terminal import PATH, bound_memory, is_script, load_problems, open_screen
from gradcheck.errors import OutOfBudget, TextError
from gradcheck.opinions.opinion import Case, NotScalar
from gradcheck.opinions.reverse import reverse
from gradcheck.problem import Problem, is_training
from gradcheck.problem.draw import check_value, draw_given_point
from gradcheck.problem.load import make_question
from gradcheck.problem.record import Point
from gradcheck.report.verdicts import NOT_SHOWN, dump_line, render_problem, write_summary
from gradcheck.texts import Formulas
from gradcheck.verdict.consult import Verdict, consult

if TYPE_CHECKING:
    from gradcheck.plots import Draft

# The verdict on a problem, what is printed of it (JSON is a text), and its pictures.
Solved = tuple[str, RenderableType, Iterable["Draft"]]
SOLVE = """gradcheck solve problems/chain-rule.yaml --steps
gradcheck solve -e 'x^3 + 2sin x' x=2"""
PICTURES = "Draw recorded series, errors against steps, kinks and graphs into DIR."


@command(epilog=SOLVE)
@click.argument("paths", nargs=-1, metavar="PATHS... | NAME=VALUE...")
@click.option("-e", "--expression", metavar="EXPR", help="Ask about this, not about a file.")
@click.option("--wrt", metavar="NAME", multiple=True, help="With -e: differentiate by this alone.")
@click.option("--problem", "only", metavar="ID", multiple=True, help="Only this problem.")
@click.option("--student", metavar="NAME", help="With the numbers that this student has.")
@click.option("--steps", is_flag=True, help="Show the chain rule node by node.")
@click.option("--entries", is_flag=True, help="Show every entry of every array.")
@to_directory(PICTURES, "--plot")
@click.option("--lint", is_flag=True, help="Then say what the problems could never reveal.")
@as_json_lines
def solve(paths: tuple[str, ...], **said: Any) -> None:
    """Ask three opinions for a gradient; say where they agree.

    The opinions are reverse mode, the closed form and finite differences. PATHS are problem files,
    directories of them, or scripts and notebooks of your own (.py, .ipynb), which are run with
    `torch` meaning gradcheck; `-` is standard input. With -e, NAME=VALUE are the inputs: x=2,
    'W=[[1, 2], [3, 4]]', or X=3x2 for an array that is drawn. Exit code 0: all agree (or are kinks
    and the like, said so), 1: a script ends in an error, 2: malformed, 3: the opinions contradict
    each other. Curves need the extra `plot`; graphs (SVG and DOT) do not.
    """
    asked, codes = SimpleNamespace(**said), list[int]()
    if asked.only if asked.expression is not None else asked.wrt:
        raise click.UsageError("--wrt goes with -e, --problem with files")
    if asked.expression is not None:
        bound_memory()
        chosen = [make_question(asked.expression, paths, asked.wrt)]
    else:
        codes, files = _run_scripts(paths, asked.as_json)
        if codes and (asked.steps or asked.entries or asked.plot is not None):
            click.echo("--steps, --entries and --plot are for problem files, not scripts", err=True)
        chosen = load_problems(files, asked.only) if files else []
    if asked.student is not None:
        from gradcheck.grading.key import find_variant  # noqa: PLC0415

        chosen = [find_variant(problem, asked.student) for problem in chosen]
    if chosen:
        codes.append(solve_all(chosen, asked))
    if asked.lint and chosen and not asked.as_json:
        from gradcheck.cli.author import lint_all  # noqa: PLC0415

        lint_all(chosen)
    sys.exit(max(codes))


def _run_scripts(paths: tuple[str, ...], as_json: bool) -> tuple[list[int], tuple[Path, ...]]:
    if not paths:
        raise click.UsageError("name a problem file or a directory, or ask with -e EXPR")
    named = [PATH.convert(path, None, click.get_current_context()) for path in paths]
    codes = []
    if scripts := [path for path in named if is_script(path)]:
        from gradcheck.cli.script import solve_script  # noqa: PLC0415

        codes = [solve_script(file, as_json) for file in scripts]
    return codes, tuple(path for path in named if path not in scripts)


def solve_all(chosen: Sequence[Problem], asked: SimpleNamespace) -> int:
    """Solve every problem and print it, as the options say; the exit code of the command.

    Raises Unwritable where the pictures cannot be written.
    """
    out, err, album = open_screen(), open_screen(stderr=True), None
    if asked.plot is not None:
        from gradcheck.plots import Album  # noqa: PLC0415

        album = Album(asked.plot, [problem.id for problem in chosen])
    said: list[str] = []
    failed = FINE
    for problem in chosen:
        try:
            verdict, shown, drafts = _solve(problem, asked)
        except Exception as error:  # noqa: BLE001 - a fault at one problem leaves the others
            code, words = explain(error, NotScalar)
            failed = max(failed, code)
            err.print(_add_place(problem, error, words), markup=False, soft_wrap=True)
            continue
        said.append(verdict)
        if asked.as_json:
            print(shown, flush=True)
        else:
            out.print(shown)
        if album is not None:
            album.add(problem, drafts)
    if not asked.as_json and len(said) > 1:
        out.print(write_summary(said))
    if album is not None:
        for note in (*album.notes, album.words()):
            (err if asked.as_json else out).print(note, style="dim", markup=False, soft_wrap=True)
    return failed or (IN_DOUBT if "dissent" in said else FINE)


def _add_place(problem: Problem, error: Exception, words: str) -> str:
    placed = isinstance(error, TextError) and any(c.line for c in error.complaints)
    if placed or not problem.file or words.startswith(problem.file):
        return words
    return f"{problem.file}:{problem.line}:1: {problem.id}: {words}"


def _solve(problem: Problem, asked: SimpleNamespace) -> Solved:
    """The three opinions on the gradient of a program's value; or on its own passes back."""
    if is_training(problem):
        return _solve_training(problem, asked)
    point = draw_given_point(problem)
    case = problem.case(point)
    verdict = _consult(problem, point, case)
    try:
        forms = _write_forms(problem, point, verdict)
    except OutOfBudget:  # of what is shown, which never ends what is judged
        forms = NOT_SHOWN
    if asked.as_json:
        shown: RenderableType = dump_line(problem, point, verdict, forms)
    else:
        steps = None
        if asked.steps:
            from gradcheck.report.steps import render_steps  # noqa: PLC0415
            from gradcheck.texts.steps import derive  # noqa: PLC0415

            steps = render_steps(derive(problem, point))
        shown = render_problem(problem, point, verdict, steps, forms, entries=asked.entries)
    if asked.plot is None:
        return verdict.verdict, shown, ()
    from gradcheck.plots import draw_case  # noqa: PLC0415

    return verdict.verdict, shown, draw_case(problem, case, verdict)


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


def _write_forms(problem: Problem, point: Point, verdict: Verdict) -> Formulas:
    """The gradients as formulas where all agree; of single numbers with what they hang on."""
    if verdict.verdict != "agree":
        return NOT_SHOWN
    if all(i.shape == () for i in problem.inputs.values()):
        from gradcheck.texts.paths import write_path_forms  # noqa: PLC0415

        return Formulas(paths=write_path_forms(problem, point, verdict))
    from gradcheck.texts.forms import write_formulas  # noqa: PLC0415

    return write_formulas(problem, point, verdict.opinions["reverse"].gradients)


def _solve_training(problem: Problem, asked: SimpleNamespace) -> Solved:
    """A program that goes back by itself: its events and its ledger."""
    from gradcheck.report.passes import find_verdict, render_training, write_training_line  # noqa: PLC0415
    from gradcheck.training.preparing import run_and_judge  # noqa: PLC0415

    reference = run_and_judge(problem)
    if asked.as_json:
        shown: RenderableType = write_training_line(problem, reference)
    else:
        shown = render_training(problem, reference, asked.steps)
    said = find_verdict(reference, reference.trace.error)
    if asked.plot is None:
        return said, shown, ()
    from gradcheck.plots import draw_training  # noqa: PLC0415

    return said, shown, draw_training(problem, reference)
