"""Products of vectors, matrices and tensors; and what NumPy leaves to LAPACK.

Of balls flint multiplies, inverts and solves matrices whole, with proven bars: NumPy would go
through an object array product by product in Python, some hundred times slower. The closed form of
determinants, inverses and systems expands by minors or eliminates entry by entry: ways that share
no code. Of factors both exact kinds abstain, and differences of floats judge: PyTorch's gradients
(J. Townsend, "Differentiating the singular value decomposition", 2016), where vectors are known up
to their sign, and by distinct values only.
"""

from collections.abc import Sequence
from functools import partial, reduce
from itertools import combinations
from math import prod
from string import ascii_letters

import numpy as np
from flint import arb_mat

from gradcheck.errors import OutOfBudget
from gradcheck.ops.reductions import others
from gradcheck.ops.row import ABSTAINS, TABLE, Composed, Op, formula, op
from gradcheck.ops.shapes import bare_numbers, scatter
from gradcheck.values import Array, Call, Numbers, Routine

# -- of exact numbers -----------------------------------------------------------------------------

PRODUCTS = 400
"""So many products, within a matrix product, take as long as making one ball in Python."""
STEPS = 16
"""Likewise the steps of an elimination, n^3 for n rows."""
WRITTEN_OUT = 100_000
"""The most products that a closed form is made of."""


def of_matrices(rule: Routine, signature: str, share: int) -> Composed:
    """A ball cell that a rule on `arb_mat`s serves, for each matrix of a stack.

    `signature` is NumPy's, "(n,k),(k,m)->(n,m)"; `share` steps of the rule cost as much as a ball.
    """

    def cell(*operands: Numbers) -> Numbers:
        entries = (e for v in operands for e in np.asarray(v, dtype=object).flat)
        kind: Numbers = next(type(e) for e in entries if hasattr(type(e), "by_matrices"))
        return kind.by_matrices(rule, signature, share, operands)

    return Composed(cell)


_PRODUCT = of_matrices(arb_mat.__mul__, "(n,k),(k,m)->(n,m)", PRODUCTS)


def product(a: Numbers, b: Numbers) -> Numbers:
    """`a @ b`; a vector is a row on the left and a column on the right, and comes off again."""
    if not (np.ndim(a) and np.ndim(b) and np.size(a) and np.size(b)):
        return np.matmul(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
    row, column = np.ndim(a) == 1, np.ndim(b) == 1
    y = np.asarray(_PRODUCT.function(a[None, :] if row else a, b[:, None] if column else b))
    return np.squeeze(y, axis=(-2,) * row + (-1,) * column)[()]


def write_out(a: Numbers, b: Numbers) -> Numbers:
    """`a @ b`, product by product; OutOfBudget where no one would wait for it."""
    products = np.size(a) * (np.shape(b)[-1] if np.ndim(b) > 1 else 1)
    if products > WRITTEN_OUT:
        raise OutOfBudget(f"a matrix product of {products} products, written out one by one")
    return np.matmul(np.asarray(a, dtype=object), np.asarray(b, dtype=object))


def sum_products(subscripts: str, *operands: Numbers) -> Numbers:
    """Two operands' `einsum` as a stack of matrix products; NumPy's own for anything else.

    What stands in one operand alone is summed there first; what both share with the value is the
    stack, what only they share is contracted.
    """
    terms, out = _spell_out(subscripts, list(map(np.ndim, operands)))
    plain = [np.asarray(v, dtype=object) for v in operands]
    axes = {
        axis for t, v in zip(terms, plain, strict=True) for axis in zip(t, v.shape, strict=True)
    }
    sizes = dict(axes)
    stretched = len(axes) > len(sizes)  # axes of one entry are repeated
    if len(terms) != 2 or stretched or any(len(set(term)) < len(term) for term in terms):
        return np.einsum(f"{','.join(terms)}->{out}", *plain)
    s, t = terms
    stack, inside = ([c for c in s if c in t and (c in out) is kept] for kept in (True, False))
    rows = [c for c in s if c in out and c not in t]
    columns = [c for c in t if c in out and c not in s]

    def lay(term: str, v: Numbers, *groups: Sequence[str]) -> Numbers:
        laid = np.einsum(f"{term}->{''.join(map(''.join, groups))}", v)
        return np.reshape(laid, [prod(sizes[c] for c in group) for group in groups])

    a, b = lay(s, plain[0], stack, rows, inside), lay(t, plain[1], stack, inside, columns)
    order = stack + rows + columns
    y = np.asarray(product(a, b)).reshape([sizes[c] for c in order])
    return y.transpose([order.index(c) for c in out])


# -- products of matrices ------------------------------------------------------------------------


def _pull_left(g: Numbers, shape: tuple[int, ...], b: Numbers) -> Numbers:
    """The product g . b^T, for every mixture of vectors, matrices and stacks of matrices."""
    if b.ndim == 1:
        return g[..., None] * b if len(shape) > 1 else g * b
    if len(shape) == 1:
        return np.sum(g[..., None, :] * b, axis=-1)
    return g @ b.mT


def _pull_right(g: Numbers, a: Numbers, shape: tuple[int, ...]) -> Numbers:
    """The product a^T . g, likewise."""
    if a.ndim == 1:
        return a[:, None] * g[..., None, :] if len(shape) > 1 else g * a
    if len(shape) == 1:
        return np.sum(a * g[..., None], axis=tuple(range(a.ndim - 1)))
    return a.mT @ g


matmul = op(
    np.matmul,
    (
        lambda y, a, b: lambda g, shape=a.shape: _pull_left(g, shape, b),
        lambda y, a, b: lambda g, shape=b.shape: _pull_right(g, a, shape),
    ),
    also=(np.linalg.matmul,), symbolic=Composed(write_out), ball=Composed(product),
    elementwise=False, school=("mm", "mv", "bmm"),
)  # fmt: skip
op(
    np.outer,
    (
        lambda y, a, b: lambda g, shape=a.shape: np.reshape(g @ np.ravel(b), shape),
        lambda y, a, b: lambda g, shape=b.shape: np.reshape(np.ravel(a) @ g, shape),
    ),
    also=(np.linalg.outer,), elementwise=False, school=("ger",),
)  # fmt: skip

# -- einsum --------------------------------------------------------------------------------------


def _spell_out(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of every operand and of the value, with `...` and `->` written out."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    widths = [n + 3 - len(t) if "..." in t else 0 for t, n in zip(terms, ranks, strict=True)]
    dots = "".join(c for c in ascii_letters if c not in subscripts)[: max(widths)]
    letters = left.replace(",", "").replace("...", "")
    terms = [t.replace("...", dots[len(dots) - w :]) for t, w in zip(terms, widths, strict=True)]
    once = "".join(sorted(c for c in letters if letters.count(c) == 1))
    return terms, right.replace("...", dots) if arrow else dots + once


def _einsum_rule(y: Numbers, *operands: Numbers, subscripts: str) -> Numbers:
    """The einsum of g with the other operands; letters that only stand here are spread out."""

    def pull(i: int, g: Numbers) -> Numbers:
        terms, out = _spell_out(subscripts, list(map(np.ndim, operands)))
        own, shape = terms.pop(i), operands[i].shape
        sizes = dict(zip(own, shape, strict=True))
        alone = [c for c in sizes if c not in out + "".join(terms)]
        rest = (*operands[:i], *operands[i + 1 :], *(np.ones(sizes[c]) for c in alone))
        pulled = np.einsum(f"{','.join([out, *terms, *alone])}->{''.join(sizes)}", g, *rest)
        if len(sizes) == len(own):
            return pulled
        grid = dict(zip(sizes, np.indices(tuple(sizes.values()), sparse=True), strict=True))
        return scatter(pulled, shape=shape, index=tuple(grid[c] for c in own))  # a diagonal

    return pull


def _arrange_subscripts(subscripts: Numbers, *operands: Numbers, optimize: Numbers = False) -> Call:
    """The text and the operands, from NumPy's other form too: numbers for letters after each."""
    if not isinstance(subscripts, str):
        given = (subscripts, *operands)
        operands, out = given[: len(given) // 2 * 2 : 2], given[-1:] if len(given) % 2 else ()
        places = (*given[1 : 2 * len(operands) : 2], *out)
        if not all(isinstance(term, list | tuple) for term in places):
            raise TypeError("einsum takes its subscripts as a text: np.einsum('ij,jk->ik', a, b)")
        texts = ["".join("..." if k is Ellipsis else ascii_letters[k] for k in t) for t in places]
        count = len(operands)
        subscripts = ",".join(texts[:count]) + "".join(f"->{text}" for text in texts[count:])
    elif len(operands) == 1 and isinstance(operands[0], list | tuple):  # PyTorch takes a list too
        operands = tuple(operands[0])
    return operands, {"subscripts": subscripts}


op(
    np.einsum, _einsum_rule,
    forward=lambda *operands, subscripts: np.einsum(subscripts, *operands),
    ball=Composed(lambda *operands, subscripts: sum_products(subscripts, *operands)),
    elementwise=False, operands=None, arrange=_arrange_subscripts,
)  # fmt: skip

# -- formulas of these ---------------------------------------------------------------------------


@formula(np.tensordot, also=(np.linalg.tensordot,))
def tensordot(a: Numbers, b: Numbers, axes: Numbers = 2, axis: Numbers = None) -> Numbers:
    """The sums over axes of both, as one product of matrices; PyTorch's `dims=` is `axis` here."""
    axes, (n, m) = axes if axis is None else axis, (np.ndim(a), np.ndim(b))
    over: Numbers = (range(n - axes, n), range(axes)) if isinstance(axes, int) else axes
    left, right = ([k] if isinstance(k, int) else list(k) for k in over)
    left, right = [k % n for k in left], [k % m for k in right]
    rows, columns = ([k for k in range(r) if k not in at] for r, at in ((n, left), (m, right)))
    sizes = [*(np.shape(a)[k] for k in rows), *(np.shape(b)[k] for k in columns)]
    count = prod(np.shape(a)[k] for k in left)
    a = np.reshape(np.transpose(a, (*rows, *left)), (prod(sizes[: len(rows)]), count))
    b = np.reshape(np.transpose(b, (*right, *columns)), (count, prod(sizes[len(rows) :])))
    return np.reshape(a @ b, tuple(sizes))


@formula(np.dot)
def dot(a: Numbers, b: Numbers) -> Numbers:
    if not (np.ndim(a) and np.ndim(b)):
        return a * b
    return a @ b if np.ndim(b) < 3 else tensordot.meaning(a, b, ([-1], [-2]))


formula(np.inner)(
    lambda a, b: tensordot.meaning(a, b, (-1, -1)) if np.ndim(a) and np.ndim(b) else a * b
)
formula(np.vdot)(lambda a, b: np.ravel(a) @ np.ravel(b))


@formula(np.vecdot, also=(np.linalg.vecdot,))
def vecdot(a: Numbers, b: Numbers, axis: int = -1) -> Numbers:
    a, b = (v if axis == -1 else np.moveaxis(v, axis, -1) for v in (a, b))
    return np.sum(a * b, axis=-1)


@formula(np.kron)
def kron(a: Numbers, b: Numbers) -> Numbers:
    n = max(np.ndim(a), np.ndim(b))
    shapes = [(1,) * (n - np.ndim(v)) + np.shape(v) for v in (a, b)]
    left = np.reshape(a, [m for size in shapes[0] for m in (size, 1)])
    right = np.reshape(b, [m for size in shapes[1] for m in (1, size)])
    return np.reshape(left * right, [p * q for p, q in zip(*shapes, strict=True)])


def _arrange_cross(
    a: Numbers, b: Numbers, axisa: int = -1, axisb: int = -1, axisc: int = -1,
    axis: int | None = None,
) -> Call:  # fmt: skip
    """Vectors of three entries; NumPy's products in the plane are refused, as PyTorch does."""
    if axis is None:
        axis = axisc
        a, b = (v if k == axis else np.moveaxis(v, k, axis) for v, k in ((a, axisa), (b, axisb)))
    lengths = [np.shape(v)[axis] for v in (a, b)]
    if lengths != [3, 3]:
        raise TypeError(f"cross takes vectors of 3 entries along axis {axis}, not of {lengths}")
    return (a, b), {"axis": axis}


op(
    np.cross,
    (
        lambda y, a, b, axis=-1: lambda g: np.cross(b, g, axis=axis),
        lambda y, a, b, axis=-1: lambda g: np.cross(g, a, axis=axis),
    ),
    also=(np.linalg.cross,), elementwise=False, arrange=_arrange_cross, operands=2,
)  # fmt: skip


@formula(np.linalg.multi_dot, school=("chain_matmul",))
def multi_dot(arrays: Sequence[Numbers], *more: Numbers) -> Numbers:
    return reduce(matmul, (arrays, *more) if more else arrays)


@formula(np.linalg.matrix_power)
def matrix_power(a: Numbers, n: int) -> Numbers:
    if n < 0:
        return matrix_power.meaning(np.linalg.inv(a), -n)
    if n < 2:
        return a if n else 0 * a + np.eye(np.shape(a)[-1])
    half = matrix_power.meaning(a, n // 2)
    return half @ half @ a if n % 2 else half @ half


@formula()
def normalize(x: Numbers, p: float = 2.0, axis: Numbers = 1, eps: float = 1e-12) -> Numbers:
    return x / np.maximum(np.linalg.norm(x, p, axis=axis, keepdims=True), eps)


formula(name="vector_norm", also=(np.linalg.vector_norm,))(
    lambda x, ord=2, axis=None, keepdims=False: TABLE["norm"](x, None, axis, keepdims, p=ord)
)
formula(name="matrix_norm", also=(np.linalg.matrix_norm,))(
    lambda x, ord="fro", axis=(-2, -1), keepdims=False: np.linalg.norm(x, ord, axis, keepdims)
)


# -- what NumPy leaves to LAPACK ------------------------------------------------------------------

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

    def cofactor(i: int, j: int) -> Numbers:
        rows, columns = (np.delete(np.arange(n), k) for k in (i, j))
        return (-1) ** (i + j) * np.linalg.det(a[..., rows[:, None], columns])

    rows = [np.stack([cofactor(i, j) for j in range(n)], axis=-1) for i in range(n)]
    return np.stack(rows, axis=-2)


def _map_stack(rule: Routine, signature: str) -> Routine:
    apply = np.vectorize(rule, otypes=[object], signature=signature)

    def of_stack(a: Numbers) -> Numbers:
        if a.shape[-1] > LARGEST:
            raise OutOfBudget(f"matrices of more than {LARGEST} rows in exact numbers")
        return apply(np.asarray(a, dtype=object))

    return of_stack


@partial(_map_stack, signature="(n,n)->()")
def _det_by_minors(a: Array) -> Numbers:
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


@partial(_map_stack, signature="(n,n)->(n,n)")
def _invert_by_elimination(a: Array) -> Array:
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
    cell = of_matrices(arb_mat.solve, "(n,n),(n,k)->(n,k)", STEPS).function
    if np.ndim(b) > 1:
        return cell(a, b)
    return np.asarray(cell(a, np.asarray(b, dtype=object)[:, None]))[..., 0]


_whole(
    np.linalg.inv, (lambda y, a: lambda g: -(y.mT @ g @ y.mT),),
    symbolic=Composed(_invert_by_elimination),
    ball=of_matrices(arb_mat.inv, "(n,n)->(n,n)", STEPS), school=("inverse",),
)  # fmt: skip
_whole(
    np.linalg.solve, (_matrix_rule, lambda y, a, b: lambda g, rank=b.ndim: _solve(a.mT, g, rank)),
    symbolic=Composed(lambda a, b: _invert_by_elimination(a) @ b), ball=Composed(_solve_in_balls),
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


_in_floats(
    np.linalg.cholesky,
    (lambda y, a, upper=False: lambda g: _cholesky_rule(*((g.mT, y.mT) if upper else (g, y))),),
    forward=lambda a, upper=False: np.linalg.cholesky(_symmetric(a), upper=upper),
    params=("upper",),
)
eigvalsh: Op = _in_floats(
    np.linalg.eigvalsh,
    (lambda y, a, uplo="L": lambda g: _read_half(
        ((v := eigenvectors(a, uplo)) * g[..., None, :]) @ v.mT, uplo),),
    forward=lambda a, uplo="L": np.linalg.eigvalsh(a, uplo), kinks="equal eigenvalues", operands=1,
    arrange=lambda a, UPLO="L": ((a,), {"uplo": UPLO}),  # noqa: N803 - NumPy's word
)  # fmt: skip
eigenvectors: Op = _in_floats(
    "eigenvectors",
    (lambda y, a, uplo="L": lambda g: _read_half(
        _symmetric(y @ _by_differences(y.mT @ g, eigvalsh(a, uplo)) @ y.mT), uplo),),
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
