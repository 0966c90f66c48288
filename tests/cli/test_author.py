"""What `gradcheck lint` says of a problem's own names."""

import pytest

from tests.support.commands import run


@pytest.mark.parametrize(
    ("name", "meant"), [("T", "a transpose"), ("e", "Euler"), ("i", "an index")]
)
def test_an_input_that_is_named_like_something_else(file, name, meant):
    """Students write `x^T`, `e^x` and a sum over i."""
    found = run("lint", file(f"{{id: one, inputs: {{{name}: 2.0}}, program: '{name}**3'}}"))
    assert f"an input named `{name}` is easily taken for {meant}" in found.output
    assert found.exit_code == 1


def test_other_names_are_nothing_to_talk_about(file):
    """Nor is the same letter in another case."""
    assert "named" not in run("lint", file("{id: one, inputs: {t: 2.0}, program: t**3}")).output


def test_a_wrong_self_test_says_what_is_right(file):
    """Where, what the set has there, and what it should have."""
    found = run("lint", file("{id: one, inputs: {x: 3.0}, program: x**2, right: [x, 2*x, 5]}"))
    assert "x answered 5: expected right, came wrong" in found.output
    assert "at x = 3.0: yours 5, expected 6" in found.output
    assert found.output.count("self-test") == 2


def test_labels_have_no_other_values(file):
    """A class is one row of zeros and a one: nothing else could be written there."""
    text = (
        "program: -sum(T * log(P))\nid: one\ninputs:\n  P: [[0.2, 0.5, 0.3], [0.6, 0.15, 0.25]]\n"
    )
    text += "  T: {value: [[0, 1, 0], [1, 0, 0]], requires_grad: false}\n"
    assert "use other values" not in run("lint", file(text)).output
