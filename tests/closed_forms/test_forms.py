"""Closed forms of tensors: the losses of machine learning, and what SymPy's own calculus misses."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gradcheck.closed_forms import definitions
from gradcheck.derivation.forms import derived, matrix_forms
from gradcheck.grading.judging import judge
from gradcheck.grading.key import key
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.running.run import run
from gradcheck.opinions.reverse import reverse
from gradcheck.problem import Problem, is_training, load, load_text
from gradcheck.problem.draw import given_point
from tests.support.losses import LOSSES, SIZES, drawn

LONGEST = 240


def problem(program: str, inputs: dict[str, Any], wrt: str) -> Problem:
    """A problem at given numbers."""
    given = {name: np.asarray(value).tolist() for name, value in inputs.items()}
    text = {"id": "t", "inputs": given, "program": program, "wrt": wrt.split()}
    return load_text(yaml.safe_dump(text)).problems[0]


def forms_of(given: Problem) -> dict[str, str]:
    """What is shown of a problem: texts that reverse mode bears out."""
    point = given_point(given)
    return matrix_forms(given, point, reverse(given.case(point)).gradients)


def at(text: str, given: Problem) -> Any:
    """The value of a text at a problem's point."""
    floats = {n: np.array(v, dtype=float)[()] for n, v in given_point(given).items()}
    names = {**given.outcome_on("float", dict(floats)).names, **floats}
    program = check_program(text, declared=tuple(names), vocabulary=VOCABULARY)
    return run(program, names, KINDS["float"], Budget()).value


@pytest.mark.parametrize("name", LOSSES)
def test_the_form_found_at_one_size_is_the_gradient_at_another(name: str) -> None:
    """Every gradient has a text, and it holds for the other sizes to 1e-10."""
    loss = LOSSES[name]
    here, there = (
        problem(loss.program, drawn(loss, sizes, seed), loss.wrt)
        for seed, sizes in enumerate(SIZES)
    )
    found = forms_of(here)
    assert set(found) == set(loss.wrt.split())
    gradients = reverse(there.case(given_point(there))).gradients
    for part, text in found.items():
        assert len(text) <= LONGEST or name in {"attention", "layer norm", "correlation", "rnn"}
        due = gradients[part].value
        scale = np.max(np.abs(due))
        np.testing.assert_allclose(at(text, there), due, rtol=1e-10, atol=1e-10 * scale)


TEXTBOOK = {
    ("linear", "W"): "2 * (X.T @ (P - Y)) / P.size",
    ("least squares", "w"): "r @ X",
    ("logsumexp", "W"): "X.T @ (softmax(Z, axis=1) - Y) / X.shape[0]",
    ("tanh net", "W1"): "2 * (X.T @ ((P - Y) @ W2.T * (1 - H ** 2))) / P.size",
    ("sigmoid net", "b1"): "2 * sum((P - Y) @ W2.T * H * (1 - H), axis=0) / P.size",
    ("relu net", "W1"): "2 * (X.T @ ((P - Y) @ W2.T * (Z > 0))) / P.size",
    ("det", "A"): "det(A) * inv(A).T",
    ("quadratic form", "x"): "x @ A + A @ x",
    ("matrix factorisation", "U"): "-2 * ((M - U @ V.T) @ V)",
    ("norm", "x"): "x / norm(x)",
    ("kl of gaussians", "s"): "(exp(s) - 1) / 2",
    ("trace", "A"): "2 * trace(A) * eye(A.shape[0])",
}


@pytest.mark.parametrize(("loss", "part"), TEXTBOOK)
def test_the_text_is_that_of_a_textbook(loss: str, part: str) -> None:
    """In the program's own names, and no longer than one would write it."""
    given = LOSSES[loss]
    made = problem(given.program, drawn(given, SIZES[0], 0), given.wrt)
    assert derived(made, given_point(made))[part] == TEXTBOOK[loss, part]


def test_a_wrong_definition_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reverse mode does not bear out stays unsaid."""
    given = problem("sum(X * 3)", {"X": np.ones((2, 3))}, "X")
    assert forms_of(given) == {"X": "3 * ones_like(X)"}
    right = definitions.RULES["sum"]

    def wrong(*args: Any, **kwargs: Any) -> Any:
        made = right(*args, **kwargs)
        twice = definitions.times(Fraction(2), made.expression)
        return definitions.Made(twice, made.shape, made.sizes)

    monkeypatch.setitem(definitions.RULES, "sum", wrong)
    assert forms_of(given) == {}


def test_what_has_no_index_form_is_left_out() -> None:
    """No text, no error."""
    assert forms_of(problem("sum(cumprod(x))", {"x": [1.0, 2.0, 3.0]}, "x")) == {}


def test_a_cotangent_is_a_name() -> None:
    """Where the value is no scalar, its weights are called `cotangent`; no form is shown."""
    text = "id: t\ninputs: {x: [1.0, 2.0]}\nprogram: x**2\ncotangent: [3.0, 4.0]\n"
    given = load_text(text).problems[0]
    assert derived(given, given_point(given)) == {"x": "2 * cotangent * x"}
    assert forms_of(given) == {}


SHIPPED = [
    given
    for file in sorted((Path(__file__).parents[2] / "problems").glob("*.yaml"))
    for given in load(file).problems
    if not is_training(given) and any(i.shape for i in given.inputs.values())
]


@pytest.mark.parametrize("given", SHIPPED, ids=lambda given: given.id)
def test_a_form_of_a_shipped_problem_is_a_right_answer_to_it(given: Problem) -> None:
    """What is shown may be handed in."""
    found = forms_of(given)
    ready = key(given) if found else None
    for name, text in found.items():
        part = given.part(name)
        assert part is not None
        assert ready is not None
        assert judge(ready, part, text).verdict == "right"


def test_shipped_problems_have_a_form() -> None:
    """All but the one whose value has a cotangent: an answer cannot name it."""
    without = {given.id for given in SHIPPED if set(forms_of(given)) != set(given.wrt)}
    assert without == {"cotangent-first"}
