"""Writing in place: versions, refusals, saved tensors, views and the gradients behind them."""

import operator

from tests.support.oracle import of, same, table


def on_leaf(act):
    """A snippet: act on a leaf that requires grad."""
    return lambda m: act(m.leaf([1.0, 2.0, 3.0]), m)


REFUSED = {
    "plus": lambda x, m: operator.iadd(x, 1),
    "times": lambda x, m: operator.imul(x, 1),
    "add_": lambda x, m: x.add_(1),
    "zero_": lambda x, m: x.zero_(),
    "fill_": lambda x, m: x.fill_(1.0),
    "copy_": lambda x, m: x.copy_(m.tensor([1.0, 1.0, 1.0])),
    "exp_": lambda x, m: x.exp_(),
    "entry": lambda x, m: operator.setitem(x, 0, 1.0),
    "entries": lambda x, m: operator.setitem(x, slice(0, 2), 1.0),
    "mask": lambda x, m: operator.setitem(x, x > 1, 0.0),
    "list": lambda x, m: operator.setitem(x, [0, 1], 0.0),
    "view_entry": lambda x, m: x[0].zero_(),
    "view_slice": lambda x, m: x[:2].mul_(2),
    "view_shape": lambda x, m: x.view(3, 1).add_(1),
    "view_turned": lambda x, m: x.reshape(3, 1).T.add_(1),
}


@table(**{name: on_leaf(act) for name, act in REFUSED.items()})
def test_leaves_are_not_written(snippet):
    """A leaf that requires grad, or a view of it, is refused in PyTorch's words."""
    same(snippet)


@table(**{name: lambda m, act=act: _without_recording(act, m) for name, act in REFUSED.items()})
def test_leaves_may_be_written_unrecorded(snippet):
    """Under no_grad a leaf may be written; it stays a leaf, and the version counts the write."""
    same(snippet)


def _without_recording(act, m):
    x = m.leaf([1.0, 2.0, 3.0])
    with m.no_grad():
        act(x, m)
    return x, x._version


@table(
    cast=lambda m: m.tensor([1, 2]).add_(1.5),
    cast_bool=lambda m: m.tensor([True]).add_(1),
    cast_divided=lambda m: m.tensor([1, 2]).div_(2),
    ints=lambda m: m.tensor([1, 2]).add_(1),
    float32=lambda m: m.tensor([1.0], dtype=m.float32).add_(m.tensor([2.0])),
    broadcast=lambda m: m.tensor([1.0, 2.0]).add_(m.tensor([[1.0], [2.0]])),
    expanded=lambda m: m.tensor([1.0]).expand(3).add_(1),
    fill_vector=lambda m: m.tensor([1.0, 2.0]).fill_(m.tensor([1.0, 2.0])),
    copy_number=lambda m: m.tensor([1.0, 2.0]).copy_(1.5),
    square_of_truth=lambda m: (m.tensor([True, False]) ** 2, m.tensor([2, 3]) ** 2),
    copy_cast=lambda m: m.tensor([1, 2]).copy_(m.tensor([1.7, 2.2])),
    copy_list=lambda m: m.tensor([1.0]).copy_([2.0]),
    alpha=lambda m: m.tensor([1.0, 2.0]).add_(m.tensor([1.0, 1.0]), alpha=-3),
    sub_alpha=lambda m: m.tensor([1.0, 2.0]).sub_(m.tensor([1.0, 1.0]), alpha=-3),
    overlap=of([1.0, 2.0, 3.0])(lambda m, x: [y[1:].add_(y[:-1]) for y in [x * 1]]),
    overlap_untracked=lambda m: [y[1:].mul_(y[:-1]) for y in [m.tensor([1.0, 2.0, 3.0])]],
    no_overlap_alike=lambda m: [y.add_(y) for y in [m.tensor([1.0, 2.0, 3.0])]],
    set_cast=lambda m: [(operator.setitem(y, 0, 1.7), y) for y in [m.tensor([1, 2])]],
    unbound=lambda m: [r.add_(1) for r in m.leaf([1.0, 2.0]) * 2],
    unbound_second=lambda m: list(m.leaf([1.0, 2.0]) * 2)[1].add_(1),
    returned=lambda m: [y.add_(1) is y for y in [m.leaf(1.0) * 2]],
)
def test_refusals_and_casts(snippet):
    """What cannot be written, and what dtype wins, is as in PyTorch."""
    same(snippet)


WRITES = {
    "add_": lambda y, m: y.add_(1),
    "sub_": lambda y, m: y.sub_(1),
    "mul_": lambda y, m: y.mul_(3),
    "div_": lambda y, m: y.div_(2),
    "pow_": lambda y, m: y.pow_(2),
    "neg_": lambda y, m: y.neg_(),
    "exp_": lambda y, m: y.exp_(),
    "sin_": lambda y, m: y.sin_(),
    "sqrt_": lambda y, m: y.sqrt_(),
    "relu_": lambda y, m: y.relu_(),
    "clamp_": lambda y, m: y.clamp_(0, 1),
    "zero_": lambda y, m: y.zero_(),
    "fill_": lambda y, m: y.fill_(3.0),
    "fill_leaf": lambda y, m: y.fill_(m.leaf(3.0)),
    "copy_leaf": lambda y, m: y.copy_(m.leaf([1.0, 1.0, 1.0])),
    "copy_constant": lambda y, m: y.copy_(m.tensor([1.0, 1.0, 1.0])),
    "entry": lambda y, m: operator.setitem(y, 0, 5.0),
    "entry_leaf": lambda y, m: operator.setitem(y, 0, m.leaf(5.0)),
    "entries_leaf": lambda y, m: operator.setitem(y, slice(0, 2), m.leaf([5.0, 6.0])),
    "view_add": lambda y, m: y[:2].add_(1),
    "view_times": lambda y, m: y.view(3, 1)[1:].mul_(m.leaf(3.0)),
    "times_leaf": lambda y, m: y.mul_(m.leaf([1.0, 2.0, 3.0])),
    "plus": lambda y, m: operator.iadd(y, m.leaf(2.0)),
    "overlapping_copy": lambda y, m: operator.setitem(y, slice(1, None), y[:-1]),
    "entry_plus": lambda y, m: operator.setitem(y, 0, operator.iadd(y[0], 1)),
}


@table(**{name: lambda m, act=act: _written(act, m) for name, act in WRITES.items()})
def test_written_nonleaf(snippet):
    """Value, grad_fn, version and gradient after a write are PyTorch's."""
    same(snippet)


def _written(act, m):
    x = m.leaf([1.0, 2.0, 3.0])
    y = x * 2
    act(y, m)
    return y, y._version, m.grad((y * y).sum(), x, allow_unused=True)


@table(
    slice_times=lambda m: _gradient(
        m, lambda y: operator.setitem(y, slice(1, 3), operator.imul(y[1:3], 4))
    ),
    mask=lambda m: _gradient(m, lambda y: operator.setitem(y, y > 2, 5.0)),
    mask_leaf=lambda m: _gradient(m, lambda y: operator.setitem(y, y > 2, m.leaf(5.0))),
    list=lambda m: _gradient(m, lambda y: operator.setitem(y, [0, 1], 5.0)),
    indices=lambda m: _gradient(m, lambda y: operator.setitem(y, m.tensor([0, 1]), 5.0)),
    everything=lambda m: _gradient(
        m, lambda y: operator.setitem(y, slice(None), m.leaf([5.0] * 3))
    ),
)
def test_written_by_any_index(snippet):
    """Slices, masks and lists of positions are written with the right gradient."""
    same(snippet)


def _gradient(m, act):
    x = m.leaf([1.0, 2.0, 3.0])
    y = x * 2
    act(y)
    return y.detach(), m.grad((y * y).sum(), x)


# -- saved tensors ---------------------------------------------------------------------------------


def _saved_value(name):
    def snippet(m):
        x = m.leaf([1.0, 2.0, 3.0])
        y = getattr(x, name)()
        y.add_(1)
        y.sum().backward()
        return x.grad

    return snippet


def _saved_operand(function, write):
    def snippet(m):
        x = m.leaf([1.0, 2.0, 3.0])
        z = x * 1
        y = function(z)
        write(z)
        y.sum().backward()
        return x.grad

    return snippet


def _plus_one(z):
    z.add_(1)


def _first_entry(z):
    z[0] = 1.0


@table(
    exp=_saved_value("exp"),
    sqrt=_saved_value("sqrt"),
    tanh=_saved_value("tanh"),
    relu=_saved_value("relu"),
    sin=_saved_value("sin"),
    clone=_saved_value("clone"),
    operand_sin=_saved_operand(lambda z: z.sin(), _plus_one),
    operand_sin_entry=_saved_operand(lambda z: z.sin(), _first_entry),
    operand_relu=_saved_operand(lambda z: z.relu(), _plus_one),
    operand_exp=_saved_operand(lambda z: z.exp(), _plus_one),
    operand_times=_saved_operand(lambda z: z * 3, _plus_one),
    operand_square=_saved_operand(lambda z: z**2, _first_entry),
    operand_view=_saved_operand(lambda z: z.sin(), lambda z: z[1:].mul_(2)),
    view_of_operand=_saved_operand(lambda z: z[1:].sin(), _first_entry),
    itself=_saved_operand(lambda z: z, lambda z: z.mul_(z)),
    constant=lambda m: [
        (c.add_(1), y.sum().backward())
        for c in [m.tensor([1.0, 2.0])]
        for y in [m.leaf([1.0, 2.0]) * c]
    ],
    leaf_stepped=lambda m: [(_step(m, w), y.backward()) for w in [m.leaf(2.0)] for y in [w.sin()]],
    through_detach=lambda m: [
        (w.detach().add_(1), y.backward()) for w in [m.leaf(2.0)] for y in [w.sin()]
    ],
    harmless=lambda m: [
        (w.detach().add_(1), y.backward(), w.grad) for w in [m.leaf(2.0)] for y in [w.exp()]
    ],
    float32=lambda m: [
        (y.add_(1), y.sum().backward()) for y in [m.leaf([[1.0]], dtype=m.float32).exp()]
    ],
)
def test_saved_tensor_changed(snippet):
    """Writes to what a VJP will read are found at backward, in PyTorch's words; others pass."""
    same(snippet)


def _step(m, w):
    with m.no_grad():
        w -= 1


@table(
    shared=lambda m: [
        (y[0].add_(1), z.add_(1), y, y._version, z._version, d._version)
        for y in [m.tensor([1.0, 2.0])]
        for z in [y[1:]]
        for d in [y.detach()]
    ],
    detached=lambda m: [
        (d.mul_(5), y, y.requires_grad, d.requires_grad)
        for y in [m.leaf([1.0, 2.0]) * 1]
        for d in [y.detach()]
    ],
    number=lambda m: [(s.detach().add_(1), s, s._version) for s in [m.tensor(1.0)]],
    entry=lambda m: [
        (operator.setitem(x, 0, operator.iadd(x[0], 1)), x, x._version)
        for x in [m.tensor([1.0, 2.0])]
    ],
    number_viewed=lambda m: [(s.reshape(1).add_(1), s) for s in [m.tensor(1.0)]],
    entry_follows=lambda m: [(y.zero_(), e) for y in [m.tensor([1.0, 2.0])] for e in [y[0]]],
    entry_writes=lambda m: [(y[1][0].add_(5), y) for y in [m.tensor([[1.0, 2.0], [3.0, 4.0]])]],
    picked_is_a_copy=lambda m: [(y[[0]].add_(5), y) for y in [m.tensor([1.0, 2.0])]],
    flipped_is_a_copy=lambda m: [(y.flip(0).add_(5), y) for y in [m.tensor([1.0, 2.0])]],
    diagonal=lambda m: [(y.diagonal().add_(5), y) for y in [m.tensor([[1.0, 2.0], [3.0, 4.0]])]],
)
def test_memory_is_shared(snippet):
    """Views and detached twins look at one memory and count its writes together."""
    same(snippet)
