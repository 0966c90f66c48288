"""Views: they follow their base, write through to it, and carry the right gradient."""

import operator
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.engine import no_grad, tensor
from tests.support.oracle import double, of, ours, same, table, text, theirs


def _siblings(m):
    y = m.tensor([1.0, 2.0])
    v, w = y[:1], y[1:]
    v.mul_(m.leaf(3.0))
    return y, v, w, w.requires_grad


def _chain(m):
    x = m.leaf([1.0, 2.0, 3.0])
    y = x * 2
    v = y.view(3, 1)[1:].T
    w = m.leaf(3.0)
    v.mul_(w)
    return y, v, m.grad(v.sum() * 2 + (y * y).sum(), [x, w])


def _view_then_base(m):
    x = m.leaf([1.0, 2.0, 3.0])
    y = x * 2
    v = y[1:]
    y.mul_(x)
    v.mul_(5)
    y[0] = v[1] * 2
    return y, v, m.grad((y * y).sum() + v.sum(), x)


def _saved_view(m):
    y = m.leaf([1.0, 2.0, 3.0]) * 2
    y[1:].exp_()
    y[0] = 1.0
    try:
        y.sum().backward()
    except RuntimeError as error:
        return re.sub("which is output 0 of .*, is", "which is", str(error))


def _view_in_no_grad(m):
    y = m.leaf([1.0, 2.0, 3.0]) * 2
    with m.no_grad():
        v = y[:2]
    return v.requires_grad, v.add_(1)


def _written_in_no_grad(m):
    y = m.leaf([1.0, 2.0, 3.0]) * 2
    v = y[:2]
    with m.no_grad():
        v.add_(1)
    return y, v._version, y._version


def _retained(m):
    x = m.leaf([1.0, 2.0])
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    return y.grad, x.grad


def _asked_later(m):
    y = m.tensor([1.0, 2.0])
    v = y[:1]
    y.requires_grad_()
    return v.requires_grad, v.is_leaf


def _filled_row_by_row(m):
    x = m.leaf([1.0, 2.0])
    out = m.tensor([[0.0, 0.0]] * 3)
    for i in range(3):
        out[i] = x * (i + 1)
    out[2, 1] = x[0] * x[1]
    return out, m.grad((out * out).sum(), x)


@table(
    siblings=_siblings,
    chain=_chain,
    view_then_base=_view_then_base,
    saved_view=_saved_view,
    in_no_grad=_view_in_no_grad,
    written_in_no_grad=_written_in_no_grad,
    retained=_retained,
    asked_later=_asked_later,
    filled=_filled_row_by_row,
)
def test_views(snippet):
    """Views follow their base and write through to it, values and gradients, as in PyTorch."""
    same(snippet)


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
    """The values without their history."""
    return [v.detach() for v in held]


def test_a_write_into_integers_does_not_lose_a_gradient():
    """Where PyTorch silently cuts the gradient, the engine raises."""
    counts = tensor([1, 2])
    with pytest.raises(RuntimeError, match="floating point"):
        counts[0] = tensor(2.5, requires_grad=True)


def test_second_derivatives_after_writes():
    """The gradient of a written tensor can be differentiated again."""

    def snippet(m):
        x = m.leaf([0.5, 1.5, 2.0])
        y = x * x
        y[1:].mul_(x[0])
        y[0] = x[2] ** 3
        (g,) = m.grad((y * y).sum(), x, create_graph=True)
        return m.grad((g * g).sum(), x)

    same(snippet)


def test_updates_in_training_touch_the_array_in_place():
    """`w -= lr * g` under no_grad writes where w lies: the array that w handed out sees it."""
    w = tensor(np.ones(2), requires_grad=True)
    seen = w.detach().numpy()
    with no_grad():
        w -= 0.5
    assert seen.tolist() == [0.5, 0.5]


def parts(cut):
    """A snippet: write into the first of several views."""
    return of([1.0, 2.0, 3.0, 4.0])(lambda m, x: cut(x.clone())[0].mul_(2.0))


def of_unrecorded(m, x):
    """A view of a view that was made under no_grad."""
    y = x.clone()
    with m.no_grad():
        seen = y[:2]
    return seen[:1].mul_(2.0)


@table(
    unbind=parts(lambda x: x.unbind()),
    chunk=parts(lambda x: x.chunk(2)),
    of_unbound=parts(lambda x: [x.reshape(2, 2).unbind()[0][:1]]),
    untracked=lambda m: m.tensor([1.0, 2.0]).unbind()[0].mul_(2.0),
    of_unrecorded=of([1.0, 2.0, 3.0])(of_unrecorded),
)
def test_views_that_must_not_be_written(snippet):
    """One of several outputs, and views of views that were made without recording."""
    same(snippet)


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


def row(y):
    y[0] = 5.0


def entry(y):
    y[1, 2] = 5.0


def to_columns(y):
    y[:, :1] = y[:, 1:2] * 3


@table(
    column=written(column, 2, 3),
    row=written(row, 2, 3),
    entry=written(entry, 2, 3),
    scaled=written(lambda y: y[:, 0].mul_(3.0), 2, 3),
    itself=written(lambda y: y.mul_(3.0), 2, 3),
    columns=written(to_columns, 2, 3),
    not_stretched=written(row, 2, 1),
)
def test_regions_of_expanded_tensors(snippet):
    """Where no entry is written twice, the write shows in all that share the memory."""
    same(snippet)


@table(
    shifted=lambda m: (x := m.tensor([1.0, 2.0, 3.0]))[1:].copy_(x[:-1]),
    turned=lambda m: (x := m.tensor([[1.0, 2.0], [3.0, 4.0]])).copy_(x.T),
    itself=lambda m: (x := m.tensor([1.0, 2.0])).copy_(x),
    apart=lambda m: (x := m.tensor([1.0, 2.0, 3.0, 4.0]))[2:].copy_(x[:2]),
)
def test_copies_that_overlap(snippet):
    same(snippet)
