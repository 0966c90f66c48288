"""Networks differentiated by hand, with one fault at a time: named, from numbers alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gradcheck.diagnosis import Prepared, explain, prepare
from gradcheck.diagnosis.backprop import find_blocks
from gradcheck.opinions.tape import record
from tests.support.confusion import confusion
from tests.support.grading import keyed
from tests.support.school import case, drawn
from tests.support.slips import replaced

Fault = Sequence[str]
NETS = yaml.safe_load(Path(__file__).with_name("nets.yaml").read_text())
FAULTS = [(name, tuple(fault)) for name, net in NETS.items() for fault in net["faults"]]


def arrays_of(shapes: str) -> dict[str, Any]:
    rng, inputs = np.random.default_rng(7), {}
    for name, *sizes in map(str.split, shapes.split(",")):
        rows = sizes[0] == "%"
        value = rng.normal(size=tuple(map(int, sizes[rows:])))
        inputs[name] = value**2 / (value**2).sum(1, keepdims=True) if rows else value
    return inputs


def by_hand(name: str, fault: Fault | None = None) -> dict[str, Any]:
    net = NETS[name]
    inputs = arrays_of(net["shapes"])
    space = {**vars(np), **inputs}
    exec(replaced(net["back"], *fault[:2]) if fault else net["back"], space)
    return {part: space[f"d{part}"] for part in inputs if f"d{part}" in space}


@cache
def prepared_of(name: str) -> Prepared:
    inputs = arrays_of(NETS[name]["shapes"])
    return prepare([case(NETS[name]["program"].strip(), inputs, tuple(by_hand(name)))])


def unnamed(name: str, fault: Fault, most: int = 100) -> Mapping[str, object]:
    """What is said of the parts where a fault has no name that may be given to it, or too many."""
    right, wrong = by_hand(name), by_hand(name, fault)
    changed = [p for p in right if not _same(wrong[p], right[p])]
    assert changed, fault
    said = {part: explain(prepared_of(name), part, [wrong[part]]).hypotheses for part in changed}
    may_be = set(fault[2].split())
    return {
        part: found
        for part, found in said.items()
        if not may_be & {h.mistake.id for h in found if h.with_ is None}
        or len({h.mistake.id for h in found}) > most
    }


def _same(a: object, b: object) -> bool:
    return np.shape(a) == np.shape(b) and np.allclose(a, b)


def random_arrays(name: str, count: int) -> Iterator[bool]:
    """Whether a mistake is named for arrays that no fault gave, of the gradients' size."""
    prepared, rng = prepared_of(name), np.random.default_rng(3)
    for part, right in prepared.right[0].items():
        for _ in range(count):
            answer = np.abs(right).max() * rng.normal(size=right.shape)
            yield bool(explain(prepared, part, [answer]).hypotheses)


NAMED = 0.9
TANH = "perceptron of tanh"
RNG = np.random.default_rng(5)
X, V = RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4))


@pytest.mark.parametrize("name", NETS)
def test_hand_and_tape_agree(name):
    """Without a fault the pass by hand is the gradient, and nothing is said of it."""
    prepared = prepared_of(name)
    for part, right in by_hand(name).items():
        np.testing.assert_allclose(prepared.right[0][part], right, rtol=1e-12, atol=1e-15)
        found = explain(prepared, part, [right])
        assert (found.certainty, found.hypotheses) == ("unnamed", ())


def test_faults_are_named():
    """Nine in ten are named in every part that they change."""
    faults = [fault for fault in FAULTS if fault[0] != TANH]
    missed = {fault: said for fault in faults if (said := unnamed(*fault))}
    assert len(missed) <= (1 - NAMED) * len(faults), missed


@pytest.mark.parametrize("fault", [fault for name, fault in FAULTS if name == TANH], ids=str)
def test_every_fault_of_a_homework_is_named(fault):
    assert unnamed(TANH, fault, most=3) == {}


@pytest.mark.parametrize("count", [3, pytest.param(20, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("name", NETS)
def test_random_arrays_are_not_named(name, count):
    assert not any(random_arrays(name, count))


def test_two_faults_on_different_ways():
    """A wrong factor at the loss and a dropped tanh are found together."""
    wrong = 2 * by_hand(TANH, ("dh * slope(h)", "dh"))["W1"]
    found = explain(prepared_of(TANH), "W1", [wrong])
    assert set(found.hypotheses[0].ids) == {"chain-factor-dropped", "factor-two"}


def test_batch_of_five_shows_every_mistake():
    """At least 95 % of the single backprop mistakes are named, and all of them honestly."""
    found = confusion(prepared_of(TANH), "backprop")
    assert found.named >= 0.99 * found.made
    assert not found.missed


def test_entries_in_common():
    cases = drawn("sum(W**2 * V)", {"W": (4, 3), "V": (4, 3)}, ("W",), points=1)
    prepared = prepare(cases)
    answer = np.array(prepared.right[0]["W"])
    answer[2] += np.array([0.1, 0.4, -0.2])
    found = explain(prepared, "W", [answer])
    assert found.certainty == "unnamed"
    assert found.remarks == ("only the entries of row 2 are off",)


def test_shape_is_said():
    prepared = prepare(drawn("sum(W**2 * V)", {"W": (4, 3), "V": (4, 3)}, ("W",), points=1))
    found = explain(prepared, "W", [np.ones((3, 4))])
    assert found.remarks == (
        "the gradient has the shape (4, 3), the answer (3, 4): is it transposed?",
    )


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


@pytest.mark.parametrize(
    ("program", "points", "answer"),
    [
        ("x**4 + sin(x)", (0.6, 1.7), [None, np.array(1.7**3 + np.cos(1.7))]),
        # a mistake in one branch leaves the points of the other branch right
        ("y = x**3 if x > 1 else sin(x)\ny", (0.4, 1.6), [np.cos(0.4), np.array(1.6**2)]),
    ],
)
def test_an_answer_is_held_against_the_points_that_it_is_known_at(program, points, answer):
    found = explain(prepare([case(program, {"x": p}) for p in points]), "x", answer)
    assert [h.mistake.id for h in found.hypotheses] == ["power-coefficient-missing"]


# -- softmax and normalisations are known however they are written, and nothing else is ------------


def softmax(x):
    e = np.exp(x)
    return e / e.sum(1, keepdims=True)


def normalised(x, ddof, eps):
    """The rows less their mean, over their deviation; and this."""
    r = np.sqrt(x.var(1, ddof=ddof, keepdims=True) + eps)
    return (x - x.mean(1, keepdims=True)) / r, r


# What is written, the blocks in it, the wrong gradient by hand, and its name.
WRITTEN: Mapping[str, tuple[str, set[str], Callable[[], Any], str]] = {
    "softmax, its largest entry taken away": (
        "e = exp(x - max(x, axis=1, keepdims=True))\nsum(e / sum(e, axis=1, keepdims=True) * v)",
        {"softmax"},
        lambda: V * softmax(X) * (1 - softmax(X)),
        "jacobian-diagonal-only",
    ),
    "log-softmax": (
        "sum((x - log(sum(exp(x), axis=1, keepdims=True))) * v)",
        {"logsumexp", "log_softmax"},
        lambda: V - np.log(softmax(X)) * V.sum(1, keepdims=True),
        "wrong-tensor-in-derivative",
    ),
    "variance of a sample": (
        "d = x - mean(x, axis=1, keepdims=True)\n"
        "sum(d / sqrt(sum(d**2, axis=1, keepdims=True) / 3) * v)",
        {"normalise"},
        lambda: V / normalised(X, 1, 0.0)[1],
        "path-dropped",
    ),
    "variance of all": (
        "d = x - mean(x, axis=1, keepdims=True)\n"
        "sum(d * (mean(d**2, axis=1, keepdims=True) + 0.1)**-0.5 * v)",
        {"normalise"},
        lambda: (V - V.mean(0)) / normalised(X, 0, 0.1)[1],
        "",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_block_is_known_by_its_numbers(name):
    program, kinds, wrong, id = WRITTEN[name]
    given = case(program, {"x": X, "v": V}, ("x",))
    tape = record(given)
    assert tape is not None
    assert {block.seen[0].op for block in find_blocks(tape)} == kinds
    said = {h.mistake.id for h in explain(prepare([given]), "x", [wrong()]).hypotheses}
    assert id in said if id else not said


def test_layer_norm_is_a_normalisation():
    """Its statistics held constant are said to be."""
    ready = keyed(
        "id: p\ninputs:\n  x: {shape: [5, 4]}\n  a: {shape: [4]}\n  b: {shape: [4]}\n"
        "  v: {shape: [5, 4], requires_grad: false}\nprogram: sum(layer_norm(x, 4, a, b) * v)\n"
    )
    given = ready.case(0)
    at = given.floats()
    _, r = normalised(at["x"], 0, 1e-5)
    found = explain(prepare([given]), "x", [at["v"] * at["a"] / r])
    assert {h.mistake.id for h in found.hypotheses} == {"path-dropped"}


@pytest.mark.parametrize(
    "program",
    [
        "e = exp(x)\nsum(e / sum(e) * v)",  # sums to 1 over all, along no axis
        "sum((x - mean(x, axis=1, keepdims=True)) * v)",  # divided by nothing
        "a = abs(x)\nsum(a / sum(a, axis=1, keepdims=True) * v)",  # rows of 1, but no exponentials
    ],
)
def test_what_only_looks_like_one_is_none(program):
    """No row of 1, and no mean of 0, is enough."""
    tape = record(case(program, {"x": X, "v": V}, ("x",)))
    assert tape is not None
    assert not list(find_blocks(tape))
