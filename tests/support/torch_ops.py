"""Ops held against PyTorch: values, gradients, second derivatives, exact numbers."""

import numpy as np
import pytest
from flint import arb

from gradcheck.engine.autograd import grad, tensor
from gradcheck.numbers import symbolic
from gradcheck.numbers.ball import arbs, balls, middle
from gradcheck.numbers.run import precision

torch = pytest.importorskip("torch")


def drawn(rng, shape, low, high):
    """Numbers spread over the interval, none at its ends."""
    return low + (high - low) * (0.02 + 0.96 * rng.random(shape))


def near(mine, hers, case=""):
    """Equal to 1e-12, relative to the largest entry."""
    hers = np.asarray(hers)
    mine = np.asarray(mine, dtype=float)
    assert mine.shape == hers.shape, case
    scale = np.max(np.abs(hers), initial=1e-2)
    np.testing.assert_allclose(mine, hers, rtol=1e-12, atol=1e-12 * scale, err_msg=case)


def both(ours, theirs, values):
    """The program's value on tensors of ours and on PyTorch's, with the leaves of both."""
    mine = [tensor(v, requires_grad=True) for v in values]
    hers = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
    return ours(*mine), mine, theirs(*hers), hers


def hers_by(value, leaves, g, again):
    """PyTorch's gradients; zeros where a leaf is not reached or nothing is tracked."""
    if not value.requires_grad:
        return [torch.zeros_like(x) for x in leaves]
    found = torch.autograd.grad(value, leaves, g, create_graph=again, allow_unused=True)
    return [torch.zeros_like(x) if d is None else d for x, d in zip(leaves, found, strict=True)]


def mine_by(value, leaves, g, again):
    """Ours, likewise."""
    if not value.requires_grad:
        return [tensor(np.zeros(x.shape)) for x in leaves]
    return grad(value, leaves, g, create_graph=again, materialize_grads=True, allow_unused=True)


def same_gradients(ours, theirs, values, rng):
    """Value and gradients agree with PyTorch's, for a random signed cotangent."""
    y, mine, z, hers = both(ours, theirs, values)
    near(y.detach().numpy(), z.detach().numpy(), "value")
    g = rng.standard_normal(y.shape)
    found = mine_by(y, mine, g, again=False)
    for i, (d, e) in enumerate(
        zip(found, hers_by(z, hers, torch.tensor(g), again=False), strict=True)
    ):
        near(d.numpy(), e.numpy(), f"gradient {i}")


def same_second_derivatives(ours, theirs, values, rng):
    """The gradient of a random combination of the gradients agrees with PyTorch's."""
    y, mine, z, hers = both(ours, theirs, values)
    g = rng.standard_normal(y.shape)
    weights = [rng.standard_normal(np.shape(v)) for v in values]
    once = mine_by(y, mine, g, again=True)
    twice = hers_by(z, hers, torch.tensor(g), again=True)
    s = sum(np.sum(d * w) for d, w in zip(once, weights, strict=True))
    t = sum(torch.sum(d * torch.tensor(w)) for d, w in zip(twice, weights, strict=True))
    expected = hers_by(t, hers, None, again=False)
    for i, (d, e) in enumerate(zip(mine_by(s, mine, None, again=False), expected, strict=True)):
        near(d.detach().numpy(), e.numpy(force=True), f"second derivative {i}")


def same_in_exact_numbers(ours, theirs, values, rng):
    """Balls give PyTorch's value; the closed form gives its value and its gradient."""
    hers = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
    z = theirs(*hers)
    g = rng.standard_normal(tuple(z.shape))
    with precision(128):
        near(np.vectorize(middle, [float])(arbs(ours(*map(balls, values)))), z.detach(), "ball")
        leaves = [symbolic.leaves(f"x{i}", v) for i, v in enumerate(values)]
        entries = np.asarray(ours(*leaves), dtype=object)
        near(np.reshape([_value(e) for e in entries.flat], entries.shape), z.detach(), "symbolic")
        slopes = symbolic.gradient(_seeds(entries, g))
    expected = hers_by(z, hers, torch.tensor(g), again=False)
    for i, (x, e) in enumerate(zip(leaves, expected, strict=True)):
        found = [middle(slopes.get(leaf, arb(0))) for leaf in np.asarray(x).flat]
        near(np.reshape(found, x.shape), e.numpy(), f"symbolic gradient {i}")


def _value(entry):
    return middle(entry.value) if isinstance(entry, symbolic.Symbolic) else float(entry)


def _seeds(entries, g):
    seeds = {}
    for entry, weight in zip(entries.flat, g.flat, strict=True):
        if isinstance(entry, symbolic.Symbolic):
            seeds[entry] = seeds.get(entry, arb(0)) + arb(float(weight))
    return seeds
