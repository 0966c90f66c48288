"""What all commands share: help, colour, interruptions, faults of our own."""

import errno

import pytest

from gradcheck.batch.work import Asking, prepare_here
from gradcheck.cli import grade, solve
from gradcheck.problem import Problem
from tests.support.commands import SINE, run


def test_an_unknown_command_or_problem_is_told_what_there_is(file):
    assert "Did you mean 'solve'?" in run("slove").output
    assert "no problem is written to" in run("generate", "--reveals", "missing-zero-grad").stderr
    assert "one of cubic-plus-sine" in run("solve", file(SINE), "--problem", "zzz").output


OURS = "a fault of gradcheck itself: KeyError: 'nobody foresaw this'\nplease report it with the"
FULL = OSError(errno.ENOSPC, "full")


@pytest.mark.parametrize(
    ("command", "fault", "end"),
    [
        ("solve", KeyboardInterrupt(), (130, "stopped\n")),  # as shells say it
        ("solve", KeyError("nobody foresaw this"), (70, OURS)),
        ("solve", FULL, (2, "standard output: full\n")),
        ("grade", BrokenPipeError(errno.EPIPE, "Broken pipe"), (1, "")),  # `| head`
    ],
)
def test_an_interruption_and_a_fault_of_ours_end_with_a_sentence(
    file, monkeypatch, command, fault, end
):
    def stopped(*_):
        raise fault

    monkeypatch.setattr(solve, "solve_all", stopped)
    monkeypatch.setattr(grade, "_grade_class", stopped)
    result = run(command, *[file(SINE)] * (1 + (command == "grade")))
    assert (result.exit_code, result.stderr[: len(end[1]) or None]) == end


@pytest.mark.parametrize(
    "command", ["solve", "check", "grade", "report", "lint", "ops", "mistakes", "schema"]
)
def test_every_command_has_help_with_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"gradcheck {command}" in result.output.split("Example")[-1]


MANY = "problems:\n" + "".join(
    f"- {{id: p{k}, inputs: {{x: 2.0}}, program: {k} * x**2}}\n" for k in (1, 2, 3)
)


def test_a_fault_at_one_problem_leaves_the_others(file, monkeypatch):
    """Their lint and a class its grades: it is why that problem is not graded."""
    case = Problem.case

    def failing(problem, *given):
        if problem.id == "p2":
            raise KeyError("a fault")
        return case(problem, *given)

    monkeypatch.setattr(Problem, "case", failing)
    linted = run("lint", file(MANY))
    assert linted.exit_code == 1
    assert "p2: a fault of gradcheck itself" in linted.stdout
    assert "3 problems, " in linted.stdout
    found = [prepare_here(Asking(MANY.encode(), "", id)) for id in ("p1", "p2", "p3")]
    assert found == ["", "p2: a fault of gradcheck itself: KeyError: 'a fault'", ""]
