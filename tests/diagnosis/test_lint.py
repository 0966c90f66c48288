"""What a problem cannot show is found before class, with the cure."""

import numpy as np
import pytest

from gradcheck.diagnosis.lint import blind
from tests.support.school import case, drawn, mlp, school


def of(findings, kind):
    """Cures by id, of one kind."""
    return {name: f.cure for f in findings if f.kind == kind for name in f.ids}


def test_batch_of_one_hides_means_and_sums():
    """With one row a mean is a sum: the mistakes of both are hidden, more rows are the cure."""
    hidden = of(blind(drawn(*mlp(1), points=1)), "invisible")
    for name in ("mean-for-sum", "sum-for-mean", "broadcast-averaged", "summed-over-wrong-axis"):
        assert hidden[name].startswith("use 5 rows")


def test_batch_of_five_hides_only_the_axis_of_length_one():
    """The only blind spot left is the bias with a single entry."""
    hidden = [f for f in blind(drawn(*mlp(5), points=1)) if f.kind == "invisible"]
    assert {name for f in hidden for name in f.ids} == {"summed-over-wrong-axis"}
    program = mlp(5)[0]
    assert [program[f.span[0] : f.span[1]] for f in hidden if f.span] == ["k @ W3 + b3"]


def test_symmetric_matrix_hides_its_transposition():
    inputs = {"A": [[1, 2], [2, 5]], "x": [[1, 2], [3, 4]], "v": [[1, 0.3], [2, 0.7]]}
    findings = blind([case("sum(A @ x * v)", inputs, ["x"])])
    assert of(findings, "invisible")["transposed"] == "use a matrix A that is not symmetric"


def test_cotangent_of_ones_hides_what_ignores_it():
    findings = blind([case("x**3", {"x": [1, 2, 3]}, ["x"], np.ones(3))])
    assert "cotangent" in of(findings, "invisible")["seed-not-one"]


def test_positive_arguments_hide_the_mask():
    findings = blind([case("sum(relu(x)**2*v)", {"x": [1, 2, 3], "v": [1, -2, 0.4]}, ["x"])])
    assert "negative" in of(findings, "invisible")["chain-factor-dropped"]


def test_factor_of_one_hides_its_loss():
    findings = blind([case("sin(1*x)", {"x": 0.7})])
    assert "other than 1" in of(findings, "invisible")["constant-factor-lost"]


def test_special_value_is_told_from_an_identity():
    """At x = 2 the square is its own derivative; elsewhere it is not. e^x is so everywhere."""
    findings = blind([case("x**2", {"x": 2.0})])
    assert "other values" in of(findings, "invisible")["not-differentiated"]
    assert "not-differentiated" not in of(blind([case("exp(x)", {"x": 2.0})]), "invisible")


def test_exponent_two_cannot_be_told_from_a_second_derivative():
    """The coefficient missing from x^2 leaves x; another exponent tells it from x * 2/2."""
    findings = blind(
        drawn("sum(x**2 * v)", {"x": (3,), "v": (3,)}, ("x",)), ("calculus", "backprop")
    )
    cures = [f.cure for f in findings if {"power-coefficient-missing", "factor-two"} <= set(f.ids)]
    assert cures == ["use an exponent other than 2"]


@pytest.mark.parametrize("text", ["x**3 * sin(x)", "cos(x**3) + exp(x**2)"])
def test_generic_problem_hides_nothing(text):
    assert of(blind(school(text)), "invisible") == {}


def test_inherent_tie_has_no_cure():
    """No choice of x tells a lost factor from a missing inner derivative of c x."""
    alike = [f for f in blind(school("cos(3*x)")) if f.kind == "alike"]
    ties = [f for f in alike if {"missing-inner-derivative", "constant-factor-lost"} <= set(f.ids)]
    assert [f.cure for f in ties] == [""]


def test_a_value_that_is_an_input_itself_has_nowhere_to_go_wrong():
    """No path leads to it but the start."""
    assert all(f.kind != "invisible" for f in blind(school("x")))
