"""Sigmoids and softmaxes that a program writes out: gradients as in the textbook.

`p - y` for the logistic loss and `s - e_k` for cross-entropy: Goodfellow, Bengio, Courville, Deep
Learning (2016), 6.2.2.
"""

import numpy as np
import pytest

from gradcheck.opinions.reverse import reverse
from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point
from gradcheck.texts.forms import matrix_forms
from tests.support.texts import at

LOGISTIC = "  loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))"
GIVEN = "X: {{shape: [{n}, 2], requires_grad: false}}, y: {{value: {y}, requires_grad: false}}, "
DATA, LABELS = GIVEN + "w: {{shape: [2]}}", GIVEN + "W: {{shape: [2, 4]}}"
ONE = "z: {{shape: [{n}]}}"
WRITTEN = {
    "logistic loss": (
        DATA,
        f"p = 1 / (1 + np.exp(-X @ w))\n{LOGISTIC}",
        "X.T @ (p - y) / y.shape[0]",
    ),
    "the other sigmoid": (
        DATA,
        f"p = np.exp(X @ w) / (1 + np.exp(X @ w))\n{LOGISTIC}",
        "",
    ),
    "one before the power": (
        DATA,
        f"p = 1 / (np.exp(-(X @ w)) + 1)\n{LOGISTIC}",
        "X.T @ (p - y) / y.shape[0]",
    ),
    "squares": (ONE, "h = 1 / (1 + np.exp(-z))\n  sum(h**2)", "2 * h ** 2 * (1 - h)"),
    "no sigmoid: two": (ONE, "h = 1 / (2 + np.exp(-z))\n  sum(h)", "h ** 2 * exp(-z)"),
    "no sigmoid: twice": (ONE, "h = 1 / (1 + 2 * np.exp(-z))\n  sum(h)", "2 * h ** 2 * exp(-z)"),
    "no sigmoid: another power": (
        ONE,
        "h = np.exp(2 * z) / (1 + np.exp(z))\n  sum(h)",
        "",
    ),
    "one class": (
        ONE,
        "s = np.exp(z) / np.sum(np.exp(z))\n  -np.log(s[1])",
        "s - eye(z.shape[0])[1]",
    ),
    "shifted": (
        ONE,
        "e = np.exp(z - np.max(z))\n  s = e / e.sum()\n  -np.log(s[1])",
        "s - eye(z.shape[0])[1]",
    ),
    "the class of another": (ONE, "s = softmax(z)\n  -np.log(s[1]) + s[0]", ""),
    "a class of each row": (
        LABELS,
        "p = softmax(X @ W, axis=1)\n  -mean(log(p[arange({n}), y]))",
        "X.T @ (p - eye(W.shape[1])[{y}]) / X.shape[0]",
    ),
}
SIZES = ((3, [0, 1, 1]), (5, [1, 0, 1, 0, 0]))


@pytest.mark.parametrize("name", WRITTEN)
def test_the_gradient_is_as_in_the_book(name: str) -> None:
    """And, as for every text that is shown, it is the gradient: at two sizes, by reverse mode."""
    inputs, program, text = WRITTEN[name]
    for n, y in SIZES:
        given = load_text(
            f"id: p\ninputs: {{{inputs.format(n=n, y=y)}}}\nprogram: |\n  {program.format(n=n)}\n"
        ).problems[0]
        point = given_point(given)
        gradients = reverse(given.case(point)).gradients
        ((part, found),) = matrix_forms(given, point, gradients).items()
        np.testing.assert_allclose(at(found, given), gradients[part].value, rtol=1e-10, atol=1e-12)
        assert text.format(y=y) in {found, ""}
