"""What a problem cannot show is found before class, with the cure."""

import numpy as np
import pytest

from gradcheck.diagnosis.lint import find_blind
from tests.support.school import case, drawn, mlp, school


def of(findings, kind):
    """Cures by id, of one kind."""
    return {name: f.cure for f in findings if f.kind == kind for name in f.ids}


def test_batch_of_one_hides_means_and_sums():
    """With one row a mean is a sum: the mistakes of both are hidden, more rows are the cure."""
    hidden = of(find_blind(drawn(*mlp(1), points=1)), "invisible")
    for name in ("mean-for-sum", "sum-for-mean", "broadcast-averaged", "summed-over-wrong-axis"):
        assert hidden[name].startswith("use 5 rows")


def test_batch_of_five_hides_only_the_axis_of_length_one():
    """The only blind spot left is the bias with a single entry."""
    hidden = [f for f in find_blind(drawn(*mlp(5), points=1)) if f.kind == "invisible"]
    assert {name for f in hidden for name in f.ids} == {"summed-over-wrong-axis"}
    program = mlp(5)[0]
    assert [program[f.span[0] : f.span[1]] for f in hidden if f.span] == ["k @ W3 + b3"]


HIDING = {
    "a symmetric matrix its transposition": (
        case("sum(A @ x * v)", {"A": [[1, 2], [2, 5]], "x": [[1, 2], [3, 4]],
                                "v": [[1, 0.3], [2, 0.7]]}, ["x"]),
        "transposed", "use a matrix A that is not symmetric"),
    "a cotangent of ones what ignores it": (
        case("x**3", {"x": [1, 2, 3]}, ["x"], np.ones(3)), "seed-not-one", "cotangent"),
    "positive arguments the mask": (
        case("sum(relu(x)**2*v)", {"x": [1, 2, 3], "v": [1, -2, 0.4]}, ["x"]),
        "chain-factor-dropped", "negative"),
    "a factor of one its loss": (
        case("sin(1*x)", {"x": 0.7}), "constant-factor-lost", "other than 1"),
    "a special value the power rule": (
        case("x**2", {"x": 2.0}), "not-differentiated", "other values"),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDING)
def test_what_hides_is_told_with_its_cure(name):
    asked, mistake, cure = HIDING[name]
    assert cure in of(find_blind([asked]), "invisible")[mistake]


def test_an_identity_is_no_special_value():
    """At x = 2 the square is its own derivative; elsewhere it is not. e^x is so everywhere."""
    assert "not-differentiated" not in of(find_blind([case("exp(x)", {"x": 2.0})]), "invisible")


def test_exponent_two_cannot_be_told_from_a_second_derivative():
    """The coefficient missing from x^2 leaves x; another exponent tells it from x * 2/2."""
    findings = find_blind(
        drawn("sum(x**2 * v)", {"x": (3,), "v": (3,)}, ("x",)), ("calculus", "backprop")
    )
    cures = [f.cure for f in findings if {"power-coefficient-missing", "factor-two"} <= set(f.ids)]
    assert cures == ["use an exponent other than 2"]


@pytest.mark.parametrize("text", ["x**3 * sin(x)", "cos(x**3) + exp(x**2)"])
def test_generic_problem_hides_nothing(text):
    assert of(find_blind(school(text)), "invisible") == {}


def test_inherent_tie_has_no_cure():
    """No choice of x tells a lost factor from a missing inner derivative of c x."""
    alike = [f for f in find_blind(school("cos(3*x)")) if f.kind == "alike"]
    ties = [f for f in alike if {"missing-inner-derivative", "constant-factor-lost"} <= set(f.ids)]
    assert [f.cure for f in ties] == [""]


def test_a_value_that_is_an_input_itself_has_nowhere_to_go_wrong():
    """No path leads to it but the start."""
    assert all(f.kind != "invisible" for f in find_blind(school("x")))
