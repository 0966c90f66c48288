"""Numbers that were once wrong: first and second derivatives where a formula loses its digits."""

import math

import numpy as np
import pytest

from gradcheck import grad, tensor
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.run import run
from gradcheck.ops import TABLE

torch = pytest.importorskip("torch")
F = torch.nn.functional
op = TABLE.__getitem__
INF, NAN = math.inf, math.nan
BIG = 1e12


def derivatives(function, values, box, differentiate):
    """The value, the gradients of its sum, and the gradients of their sum."""
    args = [box(np.array(v)) for v in values]
    y = function(*args)
    first = differentiate(y.sum(), args, create_graph=True)
    second = differentiate(sum(g.sum() for g in first), args, allow_unused=True)
    return [np.nan_to_num(np.zeros(2) if t is None else t.detach().numpy(), nan=-77.0)
            for t in (y, *first, *second)]  # fmt: skip


def both(ours, theirs, values):
    """The same, of ours and of PyTorch's."""
    leaf = lambda v: torch.tensor(v, requires_grad=True)
    with np.errstate(all="ignore"):
        yield from zip(
            derivatives(ours, values, lambda v: tensor(v, requires_grad=True), grad),
            derivatives(theirs, values, leaf, torch.autograd.grad),
            strict=True,
        )


SAME = {
    "remainder, a / b rounded up": (np.remainder, torch.remainder, [-1e-20, -3.0, 3.0, 0.9],
                                    [1.0, 0.3, 0.3, 0.3]),
    "fmod": (np.fmod, torch.fmod, [-3.0, 3.0, 0.9], [0.3, 0.3, 0.3]),
    "prod of a number by its axis": (
        lambda x: np.prod(x, axis=0) * x, lambda x: torch.prod(x, 0) * x, 0.0),
    "elu": (op("elu"), F.elu, [0.0, -0.0, -1.0]),
    "elu(2)": (lambda x: op("elu")(x, alpha=2.0), lambda x: F.elu(x, alpha=2.0), [0.0, -1.0]),
    "selu": (op("selu"), F.selu, [0.0, -1.0]),
    "fractional norm": (lambda x: x.norm(2.5), lambda x: x.norm(2.5), [1.0, -2.0]),
    "clip, no upper end": (
        lambda x: np.clip(x, 0.0, INF) * x, lambda x: torch.clamp(x, 0.0, INF) * x, [1.0, -1.0]),
}  # fmt: skip


@pytest.mark.parametrize("row", SAME.values(), ids=SAME)
def test_like_pytorch(row):
    """Value, first and second derivatives are PyTorch's."""
    ours, theirs, *values = row
    for a, b in both(ours, theirs, values):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


FIRST = {
    "logaddexp": (np.logaddexp, torch.logaddexp, [BIG, INF, -INF, INF], [BIG + 1, 1.0, 1.0, INF]),
    "logaddexp2": (np.logaddexp2, torch.logaddexp2, [BIG, INF, -INF], [BIG + 1, 1.0, 1.0]),
    "norm 0.5": (lambda x: x.norm(0.5), lambda x: x.norm(0.5), [0.0, 1.0, -2.0]),
    "norm 1.5": (lambda x: x.norm(1.5), lambda x: x.norm(1.5), [0.0, 1.0, -2.0]),
    "relu under a root": (
        lambda x: np.sqrt(op("relu")(x)), lambda x: x.relu().sqrt(), [-0.5, 2.0]),
    "polygamma at its poles": (
        lambda x: x.polygamma(2), lambda x: torch.polygamma(2, x), [-1.0, -2.0, 0.0]),
}  # fmt: skip


@pytest.mark.parametrize("row", FIRST.values(), ids=FIRST)
def test_first_derivatives_like_pytorch(row):
    """Where PyTorch's second derivative is not a number, or is rounded, the first is its own."""
    ours, theirs, *values = row
    for a, b in list(both(ours, theirs, values))[: 1 + len(values)]:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


def test_logaddexp_twice():
    """Far out the second derivative is p (1 - p) of the difference 1, as near 0."""
    with np.errstate(all="ignore"):
        found = derivatives(np.logaddexp, [[BIG], [BIG + 1]],
                            lambda v: tensor(v, requires_grad=True),
                            lambda y, x, **k: grad(y * 1.0, x, **k))  # fmt: skip
    p = 1 / (1 + math.e)
    np.testing.assert_allclose([found[1][0], found[2][0]], [p, 1 - p], rtol=1e-14)


@pytest.mark.parametrize("x", [0.0, 1e-9, 1e-4, 0.1, 0.3, 0.32, 0.5, -0.2])
def test_sinc_twice(x):
    """Mpmath's derivatives of sin(pi x) / (pi x), at 0 too: -pi^2 / 3 (PyTorch says nan there)."""
    mp = pytest.importorskip("mpmath").mp
    mp.dps = 40
    sinc = mp.sincpi
    t = tensor(x, requires_grad=True)
    (slope,) = grad(np.sinc(t), t, create_graph=True)
    (bend,) = grad(slope, t)
    assert slope.item() == pytest.approx(float(mp.diff(sinc, x)), rel=1e-12, abs=1e-18)
    assert bend.item() == pytest.approx(float(mp.diff(sinc, x, 2)), rel=1e-11)


@pytest.mark.parametrize("kind", ["float", "tensor", "ball", "symbolic"])
def test_an_infinite_bound_is_none(kind):
    """Every kind of number passes a bound that nothing can be beyond."""
    x = np.array([-2.0, 3.0])
    lifted = tensor(x) if kind == "tensor" else KINDS[kind].lift(x)
    names = {"x": lifted, "end": INF}
    program = check_program("clip(x, 0, end)", declared=names, vocabulary=VOCABULARY)
    value = run(program, names, KINDS[kind], Budget()).value
    assert [bool(v) for v in np.asarray(value == np.array([0.0, 3.0])).ravel()] == [True, True]


def test_floor_divide_is_tracked():
    """NumPy's name does what `//` does: flat, but on the tape."""
    t = tensor([5.0, 7.5], requires_grad=True)
    y = np.floor_divide(t, 2)
    assert y.requires_grad
    assert y.tolist() == (t // 2).tolist() == [2.0, 3.0]
    (y * t).sum().backward()
    assert t.grad.tolist() == [2.0, 3.0]


def test_polygamma_in_place():
    """The order stands where PyTorch has it."""
    t = tensor([1.0, 2.0])
    t.polygamma_(1)
    assert t.tolist() == pytest.approx([math.pi**2 / 6, math.pi**2 / 6 - 1], rel=1e-14)


def test_a_second_derivative_where_both_are_equal():
    """log(exp(a) + exp(b)) has the second derivative 1/4 at a = b, in base 2 times log 2."""
    for function, due in ((np.logaddexp, 0.25), (np.logaddexp2, 0.25 * np.log(2))):
        x = tensor(0.5, requires_grad=True)
        (slope,) = grad(function(x, 0.5), x, create_graph=True)
        assert grad(slope, x)[0].item() == pytest.approx(due, rel=1e-14)


def test_stacks_take_numpys_words():
    """`np.row_stack` hands `dtype=` and `casting=` on; another dtype is refused."""
    x = tensor([1.0, 2.0], requires_grad=True)
    np.vstack([x, x], dtype=None, casting="same_kind").sum().backward()
    np.testing.assert_array_equal(x.grad, [2, 2])
    with pytest.raises(TypeError, match="leave `dtype` out"):
        np.vstack([x, x], dtype=np.float32)


def test_joining_many_is_linear():
    """What a stack keeps is asked once for all: so many tensors would take minutes."""
    leaves = [tensor(float(k), requires_grad=True) for k in range(5000)]
    np.stack(leaves).sum().backward()
    assert all(leaf.grad == 1 for leaf in leaves)
