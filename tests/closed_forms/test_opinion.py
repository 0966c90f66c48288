"""The closed form of whole arrays as an opinion: right in balls, and no echo of reverse mode."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import yaml

from gradcheck.closed_forms import definitions, derive
from gradcheck.closed_forms.opinion import closed_form
from gradcheck.closed_forms.tensor_form import tensor_form
from gradcheck.grading.judging import judge
from gradcheck.grading.key import key
from gradcheck.opinions import tape as runs_on_tape
from gradcheck.opinions.differences import differences
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import given_point
from gradcheck.verdict.consult import consult, read
from tests.support.losses import LOSSES, SIZES, drawn


def problem(program: str, inputs: dict[str, Any], wrt: str = "") -> Problem:
    """A problem at given numbers; inputs that are shapes are drawn."""
    given = {
        name: {"shape": list(v)} if isinstance(v, tuple) else np.asarray(v).tolist()
        for name, v in inputs.items()
    }
    words = {"id": "t", "inputs": given, "program": program}
    return load_text(yaml.safe_dump(words | ({"wrt": wrt.split()} if wrt else {}))).problems[0]


def case(program: str, inputs: dict[str, Any], wrt: str = "") -> Case:
    """The question at the given point."""
    found = problem(program, inputs, wrt)
    return found.case(given_point(found))


@pytest.mark.parametrize("name", LOSSES)
def test_in_balls_it_is_the_closed_form_of_every_entry(name: str) -> None:
    """Value and gradients overlap those that SymPy's line gives, at forty digits."""
    loss = LOSSES[name]
    asked = case(loss.program, drawn(loss, SIZES[0], 0), loss.wrt)
    whole, each = tensor_form(asked), symbolic(asked, write=False)
    assert not whole.abstains
    assert whole.value is not None
    assert each.value is not None
    assert whole.value.balls.item().overlaps(each.value.balls.item())
    for part in asked.wrt:
        pairs = zip(whole.gradients[part].balls.flat, each.gradients[part].balls.flat, strict=True)
        assert all(a.overlaps(b) for a, b in pairs)
        rounded = "sqrt(2)" in loss.program  # the run knows it as a float
        assert np.max(whole.gradients[part].error) < (1e-13 if rounded else 1e-30)


PICKED = {
    "slices": ("sum(x[1:]*x[:-1])", {"x": (5,)}),
    "entries": ("x[0]*x[1] + 3*x[-1]", {"x": (4,)}),
    "rows twice": ("sum(X[[0, 2, 2]]**2)", {"X": (4, 3)}),
    "a column": ("sum(X[:, 1]**2*y)", {"X": (4, 3), "y": (4,)}),
    "a block": ("sum(X[1:, :2] @ W)", {"X": (4, 3), "W": (2, 3)}),
    "new axes": ("sum((x[:, None] - y[None, :])**2)", {"x": (4,), "y": (3,)}),
    "all but the last axis": ("sum(T[1, ..., 0]**2*x)", {"T": (2, 3, 4), "x": (3,)}),
    "a new axis before all": ("sum(X[None, ..., 1:]**2*T)", {"X": (4, 3), "T": (3, 4, 2)}),
    "pairs of places": ("sum(X[[0, 1, 2], [1, 0, 1]]**2)", {"X": (3, 2)}),
    "where": ("sum(where(abs(r) <= 1, r**2/2, abs(r) - 1/2))", {"r": (6,)}),
    "largest": ("max(x*y)", {"x": (4,), "y": (4,)}),
    "largest of rows": ("sum(max(X*X, axis=1)*y)", {"X": (4, 3), "y": (4,)}),
    "least, kept": ("sum(min(X, axis=0, keepdims=True)*X)", {"X": (4, 3)}),
    "joined": ("c = concatenate([a, b])\nsum(c**2*w)", {"a": (3,), "b": (2,), "w": (5,)}),
    "joined columns": (
        "sum(concatenate([a, b], axis=1) @ W)",
        {"a": (3, 2), "b": (3, 4), "W": (6, 2)},
    ),
    "stacked": ("sum(stack([a, b])**2*g)", {"a": (3,), "b": (3,), "g": (2, 3)}),
    "hstack": ("sum(hstack([a, b])**2*w)", {"a": (3,), "b": (2,), "w": (5,)}),
    "hstack of matrices": ("sum(hstack([A, B]) @ w)", {"A": (2, 3), "B": (2, 2), "w": (5,)}),
    "vstack": ("sum(vstack([a, b])**2*g)", {"a": (3,), "b": (3,), "g": (2, 3)}),
    "vstack of matrices": ("sum(vstack([A, B]) @ w)", {"A": (2, 3), "B": (4, 3), "w": (3,)}),
    "columns": ("sum(column_stack([a, b]) @ w)", {"a": (3,), "b": (3,), "w": (2,)}),
    "roll": ("sum(roll(x, 1)*x*g)", {"x": (4,), "g": (4,)}),
    "tile": ("sum(tile(x, 2)*w)", {"x": (3,), "w": (6,)}),
    "tiles": ("sum(tile(X, (2, 3))*W)", {"X": (2, 2), "W": (4, 6)}),
    "repeat": ("sum(repeat(x, 2)*w)", {"x": (3,), "w": (6,)}),
    "pad": ("sum(pad(x, (1, 2))**2*w)", {"x": (3,), "w": (6,)}),
    "pad a matrix": ("sum(pad(X, ((1, 0), (2, 1)))*W)", {"X": (2, 3), "W": (3, 6)}),
    "sort": ("sum(sort(x)**2*w)", {"x": (5,), "w": (5,)}),
    "vdot": ("vdot(A, B)**2", {"A": (2, 3), "B": (2, 3)}),
    "mirrored": ("sum(fliplr(A)*flipud(A)*B)", {"A": (2, 3), "B": (2, 3)}),
    "running sum": ("sum(cumsum(X, axis=1)*G)", {"X": (3, 4), "G": (3, 4)}),
    "differences": ("sum(diff(x)**2)", {"x": (4,)}),
    "reversed": ("sum(x*x[::-1])", {"x": (4,)}),
    "stacks of matrices": ("sum((A @ B)**2)", {"A": (2, 3, 4), "B": (2, 4, 3)}),
    "a stack and a matrix": ("sum((A @ B)*C)", {"A": (2, 3, 4), "B": (4, 3), "C": (2, 3, 3)}),
    "norm 1": ("norm(x, 1)", {"x": (4,)}),
    "norms of rows": ("sum(norm(X, axis=1))", {"X": (4, 3)}),
    "product": ("prod(x)", {"x": (4,)}),
    "between bounds": ("sum(clip(x, -0.5, 0.5)*g)", {"x": (6,), "g": (6,)}),
    "triangle": ("sum(tril(A) @ x)", {"A": (3, 3), "x": (3,)}),
    "diagonal": ("prod(diag(A)) + sum(diag(x) @ A)", {"A": (3, 3), "x": (3,)}),
    "leaky": ("sum(leaky_relu(x, 0.2)*g)", {"x": (4,), "g": (4,)}),
    "deviation": ("sum(std(X, axis=0)*g)", {"X": (4, 3), "g": (3,)}),
    "labels": ("cross_entropy(Z, [0, 1, 1])", {"Z": (3, 2)}),
    "layer norm": ("sum(layer_norm(X, (3,))*G)", {"X": (4, 3), "G": (4, 3)}),
    "logits": ("binary_cross_entropy_with_logits(a, sigmoid(b))", {"a": (3,), "b": (3,)}),
    "another shape": ("sum(x.reshape(2, 3) @ W)", {"x": (6,), "W": (3, 2)}),
    "flattened": ("sum(X.reshape(-1)*y)", {"X": (2, 3), "y": (6,)}),
    "convolution": (
        "y = x[:-2]*k[0] + x[1:-1]*k[1] + x[2:]*k[2]\nsum(y**2)",
        {"x": (6,), "k": (3,)},
    ),
}


@pytest.mark.parametrize("name", PICKED)
def test_what_picks_and_joins_entries_agrees_with_reverse_mode(name: str) -> None:
    """Indices, conditions, extremes, stacks, running sums: to 1e-10."""
    asked = case(*PICKED[name])
    whole, tape = tensor_form(asked), reverse(asked)
    assert not whole.abstains
    for part in asked.wrt:
        np.testing.assert_allclose(
            whole.gradients[part].value, tape.gradients[part].value, rtol=1e-10, atol=1e-12
        )


LARGE = "H = tanh(X @ W1 + b1)\nP = softmax(H @ W2, axis=1)\n-sum(Y*log(P))/X.shape[0]"
SHAPES: dict[str, Any] = {
    "X": (16, 40),
    "W1": (40, 40),
    "b1": (40,),
    "W2": (40, 3),
    "Y": (16, 3),
}


def test_a_large_program_has_three_opinions() -> None:
    """Nobody abstains, and every entry is known by two."""
    verdict = consult(case(LARGE, SHAPES, "W1 b1 W2"))
    assert verdict.verdict == "agree"
    assert not any(o.abstains for o in verdict.opinions.values())
    assert verdict.opinions["symbolic"].gradients["W1"].shape == (40, 40)


def test_a_large_problem_can_be_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key is the closed form of whole arrays; a wrong formula meets a witness."""
    monkeypatch.setattr("gradcheck.closed_forms.opinion.SHORT", 200)  # not minutes for 20,000
    given = problem("H = tanh(X @ W)\nsum(H**2)", {"X": (5, 8), "W": (8, 6)}, "W")
    ready = key(given)
    part = given.part("W")
    assert part is not None
    assert judge(ready, part, "2 * X.T @ (H * (1 - H**2))").verdict == "right"
    assert judge(ready, part, "2 * X.T @ (H * (1 + H**2))", diagnose=False).verdict == "wrong"


def test_a_tie_is_left_to_the_others() -> None:
    """Where two branches meet it abstains."""
    found = tensor_form(case("sum(relu(x))", {"x": [1.0, 0.0]}))
    assert "two branches meet" in found.abstains


def test_what_it_cannot_say_is_said_entry_by_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long that is."""
    monkeypatch.setattr("gradcheck.closed_forms.opinion.SHORT", 0)
    found = closed_form(case("sum(cumprod(x))", {"x": [1.0, 2.0, 3.0]}))
    np.testing.assert_allclose(found.gradients["x"].value, [9.0, 4.0, 2.0])


# -- a wrong rule is a dissent -------------------------------------------------------------------

CALLED = {
    "softmax": ("sum(softmax(X, axis=1)*G)", {"X": (3, 2), "G": (3, 2)}),
    "log_softmax": ("sum(log_softmax(X, axis=1)*G)", {"X": (3, 2), "G": (3, 2)}),
    "logsumexp": ("sum(logsumexp(X, axis=1))", {"X": (3, 2)}),
    "inv": ("sum(inv(A)*G)", {"A": [[3.0, 1.0], [0.5, 2.0]], "G": (2, 2)}),
    "det": ("det(A)", {"A": [[3.0, 1.0], [0.5, 2.0]]}),
    "max": ("max(x)**2", {"x": (4,)}),
    "min": ("min(x)**2", {"x": (4,)}),
    "prod": ("prod(x)", {"x": (4,)}),
    "reshape": ("sum(x.reshape(2, 3) @ W)", {"x": (6,), "W": (3, 2)}),
    "slogdet": ("slogdet(A)[1]", {"A": [[3.0, 1.0], [0.5, 2.0]]}),
    "cholesky": ("sum(cholesky(A)*G)", {"A": [[3.0, 1.0], [1.0, 2.0]], "G": (2, 2)}),
    "cumprod": ("sum(cumprod(x)*w)", {"x": (4,), "w": (4,)}),
    "kron": ("sum(kron(A, B)*G)", {"A": (1, 2), "B": (2, 2), "G": (2, 4)}),
}


@pytest.mark.parametrize("name", CALLED)
def test_a_wrong_rule_of_a_whole_tensor_is_a_dissent(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reverse mode does not follow it: nothing of it is shared."""
    assert set(CALLED) == set(derive.CALLS)
    right: Callable[..., Any] = derive.CALLS[name]

    def wrong(*args: Any) -> Any:
        found = right(*args)
        return definitions.times(Fraction(3, 2), found)

    asked = case(*CALLED[name])
    assert _verdict(asked) == "agree"
    monkeypatch.setitem(derive.CALLS, name, wrong)
    assert _verdict(asked) == "dissent"


DEFINED = {
    "matmul": ("sum((A @ B)**2)", {"A": (2, 3), "B": (3, 2)}),
    "sum": ("sum(x**2)**2", {"x": (3,)}),
    "mean": ("mean(x**2)", {"x": (3,)}),
    "multiply": ("sum(x*x*x)", {"x": (3,)}),
    "divide": ("sum(x/(1 + x**2))", {"x": (3,)}),
    "getitem": ("sum(x[1:]**2)", {"x": (3,)}),
    "concatenate": ("sum(concatenate([x, y])**2)", {"x": (3,), "y": (2,)}),
    "where": ("sum(where(x > 0, x**2, 3*x))", {"x": (4,)}),
    "cumsum": ("sum(cumsum(x)**2)", {"x": (3,)}),
    "transpose": ("sum(A.T @ x)", {"A": (2, 3), "x": (2,)}),
}


@pytest.mark.parametrize("name", DEFINED)
def test_a_wrong_definition_is_a_dissent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its value shows it, before any gradient does."""
    asked = case(*DEFINED[name])
    assert _verdict(asked) == "agree"
    right = definitions.RULES[name]

    def wrong(*args: Any, **params: Any) -> Any:
        made = right(*args, **params)
        return replace(made, expression=definitions.times(Fraction(3, 2), made.expression))

    monkeypatch.setitem(definitions.RULES, name, wrong)
    assert _verdict(asked) == "dissent"


def test_a_wrong_slope_is_a_dissent(monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy's slopes are asked, and no VJP."""
    asked = case("sum(tanh(x))", {"x": (3,)})
    assert _verdict(asked) == "agree"
    monkeypatch.setattr(definitions, "slopes", lambda row, constants: ("1 + y**2",))
    assert _verdict(asked) == "dissent"


def test_reverse_modes_rules_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any pass back over the tape it still has its numbers."""

    def gone(*args: Any) -> Any:
        raise AssertionError("a rule of reverse mode was asked")

    asked = case(LARGE, {k: tuple(min(n, 4) for n in v) for k, v in SHAPES.items()}, "W1")
    monkeypatch.setattr("gradcheck.opinions.tape.walk", gone)
    monkeypatch.setattr("gradcheck.opinions.reverse.walk", gone)
    assert reverse(asked).abstains
    assert not tensor_form(asked).abstains


def test_what_is_recorded_wrong_fools_both_and_differences_dissent() -> None:
    """The recording is shared: an operator that gets its operands swapped there is in both."""

    def swapped(kind: str, inputs: Any) -> Any:
        a, b = inputs["x"], inputs["y"]
        return np.sum((b - a) ** 3 if kind == "tensor" else (a - b) ** 3)

    asked = replace(case("sum((x - y)**3)", {"x": (3,), "y": (3,)}), function=swapped)
    fooled = [reverse(asked), tensor_form(asked)]
    assert read(asked, fooled).verdict == "agree"
    found = read(asked, [*fooled, differences(asked)])
    assert found.verdict == "dissent"
    assert {entry.lonely for entry in found.entries} == {"differences"}


def test_one_question_records_the_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long the closed form would be and its arrays are read off the same tape."""
    runs: list[Case] = []
    run = runs_on_tape.record
    monkeypatch.setattr(runs_on_tape, "record", lambda asked: runs.append(asked) or run(asked))
    closed_form(case(LARGE, SHAPES, "W1 b1 W2"))
    assert len(runs) == 1


def _verdict(asked: Case) -> str:
    return read(asked, [reverse(asked), tensor_form(asked)]).verdict
