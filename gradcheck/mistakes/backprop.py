"""The backprop family: seed, pull, fit or accumulate said wrong at one site.

A normalisation is y = (x - mean) / scale; its right pull is (g - mean(g) - y mean(g y)) / scale.
That of a vector made one long, y = x / |x|, is (g - y sum(g y)) / |x|.
"""

from collections.abc import Callable, Sequence
from itertools import combinations, islice
from math import prod

import numpy as np

from gradcheck.engine.tape import unbroadcast
from gradcheck.mistakes.row import (
    ALIKE,
    ALL_PASS,
    GENERIC,
    ONE_LONG,
    SYMMETRIC,
    Edge,
    anywhere,
    fit,
    mistake,
    pull,
)
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op
from gradcheck.values import Numbers

PASSING = frozenset({"add", "subtract", "negative"})
AS_LARGE = frozenset({"softmax", "log_softmax"})
TURNABLE = frozenset({"multiply", "divide", "power", "matmul", "maximum", "minimum"})


Of = Callable[[Edge], Numbers]

# A function of one argument that keeps the shape; a product of matrices; an operand that was
# broadcast.
_activation: Of = lambda e: (
    e.op in AS_LARGE or (e.elementwise and len(e.operands) == 1 and e.op not in PASSING)
)
_matrices: Of = lambda e: e.op == "matmul" and all(np.ndim(v) == 2 for v in e.operands)
_is_stretched: Of = lambda e: np.shape(e.g) != e.shape
_count: Of = lambda e: e.right.size / max(np.size(e.g), 1)


def _equal_axes(e: Edge) -> Sequence[tuple[int, int]]:
    """Any two axes of equal lengths of a product's other operand."""
    shape = np.shape(e.other)
    return [(i, j) for j in range(len(shape)) for i in range(j) if shape[i] == shape[j] > 1]


def _one_row(g: Numbers, row: int) -> Numbers:
    out = np.zeros_like(g)
    out[..., row, :] = g[..., row, :]
    return out


def _sign_turned(e: Edge) -> Sequence[Numbers]:
    assert e.inside is not None
    forward, (a, b) = e.inside
    return (forward(a, -b),)


PRODUCTS = frozenset({"multiply", "matmul", "divide", "einsum"})
AXES = 3
CHOICES = 8  # tensors that are tried in one's place


def _list_like(e: Edge) -> Sequence[Numbers]:
    """The nearest tensors of the other operand's shape, or their transposes; not the operands."""
    known = (e.x, e.other, np.transpose(e.other))
    turned = (each for a in e.around for each in ((a, a.T) if np.ndim(a) == 2 else (a,)))
    alike = (each for each in turned if np.shape(each) == np.shape(e.other))
    found = (each for each in alike if not any(np.array_equal(each, k) for k in known))
    return [*islice(found, CHOICES)]


def _with_other(e: Edge, tensor: Numbers) -> Numbers:
    return e.rule(e.g, e.y, (tensor, e.x) if e.i else (e.x, tensor))


def _other_side(e: Edge) -> Sequence[Numbers]:
    """What one side of a quadratic form `x @ A @ x` gives back, as the other side would."""
    if np.ndim(e.other) == 2 and e.other.shape == e.other.T.shape and _is_multiple(e.g, e.x):
        return [_with_other(e, e.other.T)]  # x @ A, to which x comes back
    alike = np.ndim(e.x) < 3 and e.other.shape == e.x.T.shape
    squares = [m for m in e.around if alike and np.shape(m) == (len(e.x), len(e.x))]
    turned = [m for a in squares for m in (a, a.T) if _is_multiple(e.other.T, m @ e.x)]
    return [_with_other(e, np.sum(e.other) / np.sum(m @ e.x) * (m.T @ e.x).T) for m in turned[:1]]


def _is_multiple(a: Numbers, b: Numbers) -> bool:
    return bool(np.allclose(np.outer(a, b), np.outer(b, a)))


def _other_axis(e: Edge) -> Numbers:
    stretched = 0 if len(e.shape) < 2 or e.shape[0] == 1 else 1
    return np.sum(e.g, axis=1 - stretched, keepdims=len(e.shape) == 2)


def _row_of_broadcast(e: Edge, row: int) -> Numbers:
    return unbroadcast(e.g[row] if np.ndim(e.g) > len(e.shape) else e.g[row][None], e.shape)


# fmt: off
mistake("accumulate", "overwritten-not-accumulated", anywhere,
    "`{text}` is used more than once: the gradients of all its uses add up, here only one of them "
    "is left.",
    (lambda held, g: g, "sum(x**3 + sin(x))", "3*x**2"), rank=GENERIC)
pull("matrix-taken-as-symmetric", lambda e: e.op == "matmul",
    "`{u}` meets the matrix of `{text}` from both sides, once transposed: taking twice one of them "
    "needs a symmetric matrix.",
    (lambda e, side: side, "x @ A @ x", "2*A @ x"),
    (lambda e, side: side, "x @ A @ x", "2*A.T @ x"),
    choices=_other_side, habit=False, hidden_by=(SYMMETRIC,))
pull("counted-twice", lambda e: e.shared,
    "What comes back from `{text}` was added twice.",
    (lambda e: 2 * e.right, "sum(x**3 + sin(x))", "6*x**2 + cos(x)"), habit=False)
pull("path-dropped", lambda e: e.op != "matmul" or not np.array_equal(e.x, e.other),  # r @ r
    "The path back through `{text}` to `{u}` is missing from the gradient.",
    (lambda e: 0 * e.right, "sum((x - mean(x))**3)", "3*(x - mean(x))**2", "x 5"), habit=False)
fit("broadcast-not-summed", _is_stretched,
    "An operand of `{text}` was broadcast: its gradient must be summed over the stretched axes.",
    (lambda e: e.g, "sum((X + b)**2)", {"b": "2*(X + b)"}), hidden_by=(ONE_LONG,))
fit("overwritten-not-accumulated",
    lambda e: _is_stretched(e) and (np.ndim(e.g) > len(e.shape) or e.shape[:1] == (1,)),
    "An operand of `{text}` was broadcast: the gradients of all rows add up, here only one is "
    "left.",
    (_row_of_broadcast, "sum((X + b)**2)", {"b": "2*(X[-1] + b)"}), choices=lambda e: (-1, 0),
    hidden_by=(ONE_LONG,))
fit("broadcast-averaged", _is_stretched,
    "An operand of `{text}` was broadcast: its gradient is the sum over the stretched axes, not "
    "the mean.",
    (lambda e: e.right * (e.right.size / np.size(e.g)), "sum((X + b)**2)",
     {"b": "mean(2*(X + b), axis=0)"}), hidden_by=(ONE_LONG,))
fit("summed-over-wrong-axis", lambda e: _is_stretched(e) and np.ndim(e.g) == 2 and len(e.shape) > 0,
    "The gradient of the broadcast operand of `{text}` was summed over the wrong axis.",
    (_other_axis, "sum((X + b)**2)", {"b": "sum(2*(X + b), axis=1)"}),
    hidden_by=(ONE_LONG, SYMMETRIC))
fit("summed-over-wrong-axis", lambda e: _is_stretched(e) and len(e.shape) > 0,
    "The gradient of the broadcast operand of `{text}` was summed over all axes.",
    (lambda e, shape: np.full(shape, np.sum(e.g)), "sum((X + b)**2)", {"b": "sum(2*(X + b))"}),
    choices=lambda e: ((), e.shape), hidden_by=(ONE_LONG, SYMMETRIC))
pull("sign-error", anywhere,
    "The sign flipped on the way back through `{text}` to `{u}`.",
    (lambda e: -e.right, "sum(x - x**3)", "-1 - 3*x**2"), habit=False)
mistake("seed", "seed-not-one", anywhere,
    "The way back starts with the value of the loss; it starts with 1, its derivative by itself.",
    (lambda g, value: g * value, "sum(x**2)", "2*x*sum(x**2)"), rank=GENERIC, habit=False,
    hidden_by=(ALIKE,))
mistake("seed", "seed-not-one", lambda g, value: np.any(np.asarray(g) != 1),
    "The incoming cotangent was ignored: the way back started with ones.",
    (lambda g, value: np.ones_like(g), "x**2", "2*x"), habit=False, hidden_by=(ALIKE,))
pull("chain-factor-dropped", _activation,
    "The derivative of `{text}` is missing: the cotangent passed through it unchanged.",
    (lambda e: e.g + 0 * e.right, "sum(tanh(x)**2)", "2*tanh(x)"), hidden_by=(ALIKE, ALL_PASS))
pull("chain-factor-dropped",
    lambda e: e.elementwise and len(e.operands) == 2 and e.op not in PASSING,
    "The cotangent passed through `{text}` unchanged: the factor of this step is missing.",
    (lambda e: e.g + 0 * e.right, "sum(sin(x*v))", {"x": "cos(x*v)", "v": "cos(x*v)"}), habit=False,
    hidden_by=(ALIKE, ALL_PASS))
pull("chain-factor-twice", _activation,
    "The derivative of `{text}` is in the answer twice.",
    (lambda e: e.rule(e.right, e.y, e.operands), "sum(tanh(x)**2)",
     "2*tanh(x)*(1 - tanh(x)**2)**2"))
pull("chain-factor-twice",
    lambda e: e.op in ("multiply", "divide") and np.shape(e.right) == np.shape(e.g),
    "The factor that `{text}` has on the way back is in the gradient twice.",
    (lambda e: e.rule(e.right, e.y, e.operands), "sum(tanh(x / 3)**2)",
     "2*tanh(x/3)*(1 - tanh(x/3)**2) / 9"), habit=False)
pull("chain-factor-dropped", lambda e: e.op == "matmul" and np.shape(e.g) == e.shape,
    "The cotangent passed through the product `{text}` unchanged: the other matrix is missing.",
    (lambda e: e.g, "sum(A @ x * V)", "V", "x 3 2, V 3 2"), habit=False)
pull("denominator-forgotten", lambda e: e.op == "divide" and e.i == 1,
    "The derivative of `{text}` by what is below is over its square: here it is not.",
    (lambda e: -e.g * e.other, "sum(v / x)", "-v"), habit=False)
pull("overwritten-not-accumulated", lambda e: e.op == "matmul" and e.i == 1 and np.ndim(e.g) > 1,
    "The gradient at `{text}` adds up over all rows: here one row overwrote the others.",
    (lambda e, row: e.rule(_one_row(e.g, row), e.y, e.operands), "sum(tanh(X @ W))",
     {"W": "X[-1:].T @ (1 - tanh(X[-1:] @ W)**2)"}), choices=lambda e: (-1, 0), habit=False,
    hidden_by=(ONE_LONG,))
pull("upstream-ignored", lambda e: bool(np.any(np.asarray(e.g) != 1)),
    "At `{text}` only the local derivative is left: the cotangent that arrives multiplies it.",
    (lambda e: e.rule(np.ones_like(e.g), e.y, e.operands), "sum(tanh(x)**2)", "1 - tanh(x)**2"),
    hidden_by=(ALIKE,))
pull("wrong-tensor-in-derivative",
    lambda e: e.elementwise and (len(e.operands) == 1 or (e.op == "power" and e.i == 0)),
    "The derivative of `{text}` is taken at the wrong tensor: its value and its argument were "
    "mistaken for one another.",
    (lambda e: e.rule(e.g, e.x, (e.y, *e.operands[1:])), "sum(tanh(x)**2)", "2*tanh(x)*(1 - x**2)"))
pull("sum-for-mean", lambda e: e.op == "mean",
    "`{text}` is a mean: the division by the number of entries is missing.",
    (lambda e: e.right * _count(e), "mean(x**2)", "2*x", "x 5"), hidden_by=(ONE_LONG,))
pull("mean-for-sum", lambda e: e.op == "sum" or (e.op == "matmul" and np.ndim(e.y) == 0),
    "`{text}` is a sum, but the gradient was divided by the number of terms, as for a mean.",
    (lambda e: e.right / _count(e), "sum(x**2)", "2*x/5", "x 5"), hidden_by=(ONE_LONG,))
pull("mean-for-sum", lambda e: e.op == "mean",
    "The division by the number of entries of `{text}` was made twice.",
    (lambda e: e.right / _count(e), "mean(x**2)", "2*x/25", "x 5"), hidden_by=(ONE_LONG,))
pull("mean-for-sum", lambda e: _matrices(e) and e.i == 1 and len(e.g) != 2,
    "The gradient at `{text}` was averaged over the rows; the product sums over them.",
    (lambda e: e.right / len(e.g), "sum(tanh(X @ W))", {"W": "X.T @ (1 - tanh(X @ W)**2) / 5"}),
    hidden_by=(ONE_LONG,))
for _factor_kept, _says, _answer in (
    (2, "There is a factor of 2 too much", "2*cos(x) + 3*x**2"),
    (0.5, "A factor of 2 is missing", "cos(x)/2 + 3*x**2"),
):
    pull("factor-two", anywhere,
        f"{_says} on the way back through `{{text}}` to `{{u}}`.",
        (lambda e, factor=_factor_kept: e.right * factor, "sum(sin(x) + x**3)", _answer),
        rank=GENERIC, habit=False)
pull("transposed", lambda e: e.op == "matmul" and min(map(np.ndim, e.operands)) >= 2,
    "The gradient at `{text}` is transposed.",
    (lambda e: np.swapaxes(e.right, -1, -2), "sum(X @ W * V)", {"W": "V.T @ X"}, "V 5 2"),
    habit=False, hidden_by=(SYMMETRIC,))
pull("transposed", lambda e: e.op in ("matmul", "einsum") and len(e.operands) == 2,
    "On the way back through `{text}` the other operand is to be transposed.",
    (lambda e, axes: _with_other(e, np.swapaxes(e.other, *axes)), "sum(A @ x * V)", "A @ V",
     "x 3 2, V 3 2"), choices=_equal_axes, hidden_by=(SYMMETRIC,))
pull("operands-swapped", lambda e: e.op in TURNABLE,
    "In the derivative of `{text}` the operands stand in each other's place.",
    (lambda e: e.rule(e.g, e.y, e.operands[::-1]), "sum(x * v * sin(v))", "x*sin(v)"),
    hidden_by=(ONE_LONG, SYMMETRIC))
pull("elementwise-for-matmul", _matrices,
    "At `{text}` the entries were multiplied one by one: this wants a matrix product.",
    (lambda e: e.g * e.operands[1] if e.i == 0 else e.operands[0] * e.g, "sum(X @ W * V)",
     {"W": "X * V"}, "W 3 1, V 5 1"), hidden_by=(ONE_LONG,))
pull("path-dropped", lambda e: e.op in ("mean", "var", "std") and np.size(e.g) > 1,
    "The statistic `{text}` was held constant: it depends on every entry, its path counts.",
    (lambda e: 0 * e.right,
     "sum((x - mean(x, axis=1, keepdims=True))**3 / mean(x**2, axis=1, keepdims=True))",
     "3*(x - mean(x, axis=1, keepdims=True))**2 / mean(x**2, axis=1, keepdims=True)",
     "x 5 3"))
pull("wrong-function-derivative", lambda e: e.op in ("tanh", "sigmoid"),
    "The derivative of `{text}` is that of another activation: tanh has 1 - a^2, sigmoid a (1 - "
    "a).",
    (lambda e: e.g * (e.y * (1 - e.y) if e.op == "tanh" else 1 - e.y**2), "sum(tanh(x)**2)",
     "2*tanh(x) * tanh(x)*(1 - tanh(x))"))
mistake("stop", "chain-factor-dropped", anywhere,
    "This is the gradient by `{text}`: the way back goes on from there.",
    (lambda g: g, "sum((X @ w)**3)", {"w": "3*(X @ w)**2"}), rank=GENERIC, habit=False)
pull("denominator-forgotten", lambda e: e.op == "sqrt",
    "The derivative of `{text}` is not divided by the root.",
    (lambda e: e.right * e.y, "sqrt(sum(x**2))", "x"))
pull("sign-error", lambda e: e.elementwise and e.inside is not None and np.ndim(e.x) > 0,
    "In the derivative of `{text}` the sum or difference inside has the other sign.",
    (lambda e, x: e.rule(e.g, e.y, tuple(x if each is e.x else each for each in e.operands)),
     "sum((3*x - v)**2)", "6*(3*x + v)"), choices=_sign_turned, habit=False)
pull("wrong-tensor-in-derivative", lambda e: e.op in PRODUCTS and np.ndim(e.other) > 0,
    "At `{text}` another tensor of the same shape was taken for the operand that the cotangent is "
    "multiplied by.",
    (_with_other, "sum(sin(x) * exp(x))", "x*cos(x) + sin(x)*exp(x)"),
    choices=_list_like, rank=GENERIC, habit=False)
pull("transposed", lambda e: e.op == "matmul" and np.ndim(e.g) == 2 and len(e.g) == len(e.g.T),
    "The cotangent that arrives at `{text}` was transposed.",
    (lambda e: e.rule(e.g.T, e.y, e.operands), "sum(A @ x * V)", "A.T @ V.T",
     "x 3 3, V 3 3"), habit=False, hidden_by=(SYMMETRIC,))
pull("flipped", lambda e: e.op in PRODUCTS and np.ndim(e.right) > 0,
    "On the way back through `{text}` the entries stand in reverse order along one axis, as of a "
    "kernel that was flipped.",
    (lambda e, axis: np.flip(e.right, axis), "sum(X @ w)", {"w": "sum(X, axis=0)[::-1]"}),
    choices=lambda e: range(-min(np.ndim(e.right), AXES), 0), habit=False)
pull("operands-swapped", _matrices,
    "The factors of the product behind `{text}` are in the wrong order.",
    (lambda e: e.operands[1].T @ e.g if e.i == 0 else e.g @ e.operands[0].T, "sum(A @ x * V)",
     "V @ A.T", "x 3 3, V 3 3"), hidden_by=(ONE_LONG, SYMMETRIC))
# fmt: on


# -- softmax and normalisations, derived as a whole and by hand ------------------------------------


ROWS = AS_LARGE | {"logsumexp"}
MEAN = "mean(x, axis=1, keepdims=True)"
ROOT = "sqrt(var(x, axis=1, keepdims=True) + 0.1)"


def _example(
    mean: str = "mean({}, axis=1)[:, None]",
    signs: str = "--",
    below: str = ROOT,
    normal: str = f"((x - {MEAN}) / {ROOT})",
) -> Numbers:
    """The pull of a normalisation with something else for a part of it."""
    first, second = mean.format("v"), mean.format(f"v * {normal}")
    wrong = f"(v {signs[0]} {first} {signs[1]} {normal} * {second}) / ({below})"
    return f"sum((x - {MEAN}) / {ROOT} * v)", {"x": wrong}, "x 5 3, v 5 3"


_normal: Of = lambda e: e.op == "normalise"
_axis: Of = lambda e: e.params.get("axis", -1) % 2


def pull_normal(
    g: Numbers,
    y: Numbers,
    x: Numbers,
    first: float = 1.0,
    second: float = 1.0,
    *,
    axis: tuple[int, ...],
    scale: Numbers,
    ddof: int,
) -> Numbers:
    """The pull of a normalisation, with factors before its two means.

    Ioffe and Szegedy 2015, the backward pass of batch normalisation, where eps is part of y.
    """
    n = np.size(y) / np.size(scale)
    along = y * np.mean(g * y, axis=axis, keepdims=True) * n / (n - ddof)
    return (g - first * np.mean(g, axis=axis, keepdims=True) - second * along) / scale


NORMALISE = Op(
    "normalise",
    forward=lambda x, *, axis, scale, ddof: (x - x.mean(axis=axis, keepdims=True)) / scale,
    vjps=(lambda y, x, **params: lambda g: pull_normal(g, y, x, **params),),
    function=pull_normal,
    elementwise=False,
)


def _norm(e: Edge, *factors: float, **otherwise: Numbers) -> Numbers:
    return pull_normal(e.g, e.y, e.x, *factors, **{**e.params, **otherwise})


def subsets(axes: int) -> list[tuple[int, ...]]:
    """Every choice of axes, the smaller ones first."""
    return [c for k in range(1, axes + 1) for c in combinations(range(axes), k)]


def _softmax_along_other(e: Edge, axis: int) -> Numbers:
    """The pull with a softmax along the wrong axis, and the sums along `axis`."""
    weights = TABLE["softmax"].forward(e.x, axis=1 - _axis(e))
    if e.op == "logsumexp":
        return (e.g if e.params.get("keepdims") else np.expand_dims(e.g, _axis(e))) * weights
    if e.op == "log_softmax":
        return e.g - weights * np.sum(e.g, axis=axis, keepdims=True)
    return weights * (e.g - np.sum(e.g * weights, axis=axis, keepdims=True))


def _sum_row(e: Edge, weighted: Numbers, axis: int) -> Numbers:
    return e.y * (e.g - np.sum(weighted, axis=axis, keepdims=True))


# fmt: off
for _id, _times, _says, _example_of_it in (
    ("path-dropped", lambda e: 0.0,
     "Mean or variance behind `{text}` were held constant: both depend on every entry, their "
     "paths count.", _example("0*{}")),
    ("sum-for-mean", lambda e: np.size(e.y) / np.size(e.params["scale"]),
     "Two means stand in the derivative of `{text}`: here they are sums, the division by the "
     "number of entries is missing.", _example("sum({}, axis=1)[:, None]")),
    ("sign-error", lambda e: -1.0,
     "In the derivative of `{text}` the means are taken away from the cotangent: here one is "
     "added.", _example(signs="+-")),
):
    pull(_id, _normal, _says,
        (lambda e, factors: _norm(e, *factors), *_example_of_it),
        # before the second mean, before the first, before both
        choices=lambda e, times=_times: [(1.0, times(e)), (times(e), 1.0), (times(e), times(e))])
pull("summed-over-wrong-axis", lambda e: _normal(e) and np.ndim(e.y) > 1,
    "In the derivative of `{text}` the means go along the axis that was normalised: here along "
    "another.",
    (lambda e, axis: _norm(e, axis=axis), *_example("mean({}, axis=0)")),
    choices=lambda e: [c for c in subsets(np.ndim(e.y)) if c != e.params["axis"]])
pull("wrong-tensor-in-derivative", _normal,
    "The derivative of `{text}` was divided by the variance: it is to be divided by its root.",
    (lambda e: e.right / e.params["scale"], *_example(below=f"{ROOT}**2")))
pull("wrong-tensor-in-derivative", _normal,
    "In the derivative of `{text}` the deviation stands where the normalised tensor belongs.",
    (lambda e: _norm(e, second=e.params["scale"] ** 2), *_example(normal=f"(x - {MEAN})")))
pull("chain-factor-dropped", _normal,
    "The derivative of `{text}` is not divided by the standard deviation.",
    (lambda e: e.right * e.params["scale"], *_example(below="1")))
pull("summed-over-wrong-axis", lambda e: e.op in ROWS and np.ndim(e.x) == 2,
    "In the derivative of `{text}` the softmax was taken along the wrong axis.",
    (_softmax_along_other, "sum(log(sum(exp(Z), axis=1)) * w)",
     {"Z": "w[:, None] * exp(Z) / sum(exp(Z), axis=0)"}, "w 2"), choices=lambda e: (0, 1),
    hidden_by=(SYMMETRIC,))
pull("wrong-tensor-in-derivative", lambda e: e.op == "log_softmax",
    "In the derivative of `{text}` stands the logarithm of the softmax: it is the softmax itself.",
    (lambda e: e.g - e.y * np.sum(e.g, axis=e.params.get("axis", -1), keepdims=True),
     "sum(log_softmax(Z) * V)", {"Z": "V - log_softmax(Z) * sum(V, axis=1, keepdims=True)"}))
pull("jacobian-diagonal-only", lambda e: e.op in AS_LARGE,
    "Every entry of `{text}` depends on every entry of its row: here only the diagonal of the "
    "Jacobian was used.",
    (lambda e: e.g * (e.y * (1 - e.y) if e.op == "softmax" else 1 - np.exp(e.y)),
     "sum(softmax(Z) * V)", {"Z": "V * softmax(Z)*(1 - softmax(Z))"}))
pull("path-dropped", lambda e: e.op == "softmax",
    "The sum below the fraction in `{text}` depends on every entry too: its path is missing.",
    (lambda e: e.g * e.y, "sum(softmax(Z) * V)", {"Z": "V * softmax(Z)"}))
pull("chain-factor-dropped", lambda e: e.op == "softmax",
    "In the derivative of `{text}` the sum over the row is weighted by the softmax: the weights "
    "are missing.",
    (lambda e: _sum_row(e, e.g, e.params.get("axis", -1)), "sum(softmax(Z) * V)",
     {"Z": "softmax(Z) * (V - sum(V, axis=1, keepdims=True))"}))
pull("summed-over-wrong-axis", lambda e: e.op == "softmax" and np.ndim(e.y) == 2,
    "In the derivative of `{text}` the sum goes along the other axis.",
    (lambda e: _sum_row(e, e.g * e.y, 1 - _axis(e)), "sum(softmax(Z) * V)",
     {"Z": "softmax(Z) * (V - sum(V*softmax(Z), axis=0, keepdims=True))"}))
pull("chain-factor-dropped",
    lambda e: e.op == "norm" and (np.ndim(e.y) == 0 or bool(e.params.get("keepdims"))),
    "The derivative of `{text}` is not divided by the length.",
    (lambda e: e.right * e.y, "sum(norm(x) * v)", "x * sum(v)", "v 2"))
# fmt: on


# -- ops that choose, move, reduce or scale entries of a whole tensor ------------------------------


_spread: Of = lambda e: TABLE["sum"].pull(0, e.g, e.y, (e.x,), e.params)
_indexed: Of = lambda e: e.op == "getitem" and "index" in e.params
_extreme: Of = lambda e: e.op in ("max", "min")


def _assign(e: Edge) -> Numbers:
    out = np.zeros(e.shape)
    out[e.params["index"]] = e.g
    return out


def _by_rows(e: Edge) -> bool:
    index = e.params.get("index")
    return e.op == "getitem" and isinstance(index, list | np.ndarray) and np.ndim(index) == 1


def _by_position(e: Edge) -> Numbers:
    out = np.zeros(e.shape)
    n = min(len(out), len(e.g))
    out[:n] = e.g[:n]
    return out


def _to_an_end(e: Edge, end: int) -> Numbers:
    """The cotangent of an extreme given to the first or the last entry."""
    axis = e.params["axis"]
    out = np.zeros(e.shape)
    np.moveaxis(out, axis, 0)[end] = e.g if not e.params.get("keepdims") else e.g.squeeze(axis)
    return out


def _in_other_order(e: Edge, order: str) -> Numbers:
    """A cotangent reshaped columns first, or with its last two axes turned."""
    turned = np.swapaxes(e.g, -1, -2) if order == "turned" else e.g
    return np.reshape(turned, e.shape, order="F" if order == "F" else "C")


def _cut_at(e: Edge, end: bool) -> Numbers:
    """What is left of a cotangent if all that was padded is cut away at one end."""
    lengths = zip(np.shape(e.g), e.shape, strict=True)
    return e.g[tuple(slice(m - n, m) if end else slice(n) for m, n in lengths)]


def _one_copy(e: Edge, order: int) -> Numbers:
    """The cotangent of the last copy of each entry, or with -1 of the first."""
    places = np.ravel(e.forward(np.arange(prod(e.shape)).reshape(e.shape)))
    out = np.zeros(prod(e.shape))
    out[places[::order]] = np.ravel(e.g)[::order]
    return out.reshape(e.shape)


def _uses(e: Edge) -> Numbers:
    out = np.zeros(e.shape)
    np.add.at(out, e.params["index"], 1.0)
    return np.maximum(out, 1.0)


def _to_the_other(e: Edge) -> Numbers:
    other = TABLE["min" if e.op == "max" else "max"]
    return other.pull(0, e.g, other.forward(e.x, **e.params), (e.x,), e.params)


def _take_away(e: Edge) -> Numbers:
    """What the pull of a softmax, or of its logarithm, takes away from the cotangent."""
    return e.g * (e.y if e.op == "softmax" else 1) - e.right


def _drop_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for k, n in enumerate(shape) if k not in axes)


def _other_places(e: Edge) -> Sequence[int]:
    """Axes along which the cotangent of a sum might be spread instead; none of a whole sum."""
    axis = e.params.get("axis")
    if not isinstance(axis, int):
        return []
    others = [k for k in range(len(e.shape)) if k != axis % len(e.shape)]
    return [k for k in others if prod(_drop_axes(e.shape, (k,))) == np.size(e.g)]


def _spread_elsewhere(e: Edge, axis: int) -> Numbers:
    g = np.reshape(e.g, _drop_axes(e.shape, (axis,)))
    wide = np.broadcast_to(np.expand_dims(g, axis), e.shape)
    return wide / (e.shape[axis] if e.op == "mean" else 1)


# fmt: off
pull("mask-wrong", lambda e: e.op == "relu",
    "The mask at `{text}` looks at the sign of the cotangent; it is the sign of the argument.",
    (lambda e: e.g * (e.g > 0), "sum(sin(3*relu(x)))", "3*cos(3*relu(x))*(cos(3*relu(x)) > 0)",
     "x 7"), hidden_by=(ALL_PASS,))
pull("mask-wrong",
    lambda e: e.op in ("relu", "maximum", "minimum")
    or (e.op == "where" and e.i > 0)
    or (e.op == "multiply" and np.size(e.other) > 1 and set(np.ravel(e.other)) == {0, 1}),
    "The mask at `{text}` is the wrong way round: it lets through what did not pass.",
    (lambda e: e.g - e.right, "sum(relu(x)**2 + relu(x))", "1.0*(x <= 0)", "x 7"),
    hidden_by=(ALL_PASS,))
pull("mask-wrong", _extreme,
    "The gradient of `{text}` goes to every entry; only the extreme one gets it.",
    (_spread, "max(x)", "1 + 0*x", "x 5"), hidden_by=(ALL_PASS,))
pull("repeated-index-overwritten", _indexed,
    "An index occurs more than once in `{text}`: its gradients add up, here only the last one is "
    "left.",
    (_assign, "sum(x[[0, 2, 2]] * v)", "array([v[0], 0*v[0], v[2]])"))
pull("mask-wrong", _extreme,
    "The gradient of `{text}` went to the wrong end: to the smallest entry for a maximum, to the "
    "largest for a minimum.",
    (_to_the_other, "max(x)", "1.0*(x == min(x))", "x 5"))
pull("mean-for-sum", _indexed,
    "An index occurs more than once in `{text}`: its gradients add up, here their mean was taken.",
    (lambda e: e.right / _uses(e), "sum(x[[0, 2, 2]] * v)",
     "array([v[0], 0*v[0], (v[1] + v[2])/2])"))
pull("wrong-index", _by_rows,
    "The gradients of `{text}` went to the first rows in turn: each belongs to the row that was "
    "chosen.",
    (_by_position, "sum(x[[0, 3, 3]] * v)", "array([v[0], v[1], v[2], 0*v[0]])", "x 4"))
pull("wrong-index", lambda e: _indexed(e) and len(e.shape) > 0,
    "The gradient of `{text}` was put one place beside where it belongs.",
    (lambda e, way: np.roll(e.right, way[0], way[1]), "sum(x[[0, 2, 2]] * v)",
     "array([0*v[0], v[0], 0*v[0], v[1] + v[2]])", "x 4"),
    choices=lambda e: [(by, axis) for axis in range(min(len(e.shape), 2)) for by in (1, -1)])
pull("mask-wrong", lambda e: _extreme(e) and isinstance(e.params.get("axis"), int),
    "The gradient of `{text}` went to the first or the last entry each time; only the extreme one "
    "gets it.",
    (_to_an_end, "sum(max(x, axis=1) * v)", "array([[1, 0, 0]]) * v[:, None]",
     "x 5 3, v 5"), choices=lambda e: (0, -1), hidden_by=(ONE_LONG,))
pull("wrong-index", lambda e: e.op == "reshape" and max(np.ndim(e.g), len(e.shape)) > 1,
    "On the way back through `{text}` the entries came back in another order than they went.",
    (_in_other_order, "sum(reshape(x, (2, 3)) * V)", "reshape(V.T, (6,))", "x 6"),
    choices=lambda e: ("F", "turned") if np.ndim(e.g) > 1 else ("F",))
pull("mask-wrong", lambda e: e.op == "relu",
    "The cotangent is multiplied by the value of `{text}`; it belongs to a mask of 0 and 1.",
    (lambda e: e.g * e.y, "sum(relu(x)**2)", "2*relu(x)**2", "x 7"), hidden_by=(ALL_PASS,))
pull("sign-error", lambda e: e.op in AS_LARGE,
    "In the derivative of `{text}` the sum over the row is to be taken away: here it is added.",
    (lambda e: e.right + 2 * _take_away(e), "sum(softmax(Z) * V)",
     {"Z": "softmax(Z) * (V + sum(V*softmax(Z), axis=1, keepdims=True))"}))
pull("path-dropped", lambda e: e.op in AS_LARGE,
    "In the derivative of `{text}` only the sum over the row is left: what each entry does to "
    "itself is missing.",
    (lambda e: -_take_away(e), "sum(log_softmax(Z) * V)",
     {"Z": "-softmax(Z) * sum(V, axis=1, keepdims=True)"}))
pull("cumulated-forwards", lambda e: e.op == "cumsum" and np.shape(e.g) == e.shape,
    "The cotangent was added up along `{text}` from the start once more: it is to be added up "
    "from the end.",
    (lambda e: e.forward(e.g), "sum(cumsum(x) * v)", "cumsum(v)", "x 4, v 4"), hidden_by=(ALIKE,))
pull("multiplied-not-divided", lambda e: e.op == "divide" and e.i == 0,
    "On the way back through `{text}` it was multiplied where it is to be divided.",
    (lambda e: e.g * e.other, "sum(sin(x / v))", "cos(x / v) * v"), habit=False)
pull("divided-not-multiplied", lambda e: e.op == "multiply",
    "On the way back through `{text}` it was divided where it is to be multiplied.",
    (lambda e: e.g / e.other, "sum(sin(x * v))", "cos(x * v) / v"), habit=False)
pull("summed-over-wrong-axis", lambda e: e.op in ("sum", "mean"),
    "The gradient of `{text}` was spread along another axis than the one that was summed away.",
    (_spread_elsewhere, "sum(sum(X, axis=2)**2)", {"X": "2*sum(X, axis=2)[:, None] + 0*X"},
     "X 2 3 3"), choices=_other_places, hidden_by=(ONE_LONG, SYMMETRIC))
pull("wrong-index", lambda e: e.op == "pad",
    "On the way back through `{text}` the padding was cut away at one end; it stands at both.",
    (_cut_at, "sum(pad(x, 1) * v)", "v[:3]", "v 5"), choices=lambda e: (False, True))
pull("overwritten-not-accumulated",
    lambda e: e.op in ("repeat", "tile", "broadcast_to") and len(e.shape) > 0,
    "`{text}` copies entries: the gradients of all copies add up, here only one is left.",
    (_one_copy, "sum(repeat(x, 2) * v)", "array([v[0], v[2], v[4]])", "v 6"),
    choices=lambda e: (1, -1))
