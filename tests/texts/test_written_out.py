"""Sigmoids and softmaxes that a program writes out: gradients as in the textbook.

`p - y` for the logistic loss and `s - e_k` for cross-entropy: Goodfellow, Bengio, Courville, Deep
Learning (2016), 6.2.2.
"""

from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.opinions.reverse import reverse
from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point
from gradcheck.texts.forms import matrix_forms
from tests.support.texts import at

ROWS = "X: {{shape: [{n}, 2], requires_grad: false}}, y: {{value: {y}, requires_grad: false}}, "
GIVEN = {
    "DATA": ROWS + "w: {{shape: [2]}}",
    "LABELS": ROWS + "W: {{shape: [2, 4]}}",
    "ONE": "z: {{shape: [{n}]}}",
}
WRITTEN = yaml.safe_load(Path(__file__).with_name("written_out.yaml").read_text())
SIZES = ((3, [0, 1, 1]), (5, [1, 0, 1, 0, 0]))


@pytest.mark.parametrize("name", WRITTEN)
def test_the_gradient_is_as_in_the_book(name):
    """And, as for every text that is shown, it is the gradient: at two sizes, by reverse mode."""
    row = WRITTEN[name]
    for n, y in SIZES:
        program = row["program"].format(n=n).replace("\n", "\n  ")
        inputs = GIVEN[row["given"]].format(n=n, y=y)
        text = f"id: p\ninputs: {{{inputs}}}\nprogram: |\n  {program}\n"
        given = load_text(text).problems[0]
        point = given_point(given)
        gradients = reverse(given.case(point)).gradients
        ((part, found),) = matrix_forms(given, point, gradients).items()
        np.testing.assert_allclose(at(found, given), gradients[part].value, rtol=1e-10, atol=1e-12)
        assert row["text"].format(y=y) in {found, ""}
