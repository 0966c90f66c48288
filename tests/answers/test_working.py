"""Lines of working taken apart: steps, what names them, and derivatives not yet taken."""

import pytest

from gradcheck.answers.working import steps, untaken

# (typed, the steps that count)
SHEETS = [
    ("2x", ["2x"]),
    ("", []),
    ("2x + 2x = 4x", ["2x + 2x", "4x"]),
    ("y' = 2x\n = x*2", ["2x", "x*2"]),
    ("u = x^2, v = sin x\nu' = 2x\nf'(x) = 2x sin x", ["2x sin x"]),
    ("f(x) = x^2\nf'(x) = 2x", ["2x"]),
    ("d/dx(x^2) = 2x", ["d/dx(x^2)", "2x"]),
    ("(x^2)' = 2x", ["(x^2)'", "2x"]),
    (r"\frac{d}{dx} f(x) = 2x", ["2x"]),
    (r"\begin{align} y' &= 2x \\ &= x + x \end{align}", ["2x", "x + x"]),
    ("where(x == 0, 1, 2)", ["where(x == 0, 1, 2)"]),
    ("2x => 2*x", ["2x", "2*x"]),
    ("y' = 2x ≈ 4.3", ["2x"]),
    ("sum(X, axis=0) = X.sum(axis=0)", ["sum(X, axis=0)", "X.sum(axis=0)"]),
]


@pytest.mark.parametrize(("typed", "expected"), SHEETS)
def test_steps(typed, expected):
    """What is equal to each other, from the first step to the answer; each at its place."""
    found = steps(typed)
    assert [step.text.strip() for step in found] == expected
    for step in found:
        assert typed[step.start :].startswith(step.text.rstrip().split("  ")[0])


def test_lines_are_counted_from_one():
    """A line is what stands between two line breaks, empty ones too."""
    assert [step.line for step in steps("y' = x\n\n= 2x = 3x")] == [1, 3, 3]


@pytest.mark.parametrize(
    ("typed", "text", "inner"),
    [
        ("d/dx(x^2) + 1", " derivative_0  + 1", [("x^2", "x")]),
        ("d/dx x^2 + 1", "derivative_0 + 1", [("x^2", "x")]),
        (r"\frac{d}{dy}[x y] x", "derivative_0 x", [("x y", "y")]),
        ("(x^2)' y + x^2 (y)'", "derivative_0 y + x^2 derivative_1", [("x^2", "x"), ("y", "x")]),
        ("((x + 1)^2)'", "derivative_0", [("(x + 1)^2", "x")]),
        ("2x", "2x", []),
    ],
)
def test_derivatives_not_yet_taken(typed, text, inner):
    """Each is a name in the step, and a text of its own with the letter it is taken by."""
    found = untaken(typed, "x")
    assert found.text.split() == text.split()
    assert [(body.strip(), by) for body, by in found.derivatives.values()] == inner


@pytest.mark.parametrize("typed", ["d/dx(x^2", "x)'", "d/dx x*y"])
def test_what_is_unclear_is_not_guessed(typed):
    """A bracket that is missing, or a product that may end anywhere."""
    with pytest.raises(ValueError, match=r".*"):
        untaken(typed, "x")
