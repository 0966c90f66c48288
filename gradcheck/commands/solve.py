"""`gradcheck solve`, from problem sets to the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gradcheck.derivation import derive
from gradcheck.diagnosis.lint import Finding, blind
from gradcheck.errors import GradcheckError, TextError
from gradcheck.opinions.opinion import NotScalar
from gradcheck.plots import (
    Draft,
    Drawn,
    Unwritable,
    distinct,
    of_case,
    of_training,
    pictures,
    ready,
    write,
)
from gradcheck.problem import Problem, ProblemSet
from gradcheck.problem.domain import check_value
from gradcheck.problem.draw import further_points, given_point
from gradcheck.programs.points import prepared
from gradcheck.report.training import training_line, training_report, verdict_of
from gradcheck.report.verdicts import json_line, problem_report, summary
from gradcheck.training import Reference, is_training
from gradcheck.training.lint import blind as of_the_loop
from gradcheck.verdict.consult import Verdict, consult

AGREE, MALFORMED, DISSENT = 0, 2, 3
FEW = 10


@dataclass(frozen=True)
class How:
    """What is shown of each problem, and the directory for its pictures."""

    with_steps: bool = False
    as_json: bool = False
    plot: Path | None = None


def solve_all(sets: Sequence[ProblemSet], only: frozenset[str], how: How) -> int:
    """Solve every chosen problem, print it, draw it where asked; the exit code of the command."""
    out, err = Console(highlight=False), Console(stderr=True, highlight=False)
    chosen = [p for s in sets for p in s.problems if not only or p.id in only]
    if not chosen:
        err.print(f"no problem is called {', '.join(sorted(only))}", markup=False)
        return MALFORMED
    try:
        return _all(chosen, how, out, err)
    except Unwritable as error:
        err.print(str(error), markup=False, soft_wrap=True)
        return MALFORMED


def _all(chosen: Sequence[Problem], how: How, out: Console, err: Console) -> int:
    """The same where there is something to solve; raises Unwritable."""
    said: dict[str, str] = {}
    drawn: list[Drawn] = []
    broken = False
    if how.plot is not None:
        ready(how.plot)
    for problem, stem in zip(chosen, distinct(p.id for p in chosen), strict=True):
        try:
            said[problem.id], drafts = _solved(out, problem, how, len(chosen) <= FEW)
        except (GradcheckError, NotScalar) as error:
            err.print(_placed(problem, error), markup=False, soft_wrap=True)
            broken = True
            continue
        if how.plot is not None:
            drawn.append(write(problem, drafts, stem, how.plot))
    if not how.as_json and len(said) > 1:
        out.print(summary(said))
    if how.plot is not None:
        _tell(err if how.as_json else out, drawn, how.plot)
    if broken:
        return MALFORMED
    return DISSENT if "dissent" in said.values() else AGREE


def _solved(out: Console, problem: Problem, how: How, lint: bool) -> tuple[str, Iterator[Draft]]:
    """Solve a problem and print it; its verdict, and what can be drawn of it."""
    if is_training(problem):
        reference = prepared(problem)
        _print_training(out, problem, reference, how)
        if lint and not how.as_json:
            _warn(out, problem, of_the_loop(reference))
        return verdict_of(reference), of_training(problem, reference)
    point = given_point(problem)
    check_value(problem, point)
    case = problem.case(point)
    verdict = consult(case)
    _print(out, problem, verdict, how)
    if lint and not how.as_json:
        _warn(out, problem, _blind(problem))
    return verdict.verdict, of_case(problem, case, verdict)


def _blind(problem: Problem) -> Sequence[Finding]:
    """What lint would say; nothing where no mistake can be made."""
    points = (given_point(problem), *further_points(problem, 3))
    try:
        return blind([problem.case(each) for each in points])
    except GradcheckError:
        return ()


def _tell(to: Console, drawn: Sequence[Drawn], plot: Path) -> None:
    """What is not drawn and why, and how many files there are now."""
    for note in (note for each in drawn for note in each.notes):
        to.print(note, style="dim", markup=False, soft_wrap=True)
    count = sum(len(each.files) for each in drawn)
    lacking = "" if pictures() else "; install gradcheck[plot] for pictures"
    to.print(f"{count} files written to {plot}{lacking}", markup=False, soft_wrap=True)


def _print_training(out: Console, problem: Problem, reference: Reference, how: How) -> None:
    """A program that goes back by itself: its events and its ledger."""
    if how.as_json:
        print(training_line(problem, reference), flush=True)
    else:
        out.print(training_report(problem, reference, how.with_steps))


def _warn(out: Console, problem: Problem, findings: Sequence[Finding]) -> None:
    """One line where lint would have something to say."""
    count = sum(bool(finding.cure) for finding in findings)
    if count:
        words = f"lint: {count} findings; `gradcheck lint {problem.file}` tells them\n"
        out.print(words, style="yellow", markup=False)


def _placed(problem: Problem, error: Exception) -> str:
    """The complaint with its place; the problem's own where it has none."""
    placed = isinstance(error, TextError) and any(c.line for c in error.complaints)
    if placed or (problem.file and str(error).startswith(problem.file)):
        return str(error)
    return f"{problem.file}:{problem.line}:1: {problem.id}: {error}"


def _print(out: Console, problem: Problem, verdict: Verdict, how: How) -> None:
    if how.as_json:
        print(json_line(problem, verdict), flush=True)
    else:
        steps = derive(problem) if how.with_steps else None
        out.print(problem_report(problem, verdict, steps))
