"""What `gradcheck solve` makes of problems: judged one by one, shown, drawn."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType

from gradcheck.cli.screen import BROKEN, REPORTED, fault_of, screen
from gradcheck.errors import GradcheckError, OutOfBudget, TextError
from gradcheck.opinions.opinion import Case, NotScalar
from gradcheck.opinions.reverse import reverse
from gradcheck.problem import Problem, is_training
from gradcheck.problem.domain import check_value
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import Point
from gradcheck.report.verdicts import NOT_SHOWN, json_line, problem_report, summary
from gradcheck.texts import Formulas
from gradcheck.verdict.consult import Verdict, consult

if TYPE_CHECKING:
    from gradcheck.plots import Draft

AGREE, MALFORMED, DISSENT = 0, 2, 3


# The verdict on a problem, what is printed of it (JSON is a text), and its pictures.
Solved = tuple[str, RenderableType, Iterable["Draft"]]


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
        album.bind()
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
    from gradcheck.report.training import training_line, training_report, verdict_of  # noqa: PLC0415
    from gradcheck.training.preparing import run_and_judge  # noqa: PLC0415

    reference = run_and_judge(problem)
    if as_json:
        shown: RenderableType = training_line(problem, reference)
    else:
        shown = training_report(problem, reference, with_steps)
    said = verdict_of(reference)
    if not drawn:
        return said, shown, ()
    from gradcheck.plots import of_training  # noqa: PLC0415

    return said, shown, of_training(problem, reference)


def _place_complaint(problem: Problem, error: Exception | str) -> str:
    """The complaint with its place; the problem's own where it has none."""
    placed = isinstance(error, TextError) and any(c.line for c in error.complaints)
    if placed or (problem.file and str(error).startswith(problem.file)):
        return str(error)
    return f"{problem.file}:{problem.line}:1: {problem.id}: {error}"
