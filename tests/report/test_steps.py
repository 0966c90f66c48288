"""The right answer on a student's page: right, with the student's own numbers, or not there."""

import math

import pytest

from gradcheck.batch.collect import describe_problem
from gradcheck.grading.key import make_key
from gradcheck.grading.marking import mark
from gradcheck.problem import load_text
from gradcheck.report.pages import render_problem
from gradcheck.report.steps import solve_again

HEAD = "id: t\ninputs: "


def problem(text):
    return load_text(HEAD + text).problems[0]


@pytest.mark.parametrize(
    "text",
    [
        "{x: 0.9}\nprogram: x**2*sin(3*x)\n",
        "{x: 0.9, y: 2.0}\nprogram: x**2*y + exp(x*y)\nwrt: [y]\n",
        "{A: {shape: [3, 2], requires_grad: false}, w: {shape: [2]}}\nprogram: sum((A @ w)**2)\n",
        "{x: 1.4, w: 0.6}\nprogram: |\n  z = w*x\n  a = tanh(z)\n  (a - 3)**2\nwrt: [a, z, w]\n",
        "{x: {shape: [3]}}\nprogram: |\n  z = 2*x\n  sum(z**3)\nwrt: [z]\n",
    ],
)
def test_it_is_right_where_it_is_typed_as_an_answer(text):
    asked = problem(text)
    found = solve_again(describe_problem(asked), {})
    assert [part for part, _ in found.forms] == [part.name for part in asked.parts]
    for part, form in found.forms:
        assert mark(make_key(asked), asked.part(part), form).verdict == "right"


@pytest.mark.parametrize(
    ("text", "given", "due"),
    [
        ("{x: 0.9}\nprogram: sin(x**2)\n", {}, 1.8 * math.cos(0.81)),
        ("{x: 0.9, a: {choose: [2, 5], requires_grad: false}}\nprogram: exp(a*x)\n", {"a": 5},
         5 * math.exp(4.5)),
    ],
)  # fmt: skip
def test_the_chain_rule_ends_in_the_derivative(text, given, due):
    found = solve_again(describe_problem(problem(text)), given)
    assert float(found.backward[-1][2]) == pytest.approx(due, rel=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "{x: 0.9}\nprogram: x**3\norder: 2\n",
        "{x: [1.0, 2.0]}\nprogram: x**2\ncotangent: [1.0, 3.0]\n",
        "{w: [1.0, 2.0]}\nprogram: (w**2).sum().backward()\nask: {g: w.grad}\n",
        "{x: 0.0}\nprogram: abs(x)\n",
    ],
)
def test_nothing_is_said_where_a_formula_does_not_say_it(text):
    assert solve_again(describe_problem(problem(text)), {}) is None


def test_it_stands_in_the_section_only_where_it_is_given():
    asked = problem("{x: 0.9}\nprogram: sin(x**2)\n")
    line = {"part": "x", "verdict": "missing", "score": 0.0, "points": 1.0, "tags": []}
    line |= {"mistakes": [], "problem": "t"}
    told = describe_problem(asked)
    assert "how to get there" in render_problem("t", told, [line], solve_again(told, {}))
    assert "how to get there" not in render_problem("t", told, [line])
