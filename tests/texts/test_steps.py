"""`solve --steps` on arrays: every value, and every cotangent with its shape and its way."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.problem import load_text
from gradcheck.problem.draw import draw_given_point
from gradcheck.texts.steps import derive
from tests.support.texts import derived, problem

X = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
GIVEN = f"{{X: {{value: {X}, requires_grad: false}}, W: [0.5, -1.0], x: [1.0, 2.0]}}"


def asked(program, **more):
    body = program.replace("\n", "\n  ")
    rest = "".join(f"{name}: {value}\n" for name, value in more.items())
    return load_text(f"id: t\ninputs: {GIVEN}\n{rest}program: |\n  {body}\n").problems[0]


def walked(problem):
    return derive(problem, draw_given_point(problem))


def texts_of(problem):
    return {stage.name: stage.text for stage in walked(problem).backward if stage.text}


def test_the_cotangents_of_a_mean_of_squares_by_hand():
    """d/dr of mean(r**2) is 2 r / 3, and d/dW of X @ W is X.T times that."""
    found = walked(asked("r = X @ W\n(r**2).mean()"))
    r = np.array([-1.5, -2.5, -3.5])
    assert [(s.name, s.text, s.node) for s in found.forward] == [
        ("r", "X @ W", "MvBackward0"),
        ("v1", "r**2", "PowBackward0"),
        ("value", "(r**2).mean()", "MeanBackward0"),
    ]
    np.testing.assert_allclose(found.forward[0].value, r, rtol=1e-15)
    np.testing.assert_allclose(found.forward[2].value, np.sum(r**2) / 3, rtol=1e-15)
    assert [(s.name, s.node) for s in found.backward] == [
        ("v1", "MeanBackward0"),
        ("r", "PowBackward0"),
        ("W", "MvBackward0"),
    ]
    wanted = [np.full(3, 1 / 3), 2 * r / 3, np.transpose(X) @ (2 * r / 3)]
    for stage, array in zip(found.backward, wanted, strict=True):
        np.testing.assert_allclose(stage.value, array, rtol=1e-14)


def test_the_slope_of_a_power_of_e_has_no_logarithm():
    """d/du of e**u is that again."""
    steps = walked(load_text("id: t\ninputs: {x: 1.0}\nprogram: e**(3*x)\n").problems[0])
    assert [step.text for step in steps.backward] == ["exp(v1)", "dvalue/dv1 * 3"]


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("log(x)/x", "dvalue/dv1 * 1/x - v1/x**2"),
        ("exp(-x)", "-dvalue/dv1"),
        ("sin(cos(x))", "-dvalue/dv1 * sin(x)"),
        ("(x - sin(x))**2", "dvalue/dv1 * cos(x) + dvalue/dv2"),
    ],
)
def test_a_minus_is_said_once(program, line):
    """In front of a term: no bracket around a minus, and no plus before one."""
    steps = walked(load_text(f"id: t\ninputs: {{x: 2.0}}\nprogram: {program}\n").problems[0])
    assert steps.backward[-1].text == line


def test_where_paths_meet_both_are_named():
    """A cotangent that came along two paths names both nodes, and is their sum."""
    found = walked(asked("(x * x.exp()).sum()"))
    last = found.backward[-1]
    assert last.name == "x"
    assert last.node == "MulBackward0 + ExpBackward0"
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(last.value, (1 + x) * np.exp(x), rtol=1e-14)


def test_a_written_array_shows_what_it_was():
    """The value of a step is the one it had then, not what was written into it later."""
    found = walked(asked("y = x * 3\nz = y.sum()\ny[0] = 0.0\nz"))
    np.testing.assert_array_equal(found.forward[0].value, [3.0, 6.0])


def test_what_depends_on_no_input_has_no_steps():
    """Nothing is recorded, and nothing is shown."""
    found = walked(asked("(x.detach() * 2).sum()"))
    assert (found.forward, found.backward) == ((), ())


def test_the_cotangent_of_an_array_valued_program_is_the_seed():
    found = walked(asked("x**2", cotangent=[10.0, 0.1]))
    np.testing.assert_allclose(found.backward[-1].value, [20.0, 0.4], rtol=1e-15)


def test_masks_that_are_alike_at_the_point_keep_their_names():
    """Both are all true there: the gradient of each term has its own."""
    given = "id: t\ninputs: {x: [1.0, 2.0], y: [3.0, 4.0]}\nprogram: |\n"
    lines = "m = x > 0\nn = y > 0\nsum(m * x**2 + n * y**3)"
    made = load_text(given + "".join(f"  {line}\n" for line in lines.split("\n"))).problems[0]
    assert derived(made, draw_given_point(made)) == {"x": "2 * m * x", "y": "3 * n * y ** 2"}


# -- every line of a network's backward pass by hand: rows picked, batch norm, tanh, softmax -------


TABLE = yaml.safe_load(Path(__file__).with_name("by_hand.yaml").read_text())
PROGRAM, BY_HAND = TABLE["program"], TABLE["by hand"]


@pytest.fixture(scope="module")
def chain():
    (made,) = load_text(PROGRAM).problems
    return texts_of(made)


@pytest.mark.parametrize("name", BY_HAND)
def test_each_line_is_the_one_of_the_exercise(chain, name):
    """As somebody writes it who goes back through the lines with pen and paper."""
    assert chain[name] == BY_HAND[name]


def test_every_named_value_has_its_line(chain):
    """Nothing is left out, the rows of an embedding included."""
    assert set(chain) == {*BY_HAND, "counts", "var", "d", "C"}
    rows = "eye(C.shape[0])[[0, 1, 2, 3, 0, 1, 2, 2, 4, 1, 4, 0]].T"
    assert chain["C"] == f"{rows} @ reshape(cotangent_of_emb, (12, C.shape[1]))"


def test_a_minus_comes_first():
    """`-dz @ X`, and not a second minus before X."""
    given = {"X": np.ones((4, 3)), "w": np.ones(3)}
    made = problem("z = -X @ w\nmean(1/(1 + exp(z)))", given, "w")
    assert texts_of(made)["w"] == "-X.T @ cotangent_of_z"
