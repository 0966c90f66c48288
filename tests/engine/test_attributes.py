"""Around the graph: hooks, retained gradients, modes, conversions and copies."""

import copy
import operator
import pickle

from gradcheck.engine import Tensor, grad, no_grad, tensor
from tests.support.oracle import of, same, table


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
    not_retained=of(1.0)(lambda m, s: [(y.backward(), y.grad, y.retains_grad) for y in [s * 2]]),
    constant=lambda m: m.tensor(1.0).retain_grad(),
    leaf=of(1.0)(lambda m, x: (x.retain_grad(), x.retains_grad, x.grad)),
    set_number=lambda m: setattr(m.leaf([1.0, 2.0]), "grad", 1),
    set_shape=lambda m: setattr(m.leaf([1.0, 2.0]), "grad", m.tensor([1.0])),
    set_dtype=lambda m: setattr(m.leaf([1.0]), "grad", m.tensor([1.0], dtype=m.float32)),
    set_ints=lambda m: setattr(m.leaf([1.0]), "grad", m.tensor([1])),
    set_itself=of([1.0])(lambda m, x: setattr(x, "grad", x)),
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


def _raised(m):
    try:
        with m.no_grad():
            raise ValueError
    except ValueError:
        return m.is_grad_enabled()


@table(decorated=_decorated, nested=_nested, at_once=_at_once, raised=_raised)
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
    cast_back=lambda m: [((x.float() * 3).sum().backward(), x.grad) for x in [m.leaf([1.5, 2.5])]],
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
    assert copy.copy(x).tolist() == [1.0, 2.0]


def test_a_number_keeps_its_gradient_path_through_max():
    """`max(t, 0)` takes a branch: the gradient is that of the branch taken."""
    t = tensor(2.0, requires_grad=True)
    assert grad(max(t, 0.0) * 3, t)[0].item() == 3.0
