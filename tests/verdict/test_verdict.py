"""Worked examples from textbooks and PyTorch's own tutorials, by hand and by all three opinions."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.errors import TextError
from gradcheck.opinions import again
from gradcheck.ops import COMPOUNDS
from gradcheck.problem import load_text
from gradcheck.problem.draw import draw_given_point
from gradcheck.problem.load import make_question
from gradcheck.verdict.consult import consult
from tests.support.cases import case
from tests.support.examples import EXAMPLES
from tests.support.random_programs import random_case
from tests.support.sweeping import at_most

START, COTANGENT = np.array([0.3, -1.1, 0.7]), np.array([0.1, 1.0, 1e-4])
RNG = np.random.default_rng(3)
ROWS, TARGET = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 2))
WEIGHTS, BIAS = RNG.normal(size=(3, 2)), RNG.normal(size=2)
RESIDUAL = ROWS @ WEIGHTS + BIAS - TARGET


def doubled(x):
    y = x * 2
    while np.linalg.norm(y) < 1000:
        y = y * 2
    return y


def cubic_or(cubic):
    return lambda x: x**3 - x if cubic else x * np.sin(x)


# a function, its inputs, the value where it is whole, and the gradients
WORKED = {
    "a parabola, multiplied out": (lambda x: x**2 + 2 * x + 1, {"x": 3.0}, 16, {"x": 8.0}),
    "two layers without activation on [1, 2]": (
        lambda first, second: np.sum(second @ (first @ np.array([1.0, 2.0]))),
        {"first": [[1, 2], [3, 4]], "second": [[2, 3], [4, 2]]},
        85,
        {"first": [[6, 12], [5, 10]], "second": [[5, 11], [5, 11]]},
    ),
    "the mean of nine ones, shifted by 5 and squared": (
        lambda x: np.mean((x + 5) ** 2),
        {"x": np.ones((3, 3))},
        36,
        {"x": np.full((3, 3), 4 / 3)},
    ),
    "doubling until the norm is large": (
        doubled,
        {"x": START, "cotangent": COTANGENT},
        None,
        {"x": 2.0 ** np.ceil(np.log2(1000 / np.linalg.norm(START))) * COTANGENT},
    ),
    "a squared line": (
        lambda w, x, b: (w * x + b) ** 2,
        {"w": 3.0, "x": 2.0, "b": 1.0},
        49,
        {"x": 42.0, "w": 28.0, "b": 14.0},
    ),
    "one branch": (cubic_or(True), {"x": 2.0}, 6, {"x": 11.0}),
    "the other": (cubic_or(False), {"x": 2.0}, None, {"x": 2 * np.cos(2.0) + np.sin(2.0)}),
    "a linear layer with squared error": (
        lambda weights, bias: np.mean((ROWS @ weights + bias - TARGET) ** 2),
        {"weights": WEIGHTS, "bias": BIAS},
        None,
        {"weights": ROWS.T @ RESIDUAL / 4, "bias": RESIDUAL.sum(0) / 4},
    ),
}


@pytest.mark.parametrize("name", WORKED)
def test_a_worked_example(name):
    f, inputs, value, gradients = WORKED[name]
    found = consult(case(f, **inputs))
    assert found.verdict == "agree", found.entries
    assert value is None or found.value.value == value
    for part, right in gradients.items():
        for said in found.opinions.values():
            given = said.gradients[part].value
            assert np.shape(given) == np.shape(right)
            np.testing.assert_allclose(given, right, rtol=1e-12)


# -- lists of numbers where NumPy takes an array: each kind of number takes them, too --------------


CALLS = yaml.safe_load(Path(__file__).with_name("lists.yaml").read_text())


@pytest.mark.parametrize("text", CALLS)
def test_each_opinion_takes_lists(text):
    problem = load_text(f'id: t\ninputs: {{x: 1.5}}\nprogram: "{text}"\n').problems[0]
    found = consult(problem.case({"x": problem.inputs["x"].value}))
    assert found.verdict == "agree"
    assert not any(said.abstains for said in found.opinions.values())
    for said in found.opinions.values():
        assert float(said.gradients["x"].value) == pytest.approx(CALLS[text])


# -- formulas of numbers alone, which no tape sees, beside what is differentiated ------------------


SPECTRAL = {"eigh", "svd"}
"""Formulas with a row that has no counterpart in exact numbers."""
WORDY = {"convolve", "correlate"}
"""Examples that say a word, pass a function or compute with a list: no program does."""


def consulted(name):
    example, rng = EXAMPLES[name], np.random.default_rng(3)
    drawn = {
        each: size if isinstance(size, list) else rng.uniform(0.1, 0.9, size).tolist()
        for each, size in example.inputs.items()
    }
    lines = [f"{each} = array({v})" for each, v in drawn.items()]
    lines += [f"sum(factor * ({example.text}))"]
    text = "\n".join(f"    {line}" for line in lines)
    problem = load_text(f"id: t\ninputs: {{factor: 2.0}}\nprogram: |\n{text}\n").problems[0]
    return consult(problem.case({"factor": problem.inputs["factor"].value}))


@pytest.mark.parametrize("name", sorted(set(COMPOUNDS) - WORDY))
def test_each_opinion_follows_formulas_of_constants(name):
    """Reverse mode, too, whose samples of rounding disturb what a constant computes."""
    found = consulted(name)
    assert found.verdict == "agree"
    missing = {each: said.abstains for each, said in found.opinions.items() if said.abstains}
    assert not missing or (name in SPECTRAL), missing


# -- a right program is never accused: random programs from the table of ops at random points ------


FAST = 150
SWEEP = at_most(10_000)
UNDECIDED = 0.01


def verdicts(seeds):
    counts, wrong = {}, []
    with np.errstate(all="ignore"):
        for seed in seeds:
            program, asked = random_case(seed)
            found = consult(asked, write=False)
            counts[found.verdict] = counts.get(found.verdict, 0) + 1
            if found.verdict == "dissent":
                wrong.append((seed, program, found.entries[:2]))
    return counts, wrong


@pytest.mark.parametrize(
    "seeds", [range(FAST), pytest.param(range(FAST, FAST + SWEEP), marks=pytest.mark.sweep)]
)
def test_random_programs_are_not_accused(seeds):
    """No dissent on programs composed of right ops, and next to none left undecided."""
    counts, wrong = verdicts(seeds)
    assert not wrong
    assert counts.get("undecided", 0) <= max(2, UNDECIDED * len(seeds))
    assert counts["agree"] > len(seeds) / 2


ARCTAN = make_question("arctan2(-x*0, -x*0)", ["x=1"])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        # a tie behind 0**v: an op without a finite derivative at that place excuses reverse mode
        (random_case(18_674)[1], "no finite derivative"),
        # -pi for NumPy, and no number at all for exact arithmetic, which has no sign of a zero
        (ARCTAN.case(draw_given_point(ARCTAN)), "tells -0 from 0"),
    ],
)
def test_what_no_opinion_can_know_is_nobodys_fault(asked, why):
    with np.errstate(all="ignore"):
        found = consult(asked)
    assert found.verdict == "undefined"
    assert any(why in entry.why for entry in found.entries)


# -- hessians and Jacobians: three opinions, PyTorch's numbers, forms that hold at another size


WORDS = {"order": {"order": 2}, "jacobian": {"jacobian": True}}
ASKED = {
    name: {**row, "words": WORDS[kind]}
    for kind, rows in yaml.safe_load(
        Path(__file__).with_name("second_order.yaml").read_text()
    ).items()
    for name, row in rows.items()
}


def problem(name, seed=1):
    row, rng = ASKED[name], np.random.default_rng(seed)
    drawn = {n: rng.normal(size=shape) for n, shape in row["inputs"].items()}
    wrt = row["wrt"].split()
    given = {n: {"value": v.tolist(), "requires_grad": n in wrt} for n, v in drawn.items()}
    whole = {"id": "t", "inputs": given, "program": row["program"], **row["words"]}
    return load_text(yaml.safe_dump(whole)).problems[0]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.sampled(3)
def test_pytorch_gives_the_same(name):
    """All three opinions agree, and on PyTorch's Hessian or Jacobian."""
    torch = pytest.importorskip("torch")
    asked = problem(name)
    found = consult(asked.case(draw_given_point(asked)))
    assert found.verdict == "agree"
    assert not any(opinion.abstains for opinion in found.opinions.values())
    tensors = {n: torch.tensor(np.array(v, float)) for n, v in draw_given_point(asked).items()}
    scope = {k: getattr(torch, k) for k in ("sin", "tanh", "relu", "sigmoid", "log", "exp", "sum")}
    scope |= {"norm": torch.linalg.vector_norm}
    for k in ("softmax", "logsumexp", "cumsum"):
        scope[k] = lambda x, axis, k=k: getattr(torch, k)(x, axis)

    def function(*given):
        named = dict(zip(asked.wrt, given, strict=True))
        return eval(asked.program.source, scope, tensors | named)

    given = tuple(tensors[n] for n in asked.wrt)
    way = torch.autograd.functional
    due = (way.hessian if asked.order == 2 else way.jacobian)(function, given)
    for part, gradient in found.parts.items():
        places = [asked.wrt.index(n) for n in part.split(".")]
        block = due[places[0]][places[1]] if asked.order == 2 else due[places[0]]
        assert gradient.gradient is not None
        np.testing.assert_allclose(gradient.gradient.value, block.numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("way", "opinion"), [("by_line", "symbolic"), ("by_steps", "differences"), ("grad", "reverse")]
)
@pytest.mark.parametrize("name", ["logistic", "two variables"])
def test_each_way_to_differentiate_first_is_its_own(name, way, opinion, monkeypatch):
    """A first derivative that is off for one kind of number is that opinion's dissent."""
    right, off = getattr(again, way), 1 + 2.0**-10

    def wrong(*args, **more):
        found = right(*args, **more)
        return tuple(g * off for g in found) if way == "grad" else found * off

    monkeypatch.setattr(again, way, wrong)
    asked = problem(name)
    found = consult(asked.case(draw_given_point(asked)))
    assert found.verdict == "dissent"
    assert {entry.lonely for entry in found.entries if entry.part} == {opinion}


def test_a_kink_of_a_first_derivative_is_told():
    """The slope of 2|x| jumps from -2 to 2 at zero, and is smooth elsewhere."""
    words = {"id": "t", "inputs": {"x": [0.0, 1.0]}, "program": "sum(abs(x)*x)", "order": 2}
    asked = load_text(yaml.safe_dump(words)).problems[0]
    part = consult(asked.case(draw_given_point(asked))).parts["x.x"]
    assert (part.verdict, part.interval) == ("kink", (-2.0, 2.0))
    assert [entry.index for entry in part.entries] == [(0, 0)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"order": 2, "cotangent": [1.0, 2.0]}, "`order` asks for every entry"),
        ({"order": 2, "jacobian": True}, "a Jacobian of second derivatives is not followed"),
        ({"jacobian": True, "ask": {"g": "x.grad"}}, "a program that goes back by itself"),
        ({"jacobian": True, "wrt": ["y"], "program": "y = x**2\ny"}, "is asked by inputs"),
    ],
)
def test_what_does_not_go_together_is_complained_of(words, said):
    whole = {"id": "t", "inputs": {"x": [1.0, 2.0]}, "program": "x**2"} | words
    with pytest.raises(TextError, match=said):
        load_text(yaml.safe_dump(whole))
