"""Derivatives by a number on the whole line: pieces, domains, and where there is none."""

import pytest

from gradcheck.closed_forms.shown import Branches
from gradcheck.derivation.branches import branches
from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point
from gradcheck.report.branches import in_latex, in_mathml, in_signs, plain
from gradcheck.verdict.consult import consult

BY_HAND = {
    ("x**2", 1.5): "2*x",
    ("abs(x)", 0.5): "1 if x > 0, -1 if x < 0, not defined at x = 0",
    ("abs(x)", 0.0): "1 if x > 0, -1 if x < 0, not defined at x = 0",
    ("abs(x)*abs(x)", 0.5): "2*x",
    ("relu(x)*x", -1.0): "2*x if x >= 0, 0 if x < 0",
    ("where(x > 0, x**2, -x)", 0.5): "2*x if x > 0, -1 if x < 0, not defined at x = 0",
    ("maximum(0, 1 - x)**2", 1.0): "0 if x >= 1, 2*x - 2 if x < 1",
    ("clip(x, -1, 1)", 0.5): (
        "1 if -1 < x < 1, 0 if x < -1 or x > 1, not defined at x = -1, x = 1"
    ),
    ("abs(x**2 - 2)", 0.5): (
        "-2*x if -sqrt(2) < x < sqrt(2), 2*x if x < -sqrt(2) or x > sqrt(2), "
        "not defined at x = -sqrt(2), x = sqrt(2)"
    ),
    ("log(x)", 2.0): "1/x  for x > 0",
    ("log(abs(x))", -2.0): "1/x  for x != 0",
    ("1/(x - 1)", 3.0): "-1/(x - 1)**2  for x != 1",
    ("sqrt(x)", 1.0): "1/(2*sqrt(x))  for x > 0",
    ("arcsin(x)", 0.5): "1/sqrt(1 - x**2)  for -1 < x < 1",
    ("x**x", 0.5): "x**x*(log(x) + 1)  for x > 0",
    ("arctan(1/x)", 0.5): "-1/(x**2 + 1)  for x != 0",
    ("tan(x)", 0.5): "tan(x)**2 + 1  for cos(x) != 0",
    ("floor(x)*x", 0.5): "floor(x)  for x is no whole number",
    ("log(exp(x) - 1)", 1.0): "exp(x)/(exp(x) - 1)  for exp(x) > 1",
    ("z = 2*x\ns = sigmoid(z)\ns**2", 0.5): "4 * s ** 2 * (1 - s)",
}
"""Values at single numbers, and what a school book would say of the derivative."""


def found(program: str, **at: float) -> dict[str, Branches]:
    """The branches of a program at a point."""
    lines = "\n".join(f"    {line}" for line in program.splitlines())
    given = ", ".join(f"{name}: {value}" for name, value in at.items())
    text = f"id: t\ninputs: {{{given}}}\nprogram: |\n{lines}\n"
    problem = load_text(text).problems[0]
    point = given_point(problem)
    return branches(problem, point, consult(problem.case(point)))


@pytest.mark.parametrize(("program", "x"), BY_HAND)
def test_a_derivative_is_said_with_where_it_holds(program: str, x: float) -> None:
    """As by hand, whichever side of an edge the point lies on."""
    assert plain(found(program, x=x)["x"]) == BY_HAND[program, x]


def test_of_several_numbers_the_path_is_said() -> None:
    """Where an edge hangs on other numbers, too, it is a relation between them."""
    said = found("log(w*x) + maximum(x, w)", x=2.0, w=3.0)
    assert plain(said["x"]) == "1/x  for x < w, w*x > 0"
    assert plain(said["w"]) == "1 + 1/w  for x < w, w*x > 0"


def test_pieces_are_set_in_every_notation() -> None:
    """Signs, LaTeX and MathML, their words among them."""
    relu = Branches((("2*x", "x >= 0"), ("0", "x < 0")))
    assert in_signs(relu) == "2x if x ≥ 0, 0 if x < 0"
    cases = r"\begin{cases}2\,x & \text{if } x \ge 0 \\ 0 & \text{if } x<0\end{cases}"
    assert in_latex(relu) == cases
    assert in_mathml(relu).count("<mtr>") == 2
    root = Branches((("-x/sqrt(1 - x**2)", "-1 < x < 1"),))
    assert in_signs(root) == "−x/√(1 − x²)  for −1 < x < 1"
    assert in_latex(root).endswith(r"\text{  for }-1<x<1")
    assert "<mtext> for </mtext>" in in_mathml(root)
