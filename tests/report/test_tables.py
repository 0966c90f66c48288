"""What a person sees of the gradients of arrays: a line each, in signs or in plain text."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from gradcheck.problem import load
from gradcheck.problem.draw import draw_given_point
from gradcheck.report.steps import render_steps
from gradcheck.report.tables import TextTable
from gradcheck.report.verdicts import render_problem
from gradcheck.texts.forms import write_formulas as forms_of
from gradcheck.texts.steps import derive
from gradcheck.verdict.consult import consult

PROBLEMS = {p.id: p for p in load(Path(__file__).with_name("networks.yaml")).problems}


def shown(name, width, *, terminal, **more):
    given = PROBLEMS[name]
    point = draw_given_point(given)
    verdict = consult(given.case(point))
    forms = forms_of(given, point, verdict.opinions["reverse"].gradients)
    return lines(render_problem(given, point, verdict, None, forms, **more), width, terminal)


def lines(report, width, terminal):
    stream = StringIO()
    how = {"force_terminal": terminal, "color_system": None, "legacy_windows": False}
    Console(file=stream, width=width, **how).print(report)
    return [line.rstrip() for line in stream.getvalue().rstrip().split("\n")]


def test_on_a_terminal_a_line_says_all_in_signs():
    """Shape, norm, the widest bar, the verdict, the form; below it the entries."""
    said = shown("net", 120, terminal=True)
    (first,) = (line for line in said if "∂/∂W₁" in line)
    assert "  3×4  norm " in first
    assert "  ±" in first
    assert first.endswith("  agree  = 2/R.size · Xᵀ((R W₂ᵀ) ⊙ (1 − H²))")
    assert len(said[said.index(first) + 1].split()) == 4


def test_in_a_pipe_it_is_numpy():
    said = shown("net", 100_000, terminal=False)
    (first,) = (line for line in said if "d/dW1" in line)
    assert first.endswith("  agree  = 2 * X.T @ ((R @ W2.T) * (1 - H ** 2)) / R.size")
    assert all(char.isascii() or char == "±" for line in said for char in line)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_screen(width):
    """Long forms go on below; a large network fits on one screen of 24 lines."""
    said = shown("net", width, terminal=True)
    assert max(map(len, said)) <= width
    assert sum("agree" in line for line in said) == 4
    said = shown("large", width, terminal=True)
    assert width < 80 or len(said) <= 24
    assert "  n = X.shape[0]; every entry: --entries" in said
    assert sum("  agree" in line and "norm" in line for line in said) == 6


def test_every_entry_is_shown_when_asked_for():
    every = shown("twelve", 200, terminal=True, entries=True)
    assert any(len(line.split()) == 12 for line in every)
    assert not any("..." in line for line in shown("large", 200, terminal=False, entries=True))


def test_steps_are_formulas_with_the_numbers_below():
    """Each gradient in terms of the one before it, with its shape."""
    given = PROBLEMS["net"]
    said = lines(render_steps(derive(given, draw_given_point(given))), 80, terminal=True)
    heads = [line.strip() for line in said if "∂L/∂" in line]
    assert heads == [
        "∂L/∂R (5×2) = 2/R.size · R",
        "∂L/∂H (5×4) = ∂L/∂R W₂ᵀ",
        "∂L/∂W₂ (4×2) = Hᵀ ∂L/∂R",
        "∂L/∂b₁ (4) = sum(∂L/∂H ⊙ (1 − H²), axis=0)",
        "∂L/∂W₁ (3×4) = Xᵀ(∂L/∂H ⊙ (1 − H²))",
    ]
    assert len(said[[h.strip() for h in said].index(heads[1]) + 1].split()) == 4


def test_a_kink_keeps_its_rows_of_opinions():
    said = shown("kink", 120, terminal=False)
    (row,) = (line for line in said if "d/dx[" in line and "-1 | 1" in line)
    assert "d/dx[1]" in row


def test_a_table_that_is_too_wide_is_said_in_paragraphs():
    """Cells that are empty are not."""
    table = TextTable(["student", "mistakes", "note"])
    table.add("ada", "sign-error", "")
    assert lines(table, 100, terminal=False) == ["student  mistakes    note", "ada      sign-error"]
    assert lines(table, 20, terminal=False) == ["ada", "  mistakes", "sign-error"]
