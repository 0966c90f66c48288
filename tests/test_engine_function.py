"""`Function`: forward and backward of the user's own, as in PyTorch."""

import gc
import weakref

import numpy as np
from tests.test_engine_oracle import cleaned, same, table

from gradcheck.engine import Function, grad, tensor


def made(m, forward, backward=None, **named):
    """A Function class named Fn of the given static methods."""
    members = {"forward": forward, "backward": backward, **named}
    statics = {name: staticmethod(f) for name, f in members.items() if f is not None}
    return type("Fn", (m.Function,), statics)


def double(ctx, a):
    """A forward: twice the argument."""
    return a * 2


def run(forward, backward, *more):
    """A snippet: apply to a leaf (and more), backward of the sum, value and gradients."""

    def snippet(m):
        x = m.leaf([1.0, 2.0])
        args = (x, *(m.leaf(v) if isinstance(v, list) else v for v in more))
        out = made(m, forward, backward).apply(*args)
        first = out[0] if isinstance(out, tuple) else out
        first.sum().backward()
        return out, [t.grad for t in args if hasattr(t, "grad")]

    return snippet


@table(
    right=run(double, lambda ctx, g: g * 2),
    extra_none=run(double, lambda ctx, g: (g, None)),
    too_many=run(double, lambda ctx, g: (g, g)),
    too_few=run(lambda ctx, a, b: a * b, lambda ctx, g: g, [1.0, 2.0]),
    too_few_for_constant=run(lambda ctx, a, b: a * b, lambda ctx, g: g, 3.0),
    number_argument=run(lambda ctx, a, k: a * k, lambda ctx, g: (g * 3, None), 3.0),
    none=run(double, lambda ctx, g: None),
    none_and_one=run(lambda ctx, a, b: a * b, lambda ctx, g: (None, g), [1.0, 2.0]),
    wrong_shape=run(double, lambda ctx, g: g.reshape(2, 1)[:1].expand(3, 1)),
    summed_silently=run(double, lambda ctx, g: g.expand(5, 2)),
    too_small=run(double, lambda ctx, g: g[:1]),
    too_small_number=run(double, lambda ctx, g: g.sum()),
    array=run(double, lambda ctx, g: g.numpy()),
    number=run(double, lambda ctx, g: 2.0),
    listed=run(double, lambda ctx, g: [g]),
    float32=run(double, lambda ctx, g: g.float()),
    ints=run(double, lambda ctx, g: g.long()),
    tuple_of_one=run(lambda ctx, a: (a * 2,), lambda ctx, g: g),
    tuple_with_number=run(lambda ctx, a: (a * 2, 3), lambda ctx, g, h: g if h is None else h),
    saved_number=run(lambda ctx, a: ctx.save_for_backward(3), lambda ctx, g: g),
    saved_none=run(
        lambda ctx, a: (ctx.save_for_backward(a, None), a * 2)[1],
        lambda ctx, g: g * ctx.saved_tensors[0] if ctx.saved_tensors[1] is None else g,
    ),
    saved_twice=run(
        lambda ctx, a: (ctx.save_for_backward(a), ctx.save_for_backward(a, a), a * 2)[2],
        lambda ctx, g: g * len(ctx.saved_tensors),
    ),
    raised=run(double, lambda ctx, g: g / 0 if g is None else [][0]),
    argument_returned=run(lambda ctx, a: a, lambda ctx, g: g * 5),
    nothing_returned=lambda m: made(m, lambda ctx, a: None, double).apply(m.leaf(1.0)),
    untracked=lambda m: made(m, double, double).apply(m.tensor([1.0])),
    under_no_grad=lambda m: m.no_grad()(lambda: made(m, double, double).apply(m.leaf([1.0])))(),
    in_a_list=lambda m: made(m, lambda ctx, a: a[0] * 2, double).apply([m.leaf([1.0])]),
)
def test_gradients_and_complaints(snippet):
    """What backward returns is counted, checked, summed and cast as PyTorch does."""
    same(snippet)


def _no_backward(m):
    made(m, double).apply(m.leaf([1.0])).sum().backward()


def _both_rules(m):
    rule = lambda ctx, g: g
    made(m, double, rule, vjp=rule).apply(m.leaf([1.0])).sum().backward()


def _vjp_alone(m):
    x = m.leaf([1.0])
    made(m, double, vjp=lambda ctx, g: g * 2).apply(x).sum().backward()
    return x.grad


@table(
    no_backward=_no_backward,
    no_forward=lambda m: type("Fn", (m.Function,), {}).apply(m.leaf(1.0)),
    both_rules=_both_rules,
    vjp_alone=_vjp_alone,
    called=lambda m: made(m, double, double)()(1),
    base=lambda m: m.Function.apply(m.leaf(1.0)),
)
def test_what_a_function_must_have(snippet):
    """A Function without its methods is refused in PyTorch's words."""
    same(snippet)


def _twice_saved(m):
    x = m.leaf([1.0, 2.0])
    y = made(
        m,
        lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1],
        lambda ctx, g: g * ctx.saved_tensors[0],
    ).apply(x)
    z = y.sum()
    z.backward()
    z.backward()


def _twice_unsaved(m):
    x = m.leaf([1.0, 2.0])
    z = made(m, double, lambda ctx, g: g * 2).apply(x).sum()
    z.backward()
    z.backward()
    return x.grad


def _changed_argument(m):
    z = m.leaf([1.0, 2.0]) * 1
    y = made(
        m,
        lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1],
        lambda ctx, g: g * ctx.saved_tensors[0],
    ).apply(z)
    z.add_(1)
    y.sum().backward()


def _changed_output(m):
    def forward(ctx, a):
        y = a * 2
        ctx.save_for_backward(y)
        return y

    y = made(m, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(m.leaf([1.0, 2.0]))
    y.add_(1)
    y.sum().backward()


def _argument_returned_and_written(m):
    y = made(m, lambda ctx, a: a, lambda ctx, g: g).apply(m.leaf([1.0, 2.0]) * 1)
    y.add_(1)


@table(
    twice_saved=_twice_saved,
    twice_unsaved=_twice_unsaved,
    changed_argument=_changed_argument,
    changed_output=_changed_output,
    argument_returned_and_written=_argument_returned_and_written,
)
def test_saved_tensors(snippet):
    """Saved tensors are freed, and writes to them noticed, as in PyTorch."""
    same(snippet)


def _context(m):
    seen = []

    def forward(ctx, a, b, k):
        seen.append((ctx.needs_input_grad, m.is_grad_enabled(), a.requires_grad, a.is_leaf))
        ctx.k = k
        return a * b * k

    def backward(ctx, g):
        seen.append((m.is_grad_enabled(), g.requires_grad, ctx.needs_input_grad))
        return g * ctx.k, None, None

    x = m.leaf([1.0, 2.0])
    y = made(m, forward, backward).apply(x, m.tensor([1.0, 2.0]), 3)
    nodes = [(repr(step), k) for step, k in y.grad_fn.next_functions]
    y.sum().backward()
    return seen, y, nodes[:2], x.grad


def _several(m, only_first=False, materialize=True):
    seen = []

    def forward(ctx, a):
        ctx.set_materialize_grads(materialize)
        return a * 2, a * 3

    def backward(ctx, g, h):
        seen.append((g, h))
        return g * 2 if h is None else g * 2 + h * 3

    x = m.leaf([1.0, 2.0])
    y, z = made(m, forward, backward).apply(x)
    nodes = [(repr(step), k) for step, k in (z * 1).grad_fn.next_functions]
    total = y.sum() if only_first else (y * y).sum() + z.sum() + z.sum()
    total.backward()
    inner = [(repr(step), k) for step, k in y.grad_fn.next_functions]
    return seen, y, z, y.grad_fn is z.grad_fn, nodes, inner, x.grad


def _not_differentiable(m):
    seen = []

    def forward(ctx, a):
        mask, other = (a * 1).long(), a * 3
        ctx.mark_non_differentiable(mask, other)
        return a * 2, mask, other

    def backward(ctx, g, h, k):
        seen.append((g, h, k))
        return g * 2

    x = m.leaf([1.0, 2.0])
    y, mask, other = made(m, forward, backward).apply(x)
    y.sum().backward()
    return seen, y, mask, other, x.grad


def _set_up(m):
    seen = []

    def forward(a, b):
        return a * b

    def setup_context(ctx, inputs, output):
        seen.append((inputs, output, ctx.needs_input_grad))
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a

    x, w = m.leaf([1.0, 2.0]), m.leaf([3.0, 4.0])
    y = made(m, forward, backward, setup_context=setup_context).apply(x, w)
    y.sum().backward()
    return seen, y, x.grad, w.grad


def _hooked_output(m):
    log = []
    x = m.leaf([1.0, 2.0])
    y, z = made(m, lambda ctx, a: (a * 2, a * 3), lambda ctx, g, h: g * 2 + h * 3).apply(x)
    y.register_hook(lambda g: log.append(g.tolist()))
    z.retain_grad()
    (y * z).sum().backward()
    return log, z.grad, x.grad


def _through_grad(m):
    x = m.leaf([1.0, 2.0])
    y, z = made(m, lambda ctx, a: (a * 2, a * 3), lambda ctx, g, h: g * 2 + h * 3).apply(x)
    return m.grad((y * z).sum(), [x, y, z])


def _dirty(m):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        a.add_(1)
        return a

    x = m.leaf([1.0, 2.0])
    z = x * 1
    y = made(m, forward, lambda ctx, g: g * 7).apply(z)
    same_object = y is z
    y.sum().backward()
    return same_object, y, x.grad


def _dirty_leaf(m):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a

    return made(m, forward, lambda ctx, g: g).apply(m.leaf([1.0]))


@table(
    context=_context,
    several=_several,
    first_of_several=lambda m: _several(m, only_first=True),
    not_materialized=lambda m: _several(m, only_first=True, materialize=False),
    not_differentiable=_not_differentiable,
    set_up=_set_up,
    hooked_output=_hooked_output,
    through_grad=_through_grad,
    dirty=_dirty,
    dirty_leaf=_dirty_leaf,
)
def test_context(snippet):
    """Everything that `ctx` offers, and several outputs, work as in PyTorch."""
    same(snippet)


def _cube(m, once=False):
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return 3 * a**2 * g

    return made(
        m,
        lambda ctx, a: (ctx.save_for_backward(a), a**3)[1],
        m.once_differentiable(backward) if once else backward,
    )


def _third_derivative(m):
    x = m.leaf([1.0, 2.0])
    g = _cube(m).apply(x)
    found = []
    for _ in range(3):
        (g,) = m.grad(g.sum(), x, create_graph=True)
        found.append(g.detach())
    return found


def _through_saved_output(m):
    def forward(ctx, a):
        y = a.exp()
        ctx.save_for_backward(y)
        return y

    x = m.leaf([1.0, 2.0])
    y = made(m, forward, lambda ctx, g: ctx.saved_tensors[0] * g).apply(x)
    (g,) = m.grad(y.sum(), x, create_graph=True)
    return g, m.grad(g.sum(), x)


def _once(m):
    x = m.leaf([1.0, 2.0])
    (g,) = m.grad(_cube(m, once=True).apply(x).sum(), x, create_graph=True)
    return g, m.grad(g.sum(), x)


@table(third=_third_derivative, saved_output=_through_saved_output, once=_once)
def test_higher_derivatives(snippet):
    """A backward made of tensor operations can be differentiated again."""
    same(snippet)


def test_several_outputs_differentiated_twice():
    """Bundled cotangents carry their own history: d2/dx2 of x^2 + x^3 through two outputs."""

    class Powers(Function):
        """x**2 and x**3."""

        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a**2, a**3

        @staticmethod
        def backward(ctx, g, h):
            (a,) = ctx.saved_tensors
            return 2 * a * g + 3 * a * a * h

    x = tensor(2.0, requires_grad=True)
    y, z = Powers.apply(x)
    (g,) = grad(y + z, x, create_graph=True)
    assert g.item() == 2 * 2 + 3 * 4
    assert grad(g, x)[0].item() == 2 + 6 * 2


def test_backward_runs_once_a_pass():
    """Two arguments of one function are pulled by a single call of its backward."""
    calls = []

    class Product(Function):
        """a b."""

        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            a, b = ctx.saved_tensors
            return g * b, g * a

    a, b = (tensor(v, requires_grad=True) for v in (2.0, 3.0))
    y = Product.apply(a, b)
    seed = tensor(1.0)
    y.backward(seed, retain_graph=True)
    y.backward(seed)
    assert len(calls) == 2
    assert (a.grad.item(), b.grad.item()) == (6.0, 4.0)


def test_what_was_saved_dies_with_the_graph():
    """No reference cycle keeps saved tensors, not even saved outputs, alive."""

    class Squashed(Function):
        """tanh, remembered by its value."""

        @staticmethod
        def forward(ctx, a):
            y = np.tanh(a)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * (1 - y * y)

    gc.disable()
    try:
        y = Squashed.apply(tensor(np.ones(3), requires_grad=True))
        value = weakref.ref(y._value)
        del y
        assert value() is None
    finally:
        gc.enable()


def test_the_repr_of_a_node():
    """A function's node prints under the name of its class."""
    y = made_here().apply(tensor(1.0, requires_grad=True))
    assert cleaned(repr(y.grad_fn)) == "<DoublingBackward object>"


def made_here():
    """A Function whose own class name is printed."""

    class Doubling(Function):
        """2 x."""

        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return Doubling
