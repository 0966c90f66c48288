"""The backprop family: seed, pull or fit said wrong at one site."""

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


sign_error = pull(
    "sign-error",
    wrong=lambda e: -e.right,
    says="The sign flipped on the way back through `{text}` to `{u}`.",
    example=("sum(x - x**3)", "-1 - 3*x**2"),
    habit=False,
)

loss_as_seed = mistake(
    "seed-not-one",
    rank=GENERIC,
    verb="seed",
    wrong=lambda s: s.g * s.value,
    says="The way back starts with the value of the loss; it starts with 1, its derivative by "
    "itself.",
    example=("sum(x**2)", "2*x*sum(x**2)"),
    habit=False,
    hidden_by=(ALIKE,),
)


def _has_cotangent(s: Start) -> bool:
    return bool(np.any(np.asarray(s.g) != 1))


cotangent_ignored = mistake(
    "seed-not-one",
    verb="seed",
    where=_has_cotangent,
    wrong=lambda s: np.ones_like(s.g),
    says="The incoming cotangent was ignored: the way back started with ones.",
    example=("x**2", "2*x"),
    habit=False,
    hidden_by=(ALIKE,),
)

activation_dropped = pull(
    "chain-factor-dropped",
    where=_activation,
    wrong=lambda e: e.g + 0 * e.right,
    says="The derivative of `{text}` is missing: the cotangent passed through it unchanged.",
    example=("sum(tanh(x)**2)", "2*tanh(x)"),
    hidden_by=(ALIKE, ALL_PASS),
)

factor_dropped = pull(
    "chain-factor-dropped",
    where=_factor,
    wrong=lambda e: e.g + 0 * e.right,
    says="The cotangent passed through `{text}` unchanged: the factor of this step is missing.",
    example=("sum(sin(x*v))", {"x": "cos(x*v)", "v": "cos(x*v)"}),
    habit=False,
    hidden_by=(ALIKE, ALL_PASS),
)

factor_twice = pull(
    "chain-factor-twice",
    where=_activation,
    wrong=lambda e: e.rule(e.right, e.y, e.operands),
    says="The derivative of `{text}` is in the answer twice.",
    example=("sum(tanh(x)**2)", "2*tanh(x)*(1 - tanh(x)**2)**2"),
)

given_factor_twice = pull(
    "chain-factor-twice",
    where=lambda e: e.op in ("multiply", "divide") and np.shape(e.right) == np.shape(e.g),
    wrong=lambda e: e.rule(e.right, e.y, e.operands),
    says="The factor that `{text}` has on the way back is in the gradient twice.",
    example=("sum(tanh(x / 3)**2)", "2*tanh(x/3)*(1 - tanh(x/3)**2) / 9"),
    habit=False,
)

matrix_dropped = pull(
    "chain-factor-dropped",
    where=lambda e: e.op == "matmul" and np.shape(e.g) == e.shape,
    wrong=lambda e: e.g,
    says="The cotangent passed through the product `{text}` unchanged: the other matrix is "
    "missing.",
    example=("sum(A @ x * V)", "V", {"x": (3, 2), "V": (3, 2)}),
    habit=False,
)

denominator_forgotten = pull(
    "denominator-forgotten",
    where=lambda e: e.op == "divide" and e.i == 1,
    wrong=lambda e: -e.g * e.other,
    says="The derivative of `{text}` by what is below is over its square: here it is not.",
    example=("sum(v / x)", "-v", {"x": (3,), "v": (3,)}),
    habit=False,
)


last_sample = pull(
    "overwritten-not-accumulated",
    where=lambda e: e.op == "matmul" and e.i == 1 and np.ndim(e.g) > 1,
    choices=lambda e: (-1, 0),
    wrong=lambda e, row: e.rule(_one_row(e.g, row), e.y, e.operands),
    says="The gradient at `{text}` adds up over all rows: here one row overwrote the others.",
    example=("sum(tanh(X @ W))", {"W": "X[-1:].T @ (1 - tanh(X[-1:] @ W)**2)"}),
    habit=False,
    hidden_by=(ONE_LONG,),
)

upstream_ignored = pull(
    "upstream-ignored",
    where=lambda e: bool(np.any(np.asarray(e.g) != 1)),
    wrong=lambda e: e.rule(np.ones_like(e.g), e.y, e.operands),
    says="At `{text}` only the local derivative is left: the cotangent that arrives multiplies it.",
    example=("sum(tanh(x)**2)", "1 - tanh(x)**2"),
    hidden_by=(ALIKE,),
)

wrong_tensor = pull(
    "wrong-tensor-in-derivative",
    where=lambda e: e.elementwise and (len(e.operands) == 1 or (e.op == "power" and e.i == 0)),
    wrong=lambda e: e.rule(e.g, e.x, (e.y, *e.operands[1:])),
    says="The derivative of `{text}` is taken at the wrong tensor: its value and its argument "
    "were mistaken for one another.",
    example=("sum(tanh(x)**2)", "2*tanh(x)*(1 - x**2)"),
)

sum_for_mean = pull(
    "sum-for-mean",
    where=lambda e: e.op == "mean",
    wrong=lambda e: e.right * _count(e),
    says="`{text}` is a mean: the division by the number of entries is missing.",
    example=("mean(x**2)", "2*x", {"x": (5,)}),
    hidden_by=(ONE_LONG,),
)

mean_for_sum = pull(
    "mean-for-sum",
    where=lambda e: e.op == "sum",
    wrong=lambda e: e.right / _count(e),
    says="`{text}` is a sum, but the gradient was divided by the number of terms, as for a mean.",
    example=("sum(x**2)", "2*x/5", {"x": (5,)}),
    hidden_by=(ONE_LONG,),
)

mean_twice = pull(
    "mean-for-sum",
    where=lambda e: e.op == "mean",
    wrong=lambda e: e.right / _count(e),
    says="The division by the number of entries of `{text}` was made twice.",
    example=("mean(x**2)", "2*x/25", {"x": (5,)}),
    hidden_by=(ONE_LONG,),
)

mean_over_batch = pull(
    "mean-for-sum",
    where=lambda e: _matrices(e) and e.i == 1,
    wrong=lambda e: e.right / len(e.g),
    says="The gradient at `{text}` was averaged over the rows; the product sums over them.",
    example=("sum(tanh(X @ W))", {"W": "X.T @ (1 - tanh(X @ W)**2) / 5"}),
    hidden_by=(ONE_LONG,),
)

for _factor_kept, _says, _answer in (
    (2, "There is a factor of 2 too much", "2*cos(x) + 3*x**2"),
    (0.5, "A factor of 2 is missing", "cos(x)/2 + 3*x**2"),
):
    pull(
        "factor-two",
        rank=GENERIC,
        wrong=lambda e, factor=_factor_kept: e.right * factor,
        says=f"{_says} on the way back through `{{text}}` to `{{u}}`.",
        example=("sum(sin(x) + x**3)", _answer),
        habit=False,
    )

transposed = pull(
    "transposed",
    where=_stacks,
    wrong=lambda e: np.swapaxes(e.right, -1, -2),
    says="The gradient at `{text}` is transposed.",
    example=("sum(X @ W * V)", {"W": "V.T @ X"}, {"V": (5, 2)}),
    habit=False,
    hidden_by=(SYMMETRIC,),
)

not_transposed = pull(
    "transposed",
    where=lambda e: e.op in ("matmul", "einsum") and len(e.operands) == 2,
    choices=_equal_axes,
    wrong=_with_turned,
    says="On the way back through `{text}` the other operand is to be transposed.",
    example=("sum(A @ x * V)", "A @ V", {"x": (3, 2), "V": (3, 2)}),
    hidden_by=(SYMMETRIC,),
)

operands_swapped = pull(
    "operands-swapped",
    where=lambda e: e.op in TURNABLE,
    wrong=lambda e: e.rule(e.g, e.y, e.operands[::-1]),
    says="In the derivative of `{text}` the operands stand in each other's place.",
    example=("sum(x * v * sin(v))", "x*sin(v)"),
    hidden_by=(ONE_LONG, SYMMETRIC),
)


elementwise_product = pull(
    "elementwise-for-matmul",
    where=_matrices,
    wrong=lambda e: e.g * e.operands[1] if e.i == 0 else e.operands[0] * e.g,
    says="At `{text}` the entries were multiplied one by one: this wants a matrix product.",
    example=("sum(X @ W * V)", {"W": "X * V"}, {"W": (3, 1), "V": (5, 1)}),
    hidden_by=(ONE_LONG,),
)

statistics_constant = pull(
    "path-dropped",
    where=_statistic,
    wrong=lambda e: 0 * e.right,
    says="The statistic `{text}` was held constant: it depends on every entry, its path counts.",
    example=(
        "sum((x - mean(x, axis=1, keepdims=True))**3 / mean(x**2, axis=1, keepdims=True))",
        "3*(x - mean(x, axis=1, keepdims=True))**2 / mean(x**2, axis=1, keepdims=True)",
        {"x": (5, 3)},
    ),
)

sigmoid_for_tanh = pull(
    "wrong-function-derivative",
    where=lambda e: e.op in ("tanh", "sigmoid"),
    wrong=lambda e: e.g * (e.y * (1 - e.y) if e.op == "tanh" else 1 - e.y**2),
    says="The derivative of `{text}` is that of another activation: tanh has 1 - a^2, sigmoid "
    "a (1 - a).",
    example=("sum(tanh(x)**2)", "2*tanh(x) * tanh(x)*(1 - tanh(x))"),
)

stopped_half_way = mistake(
    "chain-factor-dropped",
    verb="stop",
    wrong=lambda g: g,
    says="This is the gradient by `{text}`: the way back goes on from there.",
    example=("sum((X @ w)**3)", {"w": "3*(X @ w)**2"}),
    rank=GENERIC,
    habit=False,
)

root_not_divided = pull(
    "denominator-forgotten",
    where=lambda e: e.op == "sqrt",
    wrong=lambda e: e.right * e.y,
    says="The derivative of `{text}` is not divided by the root.",
    example=("sqrt(sum(x**2))", "x"),
)

sign_inside = pull(
    "sign-error",
    where=lambda e: e.elementwise and e.inside is not None and np.ndim(e.x) > 0,
    choices=_sign_turned,
    wrong=lambda e, x: e.rule(e.g, e.y, tuple(x if each is e.x else each for each in e.operands)),
    says="In the derivative of `{text}` the sum or difference inside has the other sign.",
    example=("sum((3*x - v)**2)", "6*(3*x + v)"),
    habit=False,
)


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


neighbour = pull(
    "wrong-tensor-in-derivative",
    where=lambda e: e.op in PRODUCTS and np.ndim(e.other) > 0,
    choices=lambda e: _like(e, e.other, (e.x, e.other, np.transpose(e.other))),
    rank=GENERIC,
    wrong=_with_other,
    says="At `{text}` another tensor of the same shape was taken for the operand that the "
    "cotangent is multiplied by.",
    example=("sum(sin(x) * exp(x))", "x*cos(x) + sin(x)*exp(x)"),
    habit=False,
)

cotangent_transposed = pull(
    "transposed",
    where=_square,
    wrong=lambda e: e.rule(e.g.T, e.y, e.operands),
    says="The cotangent that arrives at `{text}` was transposed.",
    example=("sum(A @ x * V)", "A.T @ V.T", {"x": (3, 3), "V": (3, 3)}),
    habit=False,
    hidden_by=(SYMMETRIC,),
)

flipped = pull(
    "flipped",
    where=lambda e: e.op in PRODUCTS and np.ndim(e.right) > 0,
    choices=lambda e: range(-min(np.ndim(e.right), AXES), 0),
    wrong=lambda e, axis: np.flip(e.right, axis),
    says="On the way back through `{text}` the entries stand in reverse order along one axis, as "
    "of a kernel that was flipped.",
    example=("sum(X @ w)", {"w": "sum(X, axis=0)[::-1]"}),
    habit=False,
)


order_swapped = pull(
    "operands-swapped",
    where=_matrices,
    wrong=lambda e: e.operands[1].T @ e.g if e.i == 0 else e.g @ e.operands[0].T,
    says="The factors of the product behind `{text}` are in the wrong order.",
    example=("sum(A @ x * V)", "V @ A.T", {"x": (3, 3), "V": (3, 3)}),
    hidden_by=(ONE_LONG, SYMMETRIC),
)
