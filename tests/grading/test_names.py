"""Names that a program assigns are names in answers, in both forms of problem."""

import pytest

from gradcheck.grading.key import Key
from tests.support.grading import judged, keyed

HEAD = "id: names\ninputs: {w: 0.7, x: 1.5}\nprogram: |\n  h = tanh(w*x)\n"
FORMS = {
    "expression": HEAD + "  h**2\nwrt: [w]\n",
    "backward": HEAD + "  (h**2).backward()\n  g = w.grad\n  n = 2*g\nask: {w: w.grad}\n",
}
DATA = """
inputs: {W: {shape: [3, 2]}, X: {shape: [4, 3], requires_grad: false}}
program: |
  z = X @ W
  e = z - 1
"""
ARRAYS = {
    "expression": f"id: names{DATA}  mean(e**2)\nwrt: [W]\n",
    "backward": f"id: names{DATA}  mean(e**2).backward()\nask: {{W: W.grad}}\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("2*h*(1-h**2)*x", "right"),
        ("2h(1-h^2)x", "right"),
        ("2*h*(1-h**2)*w", "wrong"),
        ("2*tanh(w*x)*(1-h**2)*x", "right"),
        ("2*h*x", "wrong"),
        ("q*h", "invalid"),
        ("g", "invalid"),
        ("n/2", "invalid"),
    ],
)
def test_a_value_by_its_name(form: str, answer: str, verdict: str) -> None:
    """It is what the program makes of the inputs at a point; what is made of `.grad` is no name."""
    found = judged(keyed(FORMS[form]), answer)
    assert found.verdict == verdict
    if verdict == "right":
        assert "h" in found.understood


@pytest.mark.parametrize("form", ARRAYS)
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("X.T @ e / 4", "right"), ("2/8 * X.T @ (z - 1)", "right"), ("X.T @ e / 2", "wrong")],
)
def test_arrays_by_their_names(form: str, answer: str, verdict: str) -> None:
    """`e` is what the program calls so, not 2.718..."""
    assert judged(keyed(ARRAYS[form]), answer).verdict == verdict


def test_an_input_comes_first() -> None:
    """A program may write over an input: in an answer the name is the input."""
    ready: Key = keyed("id: names\ninputs: {x: 1.5}\nprogram: |\n  x = x**2\n  x*3\nwrt: [x]\n")
    assert judged(ready, "6x").verdict == "right"
