"""The exact cells of the table, against mpmath and against the float forward."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mp

from gradcheck import grad, tensor
from gradcheck.errors import OutOfBudget
from gradcheck.language.budget import Budget
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.program import check_program, run
from gradcheck.numbers.ball import Ball, Scalars, arbs, balls, exact, middle
from gradcheck.numbers.run import RUN, change_settings, precision
from gradcheck.numbers.symbolic import Symbolic, constants, leaves
from gradcheck.ops import COMPOUNDS, TABLE, everything
from gradcheck.ops.row import ABSTAINS
from tests.support.examples import EXAMPLES, MPMATH

ELEMENTWISE = sorted(name for name, row in TABLE.items() if row.elementwise)
COMPOSED = sorted(name for name, row in TABLE.items() if not row.elementwise)


def intervals(row):
    domains = row.domain if type(row.domain) is tuple else (row.domain,) * row.operands
    return [(max(low, -2.5), min(high, max(low, -2.5) + 5)) for low, high in domains]


def points(name, count=4):
    rng = np.random.default_rng(sum(map(ord, name)))
    return [
        low + (high - low) * rng.uniform(0.04, 0.96, count) for low, high in intervals(TABLE[name])
    ]


def applied(name, operands):
    """The row on its operands; polygamma is asked for its third."""
    return TABLE[name](3, *operands) if name == "polygamma" else TABLE[name](*operands)


def numbers(array):
    return [exact(e.x if type(e) is Ball else e.value if type(e) is Symbolic else e)
            for e in np.asarray(array, dtype=object).flat]  # fmt: skip


@pytest.mark.parametrize("lift", [balls, constants])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_cell_has_25_digits(name, lift):
    """At 128 bits a cell agrees with mpmath to 1e-25, and its ball is no wider than that."""
    operands = points(name)
    with precision(128), mp.workdps(40):
        found = numbers(applied(name, [lift(v) for v in operands]))
        for ball, *at in zip(found, *operands, strict=True):
            expected = mpmath.mpf(MPMATH[name](*map(mpmath.mpf, at)))
            mine = mpmath.mpf(ball.mid().str(35, radius=False))
            assert abs(mine - expected) <= 1e-25 * max(1, abs(expected)), at
            assert float(ball.rad()) <= 1e-25 * max(1, abs(expected)), at


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_forward_is_the_same_function(name):
    """The float forward agrees with mpmath to 1e-13."""
    operands = points(name, 25)
    found = np.asarray(applied(name, operands))
    expected = [float(MPMATH[name](*map(mpmath.mpf, at))) for at in zip(*operands, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def drawn(name):
    """The example of a row: its text, and its names drawn (or as they stand)."""
    example = EXAMPLES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    low, high = (0.1, 0.9) if name == "binary_cross_entropy" else (-2, 2)
    return example.text, {
        key: np.array(size) if isinstance(size, list) else rng.uniform(low, high, size)
        for key, size in example.inputs.items()
    }


def run_example(text, values):
    return eval(text, {**everything(), **values})


SPECTRAL = {"eigh", "svd", "lstsq"}


def abstains(name, lift):
    """Whether a row says that it has no counterpart: an abstention, and no slip."""
    row = TABLE.get(name)
    return row is not None and (row.ball if lift is balls else row.symbolic) is ABSTAINS


@pytest.mark.parametrize("lift", [balls, constants])
@pytest.mark.parametrize("name", [*COMPOSED, *COMPOUNDS])
def test_example_on_exact_numbers(name, lift):
    """What is not elementwise, or said in terms of rows, has one value for every kind of number."""
    text, values = drawn(name)
    lifted = {k: lift(v) if v.dtype.kind == "f" else v for k, v in values.items()}
    if abstains(name, lift) or name in SPECTRAL:  # or goes through a row that abstains
        with pytest.raises(OutOfBudget, match="no counterpart"), precision(128):
            run_example(text, lifted)
        return
    expected = np.asarray(run_example(text, values), dtype=float)
    with precision(128):
        found = run_example(text, lifted)
    assert isinstance(found, Scalars)
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        [middle(x) for x in numbers(found)], expected.ravel(), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("sinc", 0.0, 1.0),
        ("rint", 2.5, 2.0),
        ("rint", 3.5, 4.0),
        ("rint", -0.5, 0.0),
        ("trunc", -1.5, -1.0),
        ("cbrt", -8.0, -2.0),
    ],
)
def test_special_places(name, at, value):
    """Removable singularities, halves and bends have their values on both scalar kinds."""
    with precision(128):
        assert [middle(b) for b in numbers(TABLE[name](balls(at)))] == [value]
        assert [middle(b) for b in numbers(TABLE[name](constants(at)))] == [value]


@pytest.mark.parametrize("n", [1, 2, 4, 6])
@pytest.mark.parametrize("lift", [balls, constants])
def test_linear_algebra_of_fractions(n, lift):
    """Hilbert matrices: determinant and inverse are known fractions, found to 25 digits."""
    hilbert = [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]
    with precision(256), mp.workdps(60):
        a = _lifted(hilbert, lift)
        inverse = (
            mpmath.matrix([[mpmath.mpf(1) / (i + j + 1) for j in range(n)] for i in range(n)]) ** -1
        )
        known = [inverse[i, j] for i in range(n) for j in range(n)]
        for found, expected in zip(numbers(np.linalg.inv(a)), known, strict=True):
            assert abs(mpmath.mpf(found.str(45, radius=False)) - expected) < 1e-25 * abs(expected)
        (d,) = numbers(np.linalg.det(a))
        assert abs(mpmath.mpf(d.str(45, radius=False)) * mpmath.det(inverse) - 1) < 1e-25


def _lifted(rows, lift):
    if lift is balls:
        return balls(rows)
    return constants(np.array([[1] * len(rows)] * len(rows))) * np.array(rows, dtype=object)


def test_pivots_leave_no_condition():
    """Elimination looks at the size of a pivot without making it a condition of the path."""
    with change_settings(path=[]):
        np.linalg.inv(leaves("a", [[0.0, 1.0], [2.0, 3.0]]))
        np.linalg.det(leaves("a", [[0.0, 1.0], [2.0, 3.0]]))
        np.linalg.slogdet(leaves("a", [[1.0, 1.0], [2.0, 3.0]])).logabsdet.item()
        conditions = len(RUN.path or [])
    assert conditions == 2  # the sign of the determinant: d > 0, d < 0
    above = numbers(np.linalg.inv(_lifted([[2, 1], [0, 4]], constants)))
    assert [middle(b) for b in above] == [0.5, -0.125, 0, 0.25]


def test_writing_into_a_buffer():
    """`out=`, `+=` and item assignment land in the array that is written to, zeros included."""
    x = balls([1.0, 2.0, 3.0])
    buffer = np.zeros_like(x)
    buffer[1:] = x[1:]
    buffer += x
    np.add(buffer, x, out=buffer)
    assert [middle(b) for b in arbs(buffer)] == [2.0, 6.0, 9.0]
    np.testing.assert_array_equal(np.exp(np.zeros_like(x)), np.ones(3))


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("x", [-1e-6, -0.25, -7.6, -1023.25, -1e9 - 0.25])
def test_polygamma_left_of_zero_is_reflected(n, x):
    """By DLMF 5.15.6 in fifty digits; a walk up to the positive numbers would take for ever."""
    with mpmath.workdps(50):
        z = mpmath.mpf(x)
        slope = mpmath.pi * mpmath.diff(lambda t: mpmath.cot(mpmath.pi * t), z, n)
        due = (-1) ** n * mpmath.psi(n, 1 - z) - slope
    found = float(TABLE["polygamma"](n, np.float64(x)))
    assert found == pytest.approx(float(due), rel=1e-11)


@pytest.mark.parametrize("n", [-1, 10**9, 1e9, np.array(10**9)])
def test_polygamma_of_an_order_beyond_reason_is_refused(n):
    """Work grows with the order, whatever kind of number says it."""
    with pytest.raises(ValueError, match="order from 0 to 100"):
        TABLE["polygamma"](n, np.float64(2.0))


# -- where a formula loses its digits, or mathematics leaves a choice, and we know it by ourselves


INF = math.inf


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


def test_heaviside_has_no_derivative():
    """Like PyTorch, the value is given and the derivative refused."""
    x = tensor([-1.0, 0.0, 2.0], requires_grad=True)
    y = np.heaviside(x, 0.5)
    np.testing.assert_array_equal(y.detach().numpy(), [0.0, 0.5, 1.0])
    with pytest.raises(RuntimeError, match=r"derivative for .*heaviside is not implemented"):
        grad(np.sum(y), x)


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
