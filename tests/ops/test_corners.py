"""Where a formula loses its digits, or mathematics leaves a choice, and we know it by ourselves."""

import math

import numpy as np
import pytest

from gradcheck import grad, tensor
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.run import run

INF, BIG = math.inf, 1e12


def test_second_derivative_of_prod_at_a_zero():
    """The Hessian of xyz at (0, 2, 3) has the third factor in each place: no zero is lost."""
    x = tensor([0.0, 2.0, 3.0], requires_grad=True)
    (once,) = grad(np.prod(x), x, create_graph=True)
    rows = [grad(once[i], x, retain_graph=True)[0].numpy() for i in range(3)]
    np.testing.assert_array_equal(rows, [[0, 3, 2], [3, 0, 0], [2, 0, 0]])


def test_gradient_of_a_singular_determinant():
    """The cofactors are the gradient of det everywhere (PyTorch 2.13 gives zeros here)."""
    m = tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    (once,) = grad(np.linalg.det(m), m, create_graph=True)
    np.testing.assert_array_equal(once.detach().numpy(), [[4, -2], [-2, 1]])
    np.testing.assert_array_equal(grad(once[0, 0], m)[0].numpy(), [[0, 0], [0, 1]])


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_norm_of_a_matrix_at_zero(order):
    """A singular value that is 0 adds nothing, whichever vectors LAPACK has for it."""
    m = tensor(np.zeros((2, 2)), requires_grad=True)
    (g,) = grad(np.linalg.norm(m, order), m)
    np.testing.assert_array_equal(g.numpy(), np.zeros((2, 2)))


def test_of_two_writes_to_one_entry_the_last_has_the_gradient():
    """PyTorch gives both the gradient of what stayed of one; differences are with us."""
    v = tensor([3.0, 5.0], requires_grad=True)
    x = tensor([0.0, 0.0])
    x[[0, 0]] = v
    np.testing.assert_array_equal(x.detach().numpy(), [5.0, 0.0])
    np.testing.assert_array_equal(grad((x * x).sum(), v)[0].numpy(), [0.0, 10.0])


def test_heaviside_has_no_derivative():
    """Like PyTorch, the value is given and the derivative refused."""
    x = tensor([-1.0, 0.0, 2.0], requires_grad=True)
    y = np.heaviside(x, 0.5)
    np.testing.assert_array_equal(y.detach().numpy(), [0.0, 0.5, 1.0])
    with pytest.raises(RuntimeError, match=r"derivative for .*heaviside is not implemented"):
        grad(np.sum(y), x)


def test_logaddexp_far_out():
    """The slopes are p and 1 - p of the difference 1, as near 0."""
    a, b = (tensor([v], requires_grad=True) for v in (BIG, BIG + 1))
    first = grad(np.logaddexp(a, b).sum() * 1.0, [a, b])
    p = 1 / (1 + math.e)
    np.testing.assert_allclose([g.item() for g in first], [p, 1 - p], rtol=1e-14)


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
