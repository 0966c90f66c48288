"""What `ctx` offers a Function, several outputs, and higher derivatives."""

from gradcheck.engine import Function, grad, tensor
from tests.support.functions import made
from tests.support.oracle import same, table


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


def _several(m, only_first=False):
    seen = []

    def forward(ctx, a):
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


@table(
    context=_context,
    several=_several,
    first_of_several=lambda m: _several(m, only_first=True),
    not_differentiable=_not_differentiable,
    set_up=_set_up,
    hooked_output=_hooked_output,
    through_grad=_through_grad,
)
def test_context(snippet):
    """Everything that `ctx` offers, and several outputs, work as in PyTorch."""
    same(snippet)


def _cube(m):
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return 3 * a**2 * g

    return made(
        m,
        lambda ctx, a: (ctx.save_for_backward(a), a**3)[1],
        backward,
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


@table(third=_third_derivative, saved_output=_through_saved_output)
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
