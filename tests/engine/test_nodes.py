"""What stands on nodes: hooks before and behind them, saved values; hooks when a gradient lands."""

from tests.support.oracle import of, same, table


def seen(act):
    """A snippet: a list that hooks write into, and what they wrote after backward."""

    def snippet(m):
        x, notes = m.leaf([1.0, 2.0]), []
        found = act(m, x, notes)
        return found, notes, x.grad

    return snippet


def listed(values):
    """Gradients as lists, None where there is none."""
    return [None if g is None else g.tolist() for g in values]


def noting(notes):
    """A hook behind a node that notes what it sees."""
    return lambda gi, go: notes.append((listed(gi), listed(go)))


def on_node(make, hook, back=lambda y: y.sum().backward()):
    """A hook behind the node of `make(x)`, seen by backward."""

    def act(m, x, notes):
        y = make(x)
        y.grad_fn.register_hook(hook(notes))
        back(y)

    return seen(act)


def order(m, x, notes):
    y = x * 2
    y.register_hook(lambda g: notes.append("tensor"))
    y.grad_fn.register_hook(lambda gi, go: notes.append("behind"))
    y.grad_fn.register_prehook(lambda go: notes.append("before"))
    y.sum().backward()


def removed(m, x, notes):
    y = x * x
    y.grad_fn.register_hook(noting(notes)).remove()
    y.grad_fn.register_prehook(lambda go: notes.append("before")).remove()
    y.sum().backward()


def before(answer):
    """A hook before the node of `x * x`."""

    def act(m, x, notes):
        y = x * x
        y.grad_fn.register_prehook(answer)
        y.sum().backward()

    return seen(act)


def twice(m, x, notes):
    """A hook's answer is differentiated again."""
    y = x**3
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * x,))
    (g,) = m.grad(y.sum(), x, create_graph=True)
    return m.grad(g.sum(), x)


def at_leaf(m, x, notes):
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(noting(notes))
    y.sum().backward()


@table(
    times_number=on_node(lambda x: x * 2, noting),
    number_times=on_node(lambda x: 2 * x, noting),
    plus=on_node(lambda x: x + x, noting),
    power=on_node(lambda x: x**2, noting),
    number_to_the=on_node(lambda x: 2.0**x, noting),
    total=on_node(lambda x: x.sum(), noting, lambda y: y.backward()),
    replaced=on_node(lambda x: x * x, lambda notes: lambda gi, go: (gi[0] * 10, gi[1])),
    too_few=on_node(lambda x: x * x, lambda notes: lambda gi, go: (gi[0],)),
    before=before(lambda go: (go[0] * 10,)),
    before_too_many=before(lambda go: (go[0], go[0])),
    order=seen(order),
    removed=seen(removed),
    twice=seen(twice),
    at_leaf=seen(at_leaf),
)
def test_hooks_of_nodes(snippet):
    same(snippet)


def landed(m, x, notes):
    hook = x.register_post_accumulate_grad_hook(lambda p: notes.append(p.grad.tolist()))
    for _ in range(2):
        (x * 2).sum().backward()
    hook.remove()
    x.sum().backward()


def stepped(m, x, notes):
    """An optimizer's step in the backward pass."""

    def step(p):
        with m.no_grad():
            p -= 0.1 * p.grad
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    return x.detach()


def not_landed(m, x, notes):
    x.register_post_accumulate_grad_hook(lambda p: notes.append("called"))
    return m.grad((x * 2).sum(), x)


@table(
    landed=seen(landed),
    stepped=seen(stepped),
    not_landed=seen(not_landed),
    not_a_leaf=of([1.0])(lambda m, x: (x * 2).register_post_accumulate_grad_hook(print)),
    not_tracked=lambda m: m.tensor([1.0]).register_post_accumulate_grad_hook(print),
)
def test_hooks_when_a_gradient_has_landed(snippet):
    same(snippet)


def freed(m, x):
    y = x * x
    y.sum().backward()
    return y.grad_fn._saved_self


def sizes_of(*ys):
    return [tuple(y.grad_fn._saved_self_sym_sizes) for y in ys]


@table(
    both=of([1.0, 2.0], [3.0, 4.0])(
        lambda m, a, b: [(y := a * b).grad_fn._saved_self, y.grad_fn._saved_other]
    ),
    one=lambda m: (m.leaf([1.0]) * m.tensor([2.0])).grad_fn._saved_other,
    result=of([1.0])(lambda m, x: x.exp().grad_fn._saved_result),
    exponent=of([1.0])(lambda m, x: [(x**2).grad_fn._saved_exponent, (x**2).grad_fn._saved_self]),
    product=of([[1.0]])(lambda m, x: [(y := x @ x).grad_fn._saved_self, y.grad_fn._saved_mat2]),
    itself=of([1.0])(lambda m, x: x.sin().grad_fn._saved_self is x),
    tracked=of([1.0])(lambda m, x: (x * 2).sin().grad_fn._saved_self),
    number=of([1.0])(lambda m, x: [(x * 3).grad_fn._saved_other, (x * 3).grad_fn._saved_self]),
    turned=of([1.0])(lambda m, x: [(3 * x).grad_fn._saved_other, (3 * x).grad_fn._saved_self]),
    over=of([1.0])(lambda m, x: [(x / 2).grad_fn._saved_other, (x / 2).grad_fn._saved_self]),
    sizes=of([[1.0, 2.0]])(lambda m, x: sizes_of(x.sum(), x.sum(1), x.mean(0), x[0], x.reshape(2))),
    no_sizes=of([[1.0, 2.0]])(lambda m, x: x.exp().grad_fn._saved_self_sym_sizes),
    nothing=of([1.0])(lambda m, x: (x + x).grad_fn._saved_self),
    not_result=of([1.0])(lambda m, x: x.sin().grad_fn._saved_result),
    freed=of([1.0])(freed),
)
def test_saved_values(snippet):
    same(snippet)
