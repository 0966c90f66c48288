"""The tape itself: what it keeps, how long, how deep; the quick ways equal the long one."""

import threading
import weakref

import numpy as np
import pytest

from gradcheck import grad, is_grad_enabled, no_grad, tensor
from gradcheck.engine.recording import watching
from gradcheck.engine.tape import RIGHT, Leaf, Node, Verbs, walk
from gradcheck.engine.tensor import QUICKLY, apply_to_any
from gradcheck.ops import TABLE

DEEP = 100_000


@pytest.mark.parametrize(
    ("grown", "steps"),
    [(lambda y: y * 1.0, DEEP), (lambda y: y.sin(), DEEP // 5), (lambda y: y[None][0], DEEP // 10)],
    ids=["product", "sine", "view"],
)
@pytest.mark.usefixtures("uncollected")
def test_a_long_chain(grown, steps):
    """Up to a hundred thousand ops go forward and back, and are freed, without recursion."""
    x = tensor(0.5, requires_grad=True)
    y = x
    for _ in range(steps):
        y = grown(y)
    nodes = weakref.ref(y.grad_fn)
    y.backward()
    assert np.isfinite(x.grad.item())
    del y
    assert nodes() is None


@pytest.mark.usefixtures("uncollected")
def test_a_long_chain_is_freed_before_backward():
    """Deleting an unused graph of a hundred thousand saved arrays overflows nothing."""
    x = tensor(np.ones(2), requires_grad=True)
    y = x
    for _ in range(DEEP):
        y = y * x
    first = weakref.ref(x._leaf())
    del y
    assert first() is None


def test_a_long_chain_differentiated_twice():
    """create_graph through two thousand ops: d2/dx2 of x**n by n - 1 products is exact."""
    x = tensor(1.0, requires_grad=True)
    y = x
    n = 2000
    for _ in range(n - 1):
        y = y * x
    (g,) = grad(y, x, create_graph=True)
    assert g.item() == n
    assert grad(g, x)[0].item() == n * (n - 1)


def _dies(make):
    """Whether the value of an intermediate tensor is freed while its graph lives."""
    x = tensor(np.ones(1000), requires_grad=True)
    middle = x * 2.0
    value = weakref.ref(middle._value)
    y = make(middle)
    del middle
    return value() is None, y


@pytest.mark.parametrize(
    ("make", "freed"),
    {
        "plus": (lambda t: t + 1.0, True),
        "sum": (lambda t: t.sum(), True),
        "exp": (lambda t: t.exp(), True),
        "times_number": (lambda t: t * 3.0, True),
        "times_array": (lambda t: np.full(1000, 3.0) * t, True),
        "negative": (lambda t: -t, True),
        "concatenate": (lambda t: np.concatenate([t, t]), True),
        "sin": (lambda t: t.sin(), False),
        "times_itself": (lambda t: t * t, False),
        "view": (lambda t: t[1:], False),
    }.values(),
)
@pytest.mark.usefixtures("uncollected")
def test_nothing_is_kept_that_no_vjp_reads(make, freed):
    """An intermediate array dies unless a VJP will read it (or a view looks at it)."""
    assert _dies(make)[0] == freed


def test_backward_frees_what_was_saved():
    x = tensor(np.ones(10), requires_grad=True)
    middle = x * 2.0
    value = weakref.ref(middle._value)
    y = (middle * middle).sum()
    del middle
    y.backward(retain_graph=True)
    assert value() is not None
    y.backward()
    assert value() is None


@pytest.mark.usefixtures("uncollected")
def test_a_leaf_is_freed_without_the_collector():
    """Tensor and accumulator do not hold each other."""
    x = tensor(np.ones(10), requires_grad=True)
    (x * 2).sum().backward()
    value = weakref.ref(x._value)
    del x
    assert value() is None


# -- the quick ways --------------------------------------------------------------------------------


def _record_of(t):
    node = t._node
    if node is None:
        return (t._tracked,)
    values = [np.asarray(v).tolist() for v in node.operands or ()]
    watch = node.watch or ()
    kept = [*watch[::3], *watch[2::3], *map(type, watch[1::3])]
    return (
        t._tracked, node.op.name, [type(e) for e in node.edges], node.forms, values,
        dict(node.params), np.asarray(node.y).tolist(), node.watch is None, kept,
    )  # fmt: skip


def _operands():
    rng = np.random.default_rng(0)
    for shape in ((), (3,)):
        a = tensor(rng.uniform(0.2, 0.8, shape), requires_grad=True)
        yield from ((a, a * 1.0), (a * 1.0, tensor(0.7)), (a, 0.5), (0.5, a), (a, 2), (2, a))
        yield from ((a, np.full(3, 0.5)), (np.float64(0.5), a), (tensor(0.3), tensor(0.4)))


ELEMENTWISE = [row for row in TABLE.values() if row.elementwise and not row.arrange]


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_quickly_is_the_same(row):
    """The function made for a row of one or two operands records what `apply_to_any` records."""
    for operands in _operands():
        given = operands[: row.operands]
        if len(given) == 2 or hasattr(given[0], "_node"):
            with np.errstate(all="ignore"):
                assert _record_of(QUICKLY[row](*given)) == _record_of(apply_to_any(row, given, {}))


# -- the four verbs --------------------------------------------------------------------------------


def _tape():
    x = tensor([1.0, 2.0], requires_grad=True)
    b = tensor(3.0, requires_grad=True)
    return x, b, ((x + b) * x).sum()


def _gradients(out, x, b, **verbs):
    landed = walk([(out._step(), np.float64(1.0))], verbs=Verbs(**verbs), retain=True)
    found = {step.variable: g for step, g in landed.items() if isinstance(step, Leaf)}
    return np.asarray(found[x]).tolist(), np.asarray(found[b]).tolist()


def test_a_verb_said_wrong_is_heard():
    """Each verb can be replaced alone; the others stay right."""
    x, b, out = _tape()
    right = ([5.0, 7.0], 3.0)
    assert _gradients(out, x, b) == right
    assert _gradients(out, x, b, seed=lambda step, g: 2 * g) == ([10.0, 14.0], 6.0)
    assert _gradients(out, x, b, accumulate=lambda step, held, g: g) == ([1.0, 2.0], 3.0)
    halved = lambda node, i, g: RIGHT.fit(node, i, g) / 2 if g.shape != node.forms[i][0] else g
    assert _gradients(out, x, b, fit=halved) == ([5.0, 7.0], 1.5)
    sign = lambda node, i, g, y, operands: -RIGHT.pull(node, i, g, y, operands)
    assert _gradients(out, x, b, pull=sign)[1] == -3.0


def test_observers_see_every_node_and_its_operands():
    """`watching` calls the observer for each node in order, and stops with its block."""
    seen = []
    x = tensor(2.0, requires_grad=True)
    with watching(observe=lambda node, out, operands: seen.append((node.op.name, len(operands)))):
        x * 2 + x.sin() * x[None][0]
    x * 3
    assert seen == [("multiply", 2), ("sin", 1), ("getitem", 1), ("getitem", 1), ("multiply", 2),
                    ("add", 2)]  # fmt: skip


def test_disturbances_reach_every_forward():
    """`watching` lets a disturbance alter each value, recorded or not."""
    with watching(disturb=lambda row, y: y + 1):
        assert (tensor(2.0) * 2 * 3).item() == (2 * 2 + 1) * 3 + 1
        assert (tensor(2.0, requires_grad=True).sin()).item() == np.sin(2.0) + 1


def test_threads_have_modes_of_their_own():
    inside, checked, seen = threading.Event(), threading.Event(), []

    def other():
        with no_grad():
            inside.set()
            checked.wait(5)
            seen.append(is_grad_enabled())

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(5)
    seen.append((tensor(1.0, requires_grad=True) * 2).requires_grad)
    checked.set()
    thread.join()
    assert seen == [True, False]


def test_orders_grow_from_operands_to_ops():
    """A node is younger than everything it was made of: the walk depends on it."""
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y[0] = y[1] * x[0]
    y[1:].mul_(3)
    stack = [(y * y[1]).sum().grad_fn]
    while stack:
        node = stack.pop()
        below = [edge for edge in node.edges if edge is not None]
        assert all(edge.order < node.order for edge in below)
        stack += [edge for edge in below if isinstance(edge, Node)]
