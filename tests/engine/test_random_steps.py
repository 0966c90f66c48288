"""Random programs on PyTorch and on the engine: views, writes in place, indices, axes and ties."""

import numpy as np
import pytest

import gradcheck
from tests.support.oracle import double, torch
from tests.support.sweeping import at_most

SHAPES = ((3,), (4,), (2, 3), (3, 3), (1, 3), (2, 3, 3))
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError)
ELEMENTWISE = ("sin", "tanh", "exp", "abs", "relu", "sigmoid", "sign", "floor", "erf", "expm1")
REDUCTIONS = ("sum", "mean", "amax", "amin", "prod", "logsumexp")
ORDERS = (1, 2, 3, 0.5, np.inf)
SUMS = {
    1: ("i,i->i", "i,j->ij"),
    2: ("ij,ij->i", "ij,kj->ik", "ij,kl->jl", "ij,ij->"),
    3: ("bij,bij->b", "bij,bkj->bik"),
}


def numbers(rng, shape):
    """Few different ones, so that they tie, or all different."""
    few = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0], shape)
    return few if rng.random() < 0.5 else rng.standard_normal(shape)


def axis(rng, a):
    return int(rng.integers(-a.ndim, a.ndim))


def index(rng, a):
    n, last = a.shape[0], a.shape[-1]
    forms = (
        int(rng.integers(-n, n)),
        slice(int(rng.integers(n)), None),
        (Ellipsis, int(rng.integers(last))),
        (Ellipsis, slice(None, None, 2)),
        rng.permutation(n)[: rng.integers(1, n + 1)].tolist(),
        None,
    )
    return forms[rng.integers(len(forms))]


def assign(m, rng, a, b):
    where = index(rng, a)
    a[where] = b if a[where].shape == b.shape else 0.7


def scale(m, rng, a, b):
    a[index(rng, a)] *= 1.3


def of_two(m, rng, a, b):
    forms = (a + b, a * b, a - b, a / (b * b + 1), m.maximum(a, b), m.minimum(a, b))
    return forms[rng.integers(len(forms))]


def in_place(m, rng, a, b):
    name = rng.choice(["mul_", "add_", "copy_", "sin_", "relu_", "zero_"])
    getattr(a, name)(*[b] * (name in {"mul_", "add_", "copy_"}))


def write_through(m, rng, a, b):
    look = (a[index(rng, a)], a.swapaxes(0, -1), a.reshape(-1))[rng.integers(3)]
    look.mul_(2.0)


STEPS = (
    assign, scale, of_two, in_place, write_through,
    lambda m, rng, a, b: a[index(rng, a)],
    lambda m, rng, a, b: (a.reshape(-1), a.swapaxes(0, -1), a.unsqueeze(0))[rng.integers(3)],
    lambda m, rng, a, b: a.unsqueeze(0).expand(2, *a.shape),
    lambda m, rng, a, b: getattr(m, rng.choice(ELEMENTWISE))(a),
    lambda m, rng, a, b: getattr(m, rng.choice(REDUCTIONS))(a, dim=axis(rng, a), keepdim=True),
    lambda m, rng, a, b: m.max(a, dim=axis(rng, a)).values,
    lambda m, rng, a, b: m.sort(a, dim=axis(rng, a), stable=True).values,
    lambda m, rng, a, b: m.cumsum(a, dim=axis(rng, a)),
    lambda m, rng, a, b: m.cumprod(a, dim=axis(rng, a)),
    lambda m, rng, a, b: m.linalg.norm(a, ORDERS[rng.integers(5)], dim=axis(rng, a)),
    lambda m, rng, a, b: m.einsum(rng.choice(SUMS.get(a.ndim, ("...,...->...",))), a, a),
    lambda m, rng, a, b: m.cat([a, a], dim=axis(rng, a)),
    lambda m, rng, a, b: m.stack([a, a]),
    lambda m, rng, a, b: m.where(a > 0, a, a * a),
    lambda m, rng, a, b: m.clamp(a, -1.0, 1.0),
    lambda m, rng, a, b: m.softmax(a, dim=axis(rng, a)),
    lambda m, rng, a, b: m.std(a, dim=axis(rng, a), correction=0),
    lambda m, rng, a, b: m.flip(a, (axis(rng, a),)),
)  # fmt: skip


def outcome(m, seed):
    """A weighted sum of all values and its gradients; None where a step or the way back refuses."""
    rng = np.random.default_rng(seed)
    xs = [
        m.tensor(numbers(rng, SHAPES[rng.integers(len(SHAPES))]), requires_grad=True)
        for _ in range(rng.integers(1, 3))
    ]
    values = [x * 1 for x in xs]
    try:
        for _ in range(rng.integers(2, 9)):
            a, b = (values[rng.integers(len(values))] for _ in range(2))
            made = STEPS[rng.integers(len(STEPS))](m, rng, a, b)
            if made is not None and made.ndim:
                values.append(made)
        sum((v * m.tensor(np.cos(v.detach().numpy()))).sum() for v in values).backward()
    except REFUSALS:
        return None
    return [np.asarray(v.detach()) for v in (*values, *(x.grad for x in xs))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [500, pytest.param(at_most(2000), marks=pytest.mark.sweep)])
def test_the_same_values_and_gradients(count):
    """Of each program that neither side refuses; most are not refused."""
    compared = 0
    with double(), np.errstate(all="ignore"):
        for seed in range(count):
            mine, hers = outcome(gradcheck, seed), outcome(torch, seed)
            if mine is None or hers is None:
                continue
            compared += 1
            for a, b in zip(mine, hers, strict=True):
                near = 1e-9 * max(1.0, np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=near, err_msg=f"seed {seed}")
    assert compared > count / 2
