"""`gradcheck check`: one answer, without a file."""

import json

import pytest

from tests.support.commands import run


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["x**3 + 2*sin(x)", "3x^2 + 2cos x"], 0, "right  d/dx of x**3 + 2*sin(x)"),
        (["x^3 + 2sin x", "3x^2 - 2cos x"], 1, "sign-error: The sign"),
        (["a x^2", "2a x", "--wrt", "x"], 0, "right  d/dx of a*x**2"),
        (["a x^2", "2a x"], 2, "by which of a, x is `2a x` meant?"),
        (["x**2", "2*"], 2, "invalid"),
        (["W @ v", "sum", "v=2x", "W=[1, 2]", "--wrt", "v"], 2, "sum needs brackets"),
        (["sum(W * v)", "W", "v=2x", "W=[1, 2]", "--wrt", "v"], 0, "right"),
        (["abs(x)", "sign(x)", "x=0"], 2, "kink"),
        (
            ["x^T A x", "(A + A^T) x", "x=3x", "A=3x3", "--wrt", "x"],
            0,
            "right  d/dx of x.T @ A @ x",
        ),
        (["log_a(x)", "1/(x ln a)", "--wrt", "x"], 0, "right  d/dx of log(x)/log(a)"),
        (["x^2 y", "[2xy, x^2]"], 0, "right  d/dy of x**2*y"),
        (["x^2 y", "grad f = (2xy, 2x^2)"], 1, "wrong  d/dy of x**2*y"),
        (["x^2 y", "[2xy, x^2, 1]"], 2, "give one for each: `[..., ...]`"),
        (["||A x||^2", "2A'Ax", "A=4x3", "x=3x", "--wrt", "x"], 0, "right  d/dx of norm(A @ x)**2"),
        (["tr(A B)", "B^T", "A=3x3", "B=3x3", "--wrt", "A"], 0, "right  d/dA of trace(A @ B)"),
        (["x*y", "y", "x=3x", "y=3x", "--wrt", "x"], 2, "write sum(...) around it"),
        (["x**2", "2*x", "x=[1.0, 2.0]"], 2, "write sum(...) around it"),
        (["sin(x)", "√3/2", "x=pi/6"], 0, "right"),  # the cosine of 30 degrees
    ],
)
def test_check_judges_one_answer_without_a_file(words, code, said):
    """Right 0, wrong 1 with the mistake, unreadable or not to be decided 2."""
    result = run("check", *words)
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_check_json_is_a_line_of_grade():
    line = json.loads(run("check", "x**2 + sin(x)", "2x - cos x", "--json").output)
    assert (line["part"], line["verdict"], line["understood"]) == ("x", "wrong", "2*x - cos(x)")
    assert line["mistakes"][0]["id"] == "sign-error"


@pytest.mark.parametrize(
    ("program", "answer", "verdict"),
    [
        ("sum(leaky_relu(x, 0.2))", "(x > 0) + (x <= 0)/5", "right"),
        ("sum(leaky_relu(x, 0.2))", "(x > 0) + (x <= 0)/6", "wrong"),
        ("sum(elu(x, 0.5))", "(x > 0) + (x <= 0) e^x/2", "right"),
        ("sum(softplus(x, beta=2.5))", "1/(1 + e^(-5x/2))", "right"),
        ("sum(x * np.arange(2)/3)", "[0, 1/3]", "right"),
        ("sum(x * (np.ones(2)/3))", "[1/3, 1/3]", "right"),
        ("sum(x * (1/np.arange(3, 5)))", "[1/3, 1/4]", "right"),
        ("sum(x) * (sum(x > -9)/3)", "[2/3, 2/3]", "right"),
    ],
)
def test_decimals_and_truth_values_are_exact(program, answer, verdict):
    """The 0.2 of a parameter is a fifth, and so is a truth value divided by 5."""
    found = run("check", program, answer, "x=[1.0, -2.0]", "--json")
    assert json.loads(found.stdout)["verdict"] == verdict
