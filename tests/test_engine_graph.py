"""The graph: leaves, grad_fn, backward, grad, retained gradients, hooks and modes."""

import copy
import operator
import pickle

import pytest
from tests.test_engine_oracle import same, table

from gradcheck.engine import Tensor, grad, no_grad, tensor


def twice(function):
    """A snippet: backward two times through function(s), then the gradient."""

    def snippet(m):
        s = m.leaf(2.0)
        y = function(m, s)
        y.backward()
        y.backward()
        return s.grad

    return snippet


def names(step):
    """The names of what comes next."""
    return [(type(s).__name__ if s is None else repr(s), k) for s, k in step.next_functions]


@table(
    constant=lambda m, t=None: m.tensor(1.0).backward(),
    constant_grad=lambda m: m.grad(m.tensor(1.0), m.leaf(1.0)),
    vector=lambda m: (m.leaf([1.0, 2.0]) * 2).backward(),
    vector_grad=lambda m: m.grad(*(lambda x: (x * 2, x))(m.leaf([1.0, 2.0]))),
    one_entry=lambda m: (lambda x: ((x * 2).backward(), x.grad))(m.leaf([3.0])),
    leaf_itself=lambda m: (lambda s: (s.backward(), s.grad))(m.leaf(2.0)),
    under_no_grad=lambda m: m.no_grad()(lambda: m.leaf(2.0) * 2)().backward(),
    wrong_shape=lambda m: (m.leaf([1.0, 2.0]) * 2).backward(m.tensor([1.0, 2.0, 3.0])),
    given_gradient=lambda m: (lambda x: ((x * x).backward(m.tensor([1.0, 10.0])), x.grad))(
        m.leaf([1.0, 2.0])
    ),
    float32_gradient=lambda m: (
        lambda x: ((x * x).backward(m.tensor([1.0, 10.0], dtype=m.float32)), x.grad)
    )(m.leaf([1.0, 2.0])),
    float64_gradient=lambda m: (lambda x: ((x * x).backward(m.tensor([1.0, 10.0])), x.grad))(
        m.leaf([1.0, 2.0], dtype=m.float32)
    ),
    count_mismatch=lambda m: m.backward(
        [m.leaf(1.0) * 2, m.leaf(1.0) * 2], [m.tensor(1.0)]
    ),
    two_roots=lambda m: (lambda s: (m.backward([s * 2, s * s]), s.grad))(m.leaf(3.0)),
    only_some=lambda m: (lambda x, s: ((x * s).sum().backward(inputs=[x]), x.grad, s.grad))(
        m.leaf([1.0, 2.0]), m.leaf(2.0)
    ),
    only_nonleaf=lambda m: (lambda x: (lambda y: (y.sum().backward(inputs=[y]), y._grad if 0 else x.grad))(x * 2))(
        m.leaf([1.0, 2.0])
    ),
    only_nothing=lambda m: (m.leaf(1.0) * 2).backward(inputs=[]),
    accumulates=lambda m: (
        lambda s: ((s * 2).backward(), (s * 3).backward(), s.grad, s.grad._version)
    )(m.leaf(1.0)),
    fan_out=lambda m: (lambda s: ((s * s + s).backward(), s.grad))(m.leaf(3.0)),
    create_graph=lambda m: (lambda s: ((s**3).backward(create_graph=True), s.grad.requires_grad))(
        m.leaf(2.0)
    ),
    create_graph_twice=lambda m: (
        lambda s: (
            (s**3).backward(create_graph=True),
            (s**2).backward(create_graph=True),
            s.grad,
        )
    )(m.leaf(2.0)),
    create_graph_of_a_line=lambda m: (
        lambda s: ((s + 1).backward(create_graph=True), s.grad)
    )(m.leaf(2.0)),
    mixed_dtypes=lambda m: (
        lambda a, b: ((a * b).sum().backward(), a.grad, b.grad)
    )(m.leaf([1.0, 2.0], dtype=m.float32), m.leaf([[1.0], [2.0]])),
    broadcast=lambda m: (
        lambda a, b, c, s: ((a * b + c * s).sum().backward(), a.grad, b.grad, c.grad, s.grad)
    )(m.leaf([[1.0, 2.0, 3.0]] * 2), m.leaf([1.0, 2.0, 3.0]), m.leaf([[1.0], [2.0]]), m.leaf(2.0)),
)
def test_backward(snippet):
    """`backward` lands what PyTorch's lands, and complains in its words."""
    same(snippet)


@table(
    line=twice(lambda m, s: s + 1),
    negative=twice(lambda m, s: -s),
    itself=twice(lambda m, s: s + s),
    sum=twice(lambda m, s: s.sum()),
    mean=twice(lambda m, s: s.mean()),
    entry=twice(lambda m, s: s.reshape(1)[0]),
    clone=twice(lambda m, s: s.clone()),
    turned=twice(lambda m, s: s.reshape(1, 1).T.sum()),
    times_number=twice(lambda m, s: s * 3),
    divided=twice(lambda m, s: s / 3),
    number_divided=twice(lambda m, s: 1 / s),
    from_number=twice(lambda m, s: 3 - s),
    squared=twice(lambda m, s: s**2),
    sine=twice(lambda m, s: s.sin()),
    exponential=twice(lambda m, s: s.exp()),
    relu=twice(lambda m, s: s.relu()),
    absolute=twice(lambda m, s: s.abs()),
    times_tensor=twice(lambda m, s: s * m.tensor(3.0)),
    product=twice(lambda m, s: s.reshape(1) @ m.tensor([2.0])),
)
def test_second_backward(snippet):
    """Backward works twice just where no visited node had saved anything."""
    same(snippet)


@table(
    unused=lambda m: (lambda s: m.grad(s * 2, [s, m.leaf(1.0)]))(m.leaf(2.0)),
    unused_allowed=lambda m: (lambda s: m.grad(s * 2, [s, m.leaf(1.0)], allow_unused=True))(
        m.leaf(2.0)
    ),
    unused_zeros=lambda m: (
        lambda s: m.grad(s * 2, [s, m.leaf([1.0, 1.0])], materialize_grads=True)
    )(m.leaf(2.0)),
    contradiction=lambda m: (
        lambda s: m.grad(s * 2, [s], materialize_grads=True, allow_unused=False)
    )(m.leaf(2.0)),
    untracked=lambda m: m.grad(m.leaf(2.0) * 2, [m.tensor(1.0)]),
    nothing=lambda m: m.grad(m.leaf(2.0) * 2, []),
    nonleaf=lambda m: (lambda x: (lambda y: m.grad((y * y).sum(), [y, x]))(x * 2))(
        m.leaf([1.0, 2.0])
    ),
    itself=lambda m: (lambda x: (lambda y: m.grad(y, [y, x]))((x * 2).sum()))(m.leaf([1.0, 2.0])),
    leaves_grad_alone=lambda m: (lambda s: (m.grad(s * s, s), s.grad))(m.leaf(2.0)),
    two_outputs=lambda m: (
        lambda x, s: m.grad([x * 2, s * 2], [x, s], [m.tensor([1.0, 2.0]), None])
    )(m.leaf([1.0, 2.0]), m.leaf(2.0)),
    freed_below=lambda m: (
        lambda x: (lambda y: (lambda z: (z.backward(), m.grad(z, [y])))(y.sum()))(x.exp())
    )(m.leaf([1.0, 2.0])),
    freed=lambda m: (
        lambda x: (lambda y: (lambda z: (z.backward(), m.grad(z, [y])))((y * y).sum()))(x * 2)
    )(m.leaf([1.0, 2.0])),
    again_without_graph=lambda m: (lambda s: m.grad(m.grad(s**3, s)[0], s))(m.leaf(2.0)),
)
def test_grad(snippet):
    """`grad` answers and complains as PyTorch's."""
    same(snippet)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_derivatives_of_any_order(order):
    """With create_graph, gradients can be differentiated again: exp(2s) and s**5."""

    def snippet(m):
        s = m.leaf(1.5)
        g = (s * 2).exp() + s**5 + 1 / s + s.sin() * s
        for _ in range(order):
            (g,) = m.grad(g, s, create_graph=True)
        return f"{g.item():.9f}"

    same(snippet)


def test_create_graph_through_matrices_and_indices():
    """Second derivatives pass through products, sums, indexing and broadcasting."""

    def snippet(m):
        a, b = m.leaf([[1.0, 2.0], [3.0, 4.0]]), m.leaf([0.5, -1.0])
        y = ((a @ b).tanh() * a[:, 0] + a.mean() * b.exp().sum()).sum()
        (g,) = m.grad(y, a, create_graph=True)
        return m.grad((g * g).sum(), [a, b])

    same(snippet)


@table(
    leaf=lambda m: (m.leaf(1.0).grad_fn, m.leaf(1.0).is_leaf, (m.leaf(1.0) * 1).is_leaf),
    product=lambda m: names((m.leaf([1.0]) * 2 + m.leaf(1.0)).grad_fn),
    constant_right=lambda m: names((m.leaf(1.0) / 2).grad_fn),
    power=lambda m: names((m.leaf(1.0) ** 2).grad_fn),
    power_of_tensors=lambda m: names((m.leaf(1.0) ** m.leaf(2.0)).grad_fn),
    matmul=lambda m: names((m.tensor([[1.0, 2.0]]) @ m.leaf([1.0, 2.0])).grad_fn),
    function=lambda m: names(m.leaf(1.0).sin().grad_fn),
    accumulator=lambda m: [
        (x * 1).grad_fn.next_functions[0][0] is (x * 2).grad_fn.next_functions[0][0]
        and (x * 1).grad_fn.next_functions[0][0].variable is x
        and (x * 1).grad_fn.next_functions[0][0].next_functions
        for x in [m.leaf(1.0)]
    ],
    after_backward=lambda m: [
        (y.backward(), y, y.grad_fn, names(y.grad_fn)) for y in [m.leaf([1.0, 2.0]).exp().sum()]
    ],
    subtraction=lambda m: m.leaf(1.0) - m.leaf(1.0),
    mean=lambda m: m.leaf([1.0]).mean(),
    mean_axis=lambda m: m.leaf([[1.0]]).mean(0),
)
def test_graph_seen_from_outside(snippet):
    """grad_fn, is_leaf and next_functions are PyTorch's."""
    same(snippet)


def hooked(*hooks):
    """A snippet: hooks on x * 2, backward, the gradient of x."""

    def snippet(m):
        x = m.leaf([1.0, 2.0])
        y = x * 2
        for hook in hooks:
            y.register_hook(hook)
        (y * y).sum().backward()
        return x.grad

    return snippet


def _order_of_hooks(m):
    log = []
    x = m.leaf([1.0, 2.0])
    x.register_hook(lambda g: log.append(("leaf", g.tolist(), x.grad)))
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: (log.append(("first", g.tolist())), g * 2)[1])
    y.register_hook(lambda g: log.append(("second", g.tolist())))
    (y * y + y).sum().backward()
    return log, y.grad, x.grad


def _removed(m):
    log = []
    x = m.leaf([1.0, 2.0])
    y = x * 2
    handle = y.register_hook(lambda g: log.append(g.tolist()))
    handle.remove()
    handle.remove()
    with y.register_hook(lambda g: log.append(g.tolist())):
        y.sum().backward(retain_graph=True)
    y.sum().backward()
    return log


def _leaf_hook(m):
    x = m.leaf([1.0, 2.0])
    x.register_hook(lambda g: g * 10)
    (x * 1).sum().backward()
    (x * 1 + x * 2).sum().backward()
    return x.grad, m.grad((x * 2).sum(), x)


@table(
    replaced=hooked(lambda g: g * 10),
    looked_at=hooked(lambda g: None),
    chained=hooked(lambda g: g + 1, lambda g: g * 10),
    wrong_size=hooked(lambda g: g.sum()),
    wrong_type=hooked(lambda g: 3),
    wrong_dtype=hooked(lambda g: g.float()),
    in_no_grad=hooked(lambda g: None if not (g * 2).requires_grad else 3),
    constant=lambda m: m.tensor(1.0).register_hook(print),
    order=_order_of_hooks,
    removed=_removed,
    on_leaf=_leaf_hook,
    seen_by_grad=lambda m: [
        (y.register_hook(lambda g: g * 10), m.grad(y.sum(), y))[1] for y in [m.leaf([1.0]) * 2]
    ],
)
def test_hooks(snippet):
    """Hooks see the summed gradient, may replace it, and are refused in PyTorch's words."""
    same(snippet)


def _retained(m):
    x = m.leaf([1.0, 2.0])
    y = x * 2
    y.retain_grad()
    z = (y * y).sum()
    z.backward(retain_graph=True)
    z.backward()
    return y.grad, y.retains_grad, x.retains_grad


@table(
    retained=_retained,
    not_retained=lambda m: (lambda y: (y.backward(), y.grad, y.retains_grad))(m.leaf(1.0) * 2),
    constant=lambda m: m.tensor(1.0).retain_grad(),
    leaf=lambda m: (lambda x: (x.retain_grad(), x.retains_grad, x.grad))(m.leaf(1.0)),
    set_number=lambda m: setattr(m.leaf([1.0, 2.0]), "grad", 1),
    set_shape=lambda m: setattr(m.leaf([1.0, 2.0]), "grad", m.tensor([1.0])),
    set_dtype=lambda m: setattr(m.leaf([1.0]), "grad", m.tensor([1.0], dtype=m.float32)),
    set_ints=lambda m: setattr(m.leaf([1.0]), "grad", m.tensor([1])),
    set_itself=lambda m: (lambda x: setattr(x, "grad", x))(m.leaf([1.0])),
    set_and_added=lambda m: [
        (setattr(s, "grad", m.tensor(5.0)), (s * 2).backward(), s.grad)[1:] for s in [m.leaf(1.0)]
    ],
    cleared=lambda m: [
        ((s * 2).backward(), setattr(s, "grad", None), s.grad) for s in [m.leaf(1.0)]
    ],
)
def test_grad_attribute(snippet):
    """`.grad` is kept, warned about, set and refused as in PyTorch."""
    same(snippet)


def test_grad_accumulates_into_the_same_object():
    """The tensor in `.grad` is added to in place: whoever holds it sees the sum."""
    s = tensor(2.0, requires_grad=True)
    (s * 2).backward()
    held = s.grad
    (s * 3).backward()
    assert s.grad is held
    assert held.item() == 5.0


def _decorated(m):
    @m.no_grad()
    def f():
        return m.is_grad_enabled()

    @m.no_grad
    def g():
        return m.is_grad_enabled()

    @m.set_grad_enabled(False)
    def h():
        return m.is_grad_enabled()

    return f(), g(), h(), m.is_grad_enabled()


def _nested(m):
    seen = []
    with m.no_grad():
        seen.append(m.is_grad_enabled())
        with m.enable_grad():
            seen.append((m.leaf(1.0) * 2).requires_grad)
        seen.append((m.leaf(1.0) * 2).requires_grad)
        with m.set_grad_enabled(True):
            seen.append(m.is_grad_enabled())
        seen.append(m.is_grad_enabled())
    return *seen, m.is_grad_enabled()


def _at_once(m):
    m.set_grad_enabled(False)
    inside = m.is_grad_enabled()
    m.set_grad_enabled(True)
    return inside, m.is_grad_enabled()


def _generator(m):
    @m.no_grad()
    def steps():
        came = yield m.is_grad_enabled()
        yield came, m.is_grad_enabled()

    run = steps()
    return next(run), m.is_grad_enabled(), run.send("sent"), m.is_grad_enabled()


def _raised(m):
    try:
        with m.no_grad():
            raise ValueError
    except ValueError:
        return m.is_grad_enabled()


@table(
    decorated=_decorated, nested=_nested, at_once=_at_once, generator=_generator, raised=_raised
)
def test_modes(snippet):
    """no_grad, enable_grad and set_grad_enabled as blocks, decorators and calls."""
    same(snippet)


@table(
    item=lambda m: m.leaf([1.0, 2.0]).item(),
    item_of_nothing=lambda m: m.tensor([]).item(),
    item_of_one=lambda m: m.leaf([[3.0]]).item(),
    truth=lambda m: bool(m.leaf([1.0, 2.0])),
    truth_of_nothing=lambda m: bool(m.tensor([])),
    truth_of_one=lambda m: (bool(m.leaf(0.0)), bool(m.tensor([2.0]))),
    float_of_two=lambda m: float(m.tensor([1.0, 2.0])),
    float_of_one=lambda m: (float(m.tensor([1.5])), int(m.tensor(2.7)), complex(m.tensor(1.0))),
    length=lambda m: (len(m.leaf([1.0, 2.0])), len(m.tensor([[1.0]]))),
    length_of_number=lambda m: len(m.leaf(1.0)),
    iteration_of_number=lambda m: list(m.leaf(1.0)),
    iteration=lambda m: [t.item() for t in m.leaf([1.0, 2.0])],
    index=lambda m: operator.index(m.tensor(3)),
    index_of_one=lambda m: operator.index(m.tensor([3])),
    index_of_bool=lambda m: operator.index(m.tensor(True)),
    index_of_float=lambda m: operator.index(m.tensor(3.0)),
    index_of_two=lambda m: operator.index(m.tensor([1, 2])),
    contains=lambda m: (1.0 in m.leaf([1.0, 2.0]), m.tensor(3.0) in m.leaf([1.0, 2.0])),
    contains_text=lambda m: "a" in m.leaf([1.0]),
    contains_nothing=lambda m: None in m.leaf([1.0]),
    contains_list=lambda m: [1.0] in m.leaf([1.0]),
    equal_to_nothing=lambda m: (m.leaf([1.0]) == None, m.leaf([1.0]) != None),  # noqa: E711
    hashed=lambda m: len({m.leaf(1.0), m.leaf(1.0)}),
    numpy=lambda m: m.leaf(1.0).numpy(),
    numpy_detached=lambda m: m.leaf([1.0]).detach().numpy().tolist(),
    tolist=lambda m: (m.leaf([[1.0, 2.0]]).tolist(), m.leaf(1.0).tolist()),
    out_of_range=lambda m: m.leaf([1.0, 2.0])[2],
    out_of_range_below=lambda m: m.leaf([1.0, 2.0])[-3],
    out_of_range_column=lambda m: m.leaf([[1.0, 2.0]])[:, 2],
    too_many=lambda m: m.leaf([1.0, 2.0])[0, 0],
    number_indexed=lambda m: m.leaf([1.0, 2.0])[0][0],
    round=lambda m: round(m.leaf(1.0)),
    attribute=lambda m: m.leaf(1.0).foo,
    not_a_matrix=lambda m: m.leaf([1.0]).mT,
    turned=lambda m: (m.leaf([[1.0, 2.0]]).T.shape, m.leaf([[1.0, 2.0]]).mT.shape),
    counts=lambda m: (m.leaf([[1.0, 2.0]]).numel(), m.leaf([[1.0, 2.0]]).dim()),
    deepcopy_of_nonleaf=lambda m: copy.deepcopy(m.leaf(1.0) * 2),
    casts=lambda m: (m.leaf(1.5).double(), m.leaf([1.5]).float(), m.leaf(1.5).long()),
    cast_back=lambda m: [
        ((x.float() * 3).sum().backward(), x.grad) for x in [m.leaf([1.5, 2.5])]
    ],
    builtin_sum=lambda m: sum(m.leaf([1.0, 2.0])),
)
def test_conversions(snippet):
    """Numbers, truth, lengths, indices, casts: PyTorch's answers and complaints."""
    same(snippet)


def test_deepcopy_of_a_leaf_is_a_leaf_of_its_own():
    """Values, flag and gradient are copied; what is shared once stays shared once."""
    x = tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    twin, again = copy.deepcopy([x, x])
    assert twin is again
    assert twin is not x
    assert twin.requires_grad
    assert twin.tolist() == [1.0, 2.0]
    assert twin.grad.tolist() == [3.0, 3.0]
    with no_grad():
        x[0] = 9.0
    assert twin.tolist() == [1.0, 2.0]


def test_pickle_and_copy_of_a_leaf():
    """A leaf survives pickling; a shallow copy looks at the same memory."""
    x = tensor([1.0, 2.0], requires_grad=True)
    back = pickle.loads(pickle.dumps(x))
    assert isinstance(back, Tensor)
    assert back.requires_grad
    assert back.tolist() == [1.0, 2.0]
    twin = copy.copy(x)
    with no_grad():
        x[0] = 9.0
    assert twin.tolist() == [9.0, 2.0]


def test_a_number_keeps_its_gradient_path_through_max():
    """`max(t, 0)` takes a branch: the gradient is that of the branch taken."""
    t = tensor(2.0, requires_grad=True)
    assert grad(max(t, 0.0) * 3, t)[0].item() == 3.0
