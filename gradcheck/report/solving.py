"""`gradcheck solve`, from problem sets to the terminal."""

from collections.abc import Sequence

from rich.console import Console

from gradcheck.derivation import Steps, Walked, derive
from gradcheck.diagnosis.lint import blind
from gradcheck.errors import GradcheckError, TextError
from gradcheck.opinions.opinion import NotScalar
from gradcheck.problem import Problem, ProblemSet
from gradcheck.problem.domain import check_value
from gradcheck.problem.draw import further_points, given_point
from gradcheck.report.solve import json_line, problem_report, summary
from gradcheck.report.training import training_line, training_report, verdict_of
from gradcheck.training import Asked, is_training, prepared
from gradcheck.verdict import Verdict, consult

AGREE, MALFORMED, DISSENT = 0, 2, 3
FEW = 10


def solve_all(
    sets: Sequence[ProblemSet], only: frozenset[str], with_steps: bool, as_json: bool
) -> int:
    """Solve every chosen problem and print it; the exit code of the command."""
    out, err = Console(highlight=False), Console(stderr=True, highlight=False)
    chosen = [p for s in sets for p in s.problems if not only or p.id in only]
    if not chosen:
        err.print(f"no problem is called {', '.join(sorted(only))}", markup=False)
        return MALFORMED
    said: dict[str, str] = {}
    broken = False
    for problem in chosen:
        try:
            if is_training(problem):
                asked = prepared(problem)
                said[problem.id] = verdict_of(asked)
                _print_training(out, problem, asked, with_steps, as_json)
                continue
            point = given_point(problem)
            check_value(problem, point)
            verdict = consult(problem.case(point))
            derivation = derive(problem) if with_steps and not as_json else None
        except (GradcheckError, NotScalar) as error:
            err.print(_placed(problem, error), markup=False, soft_wrap=True)
            broken = True
            continue
        said[problem.id] = verdict.verdict
        _print(out, problem, verdict, derivation, as_json)
        if not as_json and len(chosen) <= FEW:
            _warn(out, problem)
    if not as_json and len(said) > 1:
        out.print(summary(said))
    if broken:
        return MALFORMED
    return DISSENT if "dissent" in said.values() else AGREE


def _print_training(
    out: Console, problem: Problem, asked: Asked, with_steps: bool, as_json: bool
) -> None:
    """A program that goes back by itself: its events and its ledger."""
    if as_json:
        print(training_line(problem, asked), flush=True)
    else:
        out.print(training_report(problem, asked, with_steps))


def _warn(out: Console, problem: Problem) -> None:
    """One line where lint would have something to say."""
    cases = [problem.case(point) for point in (given_point(problem), *further_points(problem, 3))]
    count = sum(bool(finding.cure) for finding in blind(cases))
    if count:
        words = f"lint: {count} findings; `gradcheck lint {problem.file}` tells them\n"
        out.print(words, style="yellow", markup=False)


def _placed(problem: Problem, error: Exception) -> str:
    """The complaint with its place; the problem's own where it has none."""
    placed = isinstance(error, TextError) and any(c.line for c in error.complaints)
    if placed or (problem.file and str(error).startswith(problem.file)):
        return str(error)
    return f"{problem.file}:{problem.line}:1: {problem.id}: {error}"


def _print(
    out: Console,
    problem: Problem,
    verdict: Verdict,
    derivation: Steps | Walked | None,
    as_json: bool,
) -> None:
    if as_json:
        print(json_line(problem, verdict), flush=True)
    else:
        out.print(problem_report(problem, verdict, derivation))
