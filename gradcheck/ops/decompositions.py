"""What NumPy leaves to LAPACK: determinants, inverses, linear systems, the Cholesky factor.

The exact kinds have no LAPACK. The closed form expands by minors or eliminates entry by entry; the
balls are flint's own matrices, or an LDL factorisation: ways that share no code.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from flint import arb_mat

from gradcheck.errors import OutOfBudget
from gradcheck.ops.axes import one_replaced
from gradcheck.ops.formula import compound
from gradcheck.ops.matrices import STEPS, of_matrices
from gradcheck.ops.row import Composed, Example, factoring

Matrix = np.ndarray[Any, Any]

MINORS = 12  # rows; beyond, the n^2 minors of a singular matrix take minutes
LARGEST = 20  # rows; entry by entry, in Python, an elimination takes n^3 numbers


def _without(n: int, k: int) -> Any:
    return np.array([i for i in range(n) if i != k], dtype=int)


def _minor(a: Any, i: int, j: int) -> Any:
    """The matrix without row i and column j."""
    n = a.shape[-1]
    return a[..., _without(n, i)[:, None], _without(n, j)]


def _cofactors(a: Any) -> Any:
    """The signed determinants of the minors: the derivative of det, also where a is singular."""
    n = a.shape[-1]
    if n > MINORS and isinstance(a, np.ndarray):
        return _cofactors_by_singular_values(a)
    rows = [
        np.stack([(-1) ** (i + j) * np.linalg.det(_minor(a, i, j)) for j in range(n)], axis=-1)
        for i in range(n)
    ]
    return np.stack(rows, axis=-2)


def _cofactors_by_singular_values(a: Any) -> Any:
    """The same of A = U S V^T: det(U V^T) U S' V^T, each s' the product of the other s."""
    u, s, v = np.linalg.svd(a)
    others = np.prod(one_replaced(s), axis=-1)
    return np.linalg.det(u @ v)[..., None, None] * ((u * others[..., None, :]) @ v)


def _det_rule(g: Any, y: Any, a: Any) -> Any:
    """The inverse, turned and times det(a); the cofactors themselves where det(a) is 0."""
    if np.any(np.equal(y, 0)):
        return each_matrix(g) * _cofactors(a)
    return each_matrix(g * y) * np.linalg.inv(a).mT


def each_matrix(g: Any) -> Any:
    """One number a matrix, laid so that it multiplies the whole of it."""
    return np.reshape(g, (*g.shape, 1, 1))


def stacked(rule: Callable[[Matrix], Any]) -> Callable[[Any], Any]:
    """A rule for one matrix, applied to each of a stack."""

    def of_stack(a: Any) -> Any:
        a = np.asarray(a, dtype=object)
        if a.shape[-1] > LARGEST:
            raise OutOfBudget(f"matrices of more than {LARGEST} rows in exact numbers")
        found = [rule(m) for m in a.reshape(-1, *a.shape[-2:])]
        return np.array(found, dtype=object).reshape(a.shape[:-2] + np.shape(found[0]))

    return of_stack


def _det_by_minors(a: Matrix) -> Any:
    """Expansion by rows from the last: one minor for each set of columns, no division."""
    minors: dict[tuple[int, ...], Any] = {(): 1}
    for row in reversed(range(len(a))):
        larger: dict[tuple[int, ...], Any] = {}
        for columns in combinations(range(len(a)), len(a) - row):
            pairs = ((columns[:k] + columns[k + 1 :], c) for k, c in enumerate(columns))
            terms = [(-1) ** k * a[row, c] * minors[rest] for k, (rest, c) in enumerate(pairs)]
            larger[columns] = sum(terms[1:], terms[0])
        minors = larger
    return next(iter(minors.values()))


def _magnitude(entry: Any) -> float:
    """How large an entry is here, for the choice of a pivot only."""
    return abs(float(getattr(entry, "value", entry)))


def _inverse_by_elimination(a: Matrix) -> Matrix:
    """Gauss and Jordan, with the largest entry of each column as its pivot."""
    n = len(a)
    work = np.concatenate([a, np.eye(n, dtype=int).astype(object)], axis=1)
    for k in range(n):
        best = max(range(k, n), key=lambda i: _magnitude(work[i, k]))
        work[[k, best]] = work[[best, k]]
        work[k] = work[k] / work[k, k]
        for i in range(n):
            if i != k:
                work[i] = work[i] - work[i, k] * work[k]
    return work[:, n:]


def _log_of_square(determinant: Any) -> Any:
    """The logarithm of |d| without a branch: half that of the square."""
    return np.log(determinant * determinant) / 2


det = factoring(
    np.linalg.det,
    vjps=(_det_rule,),
    symbolic=Composed(stacked(_det_by_minors)),
    ball=of_matrices(arb_mat.det, "(n,n)->()", STEPS),
    grad_fn="LinalgDetBackward0",
    example=Example("det(a) * b", {"a": (3, 3), "b": ()}),
)

logabsdet = factoring(
    lambda a: np.linalg.slogdet(a)[1],
    name="logabsdet",
    vjps=(lambda g, y, a: each_matrix(g) * np.linalg.inv(a).mT,),
    symbolic=Composed(stacked(lambda a: _log_of_square(_det_by_minors(a)))),
    ball=Composed(lambda a: _log_of_square(np.linalg.det(a))),
    kinks="singular",
    grad_fn="LinalgSlogdetBackward0",
    example=Example("logabsdet(a) * b", {"a": (3, 3), "b": ()}),
)

signdet = factoring(
    lambda a: np.linalg.slogdet(a)[0],
    name="signdet",
    vjps=(lambda g, y, a: np.zeros(a.shape),),
    watches=(-1,),
    symbolic=Composed(stacked(lambda a: np.sign(_det_by_minors(a)))),
    ball=Composed(lambda a: np.sign(np.linalg.det(a))),
    kinks="singular",
    grad_fn="LinalgSlogdetBackward0",
    rounds=False,
    example=Example("signdet(a) * b", {"a": (3, 3), "b": ()}),
)

slogdet = compound(
    np.linalg.slogdet,
    lambda a: type(np.linalg.slogdet(np.eye(1)))(signdet(a), logabsdet(a)),
    size="cubic",
    example=Example("slogdet(a)[1] * b", {"a": (2, 2), "b": ()}),
)

inv = factoring(
    np.linalg.inv,
    vjps=(lambda g, y, a: -(y.mT @ g @ y.mT),),
    symbolic=Composed(stacked(_inverse_by_elimination)),
    ball=of_matrices(arb_mat.inv, "(n,n)->(n,n)", STEPS),
    grad_fn="LinalgInvExBackward0",
    school=("inverse",),
    example=Example("inv(a) * b", {"a": (3, 3), "b": (3, 3)}),
)


def _outer_of(g: Any, y: Any, rank: int) -> Any:
    """The product g y^T, where b was one vector (of rank 1) or a matrix of columns."""
    return g[..., :, None] * y[..., None, :] if rank == 1 else g @ y.mT


def _solved(a: Any, g: Any, rank: int) -> Any:
    """The solution for every vector of g where b was one vector, for the columns of g elsewhere.

    `rank` is the number of axes of b.
    """
    if rank > 1 or a.ndim == 2:
        return np.linalg.solve(a, g)
    return np.linalg.solve(a, g[..., None])[..., 0]


_SOLVED = of_matrices(arb_mat.solve, "(n,n),(n,k)->(n,k)", STEPS)


def _solved_in_balls(a: Any, b: Any) -> Any:
    """The solution; one vector is a column on the way."""
    if np.ndim(b) > 1:
        return _SOLVED.function(a, b)
    return np.asarray(_SOLVED.function(a, np.asarray(b, dtype=object)[:, None]))[..., 0]


solve = factoring(
    np.linalg.solve,
    vjps=(
        lambda g, y, a, b: -_outer_of(_solved(a.mT, g, b.ndim), y, b.ndim),
        lambda g, y, a, b: _solved(a.mT, g, b.ndim),
    ),
    symbolic=Composed(lambda a, b: stacked(_inverse_by_elimination)(a) @ b),
    ball=Composed(_solved_in_balls),
    grad_fn="LinalgSolveExBackward0",
    watches=(-1,),
    example=Example("solve(a, b) * c", {"a": (3, 3), "b": (3,), "c": (3,)}),
)


def symmetric(a: Any) -> Any:
    return (a + a.mT) / 2


def _cholesky_rule(g: Any, y: Any) -> Any:
    """L^-T (lower half of L^T g) L^-1, made symmetric."""
    half = np.tril(np.ones(y.shape[-2:])) - np.eye(y.shape[-1]) / 2
    back = np.linalg.inv(y)
    return symmetric(back.mT @ ((y.mT @ g) * half) @ back)


def _cholesky_by_rows(a: Matrix) -> Matrix:
    """Row by row: what is left of each entry, divided by the pivot above it."""
    low = np.zeros(a.shape, dtype=object)
    for i in range(len(a)):
        for j in range(i + 1):
            rest = a[i, j] - sum(low[i, k] * low[j, k] for k in range(j))
            low[i, j] = np.sqrt(rest) if i == j else rest / low[j, j]
    return low


def _cholesky_by_columns(a: Matrix) -> Matrix:
    """The LDL factors, column by column, and then the roots of D."""
    rest, low = a.copy(), np.zeros(a.shape, dtype=object)
    for k in range(len(a)):
        pivot = rest[k, k]
        column = rest[:, k] / pivot
        low[k:, k] = column[k:] * np.sqrt(pivot)
        rest = rest - pivot * np.multiply.outer(column, column)
    return low


def _turned(low: Any, upper: bool) -> Any:
    return np.swapaxes(low, -1, -2) if upper else low


cholesky = factoring(
    np.linalg.cholesky,
    forward=lambda a, upper=False: _turned(np.linalg.cholesky(symmetric(a)), upper),
    vjps=(lambda g, y, a, upper=False: _cholesky_rule(_turned(g, upper), _turned(y, upper)),),
    symbolic=Composed(
        lambda a, upper=False: _turned(stacked(_cholesky_by_rows)(symmetric(a)), upper)
    ),
    ball=Composed(
        lambda a, upper=False: _turned(stacked(_cholesky_by_columns)(symmetric(a)), upper)
    ),
    grad_fn="LinalgCholeskyExBackward0",
    params=("upper",),
    example=Example(
        "cholesky(a @ transpose(a) + unit) * b",
        {"a": (2, 2), "b": (2, 2), "unit": [[1.0, 0.0], [0.0, 1.0]]},
    ),
)
