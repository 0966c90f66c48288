"""Sums, means, products, extremes, variances, norms and running sums along axes.

`var` and `std` divide by n unless `ddof=` (PyTorch: `correction=`, `unbiased=`) says otherwise:
NumPy's default, where PyTorch's own is n - 1.
"""

from fractions import Fraction
from functools import lru_cache, partial
from math import prod as product

import numpy as np

from gradcheck.ops.formula import composed, compound
from gradcheck.ops.row import Composed, Op, Pull, Vjp, op
from gradcheck.ops.shapes import bare_numbers
from gradcheck.values import Call, Numbers, Params, Routine

FLOAT = np.dtype(np.float64)
Axis = int | tuple[int, ...] | None
Shape = tuple[int, ...]

# -- axes that are gone, and cotangents spread over them again ------------------------------------


def reduced_axes(shape: Shape, axis: Axis) -> Shape:
    """The axes that a reduction takes away, counted from the front."""
    if axis is None or not shape:  # a single number is reduced along its axis 0 or -1 too
        return tuple(range(len(shape)))
    return tuple(k % len(shape) for k in (axis if isinstance(axis, tuple | list) else (axis,)))


def spread(g: Numbers, shape: Shape, axis: Axis, keepdims: bool) -> Numbers:
    """A reduction's g (or y) with the lost axes as ones, so that it broadcasts against `shape`."""
    if keepdims or axis is None or not shape:
        return g
    lost = reduced_axes(shape, axis)
    return np.reshape(g, tuple(1 if k in lost else n for k, n in enumerate(shape)))


def repeat_along(g: Numbers, shape: Shape) -> Numbers:
    """What broadcasts against a shape, in this shape."""
    if type(g) is np.float64:
        if not shape:
            return g
        full = np.empty(shape)
        full.fill(g)
        return full
    if isinstance(g, np.ndarray):
        return g * _ones(shape)  # much faster than broadcast_to, and the same to the last bit
    return np.broadcast_to(g, shape)


@lru_cache(maxsize=4096)
def _ones(shape: Shape) -> Numbers:
    return np.broadcast_to(1.0, shape)


def count(shape: Shape, axis: Axis) -> float:
    """How many entries go into each value."""
    return float(product(shape[k] for k in reduced_axes(shape, axis)))


def _shares(y: Numbers, x: Numbers, axis: Axis) -> Numbers:
    """An equal share for every entry that reaches the extreme y: PyTorch's convention for amax."""
    tied = np.equal(x, y) * 1.0
    return tied / np.sum(tied, axis=axis, keepdims=True)


def _split_axes(shape: Shape, axis: Axis) -> tuple[Shape, Shape, Shape]:
    """The axes that are taken away, their places as the last ones, and the shape that stays."""
    lost = reduced_axes(shape, axis)
    kept = tuple(n for k, n in enumerate(shape) if k not in lost)
    return lost, tuple(range(len(kept), len(shape))), kept


def gather_along(x: Numbers, axis: Axis) -> Numbers:
    """The reduced axes moved to the end and made one."""
    lost, last, kept = _split_axes(x.shape, axis)
    return np.reshape(np.moveaxis(x, lost, last), (*kept, int(count(x.shape, axis))))


def _before_each(x: Numbers) -> Numbers:
    """For each entry of the last axis, the product of those before it."""
    first = np.ones((*x.shape[:-1], 1))
    return np.concatenate([first, np.cumprod(x[..., :-1], axis=-1)], axis=-1)


def others(x: Numbers) -> Numbers:
    """For each entry of the last axis the product of all others: of those before and behind it."""
    return _before_each(x) * np.flip(_before_each(np.flip(x, axis=-1)), axis=-1)


def _along(function: Routine, vjps: tuple[Vjp], **cells: Numbers) -> Op:
    return op(function, vjps, **{"elementwise": False, "params": ("axis", "keepdims"), **cells})


def _reducing(function: Routine, slope: Routine, **cells: Numbers) -> Op:
    """Enter a row that takes axes away: of `y`, laid along them again, `x` and `axis` its slope."""

    def rule(
        y: Numbers, x: Numbers, axis: Axis = None, keepdims: bool = False, **how: Numbers
    ) -> Pull:
        return lambda g: (
            spread(g, x.shape, axis, keepdims)
            * slope(spread(y, x.shape, axis, keepdims), x, axis, **how)
        )

    return _along(function, (rule,), **cells)


# -- sums, means, products, extremes -------------------------------------------------------------


def _sum_rule(y: Numbers, x: Numbers, axis: Axis = None, keepdims: bool = False) -> Pull:
    shape = x.shape
    return lambda g: repeat_along(spread(g, shape, axis, keepdims), shape)


def _mean(x: Numbers, axis: Axis = None, keepdims: bool = False) -> Numbers:
    """NumPy's mean, without the detours that other dtypes ask for."""
    if type(x) is np.ndarray and x.dtype is FLOAT and x.size and x.ndim:
        total: Numbers = np.add.reduce(x, axis, None, None, keepdims)  # type: ignore[call-overload]
        return total / (x.size if axis is None else count(x.shape, axis))
    return np.mean(x, axis=axis, keepdims=keepdims)


def _mean_rule(y: Numbers, x: Numbers, axis: Axis = None, keepdims: bool = False) -> Pull:
    shape = x.shape
    return lambda g: repeat_along(spread(g, shape, axis, keepdims) / count(shape, axis), shape)


sum = _along(np.sum, (_sum_rule,), neutral=0.0)
mean = _along(np.mean, (_mean_rule,), forward=_mean)


def _extreme(word: str, function: Numbers, also: Numbers) -> Op:
    return _reducing(
        function, _shares, name=word, also=(also,), kinks="ties", rounds=False, school=(f"a{word}",)
    )


max = _extreme("max", np.max, np.amax)
min = _extreme("min", np.min, np.amin)


def _without_each(y: Numbers, x: Numbers, axis: Axis) -> Numbers:
    """The product of all the others, for each entry; entry by entry where one of them is zero."""
    if np.all(np.not_equal(x, 0)):
        return y / x
    lost, last, kept = _split_axes(x.shape, axis)
    without = np.reshape(others(gather_along(x, axis)), (*kept, *(x.shape[k] for k in lost)))
    return np.moveaxis(without, last, lost)


prod = _reducing(np.prod, _without_each, neutral=1.0)


def shifted_logsumexp(x: Numbers, axis: Axis = None, keepdims: bool = False) -> Numbers:
    """Shifted by the largest entry, so that nothing overflows."""
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


def plain_logsumexp(x: Numbers, axis: Axis = None, keepdims: bool = False) -> Numbers:
    """As it is defined."""
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


logsumexp = _reducing(
    shifted_logsumexp, lambda y, x, axis: np.exp(x - y), name="logsumexp",
    exact=Composed(plain_logsumexp),
)  # fmt: skip

# -- variances ------------------------------------------------------------------------------------


def _freedom(shape: Shape, axis: Axis, ddof: float) -> Numbers:
    """The divisor n - ddof, where 0 gives what NumPy gives: inf or nan."""
    return np.float64(count(shape, axis) - ddof)


def _centre(x: Numbers, axis: Axis) -> Numbers:
    return x - np.mean(x, axis=axis, keepdims=True)


def _std_slope(y: Numbers, x: Numbers, axis: Axis, ddof: float = 0) -> Numbers:
    """(x - mean) / ((n - ddof) y), and 0 where all entries are equal: PyTorch's convention."""
    flat = np.equal(y, 0)
    slope = _centre(x, axis) / (_freedom(x.shape, axis, ddof) * np.where(flat, 1.0, y))
    return np.where(flat, 0.0, slope)


def _var_defined(x: Numbers, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Numbers:
    """The mean of the squares less the square of the mean, times n / (n - ddof)."""
    n = int(count(x.shape, axis))
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return (n * np.sum(x * x, axis=axis, keepdims=keepdims) - total * total) / (n * (n - ddof))


def _var_rule(
    y: Numbers, x: Numbers, axis: Axis = None, ddof: int = 0, keepdims: bool = False
) -> Pull:
    return lambda g: (
        spread(g, x.shape, axis, keepdims) * (2 / _freedom(x.shape, axis, ddof)) * _centre(x, axis)
    )


_varying: Params = {"params": ("axis", "ddof", "keepdims")}
var = _along(np.var, (_var_rule,), exact=Composed(_var_defined), **_varying)
std = _reducing(
    np.std, _std_slope, exact=Composed(lambda x, **where: np.sqrt(_var_defined(x, **where))),
    kinks="all entries equal", **_varying,
)  # fmt: skip

# -- formulas of these: the median, the range, the weighted average ------------------------------


@composed(function=np.nansum)
def nansum(
    x: Numbers, axis: Axis = None, *, keepdims: bool = False, dtype: Numbers = None
) -> Numbers:
    """The sum of what is a number."""
    bare = bare_numbers(x)
    numbers = x if bare.dtype.kind != "f" else np.where(np.isnan(bare), 0.0, x)
    return np.sum(numbers, axis=axis, keepdims=keepdims)


@composed(function=np.median)
def median(x: Numbers, axis: Axis = None, *, keepdims: bool = False) -> Numbers:
    """The mean of the two middle entries in order; entries that tie with one share its gradient."""
    rows = gather_along(x, axis)
    bare, n = bare_numbers(rows), rows.shape[-1]
    ordered = np.sort(bare, axis=-1)

    def entry(k: int) -> Numbers:
        same = np.equal(bare, ordered[..., k : k + 1])
        return np.sum(np.where(same, rows, 0.0), axis=-1) / np.sum(same, axis=-1)

    y = (entry((n - 1) // 2) + entry(n // 2)) / 2
    if not keepdims:
        return y
    lost = reduced_axes(x.shape, axis)
    return np.reshape(y, tuple(1 if k in lost else m for k, m in enumerate(x.shape)))


compound(
    np.ptp,
    lambda x, axis=None, *, keepdims=False: (
        max(x, axis=axis, keepdims=keepdims) - min(x, axis=axis, keepdims=keepdims)
    ),
)


@composed(function=np.average)
def average(
    x: Numbers, axis: Axis = None, weights: Numbers = None, *, keepdims: bool = False
) -> Numbers:
    """The sum of w x over the sum of w; weights of one axis are laid along it."""
    if weights is None:
        return mean(x, axis=axis, keepdims=keepdims)
    if np.ndim(weights) == 1 and np.ndim(x) > 1 and isinstance(axis, int):
        weights = np.reshape(weights, (-1,) + (1,) * (np.ndim(x) - 1 - axis % np.ndim(x)))
    total = np.sum(weights * np.ones(np.shape(x)), axis=axis, keepdims=keepdims)
    return np.sum(weights * x, axis=axis, keepdims=keepdims) / total


# -- running sums and products, differences, order -----------------------------------------------


def _from_the_end(g: Numbers, axis: int | None) -> Numbers:
    """Running sums backwards; what was flattened (axis None) has one axis."""
    axis = 0 if axis is None else axis
    return np.flip(np.cumsum(np.flip(g, axis=axis), axis=axis), axis=axis)


def _product_rule(g: Numbers, y: Numbers, x: Numbers, axis: int | None) -> Numbers:
    """The sum over later products of g y / x; entry by entry where one of them is zero."""
    x = np.reshape(x, g.shape)
    if np.all(np.not_equal(x, 0)):
        return _from_the_end(g * y, axis) / x
    axis = 0 if axis is None else axis
    x, g = np.moveaxis(x, axis, -1), np.moveaxis(g, axis, -1)
    return np.moveaxis(_before_each(x) * _later_products(g, x), -1, axis)


def _later_products(g: Numbers, x: Numbers) -> Numbers:
    """The sum over j from each entry on of g_j times the product of what stands between."""
    sums = [g[..., -1]]
    for i in reversed(range(x.shape[-1] - 1)):
        sums.append(g[..., i] + x[..., i + 1] * sums[-1])
    return np.stack(sums[::-1], axis=-1)


def _differences(
    x: Numbers, n: int = 1, axis: int = -1, prepend: Numbers = None, append: Numbers = None
) -> Call:
    """With what stands before and behind, joined to x."""
    around = [None if v is None or v is np._NoValue else v for v in (prepend, append)]
    if n and any(v is not None for v in around):
        thin = [1 if k == axis % np.ndim(x) else m for k, m in enumerate(np.shape(x))]
        before, behind = (
            [] if v is None else [v if np.ndim(v) else np.broadcast_to(v, thin)] for v in around
        )
        x = np.concatenate([*before, x, *behind], axis=axis)
    return (x,), {"n": n, "axis": axis}


def _diff_rule(y: Numbers, x: Numbers, n: int = 1, axis: int = -1) -> Numbers:
    """Each difference goes to its two neighbours, n times (as many as there were entries)."""
    times = np.minimum(n, x.shape[axis])

    def back(g: Numbers) -> Numbers:
        for _ in range(times):
            nothing = np.zeros([1 if k == axis % g.ndim else m for k, m in enumerate(g.shape)])
            g = np.concatenate([nothing, g], axis=axis) - np.concatenate([g, nothing], axis=axis)
        return g

    return back


def _unsort(g: Numbers, x: Numbers, axis: int | None) -> Numbers:
    """Every entry back to where it was before sorting; equal entries keep their order."""
    if axis is None:
        return np.reshape(_unsort(g, np.reshape(x, (-1,)), 0), x.shape)
    order = np.argsort(x, axis=axis, kind="stable")
    return np.take_along_axis(g, np.argsort(order, axis=axis), axis)


_running = partial(op, elementwise=False, params=("axis",))
cumsum = _running(
    np.cumsum,
    (lambda y, x, axis=None: lambda g, shape=x.shape: np.reshape(_from_the_end(g, axis), shape),),
)
cumprod = _running(
    np.cumprod,
    (lambda y, x, axis=None: lambda g: np.reshape(_product_rule(g, y, x, axis), x.shape),),
)
diff = op(np.diff, (_diff_rule,), elementwise=False, operands=1, arrange=_differences)
sort = _running(
    np.sort, (lambda y, x, axis=-1: lambda g: _unsort(g, x, axis),), kinks="ties", rounds=False
)

# -- norms ---------------------------------------------------------------------------------------

OF_MATRIX: dict[Numbers, tuple[float, int]] = {
    1: (np.inf, 0), -1: (-np.inf, 0), np.inf: (np.inf, 1), -np.inf: (-np.inf, 1),
}  # fmt: skip
"""A norm of matrices: the norm of a vector, of the sums along the first or the second axis."""
SPECTRAL: dict[Numbers, float] = {2: np.inf, -2: -np.inf, "nuc": 1}
"""A norm of matrices: the norm of a vector, of the singular values."""


def _lengths(
    x: Numbers, ord: Numbers = None, axis: Axis = None, keepdims: bool = False, *, p: Numbers = None
) -> Call:
    """The call with its defaults: over one axis a vector's norm, over two a matrix's.

    With `p=` the entries of all axes are one vector's. Raises TypeError for what is no norm of a
    matrix, and for a count.
    """
    if p is not None:
        x, ord = _as_vector(x, p, axis, keepdims)
    lost = reduced_axes(np.shape(x), axis)
    if ord == 0:
        raise TypeError("norm(..., ord=0) counts the entries that are not zero: no derivative")
    if ord not in (None, "fro") and len(lost) == 2:
        return _of_matrix(x, ord, lost, keepdims)
    return (x,), {"ord": ord, "axis": axis, "keepdims": keepdims}


def _of_matrix(x: Numbers, ord: Numbers, axes: tuple[int, ...], keepdims: bool) -> Call:
    """A norm of matrices as one of a vector that is found first."""
    if ord in SPECTRAL:
        x, ord = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False), SPECTRAL[ord]
        across = -1
        if keepdims:
            x, across = np.moveaxis(np.expand_dims(x, -1), (-2, -1), axes), axes[0]
    elif ord in OF_MATRIX:
        ord, first = OF_MATRIX[ord]
        along, across = axes[first], axes[1 - first]
        x = np.sum(np.absolute(x), axis=along, keepdims=keepdims)
        across -= across > along and not keepdims
    else:
        raise TypeError(f"norm(..., ord={ord!r}) is no norm of a matrix")
    return (x,), {"ord": ord, "axis": across, "keepdims": keepdims}


def _as_vector(x: Numbers, p: Numbers, axis: Axis, keepdims: bool) -> tuple[Numbers, Numbers]:
    """The operand and its order where PyTorch's `p=` is meant."""
    if np.ndim(x) == 1 or (axis is not None and np.size(axis) == 1):
        return x, p
    if p in (2, "fro"):
        return x, None
    if axis is None and not keepdims:
        return np.ravel(x), p
    raise TypeError(
        f"norm(..., p={p!r}) over several axes is the norm of all their entries: reshape these to "
        "one axis first; np.linalg.norm(x, ord) is the norm of a matrix"
    )


def _slope(y: Numbers, x: Numbers, axis: Axis, ord: Numbers) -> Numbers:
    """dy/dx of a vector norm. PyTorch's conventions: 0 at 0, ties share."""
    if ord in (None, "fro", 2):
        return np.where(np.equal(y, 0), 0.0, x / np.where(np.equal(y, 0), 1.0, y))
    if ord == 1:
        return np.sign(x)
    if abs(ord) == np.inf:
        return np.sign(x) * _shares(y, np.absolute(x), axis)
    flat = np.equal(y, 0) | np.equal(x, 0)  # below 1 the slope at 0 is 0 by convention
    size = np.where(flat, 1.0, np.absolute(x)) / np.where(flat, 1.0, y)
    return np.where(flat, 0.0, np.sign(x) * size ** (ord - 1))


def _norm_defined(x: Numbers, ord: Numbers, axis: Axis, keepdims: bool) -> Numbers:
    """Root of the sum of squares; largest absolute value; p-th root of the sum of p-th powers."""
    if ord in (None, "fro", 2):
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if abs(ord) == np.inf:
        return (np.max if ord > 0 else np.min)(np.absolute(x), axis=axis, keepdims=keepdims)
    total = np.sum(np.absolute(x) ** ord, axis=axis, keepdims=keepdims)
    return total if ord == 1 else total ** (1 / Fraction(ord))


norm = _reducing(
    np.linalg.norm, _slope, exact=Composed(_norm_defined), kinks="x = 0; ties", operands=1,
    arrange=_lengths, params=(),
)  # fmt: skip
