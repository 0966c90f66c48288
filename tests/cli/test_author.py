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
