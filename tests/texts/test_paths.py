"""Derivatives by numbers: the formula of the path taken, and what it hangs on."""

import io
from pathlib import Path

import pytest
import sympy
import yaml
from rich.console import Console

from gradcheck.problem import load_text
from gradcheck.problem.draw import draw_given_point
from gradcheck.report.figures import to_mathml
from gradcheck.report.tables import FormulaLine
from gradcheck.texts import PathForm
from gradcheck.texts.notation import write_path
from gradcheck.texts.paths import find_sign, write_path_forms
from gradcheck.verdict.consult import consult

BY_HAND = yaml.safe_load(Path(__file__).with_name("paths.yaml").read_text())


def found(program, **at):
    lines = "\n".join(f"    {line}" for line in program.splitlines())
    given = ", ".join(f"{name}: {value}" for name, value in at.items())
    text = f"id: t\ninputs: {{{given}}}\nprogram: |\n{lines}\n"
    problem = load_text(text).problems[0]
    point = draw_given_point(problem)
    return write_path_forms(problem, point, consult(problem.case(point)))


def shown(form, *, signs=False):
    out = io.StringIO()
    Console(file=out, width=200, force_terminal=signs, no_color=True, highlight=False).print(
        FormulaLine("d/dx", form)
    )
    return out.getvalue().strip().removeprefix("d/dx = ")


@pytest.mark.parametrize(("program", "x", "said"), BY_HAND)
def test_a_derivative_is_said_with_what_it_hangs_on(program, x, said):
    """As by hand, on the side of an edge on which the point lies."""
    assert shown(found(program, x=x)["x"]) == said


x, y = sympy.symbols("x y", real=True)
TOWER = (sympy.atan(sympy.tanh((abs(x) + 1) ** x)) + 1) ** (x * y - (x / 7 + 3) ** 20)
SIGNS = {
    "+": (
        1 + x**2,
        (1 + x**2) ** y,
        1 / (1 + sympy.exp(-x)),
        sympy.sqrt(2) * x**2 + sympy.log(2),
        sympy.tanh(TOWER),
        sympy.sech(x) + sympy.erfc(y),
    ),
    "0+": (x**2, (x**2 + y**2) ** sympy.Rational(3, 2), sympy.S.Zero, abs(x - 1) * y**2),
    "-": (-(x**2) - 1, sympy.tanh(-1 - x**2)),
    "0-": (-abs(x), -(x**2) * sympy.cosh(y)),
    "": (x, 1 / x**2, sympy.E**2 - x**2, x * sympy.exp(x)),
}


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_is_what_the_outermost_operations_give(sign):
    """What SymPy says of it, which takes minutes for the tower: here it is one walk."""
    for expr in SIGNS[sign]:
        assert find_sign(expr) == sign
        if not expr.has(TOWER):
            at = [float(expr.subs({x: a, y: b})) for a in (-1.5, 0.3) for b in (0.7, -2)]
            assert sign != "+" or min(at) > 0
            assert sign != "0+" or min(at) >= 0


ENDLESS = (
    "x*1.0001**9000",
    "x*(1 + 0.05/365)**7300",
    "x*(1.0000001**9000)**9000",
    "x*loggamma(10000000)",
    "x*loggamma(100000.5)",
    "x*digamma(10000000)",
)


@pytest.mark.parametrize("program", ENDLESS)
def test_numbers_that_nobody_reads_are_not_worked_out(program):
    """Of thousands of digits, or sums of a million fractions; rounding is told all the same."""
    problem = load_text(f"id: t\ninputs: {{x: 0.05}}\nprogram: {program}\n").problems[0]
    point = draw_given_point(problem)
    verdict = consult(problem.case(point))
    assert verdict.verdict == "agree"
    assert write_path_forms(problem, point, verdict) == {}


def test_an_input_called_e_is_not_the_constant():
    assert shown(found("x*exp(1) + e*x", x=0.5, e=3.0)["x"]) == "e + exp(1)"


def test_of_several_numbers_the_path_is_said():
    """Where an edge hangs on other numbers, too, it is a relation between them."""
    said = found("log(w*x) + maximum(x, w)", x=2.0, w=3.0)
    assert shown(said["x"]) == "1/x  for x < w, w*x > 0"
    assert shown(said["w"]) == "1 + 1/w  for x < w, w*x > 0"


def test_a_path_is_set_in_every_notation():
    """Signs, LaTeX and MathML, the words among them."""
    root = PathForm("-x/sqrt(1 - x**2)", "-1 < x < 1")
    assert shown(root, signs=True) == "−x/√(1 − x²)  for −1 < x < 1"
    assert write_path(root).endswith(r"\text{  for }-1 < x < 1")
    assert "for\xa0</mtext>" in to_mathml(write_path(root))
    assert "for" not in write_path(PathForm("2*x"))


@pytest.mark.parametrize("more", ["jacobian: true", "order: 2"])
def test_rows_have_no_path(more):
    """A Jacobian of a vector by a number, and a second derivative, are not said so."""
    program = "stack([x, x**2])" if more.startswith("j") else "x**3"
    problem = load_text(f"id: t\ninputs: {{x: 2.0}}\nprogram: {program}\n{more}\n").problems[0]
    point = draw_given_point(problem)
    assert write_path_forms(problem, point, consult(problem.case(point))) == {}
