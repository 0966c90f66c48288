"""Views: they follow their base, write through to it, and carry the right gradient."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.engine import no_grad, tensor
from tests.support.oracle import double, ours, text, theirs

LOOKS = {
    "rows": lambda t: t[1:],
    "column": lambda t: t[:, 1],
    "entry": lambda t: t[0, 1],
    "turned": lambda t: t.T,
    "flat": lambda t: t.reshape(-1),
    "unsqueezed": lambda t: t.unsqueeze(0),
    "strided": lambda t: t[:, ::2],
    "none": lambda t: t[None],
    "all": lambda t: t[...],
    "diagonal": lambda t: t.diagonal(),
}
ACTS = {
    "mul_": lambda v, w, m: v.mul_(w),
    "sub_": lambda v, w, m: v.sub_(w * w),
    "sin_": lambda v, w, m: v.sin_(),
    "zero_": lambda v, w, m: v.zero_(),
    "fill_": lambda v, w, m: v.fill_(w),
    "set": lambda v, w, m: operator.setitem(v, ..., w * 2),
}


@settings(deadline=None, derandomize=True, max_examples=120)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(sorted(LOOKS)), min_size=0, max_size=2),
            st.sampled_from(sorted(ACTS)),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_sequence_of_writes_through_views(steps):
    """However views are chained and written, values and gradients are PyTorch's."""

    def snippet(m):
        x = m.leaf([[0.3, 0.7, -0.4], [1.1, -0.6, 0.2]])
        w = m.leaf(1.3)
        y = x * 1
        held = []
        for looks, act in steps:
            v = y
            for look in looks:
                v = LOOKS[look](v) if v.ndim == 2 else v
            held.append(v)
            ACTS[act](v, w, m)
        total = (y * y).sum() + sum((v.sin()).sum() for v in held)
        gradients = m.grad(total, [x, w], allow_unused=True)
        return [y.detach(), *held_values(held), *gradients]

    with double():
        expected = text(snippet(theirs()))
    assert text(snippet(ours())) == expected


def held_values(held):
    return [v.detach() for v in held]


def test_a_write_into_integers_does_not_lose_a_gradient():
    """Where PyTorch silently cuts the gradient, the engine raises."""
    counts = tensor([1, 2])
    with pytest.raises(RuntimeError, match="floating point"):
        counts[0] = tensor(2.5, requires_grad=True)


def test_updates_in_training_touch_the_array_in_place():
    """`w -= lr * g` under no_grad writes where w lies: the array that w handed out sees it."""
    w = tensor(np.ones(2), requires_grad=True)
    seen = w.detach().numpy()
    with no_grad():
        w -= 0.5
    assert seen.tolist() == [0.5, 0.5]


def written(write, *shape):
    """A snippet: write into columns (1, 2) expanded to the shape, and go back."""

    def snippet(m):
        x = m.leaf([[1.0], [2.0]])
        y = x.clone().expand(*shape)
        write(y)
        (y * y).sum().backward()
        return y.detach(), x.grad

    return snippet


def column(y):
    y[:, 0] = 5.0


def entry(y):
    y[1, 2] = 5.0
