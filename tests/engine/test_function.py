"""`Function`: forward and backward of the user's own, as in PyTorch."""

import gc
import weakref

import numpy as np

from gradcheck.engine import Function, tensor
from tests.support.functions import made
from tests.support.oracle import cleaned, ours, same, table


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
    raised=run(double, lambda ctx, g: {}["missing"]),
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


@table(
    no_backward=_no_backward,
    no_forward=lambda m: type("Fn", (m.Function,), {}).apply(m.leaf(1.0)),
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


@table(
    twice_saved=_twice_saved,
    twice_unsaved=_twice_unsaved,
    changed_argument=_changed_argument,
    changed_output=_changed_output,
)
def test_saved_tensors(snippet):
    """Saved tensors are freed, and writes to them noticed, as in PyTorch."""
    same(snippet)


def test_an_argument_that_is_returned_is_a_copy():
    """Where PyTorch refuses a write into the output, the argument stays what it was here."""
    m = ours()
    x = m.leaf([1.0, 2.0])
    held = x * 1
    y = made(m, lambda ctx, a: a, lambda ctx, g: g * 5).apply(held)
    y.mul_(2)
    y.sum().backward()
    assert (held.tolist(), y.tolist(), x.grad.tolist()) == ([1.0, 2.0], [2.0, 4.0], [10.0, 10.0])


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
