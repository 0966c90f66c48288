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


CALLS = """kl_div(a, b, reduction='batchmean')
kl_div(a, b, reduction='sum', log_target=True)
soft_margin_loss(a, s, reduction='none')
margin_ranking_loss(a, b, s, margin=0.3, reduction='none')
hinge_embedding_loss(a, s, margin=0.4, reduction='sum')
cosine_embedding_loss(a, b, s[:, 0], margin=0.2, reduction='none')
triplet_margin_loss(a, b, 1 - a, margin=0.1, p=1, reduction='none')
triplet_margin_loss(a, b, 1 - a, swap=True, reduction='sum')
poisson_nll_loss(a, 9 * b, log_input=True, full=True)
poisson_nll_loss(a, b, log_input=False, reduction='sum')
gaussian_nll_loss(a, b, a[:, 0], full=True)
gaussian_nll_loss(a, b, b * 0 + 1e-8)
multilabel_soft_margin_loss(a, b, weight=a[0], reduction='none')
multi_margin_loss(a, k, p=2, reduction='none')
multi_margin_loss(a, k, margin=0.2, weight=b[0])
multi_margin_loss(a[0], k[0])
interpolate(c, size=7, mode='linear', align_corners=True)
interpolate(c, size=7, mode='linear', align_corners=False)
interpolate(c, size=1, mode='linear', align_corners=True)
interpolate(c, scale_factor=1.7, mode='linear')
interpolate(c, scale_factor=2.5, mode='nearest')""".splitlines()
"""What the examples leave out: the other words of their arguments."""


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
    """So many there were when this was written."""
    assert len(NAMES) >= 110
