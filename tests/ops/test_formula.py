"""Formulas of other ops that PyTorch has by the same name: one value on the example of each.

A slip in such a formula would be common to all opinions; more samples are in `test_opinfo`.
"""

import ast

import numpy as np
import pytest

from gradcheck.ops import COMPOUNDS, everything
from tests.support.examples import EXAMPLES

torch = pytest.importorskip("torch")

HOMES = (torch.nn.functional, torch, torch.special, torch.linalg)
OTHERS = frozenset({"select", "dropout"})
"""PyTorch's own of that name means something else, or draws."""


CALLS = """conv2d(c[:, None], a[:1, None, None, :3], stride=(1, 2), padding=1)
conv1d(c, c[:1, :, :2], padding='same')
max_pool2d(c, 3, stride=1, padding=1, ceil_mode=True)
avg_pool1d(c, 3, stride=2, padding=1)
avg_pool2d(c, (2, 3))
scaled_dot_product_attention(c, c, c, is_causal=True, scale=0.3)""".splitlines()
"""What the examples leave out: the other words of their arguments."""


def theirs(name):
    found = (getattr(home, name, None) for home in HOMES)
    return next(filter(callable, found), None)


NAMES = [
    name
    for name, entry in COMPOUNDS.items()
    if entry.function is None and theirs(name) and name not in OTHERS
]


def of_pytorch(text, values):
    read = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} - values.keys()
    given = {name: torch.tensor(value) for name, value in values.items()}
    return eval(text, {name: theirs(name) for name in read} | {"transpose": torch.t} | given)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_value_is_pytorchs(name):
    """To what float64 loses, on numbers from a seeded generator."""
    example, rng = EXAMPLES[name], np.random.default_rng(5)
    values = {
        key: rng.uniform(0.1, 0.9, size) if isinstance(size, tuple) else np.array(size)
        for key, size in example.inputs.items()
    }
    found = eval(example.text, {**everything(), **values})
    np.testing.assert_allclose(found, of_pytorch(example.text, values), rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("text", CALLS)
def test_every_word_means_what_pytorch_means(text):
    """Margins, reductions, weights and sizes."""
    rng = np.random.default_rng(6)
    values = {"a": rng.uniform(0.1, 0.9, (3, 4)), "b": rng.uniform(0.1, 0.9, (3, 4))}
    values |= {"c": rng.normal(size=(2, 3, 4)), "k": np.array([2, 0, 3])}
    values["s"] = np.array([1.0, -1.0, 1.0])[:, None] * np.ones((3, 4))
    found = eval(text, {**everything(), **values})
    np.testing.assert_allclose(found, of_pytorch(text, values), rtol=1e-10, atol=1e-12)


def test_most_are_compared():
    """So many there are since what nobody called has gone."""
    assert len(NAMES) >= 25
