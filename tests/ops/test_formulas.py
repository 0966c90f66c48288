"""Formulas of other ops that PyTorch has by the same name: one value on the example of each.

A slip in such a formula would be common to all opinions; more samples are in `test_opinfo`.
"""

import ast

import numpy as np
import pytest

from gradcheck.ops import COMPOUNDS, everything

torch = pytest.importorskip("torch")

HOMES = (torch.nn.functional, torch, torch.special, torch.linalg)
OTHERS = frozenset({"select", "unfold", "dropout"})
"""PyTorch's own of that name means something else, or draws."""


def theirs(name):
    """PyTorch's function of a name, if it has one."""
    found = (getattr(home, name, None) for home in HOMES)
    return next(filter(callable, found), None)


NAMES = [
    name
    for name, entry in COMPOUNDS.items()
    if entry.function is None and theirs(name) and name not in OTHERS
]


def of_pytorch(text, values):
    """An example over PyTorch's names."""
    read = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} - values.keys()
    given = {name: torch.tensor(value) for name, value in values.items()}
    return eval(text, {name: theirs(name) for name in read} | {"transpose": torch.t} | given)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_value_is_pytorchs(name):
    """To what float64 loses, on numbers from a seeded generator."""
    example, rng = everything()[name].example, np.random.default_rng(5)
    values = {
        key: rng.uniform(0.1, 0.9, size) if isinstance(size, tuple) else np.array(size)
        for key, size in example.inputs.items()
    }
    found = eval(example.text, {**everything(), **values})
    np.testing.assert_allclose(found, of_pytorch(example.text, values), rtol=1e-10, atol=1e-12)


def test_most_are_compared():
    """So many there were when this was written."""
    assert len(NAMES) >= 110
