"""The backprop family: seed, pull, fit or accumulate said wrong at one site."""

from collections.abc import Sequence

import numpy as np

from gradcheck.mistakes.row import (
    ALIKE,
    ALL_PASS,
    GENERIC,
    ONE_LONG,
    SYMMETRIC,
    Edge,
    Start,
    anywhere,
    fit,
    mistake,
    pull,
)
from gradcheck.values import Numbers

PASSING = frozenset({"add", "subtract", "negative"})
BINARY = frozenset({"add", "subtract", "multiply", "divide", "power", "matmul"})
AS_LARGE = frozenset({"softmax", "log_softmax"})
TURNABLE = frozenset({"multiply", "divide", "power", "matmul", "maximum", "minimum"})


def _activation(e: Edge) -> bool:
    """A function of one argument that keeps the shape."""
    return e.op in AS_LARGE or (e.elementwise and len(e.operands) == 1 and e.op not in PASSING)


def _factor(e: Edge) -> bool:
    return e.elementwise and len(e.operands) == 2 and e.op not in PASSING


def _matrices(e: Edge) -> bool:
    return e.op == "matmul" and all(np.ndim(v) == 2 for v in e.operands)


def _stacks(e: Edge) -> bool:
    return e.op == "matmul" and all(np.ndim(v) >= 2 for v in e.operands)


def _equal_axes(e: Edge) -> Sequence[tuple[int, int]]:
    """Any two axes of equal lengths of a product's other operand."""
    shape = np.shape(e.other)
    return [(i, j) for j in range(len(shape)) for i in range(j) if shape[i] == shape[j] > 1]


def _with_turned(e: Edge, axes: tuple[int, int]) -> Numbers:
    turned = np.swapaxes(e.other, *axes)
    return e.rule(e.g, e.y, (turned, e.x) if e.i else (e.x, turned))


def _count(e: Edge) -> float:
    return float(e.right.size / max(np.size(e.g), 1))


def _one_row(g: Numbers, row: int) -> Numbers:
    out = np.zeros_like(g)
    out[..., row, :] = g[..., row, :]
    return out


def _statistic(e: Edge) -> bool:
    return e.op in ("mean", "var", "std") and np.size(e.g) > 1


def _sign_turned(e: Edge) -> Sequence[Numbers]:
    assert e.inside is not None
    forward, (a, b) = e.inside
    return (forward(a, -b),)


def _has_cotangent(s: Start) -> bool:
    return bool(np.any(np.asarray(s.g) != 1))


PRODUCTS = frozenset({"multiply", "matmul", "divide", "einsum"})
AXES = 3
CHOICES = 8  # tensors that are tried in one's place


def _like(e: Edge, model: Numbers, known: Sequence[Numbers]) -> Sequence[Numbers]:
    """The nearest tensors of the shape of a model, turned where that fits, but for known ones."""
    found = [
        each
        for tensor in e.around
        for each in ((tensor, tensor.T) if np.ndim(tensor) == 2 else (tensor,))
        if np.shape(each) == np.shape(model) and not any(np.array_equal(each, k) for k in known)
    ]
    return found[:CHOICES]


def _with_other(e: Edge, tensor: Numbers) -> Numbers:
    operands = (tensor, e.x) if e.i else (e.x, tensor)
    return e.rule(e.g, e.y, operands)


def _square(e: Edge) -> bool:
    return e.op == "matmul" and np.ndim(e.g) == 2 and len(e.g) == len(e.g.T)


def _is_stretched(e: Edge) -> bool:
    return bool(np.shape(e.g) != e.shape)


def _other_axis(e: Edge) -> Numbers:
    stretched = 0 if len(e.shape) < 2 or e.shape[0] == 1 else 1
    return np.sum(e.g, axis=1 - stretched, keepdims=len(e.shape) == 2)


def _row_of_broadcast(e: Edge, row: int) -> Numbers:
    left = e.g[row] if np.ndim(e.g) > len(e.shape) else e.g[row][None]
    left = np.sum(left, axis=tuple(range(np.ndim(left) - len(e.shape))))
    stretched = tuple(k for k, n in enumerate(e.shape) if n == 1 != left.shape[k])
    return np.sum(left, axis=stretched, keepdims=True)


# fmt: off
mistake("accumulate", "overwritten-not-accumulated", anywhere,
    "`{text}` is used more than once: the gradients of all its uses add up, here only one of them "
    "is left.",
    (lambda m: m.g, "sum(x**3 + sin(x))", "3*x**2"), rank=GENERIC)
for _side, _answer in (("held", "2*A @ x"), ("g", "2*A.T @ x")):
    mistake("accumulate", "matrix-taken-as-symmetric", lambda m: m.matrix,
        "`{text}` meets the matrix from both sides, once transposed: taking twice one of them "
        "needs a symmetric matrix.",
        (lambda m, side=_side: 2 * getattr(m, side), "x @ A @ x", _answer,
         {"x": (3,), "A": (3, 3)}), habit=False)
pull("counted-twice", lambda e: e.shared,
    "What comes back from `{text}` was added twice.",
    (lambda e: 2 * e.right, "sum(x**3 + sin(x))", "6*x**2 + cos(x)"), habit=False)
pull("path-dropped", anywhere,
    "The path back through `{text}` to `{u}` is missing from the gradient.",
    (lambda e: 0 * e.right, "sum((x - mean(x))**3)", "3*(x - mean(x))**2", {"x": (5,)}),
    habit=False)
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
    (lambda s: s.g * s.value, "sum(x**2)", "2*x*sum(x**2)"), rank=GENERIC, habit=False,
    hidden_by=(ALIKE,))
mistake("seed", "seed-not-one", _has_cotangent,
    "The incoming cotangent was ignored: the way back started with ones.",
    (lambda s: np.ones_like(s.g), "x**2", "2*x"), habit=False, hidden_by=(ALIKE,))
pull("chain-factor-dropped", _activation,
    "The derivative of `{text}` is missing: the cotangent passed through it unchanged.",
    (lambda e: e.g + 0 * e.right, "sum(tanh(x)**2)", "2*tanh(x)"), hidden_by=(ALIKE, ALL_PASS))
pull("chain-factor-dropped", _factor,
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
    (lambda e: e.g, "sum(A @ x * V)", "V", {"x": (3, 2), "V": (3, 2)}), habit=False)
pull("denominator-forgotten", lambda e: e.op == "divide" and e.i == 1,
    "The derivative of `{text}` by what is below is over its square: here it is not.",
    (lambda e: -e.g * e.other, "sum(v / x)", "-v", {"x": (3,), "v": (3,)}), habit=False)
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
    (lambda e: e.right * _count(e), "mean(x**2)", "2*x", {"x": (5,)}), hidden_by=(ONE_LONG,))
pull("mean-for-sum", lambda e: e.op == "sum",
    "`{text}` is a sum, but the gradient was divided by the number of terms, as for a mean.",
    (lambda e: e.right / _count(e), "sum(x**2)", "2*x/5", {"x": (5,)}), hidden_by=(ONE_LONG,))
pull("mean-for-sum", lambda e: e.op == "mean",
    "The division by the number of entries of `{text}` was made twice.",
    (lambda e: e.right / _count(e), "mean(x**2)", "2*x/25", {"x": (5,)}), hidden_by=(ONE_LONG,))
pull("mean-for-sum", lambda e: _matrices(e) and e.i == 1,
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
pull("transposed", _stacks,
    "The gradient at `{text}` is transposed.",
    (lambda e: np.swapaxes(e.right, -1, -2), "sum(X @ W * V)", {"W": "V.T @ X"}, {"V": (5, 2)}),
    habit=False, hidden_by=(SYMMETRIC,))
pull("transposed", lambda e: e.op in ("matmul", "einsum") and len(e.operands) == 2,
    "On the way back through `{text}` the other operand is to be transposed.",
    (_with_turned, "sum(A @ x * V)", "A @ V", {"x": (3, 2), "V": (3, 2)}), choices=_equal_axes,
    hidden_by=(SYMMETRIC,))
pull("operands-swapped", lambda e: e.op in TURNABLE,
    "In the derivative of `{text}` the operands stand in each other's place.",
    (lambda e: e.rule(e.g, e.y, e.operands[::-1]), "sum(x * v * sin(v))", "x*sin(v)"),
    hidden_by=(ONE_LONG, SYMMETRIC))
pull("elementwise-for-matmul", _matrices,
    "At `{text}` the entries were multiplied one by one: this wants a matrix product.",
    (lambda e: e.g * e.operands[1] if e.i == 0 else e.operands[0] * e.g, "sum(X @ W * V)",
     {"W": "X * V"}, {"W": (3, 1), "V": (5, 1)}), hidden_by=(ONE_LONG,))
pull("path-dropped", _statistic,
    "The statistic `{text}` was held constant: it depends on every entry, its path counts.",
    (lambda e: 0 * e.right,
     "sum((x - mean(x, axis=1, keepdims=True))**3 / mean(x**2, axis=1, keepdims=True))",
     "3*(x - mean(x, axis=1, keepdims=True))**2 / mean(x**2, axis=1, keepdims=True)",
     {"x": (5, 3)}))
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
    choices=lambda e: _like(e, e.other, (e.x, e.other, np.transpose(e.other))), rank=GENERIC,
    habit=False)
pull("transposed", _square,
    "The cotangent that arrives at `{text}` was transposed.",
    (lambda e: e.rule(e.g.T, e.y, e.operands), "sum(A @ x * V)", "A.T @ V.T",
     {"x": (3, 3), "V": (3, 3)}), habit=False, hidden_by=(SYMMETRIC,))
pull("flipped", lambda e: e.op in PRODUCTS and np.ndim(e.right) > 0,
    "On the way back through `{text}` the entries stand in reverse order along one axis, as of a "
    "kernel that was flipped.",
    (lambda e, axis: np.flip(e.right, axis), "sum(X @ w)", {"w": "sum(X, axis=0)[::-1]"}),
    choices=lambda e: range(-min(np.ndim(e.right), AXES), 0), habit=False)
pull("operands-swapped", _matrices,
    "The factors of the product behind `{text}` are in the wrong order.",
    (lambda e: e.operands[1].T @ e.g if e.i == 0 else e.g @ e.operands[0].T, "sum(A @ x * V)",
     "V @ A.T", {"x": (3, 3), "V": (3, 3)}), hidden_by=(ONE_LONG, SYMMETRIC))
