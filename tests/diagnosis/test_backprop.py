"""A perceptron's backward pass written out by hand, with one fault at a time."""

from pathlib import Path

import numpy as np
import pytest

from gradcheck.diagnosis import explain, prepare
from tests.support.confusion import confusion
from tests.support.school import case, drawn, mlp

LINES = Path(__file__).with_name("faults.txt").read_text().splitlines()[1:]
FAULTS = dict(line.split(" | ") for line in LINES)
NAMES = ("W1", "b1", "W2", "b2", "W3", "b3")


def by_hand(v, fault=""):
    """Gradients of mean((p - t)^2) for the perceptron, right but for the fault."""
    z1 = v["X"] @ v["W1"] + v["b1"]
    h = np.tanh(z1)
    z2 = h @ v["W2"] + v["b2"]
    k = np.tanh(z2)
    p = k @ v["W3"] + v["b3"]
    scale = {"no mean": 1.0, "mean twice": 1.0 / p.size**2}.get(fault, 1.0 / p.size)
    two = {"no two": 1.0, "two twice": 4.0, "seed sign": -2.0}.get(fault, 2.0)
    dp = two * scale * (p - v["t"])
    d2, db2 = through(dp @ v["W3"].T, z2, k, fault, "2")
    d1, db1 = through(d2 @ v["W2"].T, z1, h, fault, "1")
    grads = {
        "W3": k.T @ dp,
        "b3": dp.sum(0) / (len(dp) if fault == "all b averaged" else 1),
        "W2": h.T @ d2,
        "b2": db2,
        "W1": v["X"].T @ d1,
        "b1": db1,
    }
    for name in NAMES:
        changes = {
            f"{name} averaged": lambda g: g / (len(dp) if g.ndim == 2 else 1),
            f"{name} transposed": lambda g: g.T,
            f"{name} sign": lambda g: -g,
            f"{name} doubled": lambda g: 2 * g,
        }
        grads[name] = changes.get(fault, lambda g: g)(grads[name])
    return grads


def through(g, z, a, fault, layer):
    """The cotangent before the tanh of a layer, and the gradient of its bias."""
    slope = 1 - a**2
    d = {
        f"no tanh {layer}": g,
        "no tanh at all": g,
        f"tanh of z {layer}": g * (1 - z**2),
        f"tanh twice {layer}": g * slope**2,
        f"upstream {layer}": slope,
        f"no path {layer}": 0 * g,
    }.get(fault, g * slope)
    db = {
        f"b{layer} not summed": d,
        f"b{layer} averaged": d.mean(0),
        "all b averaged": d.mean(0),
        f"b{layer} other axis": d.sum(1),
        f"b{layer} all axes": d.sum(),
    }.get(fault, d.sum(0))
    return d, db


@pytest.fixture(scope="module")
def prepared():
    """The perceptron 4-5-3-1 with a batch of 5, at one point as a homework has it."""
    return prepare(drawn(*mlp(5), points=1))


@pytest.fixture(scope="module")
def inputs():
    return drawn(*mlp(5), points=1)[0].floats()


def test_hand_and_tape_agree(prepared, inputs):
    """Without a fault the pass by hand is the gradient, and nothing is said of it."""
    grads = by_hand(inputs)
    for name in NAMES:
        np.testing.assert_allclose(prepared.right[0][name], grads[name], rtol=1e-12, atol=1e-15)
        found = explain(prepared, name, [grads[name]])
        assert (found.certainty, found.hypotheses) == ("unnamed", ())


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named(fault, prepared, inputs):
    """In every part that the fault changes, its id is among few."""
    right, wrong = by_hand(inputs), by_hand(inputs, fault)
    changed = [
        n for n in NAMES if wrong[n].shape != right[n].shape or not np.allclose(wrong[n], right[n])
    ]
    assert changed
    for name in changed:
        found = explain(prepared, name, [wrong[name]])
        ids = {h.mistake.id for h in found.hypotheses}
        assert FAULTS[fault] in ids, (name, found)
        assert len(ids) <= 3


def test_two_faults_on_different_ways(prepared, inputs):
    """A wrong factor at the loss and a dropped tanh are found together."""
    wrong = 2 * by_hand(inputs, "no tanh 1")["W1"]
    found = explain(prepared, "W1", [wrong])
    assert set(found.hypotheses[0].ids) == {"chain-factor-dropped", "factor-two"}


def test_batch_of_five_shows_every_mistake(prepared):
    """At least 95 % of the single backprop mistakes are named, and all of them honestly."""
    found = confusion(prepared, "backprop")
    assert found.named >= 0.99 * found.made
    assert not found.missed


def test_entries_in_common():
    """Of an array it is said which entries are off, and what they share."""
    cases = drawn("sum(W**2 * V)", {"W": (4, 3), "V": (4, 3)}, ("W",), points=1)
    prepared = prepare(cases)
    answer = np.array(prepared.right[0]["W"])
    answer[2] += np.array([0.1, 0.4, -0.2])
    found = explain(prepared, "W", [answer])
    assert found.certainty == "unnamed"
    assert found.remarks == ("only the entries of row 2 are off",)


def test_shape_is_said():
    """A gradient of another shape is remarked on in words."""
    prepared = prepare(drawn("sum(W**2 * V)", {"W": (4, 3), "V": (4, 3)}, ("W",), points=1))
    found = explain(prepared, "W", [np.ones((3, 4))])
    assert found.remarks == (
        "the gradient has the shape (4, 3), the answer (3, 4): is it transposed?",
    )


def test_unknown_points_are_not_held_against_an_answer():
    cases = [case("x**4 + sin(x)", {"x": p}) for p in (0.6, 1.7)]
    found = explain(prepare(cases), "x", [None, np.array(1.7**3 + np.cos(1.7))])
    assert [h.mistake.id for h in found.hypotheses] == ["power-coefficient-missing"]


def test_rounded_numbers_have_slack():
    """Four digits of a wrong number are enough when the caller says that they are four."""
    cases = [case("x**4 + sin(x)", {"x": 1.7})]
    wrong = np.array(round(1.7**3 + np.cos(1.7), 4))
    prepared = prepare(cases)
    assert explain(prepared, "x", [wrong]).certainty == "unnamed"
    found = explain(prepared, "x", [wrong], slack=0.5e-4)
    assert "power-coefficient-missing" in {h.mistake.id for h in found.hypotheses}


def test_repeated_index():
    """`G[index] = g` keeps the last of the contributions to an entry."""
    program, shapes = "sum(x[[0, 2, 2]] * v)", {"x": (3,), "v": (3,)}
    cases = drawn(program, shapes, ("x",), points=1)
    v = cases[0].floats()["v"]
    found = explain(prepare(cases), "x", [np.array([v[0], 0.0, v[2]])])
    assert found.hypotheses[0].mistake.id == "repeated-index-overwritten"


def test_branches_are_matched_point_by_point():
    """A mistake in one branch leaves the points of the other branch right."""
    program = "y = x**3 if x > 1 else sin(x)\ny"
    cases = [case(program, {"x": p}) for p in (0.4, 1.6)]
    found = explain(prepare(cases), "x", [np.cos(0.4), np.array(1.6**2)])
    assert [h.mistake.id for h in found.hypotheses] == ["power-coefficient-missing"]
