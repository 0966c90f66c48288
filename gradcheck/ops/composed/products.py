"""Products, powers, norms and systems of matrices that are formulas of the rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.ops.composed.picking import seen, times
from gradcheck.ops.decompositions import logabsdet
from gradcheck.ops.formula import composed, compound
from gradcheck.ops.linear import matmul
from gradcheck.ops.row import Example
from gradcheck.ops.spectra import svdvals

MATRICES = {"a": (2, 2), "b": (2, 2), "c": (2, 2)}


@composed(
    size="linear",
    name="linear",
    example=Example("linear(a, w, b) * c", {"a": (2, 3), "w": (4, 3), "b": (4,), "c": (2, 4)}),
)
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """X W^T + b."""
    y = x @ (weight.T if np.ndim(weight) == 2 else weight)
    return y if bias is None else y + bias


@composed(
    size="bilinear",
    example=Example("bilinear(a, b, w) * c", {"a": (2,), "b": (2,), "w": (1, 2, 2), "c": (1,)}),
)
def bilinear(x: Any, other: Any, weight: Any, bias: Any = None) -> Any:
    """x^T W_k y + b_k, for each matrix W_k of the weight."""
    y = np.einsum("...i,kij,...j->...k", x, weight, other)
    return y if bias is None else y + bias


@composed(size="added", example=Example("addmm(a, b, c)", MATRICES))
def addmm(x: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Beta x + alpha A B."""
    return times(beta, x) + times(alpha, mat1 @ mat2)


@composed(size="added", example=Example("addmv(a, b, a)", {"a": (2,), "b": (2, 2)}))
def addmv(x: Any, mat: Any, vec: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Beta x + alpha A v."""
    return times(beta, x) + times(alpha, mat @ vec)


@composed(size="added_outer", example=Example("addr(a, b, b)", {"a": (2, 2), "b": (2,)}))
def addr(x: Any, vec1: Any, vec2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Beta x + alpha u v^T."""
    return times(beta, x) + times(alpha, np.outer(vec1, vec2))


@composed(size="added", example=Example("baddbmm(a, b, b)", {"a": (2, 2, 2), "b": (2, 2, 2)}))
def baddbmm(x: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Beta x + alpha A_i B_i, for each of a stack."""
    return times(beta, x) + times(alpha, batch1 @ batch2)


@composed(size="added", example=Example("addbmm(a, b, b)", {"a": (2, 2), "b": (2, 2, 2)}))
def addbmm(x: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Beta x + alpha times the sum of the products of a stack."""
    return times(beta, x) + times(alpha, np.sum(batch1 @ batch2, axis=0))


@composed(
    function=np.linalg.multi_dot,
    size="chained",
    school=("chain_matmul",),
    example=Example("multi_dot([a, b, c])", MATRICES),
)
def multi_dot(arrays: Sequence[Any], *more: Any) -> Any:
    """The product of all matrices, from left to right; the first and the last may be vectors."""
    y, *rest = (arrays, *more) if more else arrays
    for each in rest:
        y = matmul(y, each)
    return y


@composed(
    function=np.linalg.matrix_power,
    size="cubic",
    example=Example("matrix_power(a, 3) * b", {"a": (2, 2), "b": (2, 2)}),
)
def matrix_power(a: Any, n: int) -> Any:
    """The n-th power of a square matrix, by squares; of a negative n, of its inverse."""
    if n < 0:
        return matrix_power.meaning(np.linalg.inv(a), -n)
    if n == 0:
        return 0 * a + np.eye(np.shape(a)[-1])
    half = matrix_power.meaning(a, n // 2) if n > 1 else None
    square = None if half is None else half @ half
    return a if square is None else square @ a if n % 2 else square


@composed(
    size="attended", example=Example("cdist(a, b) * c", {"a": (2, 3), "b": (2, 3), "c": (2, 2)})
)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "") -> Any:
    """The p-norms of the differences of each row with each."""
    return np.linalg.norm(x1[..., :, None, :] - x2[..., None, :, :], p, axis=-1)


@composed(watches=("x",), size="apart", example=Example("pdist(a) * b", {"a": (3, 2), "b": (3,)}))
def pdist(x: Any, p: float = 2.0) -> Any:
    """The p-norms of the differences of each row with each later one."""
    first, second = np.triu_indices(np.shape(x)[0], 1)
    return np.linalg.norm(x[first] - x[second], p, axis=-1)


@composed(example=Example("pairwise_distance(a, b) * c", {"a": (2, 3), "b": (2, 3), "c": (2,)}))
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Any:
    """The p-norms of the differences of rows, eps added to each entry as PyTorch does."""
    return np.linalg.norm(x1 - x2 + eps, p, axis=-1, keepdims=keepdims)


@composed(example=Example("cosine_similarity(a, b) * c", {"a": (2, 3), "b": (2, 3), "c": (2,)}))
def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """The product of two vectors along an axis, over their lengths (each at least eps)."""
    long = np.broadcast_shapes(np.shape(x1), np.shape(x2))
    x1, x2 = np.broadcast_to(x1, long), np.broadcast_to(x2, long)
    first, second = (np.maximum(np.linalg.norm(v, axis=axis), eps) for v in (x1, x2))
    return np.sum(x1 * x2, axis=axis) / (first * second)


@composed(example=Example("normalize(a) * b", {"a": (2, 3), "b": (2, 3)}))
def normalize(x: Any, p: float = 2.0, axis: Any = 1, eps: float = 1e-12) -> Any:
    """X over its p-norm along an axis (at least eps)."""
    return x / np.maximum(vector_norm.meaning(x, p, axis=axis, keepdims=True), eps)


@composed(
    function=np.linalg.vector_norm, example=Example("vector_norm(a) * b", {"a": (3,), "b": ()})
)
def vector_norm(
    x: Any, ord: float = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None
) -> Any:
    """The norm of the entries along axes, taken as one vector; of all by default."""
    if axis is None or (isinstance(axis, tuple | list) and len(axis) != 1):
        axes = tuple(range(np.ndim(x))) if axis is None or not axis else tuple(axis)
        axes = tuple(k % np.ndim(x) for k in axes)
        shape = np.shape(x)
        kept = tuple(k for k in range(len(shape)) if k not in axes)
        rows = np.reshape(np.transpose(x, (*kept, *axes)), (*(shape[k] for k in kept), -1))
        y = np.linalg.norm(rows, ord, axis=-1)
        return (
            np.reshape(y, tuple(1 if k in axes else n for k, n in enumerate(shape)))
            if keepdims
            else y
        )
    axis = axis[0] if isinstance(axis, tuple | list) else axis
    return np.linalg.norm(x, ord, axis=axis, keepdims=keepdims)


@composed(
    function=np.linalg.matrix_norm, example=Example("matrix_norm(a) * b", {"a": (2, 2), "b": ()})
)
def matrix_norm(
    x: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None
) -> Any:
    """The norm of matrices over two axes: Frobenius', or NumPy's `ord`."""
    return np.linalg.norm(x, ord, axis=tuple(axis), keepdims=keepdims)


@composed(size="cubic", example=Example("logdet(a @ transpose(a)) * b", {"a": (2, 2), "b": ()}))
def logdet(a: Any) -> Any:
    """The logarithm of a determinant that is positive; not a number where it is negative."""
    negative = np.less(seen(np.linalg.det(a)), 0)
    return np.where(negative, np.nan, logabsdet(a))


@composed(
    watches=("b", "factor", "result"),
    size="cubic",
    example=Example(
        "cholesky_solve(b, tril(a) + 3 * u) * b",
        {"a": (2, 2), "b": (2, 2), "u": [[1.0, 0.0], [0.0, 1.0]]},
    ),
)
def cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    """The solution of A x = b from A's Cholesky factor."""
    low = np.swapaxes(np.triu(factor), -1, -2) if upper else np.tril(factor)
    return np.linalg.solve(np.swapaxes(low, -1, -2), np.linalg.solve(low, b))


@composed(
    watches=("factor", "result"),
    size="cubic",
    example=Example(
        "cholesky_inverse(tril(a) + 3 * u) * b",
        {"a": (2, 2), "b": (2, 2), "u": [[1.0, 0.0], [0.0, 1.0]]},
    ),
)
def cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    """The inverse of A from its Cholesky factor."""
    low = np.swapaxes(np.triu(factor), -1, -2) if upper else np.tril(factor)
    return np.linalg.inv(low @ np.swapaxes(low, -1, -2))


@composed(
    size="cubic",
    example=Example("solve_triangular(a, b, upper=True) * b", {"a": (2, 2), "b": (2, 2)}),
)
def solve_triangular(
    a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """The solution of a triangular system; the other half of the matrix is not read."""
    a = np.triu(a, int(unitriangular)) if upper else np.tril(a, -int(unitriangular))
    a = a + np.eye(np.shape(a)[-1]) if unitriangular else a
    if left:
        return np.linalg.solve(*_same_stack(a, b))
    turned = np.linalg.solve(*_same_stack(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)))
    return np.swapaxes(turned, -1, -2)


def _same_stack(a: Any, b: Any) -> tuple[Any, Any]:
    stack = np.broadcast_shapes(np.shape(a)[:-2], np.shape(b)[:-2])
    return np.broadcast_to(a, (*stack, *np.shape(a)[-2:])), np.broadcast_to(
        b, (*stack, *np.shape(b)[-2:])
    )


@composed(
    function=np.linalg.tensorinv,
    size="systems",
    example=Example("tensorinv(a, 1) * b", {"a": (4, 2, 2), "b": (2, 2, 4)}),
)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as a matrix of its first `ind` axes and the others."""
    shape = np.shape(a)
    square = np.reshape(a, (int(np.prod(shape[:ind], dtype=int)), -1))
    return np.reshape(np.linalg.inv(square), (*shape[ind:], *shape[:ind]))


@composed(
    function=np.linalg.tensorsolve,
    size="systems",
    example=Example("tensorsolve(a, b) * b", {"a": (2, 2, 2, 2), "b": (2, 2)}),
)
def tensorsolve(a: Any, b: Any, axes: Any = None, **named: Any) -> Any:
    """The solution of a tensor equation, a as a matrix of the axes of b and the others."""
    axes = named.get("axis", axes)
    if axes is not None:
        rest = [k for k in range(np.ndim(a)) if k not in {j % np.ndim(a) for j in axes}]
        a = np.transpose(a, (*rest, *axes))
    left = np.shape(a)[np.ndim(b) :]
    square = np.reshape(a, (np.size(b), -1))
    return np.reshape(np.linalg.solve(square, np.ravel(b)), left)


@composed(
    size="powers", function=np.vander, example=Example("vander(a, 3) * b", {"a": (2,), "b": (2, 3)})
)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803
    """The powers of each entry, from the highest down (NumPy's order) unless `increasing`."""
    n = np.shape(x)[-1] if N is None else N
    powers = [x**k if k else 0 * x + 1.0 for k in range(n)]
    return (
        np.stack(powers if increasing else powers[::-1], axis=-1)
        if powers
        else x[..., None][..., :0]
    )


@composed(
    function=np.linalg.cond, size="cubic", example=Example("cond(a, 1) * b", {"a": (2, 2), "b": ()})
)
def cond(x: Any, p: Any = None) -> Any:
    """How much a matrix may enlarge an error: its norm times its inverse's."""
    if p in (None, 2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


@composed(
    function=np.matvec if hasattr(np, "matvec") else None,
    name="matvec",
    size="multiplied",
    example=Example("matvec(a, b) * b", {"a": (2, 2), "b": (2,)}),
)
def matvec(a: Any, b: Any) -> Any:
    """Matrices times vectors, both in stacks."""
    return (a @ b[..., None])[..., 0]


@composed(
    function=np.vecmat if hasattr(np, "vecmat") else None,
    name="vecmat",
    size="multiplied",
    example=Example("vecmat(b, a) * b", {"a": (2, 2), "b": (2,)}),
)
def vecmat(a: Any, b: Any) -> Any:
    """Vectors times matrices, both in stacks."""
    return (a[..., None, :] @ b)[..., 0, :]


compound(
    np.linalg.trace,
    lambda x, *, offset=0, dtype=None: np.trace(x, offset, -2, -1),
    "matrix_trace",
    example=Example("matrix_trace(a) * b", {"a": (2, 2), "b": ()}),
)
compound(
    np.linalg.diagonal,
    lambda x, *, offset=0: np.diagonal(x, offset, -2, -1),
    "matrix_diagonal",
    example=Example("matrix_diagonal(a) * b", {"a": (2, 2), "b": (2,)}),
)
