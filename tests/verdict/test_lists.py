"""Lists of numbers where NumPy takes an array: each kind of number takes them, too."""

import pytest

from gradcheck.problem import load_text
from gradcheck.verdict.consult import consult

# a call on lists, and its derivative at x = 1.5 by hand
CALLS = {
    "prod([x, x + 1])": 4.0,
    "mean([x, x**2])": 2.0,
    "norm([x, 2*x])": 5**0.5,
    "logsumexp([x, x])": 1.0,
    "sum(cumsum([x, 2*x]))": 4.0,
    "dot([x, 1], [x, 2])": 3.0,
    "sum(exp([x - x, 1.5 - x]))": -1.0,
    "sum(outer([x, 1], [1, x]))": 5.0,
    "det([[x, 1], [2, x]])": 3.0,
    "sum(maximum([x, 1], [2, x]))": 1.0,
    "sum(where([True, False], [x, 1], [2, x]))": 2.0,
    "trace([[x, 1], [2, x]])": 2.0,
    "sum(sort([x, 1]) * [1, 2])": 2.0,
    "sum(matmul([[x, 1], [2, x]], [x, 1]))": 6.0,
    "sum(concatenate([[x, 1], [2, x]]))": 2.0,
    "sum(stack([[x, 1], [2, x]]) * [[1, 2], [3, 4]])": 5.0,
    "sum(hstack([x, [2, x]]))": 2.0,
    "sum(convolve([x, 1], [2, x]))": 6.0,
    "sum([x, 1] * array([x, 2]))": 3.0,
    "array([x, 1]) @ [x, 2]": 3.0,
    "mse_loss([x, 1], [1, 2])": 0.5,
    "quantile([x, 2, 4], 0.25)": 0.5,
}


@pytest.mark.parametrize("text", CALLS)
def test_each_opinion_takes_lists(text):
    problem = load_text(f'id: t\ninputs: {{x: 1.5}}\nprogram: "{text}"\n').problems[0]
    found = consult(problem.case({"x": problem.inputs["x"].value}))
    assert found.verdict == "agree"
    assert not any(said.abstains for said in found.opinions.values())
    for said in found.opinions.values():
        assert float(said.gradients["x"].value) == pytest.approx(CALLS[text])
