"""What a person sees of the gradients of arrays: a line each, in signs or in plain text."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import given_point
from gradcheck.report.gradients import fold_lines
from gradcheck.report.steps import steps_shown
from gradcheck.report.verdicts import problem_report
from gradcheck.texts.forms import formulas as forms_of
from gradcheck.texts.steps import derive
from gradcheck.verdict.consult import consult

SMALL = """
id: net
inputs:
  X: {shape: [5, 3], requires_grad: false}
  W1: {shape: [3, 4]}
  b1: {shape: [4]}
  W2: {shape: [4, 2]}
  Y: {shape: [5, 2], requires_grad: false}
program: |
  H = tanh(X @ W1 + b1)
  R = H @ W2 - Y
  mean(R**2)
"""
LARGE = """
id: large
inputs:
  X: {shape: [8, 16], requires_grad: false}
  Y: {shape: [8, 10], requires_grad: false}
  W1: {shape: [16, 16]}
  b1: {shape: [16]}
  W2: {shape: [16, 16]}
  b2: {shape: [16]}
  W3: {shape: [16, 10]}
  b3: {shape: [10]}
program: |
  H1 = tanh(X @ W1 + b1)
  H2 = tanh(H1 @ W2 + b2)
  P = softmax(H2 @ W3 + b3, axis=1)
  -sum(Y*log(P))/X.shape[0]
"""
SCREEN = 24  # lines of the smallest terminal


def problem(text: str) -> Problem:
    """The only problem of a text."""
    return load_text(text).problems[0]


def shown(given: Problem, width: int, *, terminal: bool, **more: Any) -> list[str]:
    """The lines of a report, without colours."""
    point = given_point(given)
    verdict = consult(given.case(point))
    forms = forms_of(given, point, verdict.opinions["reverse"].gradients)
    return lines(problem_report(given, point, verdict, None, forms, **more), width, terminal)


def lines(report: Any, width: int, terminal: bool) -> list[str]:
    """What is printed, line by line."""
    stream = StringIO()
    console = Console(
        file=stream, width=width, force_terminal=terminal, color_system=None, legacy_windows=False
    )
    console.print(report)
    return [line.rstrip() for line in stream.getvalue().rstrip().split("\n")]


def test_on_a_terminal_a_line_says_all_in_signs() -> None:
    """Shape, norm, the widest bar, the verdict, the form; below it the entries."""
    said = shown(problem(SMALL), 120, terminal=True)
    (first,) = (line for line in said if "∂/∂W₁" in line)
    assert "  3×4  norm " in first
    assert "  ±" in first
    assert first.endswith("  agree  = 2/R.size · Xᵀ((R W₂ᵀ) ⊙ (1 − H²))")
    assert len(said[said.index(first) + 1].split()) == 4


def test_in_a_pipe_it_is_numpy() -> None:
    """Plain ASCII, but for the bar."""
    said = shown(problem(SMALL), 100_000, terminal=False)
    (first,) = (line for line in said if "d/dW1" in line)
    assert first.endswith("  agree  = 2 * X.T @ ((R @ W2.T) * (1 - H ** 2)) / R.size")
    assert all(char.isascii() or char == "±" for line in said for char in line)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    """Long forms go on below."""
    said = shown(problem(SMALL), width, terminal=True)
    assert max(map(len, said)) <= width
    assert sum("agree" in line for line in said) == 4


def test_a_large_network_fits_on_one_screen() -> None:
    """Nothing is left to another place, and every entry can be asked for."""
    said = shown(problem(LARGE), 80, terminal=True)
    assert len(said) <= SCREEN
    assert "  n = X.shape[0]; every entry: --entries" in said
    assert not any("--json" in line for line in said)
    assert any("--entries" in line for line in said)
    assert sum("  agree" in line and "norm" in line for line in said) == 6


def test_every_entry_is_shown_when_asked_for() -> None:
    """Without it eight rows and columns at most, and an ellipsis."""
    given = problem("id: a\ninputs: {x: {shape: [12]}}\nprogram: sum(x**2)\n")
    few = shown(given, 200, terminal=True)
    every = shown(given, 200, terminal=True, entries=True)
    assert sum(len(line.split()) == 8 and "…" in line for line in few) == 1
    assert any(len(line.split()) == 12 for line in every)


def test_steps_are_formulas_with_the_numbers_below() -> None:
    """Each gradient in terms of the one before it, with its shape."""
    given = problem(SMALL)
    said = lines(steps_shown(derive(given, given_point(given))), 80, terminal=True)
    heads = [line.strip() for line in said if "∂L/∂" in line]
    assert heads == [
        "∂L/∂R (5×2) = 2/R.size · R",
        "∂L/∂H (5×4) = ∂L/∂R W₂ᵀ",
        "∂L/∂W₂ (4×2) = Hᵀ ∂L/∂R",
        "∂L/∂b₁ (4) = sum(∂L/∂H ⊙ (1 − H²), axis=0)",
        "∂L/∂W₁ (3×4) = Xᵀ(∂L/∂H ⊙ (1 − H²))",
    ]
    assert len(said[[h.strip() for h in said].index(heads[1]) + 1].split()) == 4


def test_a_kink_keeps_its_rows_of_opinions() -> None:
    """Only the entry that is not plainly agreed."""
    given = problem("id: k\ninputs: {x: [1.0, 0.0, -2.0]}\nprogram: sum(abs(x))\n")
    said = shown(given, 120, terminal=False)
    rows = [line for line in said if "d/dx[" in line and "-1 | 1" in line]
    assert len(rows) == 1
    assert "d/dx[1]" in rows[0]


def test_a_long_formula_is_broken_before_a_sign_outside_of_brackets() -> None:
    """Never inside of an index, and no deeper than the last half of a line allows."""
    text = "= Xᵀ(((P ⊙ sum(Y, axis=1)[:, None] − Y) W₂ᵀ) ⊙ (1 − H²))/n"
    assert [line.plain.strip() for line in fold_lines(text, 60)] == [
        "= Xᵀ(((P ⊙ sum(Y, axis=1)[:, None] − Y) W₂ᵀ)",
        "⊙ (1 − H²))/n",
    ]
