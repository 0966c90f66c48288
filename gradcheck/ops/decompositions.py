"""What NumPy leaves to LAPACK: determinants, inverses, systems, factors, eigenvalues.

The exact kinds have no LAPACK. Of determinants, inverses and systems the closed form expands by
minors or eliminates entry by entry, and the balls are flint's own matrices: ways that share no
code. Of factors both abstain, and differences of floats judge: PyTorch's gradients (J. Townsend,
"Differentiating the singular value decomposition", 2016), where vectors are known up to their
sign, and by distinct values only.
"""

from functools import partial
from itertools import combinations

import numpy as np
from flint import arb_mat

from gradcheck.errors import OutOfBudget
from gradcheck.ops.formula import formula
from gradcheck.ops.linear import STEPS, of_matrices
from gradcheck.ops.reductions import others
from gradcheck.ops.row import ABSTAINS, Composed, Op, op
from gradcheck.ops.shapes import bare_numbers
from gradcheck.values import Array, Numbers, Routine

MINORS = 12  # rows; beyond, the n^2 minors of a singular matrix take minutes
LARGEST = 20  # rows; entry by entry, in Python, an elimination takes n^3 numbers

_whole = partial(op, elementwise=False)
"""A row that takes matrices as a whole."""

# -- determinants --------------------------------------------------------------------------------


def _cofactors(a: Numbers) -> Numbers:
    """The signed determinants of the minors: the derivative of det, also where a is singular."""
    n = a.shape[-1]
    if n > MINORS and isinstance(a, np.ndarray):  # of A = U S V^T: det(U V^T) U S' V^T
        u, s, v = np.linalg.svd(a)
        return np.linalg.det(u @ v)[..., None, None] * ((u * others(s)[..., None, :]) @ v)

    def signed_minor(i: int, j: int) -> Numbers:
        rows, columns = (np.delete(np.arange(n), k) for k in (i, j))
        return (-1) ** (i + j) * np.linalg.det(a[..., rows[:, None], columns])

    rows = [np.stack([signed_minor(i, j) for j in range(n)], axis=-1) for i in range(n)]
    return np.stack(rows, axis=-2)


def _map_stack(rule: Routine, signature: str) -> Routine:
    """A rule for one matrix, applied to each of a stack."""
    apply = np.vectorize(rule, otypes=[object], signature=signature)

    def of_stack(a: Numbers) -> Numbers:
        if a.shape[-1] > LARGEST:
            raise OutOfBudget(f"matrices of more than {LARGEST} rows in exact numbers")
        return apply(np.asarray(a, dtype=object))

    return of_stack


def _det_of_one(a: Array) -> Numbers:
    """Expansion by rows from the last: one minor for each set of columns, no division."""
    minors: dict[tuple[int, ...], Numbers] = {(): 1}
    for row in reversed(range(len(a))):
        larger: dict[tuple[int, ...], Numbers] = {}
        for columns in combinations(range(len(a)), len(a) - row):
            pairs = ((columns[:k] + columns[k + 1 :], c) for k, c in enumerate(columns))
            terms = [(-1) ** k * a[row, c] * minors[rest] for k, (rest, c) in enumerate(pairs)]
            larger[columns] = sum(terms[1:], terms[0])
        minors = larger
    return next(iter(minors.values()))


def _log_of_square(determinant: Numbers) -> Numbers:
    """The logarithm of |d| without a branch: half that of the square."""
    return np.log(determinant * determinant) / 2


_det_by_minors = _map_stack(_det_of_one, "(n,n)->()")
_whole(  # the inverse, turned and times det(a); the cofactors themselves where det(a) is 0
    np.linalg.det,
    (lambda y, a: lambda g: (
        g[..., None, None] * _cofactors(a) if np.any(np.equal(y, 0))
        else (g * y)[..., None, None] * np.linalg.inv(a).mT),),
    symbolic=Composed(_det_by_minors),
    ball=of_matrices(arb_mat.det, "(n,n)->()", STEPS),
)  # fmt: skip
logabsdet = _whole(
    "logabsdet", (lambda y, a: lambda g: g[..., None, None] * np.linalg.inv(a).mT,),
    forward=lambda a: np.linalg.slogdet(a)[1], kinks="singular",
    symbolic=Composed(lambda a: _log_of_square(_det_by_minors(a))),
    ball=Composed(lambda a: _log_of_square(np.linalg.det(a))),
)  # fmt: skip
signdet = _whole(
    "signdet", (lambda y, a: lambda g, shape=a.shape: np.zeros(shape),),
    forward=lambda a: np.linalg.slogdet(a)[0], kinks="singular", rounds=False,
    symbolic=Composed(lambda a: np.sign(_det_by_minors(a))),
    ball=Composed(lambda a: np.sign(np.linalg.det(a))),
)  # fmt: skip
formula(np.linalg.slogdet)(lambda a: type(np.linalg.slogdet(np.eye(1)))(signdet(a), logabsdet(a)))


@formula()
def logdet(a: Numbers) -> Numbers:
    """The logarithm of a determinant that is positive; not a number where it is negative."""
    negative = np.less(bare_numbers(np.linalg.det(a)), 0)
    return np.where(negative, np.nan, logabsdet(a))


# -- inverses and systems ------------------------------------------------------------------------


def _invert_one(a: Array) -> Array:
    """Gauss and Jordan, with the largest entry of each column as its pivot."""
    n = len(a)
    work = np.concatenate([a, np.eye(n, dtype=int).astype(object)], axis=1)
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(float(getattr(work[i, k], "value", work[i, k]))))
        work[[k, best]] = work[[best, k]]
        work[k] = work[k] / work[k, k]
        for i in range(n):
            if i != k:
                work[i] = work[i] - work[i, k] * work[k]
    return work[:, n:]


def _solve(a: Numbers, g: Numbers, rank: int) -> Numbers:
    """The solution for every vector of g where b, of that rank, was one; for its columns else."""
    if rank > 1 or a.ndim == 2:
        return np.linalg.solve(a, g)
    return np.linalg.solve(a, g[..., None])[..., 0]


def _matrix_rule(y: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Minus g y^T, solved, where b was one vector or a matrix of columns."""
    rank = b.ndim

    def back(g: Numbers) -> Numbers:
        s = _solve(a.mT, g, rank)
        return -(s[..., :, None] * y[..., None, :] if rank == 1 else s @ y.mT)

    return back


def _solve_in_balls(a: Numbers, b: Numbers) -> Numbers:
    """The solution; one vector is a column on the way."""
    cell = of_matrices(arb_mat.solve, "(n,n),(n,k)->(n,k)", STEPS).function
    if np.ndim(b) > 1:
        return cell(a, b)
    return np.asarray(cell(a, np.asarray(b, dtype=object)[:, None]))[..., 0]


_inverse_by_elimination = _map_stack(_invert_one, "(n,n)->(n,n)")
_whole(
    np.linalg.inv, (lambda y, a: lambda g: -(y.mT @ g @ y.mT),),
    symbolic=Composed(_inverse_by_elimination),
    ball=of_matrices(arb_mat.inv, "(n,n)->(n,n)", STEPS), school=("inverse",),
)  # fmt: skip
_whole(
    np.linalg.solve, (_matrix_rule, lambda y, a, b: lambda g, rank=b.ndim: _solve(a.mT, g, rank)),
    symbolic=Composed(lambda a, b: _inverse_by_elimination(a) @ b), ball=Composed(_solve_in_balls),
)  # fmt: skip


# -- Cholesky's factor, eigenvalues and -vectors ---------------------------------------------------

_in_floats = partial(_whole, exact=ABSTAINS)


def _symmetric(a: Numbers) -> Numbers:
    return (a + a.mT) / 2


def _cholesky_rule(g: Numbers, y: Numbers) -> Numbers:
    """L^-T (lower half of L^T g) L^-1, made symmetric."""
    half = np.tril(np.ones(y.shape[-2:])) - np.eye(y.shape[-1]) / 2
    back = np.linalg.inv(y)
    return _symmetric(back.mT @ ((y.mT @ g) * half) @ back)


def _by_differences(m: Numbers, values: Numbers) -> Numbers:
    """The entries of a matrix over v_j - v_i, and 0 on its diagonal."""
    one = np.eye(np.shape(values)[-1])
    return m * (1 - one) / (values[..., None, :] - values[..., :, None] + one)


def _read_half(g: Numbers, uplo: str) -> Numbers:
    """The cotangent of a symmetric matrix in the half that LAPACK reads."""
    both = g + g.mT
    return (np.tril(both, -1) if uplo == "L" else np.triu(both, 1)) + np.tril(np.triu(g))


def _eigenvalues_rule(g: Numbers, v: Numbers, uplo: str) -> Numbers:
    return _read_half((v * g[..., None, :]) @ v.mT, uplo)


def _eigenvectors_rule(g: Numbers, y: Numbers, values: Numbers, uplo: str) -> Numbers:
    return _read_half(_symmetric(y @ _by_differences(y.mT @ g, values) @ y.mT), uplo)


_in_floats(
    np.linalg.cholesky,
    (lambda y, a, upper=False: lambda g: _cholesky_rule(*((g.mT, y.mT) if upper else (g, y))),),
    forward=lambda a, upper=False: np.linalg.cholesky(_symmetric(a), upper=upper),
    params=("upper",),
)
eigvalsh: Op = _in_floats(
    np.linalg.eigvalsh,
    (lambda y, a, uplo="L": lambda g: _eigenvalues_rule(g, eigenvectors(a, uplo), uplo),),
    forward=lambda a, uplo="L": np.linalg.eigvalsh(a, uplo), kinks="equal eigenvalues", operands=1,
    arrange=lambda a, UPLO="L": ((a,), {"uplo": UPLO}),  # noqa: N803 - NumPy's word
)  # fmt: skip
eigenvectors: Op = _in_floats(
    "eigenvectors",
    (lambda y, a, uplo="L": lambda g: _eigenvectors_rule(g, y, eigvalsh(a, uplo), uplo),),
    forward=lambda a, uplo="L": np.linalg.eigh(a, uplo)[1], kinks="equal eigenvalues",
    params=("uplo",),
)  # fmt: skip


@formula(np.linalg.eigh)
def eigh(a: Numbers, UPLO: str = "L") -> Numbers:  # noqa: N803 - NumPy's word
    return type(np.linalg.eigh(np.eye(1)))(eigvalsh(a, UPLO), eigenvectors(a, UPLO))


# -- singular values and vectors, the inverse of what is not square ------------------------------


def _vectors_rule(g: Numbers, u: Numbers, s: Numbers, vh: Numbers) -> Numbers:
    """Of the left vectors u; the right ones are the left ones of the matrix turned.

    What turns the vectors among themselves, and what leaves the space of them.
    """
    inner, sizes = u.mT @ g, s[..., None, :]
    twist, beside = _by_differences(inner - inner.mT, s * s), g - u @ inner
    return (u @ (twist * sizes) + beside / sizes) @ vh


_of_svd = partial(_in_floats, kinks="equal singular values")
svdvals = _of_svd(
    "svdvals", (lambda y, a: lambda g: (left_vectors(a) * g[..., None, :]) @ right_vectors(a),),
    forward=lambda a: np.linalg.svd(a, compute_uv=False), also=(np.linalg.svdvals,),
)  # fmt: skip
left_vectors: Op = _of_svd(
    "left_singular_vectors",
    (lambda y, a: lambda g: _vectors_rule(g, y, svdvals(a), right_vectors(a)),),
    forward=lambda a: np.linalg.svd(a, full_matrices=False)[0],
)  # fmt: skip
right_vectors: Op = _of_svd(
    "right_singular_vectors",
    (lambda y, a: lambda g: _vectors_rule(g.mT, y.mT, svdvals(a), left_vectors(a).mT).mT,),
    forward=lambda a: np.linalg.svd(a, full_matrices=False)[2],
)  # fmt: skip


@formula(np.linalg.svd)
def svd(
    a: Numbers, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Numbers:
    """The thin form: U, the singular values, V^T."""
    if hermitian:
        raise TypeError("svd takes any matrix as it is: leave hermitian= out")
    if not compute_uv:
        return svdvals(a)
    if full_matrices and np.shape(a)[-1] != np.shape(a)[-2]:
        raise TypeError("svd follows the thin form: write svd(a, full_matrices=False)")
    kind = type(np.linalg.svd(np.eye(1)))
    return kind(left_vectors(a), svdvals(a), right_vectors(a))


def _pinv_rule(g: Numbers, y: Numbers, a: Numbers) -> Numbers:
    """By Golub and Pereyra (1973): through A, and through the spaces that A reaches and loses."""
    gt, yt = g.mT, y.mT
    return (gt - a @ y @ gt) @ y @ yt + yt @ y @ (gt - gt @ y @ a) - yt @ g @ yt


_in_floats(
    np.linalg.pinv, (lambda y, a: lambda g: _pinv_rule(g, y, a),),
    forward=lambda a: np.linalg.pinv(a),  # noqa: PLW0108 - no threshold
    kinks="changes of rank", school=("pinverse",),
)  # fmt: skip
