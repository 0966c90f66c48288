"""The graph: leaves, grad_fn, backward, grad, retained gradients, hooks and modes."""

import pytest

from tests.support.oracle import of, same, table


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


def _only_nonleaf(m):
    x = m.leaf([1.0, 2.0])
    y = x * 2
    y.sum().backward(inputs=[y])
    return x.grad, y.grad


@table(
    constant=lambda m: m.tensor(1.0).backward(),
    constant_grad=of(1.0)(lambda m, s: m.grad(m.tensor(1.0), s)),
    vector=of([1.0, 2.0])(lambda m, x: (x * 2).backward()),
    vector_grad=of([1.0, 2.0])(lambda m, x: m.grad(x * 2, x)),
    one_entry=of([3.0])(lambda m, x: ((x * 2).backward(), x.grad)),
    leaf_itself=of(2.0)(lambda m, s: (s.backward(), s.grad)),
    under_no_grad=of(2.0)(lambda m, s: m.no_grad()(lambda: s * 2)().backward()),
    wrong_shape=of([1.0, 2.0])(lambda m, x: (x * 2).backward(m.tensor([1.0, 2.0, 3.0]))),
    given_gradient=of([1.0, 2.0])(lambda m, x: ((x * x).backward(m.tensor([1.0, 10.0])), x.grad)),
    float32_gradient=of([1.0, 2.0])(
        lambda m, x: ((x * x).backward(m.tensor([1.0, 10.0], dtype=m.float32)), x.grad)
    ),
    float64_gradient=lambda m: [
        ((x * x).backward(m.tensor([1.0, 10.0])), x.grad)
        for x in [m.leaf([1.0, 2.0], dtype=m.float32)]
    ],
    count_mismatch=of(1.0)(lambda m, s: m.backward([s * 2, s * 2], [m.tensor(1.0)])),
    two_roots=of(3.0)(lambda m, s: (m.backward([s * 2, s * s]), s.grad)),
    only_some=of([1.0, 2.0], 2.0)(
        lambda m, x, s: ((x * s).sum().backward(inputs=[x]), x.grad, s.grad)
    ),
    only_nonleaf=_only_nonleaf,
    only_nonleaf_unused=of(2.0, 3.0)(
        lambda m, s, u: [
            (u.backward(inputs=[y]), y.retains_grad, (y * y).backward(), y.grad) for y in [s * 2]
        ]
    ),
    no_longer_asked_for=of(2.0)(
        lambda m, s: [(s.requires_grad_(False), y.backward(), s.grad) for y in [s * s]]
    ),
    only_constant=of(2.0)(lambda m, s: (s * 2).backward(inputs=[m.tensor(1.0)])),
    only_nothing=of(1.0)(lambda m, s: (s * 2).backward(inputs=[])),
    accumulates=of(1.0)(
        lambda m, s: ((s * 2).backward(), (s * 3).backward(), s.grad, s.grad._version)
    ),
    fan_out=of(3.0)(lambda m, s: ((s * s + s).backward(), s.grad)),
    create_graph=of(2.0)(lambda m, s: ((s**3).backward(create_graph=True), s.grad.requires_grad)),
    create_graph_twice=of(2.0)(
        lambda m, s: (
            (s**3).backward(create_graph=True),
            (s**2).backward(create_graph=True),
            s.grad,
        )
    ),
    create_graph_of_a_line=of(2.0)(lambda m, s: ((s + 1).backward(create_graph=True), s.grad)),
    create_graph_behind_relu=of([1.0, -2.0])(
        lambda m, x: [
            m.grad((g * g).sum(), x) for (g,) in [m.grad(x.relu().sum(), x, create_graph=True)]
        ]
    ),
    create_graph_of_what_was_filled=of([1.0, 2.0])(
        lambda m, x: [
            (y.fill_(3), y.sum().backward(create_graph=True), x.grad) for y in [x.clone()]
        ]
    ),
    only_a_value_that_keeps_its_gradient=of([1.0, 2.0])(
        lambda m, x: [
            (y.retain_grad(), y.sum().backward(inputs=[y], retain_graph=True), y.grad, x.grad)
            for y in [x * 3]
        ]
    ),
    only_a_value_twice=of([1.0, 2.0])(
        lambda m, x: [
            [(y.sum().backward(inputs=[y], retain_graph=True), y.grad) for _ in range(2)]
            for y in [x * 3]
        ]
    ),
    kept_apart_from_the_cotangent=of([1.0, 2.0])(
        lambda m, x: [
            (y.retain_grad(), z.retain_grad(), z.backward(v), v.fill_(50), y.grad, z.grad)
            for y in [x * 1]
            for z, v in [(y + 1, m.tensor([1.0, 1.0]))]
        ]
    ),
    kept_without_a_graph=of(2.0)(
        lambda m, x: [
            (
                y.retain_grad(),
                m.grad(y * y, x, create_graph=True),
                y.backward(retain_graph=True),
                y.grad.requires_grad,
                y.grad,
            )
            for y in [x * 1]
        ]
    ),
    smaller_of_two_with_an_infinite_slope=of([0.84], [0.4])(
        lambda m, a, b: (a.minimum(b).backward(m.tensor([float("inf")])), a.grad, b.grad)
    ),
    cleared_in_place=of(1.0)(
        lambda m, s: [
            (m.SGD([s], lr=1).zero_grad(set_to_none=False), s.grad is g, g)
            for g in [((s * 2).backward(), s.grad)[1]]
        ]
    ),
    mixed_dtypes=of([[1.0], [2.0]])(
        lambda m, b: [
            ((a * b).sum().backward(), a.grad, b.grad)
            for a in [m.leaf([1.0, 2.0], dtype=m.float32)]
        ]
    ),
    broadcast=of([[1.0, 2.0, 3.0]] * 2, [1.0, 2.0, 3.0], [[1.0], [2.0]], 2.0)(
        lambda m, a, b, c, s: (
            (a * b + c * s).sum().backward(),
            [leaf.grad for leaf in (a, b, c, s)],
        )
    ),
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


def _nonleaf(m):
    x = m.leaf([1.0, 2.0])
    y = x * 2
    z = (y * y).sum()
    return m.grad(z, [z, y, x])


def _freed(function):
    def snippet(m):
        y = m.leaf([1.0, 2.0]).exp()
        z = function(y).sum()
        z.backward()
        return m.grad(z, [y])

    return snippet


@table(
    unused=of(2.0, 1.0)(lambda m, s, t: m.grad(s * 2, [s, t])),
    unused_allowed=of(2.0, 1.0)(lambda m, s, t: m.grad(s * 2, [s, t], allow_unused=True)),
    unused_zeros=of(2.0, [1.0, 1.0])(lambda m, s, t: m.grad(s * 2, [s, t], materialize_grads=True)),
    contradiction=of(2.0)(
        lambda m, s: m.grad(s * 2, [s], materialize_grads=True, allow_unused=False)
    ),
    untracked=of(2.0)(lambda m, s: m.grad(s * 2, [m.tensor(1.0)])),
    nothing=of(2.0)(lambda m, s: m.grad(s * 2, [])),
    nonleaf=_nonleaf,
    leaves_grad_alone=of(2.0)(lambda m, s: (m.grad(s * s, s), s.grad)),
    two_outputs=of([1.0, 2.0], 2.0)(
        lambda m, x, s: m.grad([x * 2, s * 2], [x, s], [m.tensor([1.0, 2.0]), None])
    ),
    freed_below=_freed(lambda y: y),
    freed=_freed(lambda y: y * y),
    again_without_graph=of(2.0)(lambda m, s: m.grad(m.grad(s**3, s)[0], s)),
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
    number_minus=lambda m: 1 - m.leaf(0.5),
    number_plus=lambda m: 1 + m.leaf(0.5),
    remainder_of_number=lambda m: m.leaf(5.5) % 2,
    written_by_mask=lambda m: [
        (y.__setitem__(y > 0.5, 0.0), y) for x in [m.leaf([0.3, 0.7])] for y in [x * 1]
    ],
    written_by_slice=lambda m: [
        (y.__setitem__(slice(0, 1), 0.0), y) for x in [m.leaf([0.3, 0.7])] for y in [x * 1]
    ],
)
def test_graph_seen_from_outside(snippet):
    """grad_fn, is_leaf and next_functions are PyTorch's."""
    same(snippet)
