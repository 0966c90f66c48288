"""Where mathematics leaves a choice: kinks, poles, ties and grad_fn names are PyTorch's."""

import numpy as np
import pytest

from gradcheck.engine.autograd import grad, tensor
from gradcheck.ops import everything

torch = pytest.importorskip("torch")
F = torch.nn.functional
op = everything().__getitem__
INF, NAN = np.inf, np.nan

# name, ours, PyTorch's, the points (one argument each)
KINKS = [
    ("relu", op("relu"), torch.relu, [0.0, -0.0]),
    ("leaky_relu", op("leaky_relu"), F.leaky_relu, [0.0]),
    ("elu", op("elu"), F.elu, [0.0]),
    ("elu(2)", lambda x: op("elu")(x, alpha=2.0), lambda x: F.elu(x, alpha=2.0), [0.0]),
    ("selu", op("selu"), F.selu, [0.0]),
    ("clip", lambda x: np.clip(x, 0, 1), lambda x: torch.clamp(x, 0, 1), [0.0, 1.0, 2.0]),
    ("clip below", lambda x: op("clip")(x, min=0), lambda x: torch.clamp(x, min=0), [0.0]),
    ("absolute", np.absolute, torch.abs, [0.0]),
    ("sign", np.sign, torch.sign, [0.0]),
    ("floor", np.floor, torch.floor, [1.0]),
    ("ceil", np.ceil, torch.ceil, [1.0]),
    ("round", np.round, torch.round, [0.5, 1.5, 2.5]),
    ("trunc", np.trunc, torch.trunc, [-1.0]),
    ("sinc", np.sinc, torch.sinc, [0.0]),
    ("sqrt", np.sqrt, torch.sqrt, [0.0, -1.0]),
    ("log", np.log, torch.log, [0.0, -1.0]),
    ("log2", np.log2, torch.log2, [0.0]),
    ("log1p", np.log1p, torch.log1p, [-1.0]),
    ("reciprocal", np.reciprocal, torch.reciprocal, [0.0]),
    ("arccos", np.arccos, torch.acos, [1.0, -1.0, 2.0]),
    ("arcsin", np.arcsin, torch.asin, [1.0]),
    ("arctanh", np.arctanh, torch.atanh, [1.0]),
    ("arccosh", np.arccosh, torch.acosh, [1.0]),
    ("x**0", lambda x: x**0, lambda x: x**0, [0.0, 2.0]),
    ("x**2", lambda x: x**2, lambda x: x**2, [0.0]),
    ("x**0.5", lambda x: x**0.5, lambda x: x**0.5, [0.0]),
    ("0**x", lambda x: 0.0**x, lambda x: 0.0**x, [0.0, 1.0]),
    ("x**x", lambda x: x**x, lambda x: x**x, [0.0]),
    ("gelu far out", op("gelu"), F.gelu, [30.0]),
    ("softplus far out", op("softplus"), F.softplus, [-800.0, 800.0]),
    ("logsigmoid far out", op("logsigmoid"), F.logsigmoid, [-800.0, 800.0]),
    ("sigmoid far out", op("sigmoid"), torch.sigmoid, [-800.0, 800.0]),
    ("silu far out", op("silu"), F.silu, [-800.0, 800.0]),
    ("where over a root", lambda x: np.where(x > 0, np.sqrt(x), 0.0),
     lambda x: torch.where(x > 0, torch.sqrt(x), 0.0), [0.0]),
    ("an infinite slope behind a maximum", lambda x: np.sqrt(np.maximum(x, 0.0)),
     lambda x: torch.sqrt(torch.maximum(x, torch.zeros_like(x))), [-1.0, 4.0]),
    ("an infinite slope behind a choice", lambda x: np.sqrt(np.where(x > 0, x, 0.0)),
     lambda x: torch.sqrt(torch.where(x > 0, x, 0.0)), [-1.0, 4.0]),
    ("nan_to_num", np.nan_to_num, torch.nan_to_num, [NAN, 1.0]),
]  # fmt: skip
TIES = [
    ("maximum", np.maximum, torch.maximum, [1.0, 2.0], [1.0, 3.0]),
    ("minimum", np.minimum, torch.minimum, [1.0, 2.0], [1.0, 1.0]),
    ("fmax", np.fmax, torch.fmax, [1.0, 2.0, NAN, 1.0], [1.0, 3.0, 1.0, NAN]),
    ("fmin", np.fmin, torch.fmin, [1.0, 2.0, NAN, 1.0], [1.0, 1.0, 1.0, NAN]),
    ("clip by crossed bounds", lambda a, b: np.clip(a, b + 1, b),
     lambda a, b: torch.clamp(a, b + 1, b), [0.0, 5.0, 1.5], [1.0, 1.0, 1.0]),
    ("arctan2", np.arctan2, torch.atan2, [0.0, 0.0], [0.0, -1.0]),
    ("hypot", np.hypot, torch.hypot, [0.0], [0.0]),
    ("xlogy", op("xlogy"), torch.xlogy, [0.0, 0.0], [0.0, 2.0]),
    ("copysign", np.copysign, torch.copysign, [0.0, 1.0], [1.0, -2.0]),
    ("power", np.power, torch.pow, [0.0, 0.0, 0.0], [0.0, 2.0, 0.5]),
    ("binary_cross_entropy", op("binary_cross_entropy"), F.binary_cross_entropy,
     [0.0, 1.0, 0.2], [0.5, 1.0, 0.7]),
    ("max", np.max, torch.max, [2.0, 1.0, 2.0]),
    ("min", np.min, torch.min, [1.0, 1.0, 2.0]),
    ("max axis", lambda a: np.max(a, axis=0), lambda a: torch.amax(a, 0), [[2.0, 1.0], [2.0, 0.0]]),
    ("median", np.median, torch.median, [2.0, 1.0, 2.0, 3.0, 0.0]),
    ("sort", np.sort, lambda a: torch.sort(a, stable=True).values, [2.0, 1.0, 2.0]),
    ("prod, one zero", np.prod, torch.prod, [0.0, 2.0, 3.0]),
    ("prod, two zeros", np.prod, torch.prod, [0.0, 0.0, 3.0]),
    ("prod axis, zeros", lambda a: np.prod(a, 0),
     lambda a: a.prod(0), [[0.0, 2.0], [0.0, 0.0], [1.0, 4.0]]),
    ("cumprod, one zero", np.cumprod, lambda a: a.cumprod(0), [2.0, 0.0, 3.0, 4.0]),
    ("cumprod, two zeros", np.cumprod, lambda a: a.cumprod(0), [2.0, 0.0, 3.0, 0.0, 5.0]),
    ("norm", np.linalg.norm, torch.linalg.norm, [0.0, 0.0]),
    ("norm 1", lambda a: np.linalg.norm(a, 1), lambda a: torch.linalg.norm(a, 1), [0.0, 2.0]),
    ("norm inf", lambda a: np.linalg.norm(a, INF),
     lambda a: torch.linalg.norm(a, INF), [2.0, -2.0, 1.0]),
    ("norm 3", lambda a: np.linalg.norm(a, 3), lambda a: torch.linalg.norm(a, 3), [0.0, 0.0]),
    ("std", np.std, lambda a: a.std(correction=0), [1.0, 1.0]),
    ("std of one", lambda a: np.std(a, ddof=1), lambda a: a.std(), [1.0]),
    ("logsumexp", lambda a: op("logsumexp")(a, 0), lambda a: a.logsumexp(0), [-INF, -INF]),
    ("logsumexp, one gone", lambda a: op("logsumexp")(a, 0), lambda a: a.logsumexp(0), [-INF, 1.0]),
    ("softmax", lambda a: op("softmax")(a, 0), lambda a: a.softmax(0), [INF, 1.0]),
]  # fmt: skip
PLACES = [(f"{name} at {x}", ours, theirs, [x]) for name, ours, theirs, xs in KINKS for x in xs]
PLACES += [(name, ours, theirs, v) for name, ours, theirs, *v in TIES]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    ("ours", "theirs", "values"), [pytest.param(*rest, id=name) for name, *rest in PLACES]
)
def test_convention(ours, theirs, values):
    """At a kink, a tie or a pole value and gradient are what PyTorch says, infinities included."""
    mine = [tensor(v, requires_grad=True, dtype=float) for v in values]
    hers = [torch.tensor(v, requires_grad=True, dtype=torch.float64) for v in values]
    y, z = ours(*mine), theirs(*hers)
    g = np.linspace(1, 2, y.size).reshape(y.shape)
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-12, atol=1e-300)
    expected = torch.autograd.grad(z, hers, torch.tensor(g))
    for d, e in zip(grad(y, mine, g), expected, strict=True):
        np.testing.assert_allclose(d.numpy(), e.numpy(), rtol=1e-12, atol=1e-14)


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


M = [[2.0, 1.0], [0.5, 3.0]]
V = [0.3, 0.6]
L = torch.linalg
LABELS = np.array([1, 0])
# ours, PyTorch's; x is a vector, m a matrix, s a scalar
NAMES = [
    *((op(n), getattr(torch, m)) for n, m in [
        ("absolute", "abs"), ("arccos", "acos"), ("arcsin", "asin"), ("arcsinh", "asinh"),
        ("arctan", "atan"), ("arctanh", "atanh"), ("ceil", "ceil"), ("copy", "clone"),
        ("cos", "cos"), ("cosh", "cosh"), ("degrees", "rad2deg"), ("digamma", "digamma"),
        ("erf", "erf"), ("erfc", "erfc"), ("exp", "exp"), ("exp2", "exp2"), ("expm1", "expm1"),
        ("floor", "floor"), ("log", "log"), ("log10", "log10"), ("log1p", "log1p"),
        ("log2", "log2"), ("loggamma", "lgamma"), ("max", "max"), ("mean", "mean"),
        ("min", "min"), ("nan_to_num", "nan_to_num"),
        ("negative", "neg"), ("prod", "prod"), ("radians", "deg2rad"), ("reciprocal", "reciprocal"),
        ("relu", "relu"), ("rint", "round"), ("round", "round"), ("sigmoid", "sigmoid"),
        ("sign", "sign"), ("sin", "sin"), ("sinc", "sinc"), ("sinh", "sinh"), ("sqrt", "sqrt"),
        ("square", "square"), ("squeeze", "squeeze"), ("std", "std"), ("sum", "sum"),
        ("tan", "tan"), ("tanh", "tanh"), ("trunc", "trunc"), ("var", "var"), ("diff", "diff"),
        ("flipud", "flipud"), ("atleast_2d", "atleast_2d"), ("diag", "diag"),
    ]),
    *((op(n), getattr(F, n)) for n in (
        "elu", "gelu", "leaky_relu", "logsigmoid", "selu", "silu",
        "softplus",
    )),
    (lambda x: x + 1, lambda x: x + 1), (lambda x: x - 1, lambda x: x - 1),
    (lambda x: x * x, lambda x: x * x), (lambda x: x / 2, lambda x: x / 2),
    (lambda x: x**2, lambda x: x**2), (lambda x: x**x, lambda x: x**x),
    (lambda x: 2**x, lambda x: 2**x), (lambda x: -x, lambda x: -x), (abs, abs),
    (lambda x: np.float_power(x, x), lambda x: torch.float_power(x, x)),
    *((lambda x, n=n: op(n)(x, x), lambda x, m=m: getattr(torch, m)(x, x)) for n, m in [
        ("arctan2", "atan2"), ("copysign", "copysign"), ("fmax", "fmax"), ("fmin", "fmin"),
        ("fmod", "fmod"), ("hypot", "hypot"), ("logaddexp", "logaddexp"),
        ("logaddexp2", "logaddexp2"), ("maximum", "maximum"), ("minimum", "minimum"),
        ("remainder", "remainder"), ("xlogy", "xlogy"),
    ]),
    (lambda x: np.fmod(x, 2.0), lambda x: torch.fmod(x, 2.0)),
    (lambda x: np.mod(x, 2.0), lambda x: torch.remainder(x, 2.0)),
    (lambda x: op("polygamma")(2, x), lambda x: torch.polygamma(2, x)),
    (lambda x: np.clip(x, 0, 1), lambda x: torch.clamp(x, 0, 1)),
    (lambda x: np.clip(x, x, x), lambda x: torch.clamp(x, x, x)),
    (lambda x: np.where([True, False], x, 1),
     lambda x: torch.where(torch.tensor([True, False]), x, 1)),
    (lambda x: np.sum(x, axis=0), lambda x: x.sum(0)), (lambda x: np.mean(x, 0),
     lambda x: x.mean(0)),
    (lambda x: np.prod(x, 0), lambda x: x.prod(0)), (lambda x: np.max(x, 0),
     lambda x: torch.amax(x, 0)),
    (lambda x: np.min(x, 0), lambda x: torch.amin(x, 0)),
    (lambda x: op("logsumexp")(x, 0), lambda x: x.logsumexp(0)),
    (lambda x: op("softmax")(x, 0), lambda x: x.softmax(0)),
    (lambda x: op("log_softmax")(x, 0), lambda x: x.log_softmax(0)),
    (op("layer_norm"), lambda x: F.layer_norm(x, (2,))),
    (lambda x: np.cumsum(x, 0), lambda x: x.cumsum(0)), (lambda x: np.cumprod(x, 0),
     lambda x: x.cumprod(0)),
    (np.sort, lambda x: torch.sort(x).values),
    (np.linalg.norm, torch.norm),
    (lambda x: x[0], lambda x: x[0]), (lambda x: x[0:1], lambda x: x[0:1]),
    (lambda x: x[:], lambda x: x[:]), (lambda x: x[...], lambda x: x[...]),
    (lambda x: x[None], lambda x: x[None]), (lambda x: x[None, 0], lambda x: x[None, 0]),
    (lambda x: x[[0, 0]], lambda x: x[[0, 0]]), (lambda x: x[x > 0.5], lambda x: x[x > 0.5]),
    (lambda x: np.take(x, [0], 0), lambda x: torch.index_select(x, 0, torch.tensor([0]))),
    (lambda x: np.take_along_axis(x, [0], 0), lambda x: torch.gather(x, 0, torch.tensor([0]))),
    (lambda x: np.reshape(x, (2, 1)), lambda x: x.reshape(2, 1)),
    (lambda x: np.expand_dims(x, 0), lambda x: x.unsqueeze(0)),
    (lambda x: np.squeeze(np.expand_dims(x, 0), 0), lambda x: x.unsqueeze(0).squeeze(0)),
    (lambda x: np.broadcast_to(x, (3, 2)), lambda x: x.expand(3, 2)),
    (lambda x: np.roll(x, 1), lambda x: torch.roll(x, 1)), (lambda x: np.flip(x, 0),
     lambda x: x.flip(0)),
    (lambda x: np.tile(x, 2), lambda x: x.tile(2)),
    (lambda x: np.repeat(x, 2), lambda x: x.repeat_interleave(2)),
    (lambda x: np.pad(x, 1), lambda x: F.pad(x, (1, 1))),
    *((lambda x, f=f: f([x, x]), lambda x, h=h: h([x, x])) for f, h in [
        (np.concatenate, torch.cat), (np.stack, torch.stack), (np.hstack, torch.hstack),
        (np.vstack, torch.vstack), (np.column_stack, torch.column_stack),
        (np.dstack, torch.dstack),
    ]),
    *((lambda x, n=n: op(n)(x, np.array(V)), lambda x, n=n: getattr(F, n)(x,
     torch.tensor(V, dtype=x.dtype)))
      for n in ("mse_loss", "binary_cross_entropy",
                "binary_cross_entropy_with_logits")),
]  # fmt: skip
MATRIX_NAMES = [
    (lambda m: m @ m, lambda m: m @ m), (lambda m: m @ V,
     lambda m: m @ torch.tensor(V, dtype=m.dtype)),
    (lambda m: V @ m, lambda m: torch.tensor(V, dtype=m.dtype) @ m),
    (lambda m: np.dot(m, m), lambda m: torch.mm(m, m)),
    (np.transpose, lambda m: m.T), (lambda m: np.swapaxes(m, 0, 1), lambda m: m.swapaxes(0, 1)),
    (lambda m: np.moveaxis(m, 0, 1), lambda m: m.movedim(0, 1)),
    (np.matrix_transpose, lambda m: m.mT),
    (np.ravel, torch.ravel), (np.fliplr, torch.fliplr), (np.rot90, torch.rot90),
    (np.trace, torch.trace),
    (np.tril, torch.tril), (np.triu, torch.triu), (np.diagonal, torch.diagonal),
    (np.diag, torch.diag), (np.linalg.det, L.det), (np.linalg.inv, L.inv),
    (lambda m: np.linalg.solve(m, m),
     lambda m: L.solve(m, m)),
    (op("logabsdet"), lambda m: L.slogdet(m)[1]),
    (lambda m: np.linalg.cholesky(m @ np.transpose(m)), lambda m: L.cholesky(m @ m.T)),
    (np.linalg.norm, L.norm),
    (lambda m: np.einsum("ij,jk->ik", m, m), lambda m: torch.einsum("ij,jk->ik", m, m)),
    (lambda m: m[0, 1], lambda m: m[0, 1]), (lambda m: m[:, 1], lambda m: m[:, 1]),
    (lambda m: m[1, :], lambda m: m[1, :]), (lambda m: m[0, 0:1], lambda m: m[0, 0:1]),
    (lambda m: m[:, [0]], lambda m: m[:, [0]]), (lambda m: m[:, :], lambda m: m[:, :]),
    (lambda m: op("cross_entropy")(m, LABELS), lambda m: F.cross_entropy(m, torch.tensor(LABELS))),
    (lambda m: op("nll_loss")(m, LABELS), lambda m: F.nll_loss(m, torch.tensor(LABELS))),
    (lambda m: op("cross_entropy")(m, np.eye(2)), lambda m: F.cross_entropy(m,
     torch.eye(2, dtype=m.dtype))),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("ours", "theirs", "value"),
    [(*pair, V) for pair in NAMES] + [(*pair, M) for pair in MATRIX_NAMES],
)
def test_grad_fn_name(ours, theirs, value):
    """The node carries PyTorch's name for what was called."""
    y = ours(tensor(value, requires_grad=True))
    z = theirs(torch.tensor(value, requires_grad=True, dtype=torch.float64))
    assert y.grad_fn.name() == z.grad_fn.name()
