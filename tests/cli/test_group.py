"""What all commands share: help, colour, interruptions, faults of our own."""

import subprocess
import sys

import pytest

from gradcheck.batch.work import Asking, prepare_here
from gradcheck.problem import Problem
from tests.support.commands import SINE, run


def test_an_unknown_command_or_problem_is_told_what_there_is(file):
    """The nearest command; all ids."""
    assert "Did you mean 'solve'?" in run("slove").output
    assert "one of cubic-plus-sine" in run("solve", file(SINE), "--problem", "zzz").output


def test_ctrl_c_ends_with_130(file, monkeypatch):
    """As shells say it of a program that was interrupted."""
    import gradcheck.cli.solutions  # noqa: PLC0415

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gradcheck.cli.solutions, "solve_all", stopped)
    result = run("solve", file(SINE))
    assert (result.exit_code, result.stderr) == (130, "stopped\n")


@pytest.mark.parametrize(
    "command", ["solve", "check", "grade", "report", "lint", "ops", "mistakes", "schema"]
)
def test_every_command_has_help_with_an_example(command):
    """`--help` ends with a line that can be typed."""
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"gradcheck {command}" in result.output.split("Example")[-1]


def test_colour_is_for_terminals_only(file):
    """Piped output carries no escape sequences."""
    done = subprocess.run(
        [sys.executable, "-m", "gradcheck", "solve", file(SINE)], capture_output=True, check=True
    )
    assert b"\x1b" not in done.stdout


def test_a_fault_of_ours_ends_with_a_sentence(file, monkeypatch):
    """What nobody foresaw is said in two lines with an exit code of its own; no traceback."""
    import gradcheck.cli.solutions  # noqa: PLC0415

    def broken(*_: object) -> None:
        raise KeyError("nobody foresaw this")

    monkeypatch.setattr(gradcheck.cli.solutions, "solve_all", broken)
    result = run("solve", file(SINE))
    assert result.exit_code == 70
    assert "a fault of gradcheck itself: KeyError: 'nobody foresaw this'" in result.output
    assert "GRADCHECK_TRACEBACK=1" in result.output
    assert "Traceback" not in result.output


MANY = "problems:\n" + "".join(
    f"- {{id: p{k}, inputs: {{x: 2.0}}, program: {k} * x**2}}\n" for k in (1, 2, 3)
)


@pytest.fixture
def faulty(monkeypatch):
    """The problem p2 meets a fault of ours, in whatever asks for its opinions."""
    case = Problem.case

    def failing(problem, *given):
        if problem.id == "p2":
            raise KeyError("a fault")
        return case(problem, *given)

    monkeypatch.setattr(Problem, "case", failing)


def test_a_fault_at_one_problem_leaves_the_others_their_lint(file, faulty):
    """The fault is said to be ours, with its place."""
    linted = run("lint", file(MANY))
    assert linted.exit_code == 1
    assert "p2: a fault of gradcheck itself" in linted.stdout
    assert "3 problems, " in linted.stdout


def test_a_fault_at_one_problem_leaves_a_class_its_grades(faulty):
    """It is why that problem is not graded; the others are prepared."""
    askings = {id: Asking(MANY.encode(), "", id) for id in ("p1", "p2", "p3")}
    found = {id: prepare_here(asking) for id, asking in askings.items()}
    assert found == {
        "p1": "", "p2": "p2: a fault of gradcheck itself: KeyError: 'a fault'", "p3": ""
    }  # fmt: skip
