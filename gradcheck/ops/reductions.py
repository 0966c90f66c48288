"""Sums, means, products, extremes, variances, norms and running sums along axes.

`var` and `std` divide by n unless `ddof=` (PyTorch: `correction=`, `unbiased=`) says otherwise:
NumPy's default, where PyTorch's own is n - 1.
"""

from fractions import Fraction
from functools import partial
from math import prod as product

import numpy as np

from gradcheck.ops.row import Composed, Op, Pull, formula, op
from gradcheck.ops.shapes import along, as_tuple
from gradcheck.values import FLOAT, Call, Numbers, Routine

Axis = int | tuple[int, ...] | None
Shape = tuple[int, ...]

# -- axes that are gone, and cotangents spread over them again ------------------------------------


def reduce_axes(shape: Shape, axis: Axis) -> Shape:
    """The axes that a reduction takes away, counted from the front."""
    if axis is None or not shape:  # a single number is reduced along its axis 0 or -1 too
        return tuple(range(len(shape)))
    return tuple(k % len(shape) for k in as_tuple(axis))


def keep_axes(shape: Shape, axis: Axis) -> Shape:
    lost = reduce_axes(shape, axis)
    return tuple(1 if k in lost else n for k, n in enumerate(shape))


def spread(g: Numbers, shape: Shape, axis: Axis, keepdims: bool) -> Numbers:
    """A reduction's g (or y) with the lost axes as ones, so that it broadcasts against `shape`."""
    if keepdims or axis is None or not shape:
        return g
    return np.reshape(g, keep_axes(shape, axis))


def repeat_along(g: Numbers, shape: Shape) -> Numbers:
    """What broadcasts against a shape, in this shape."""
    if not isinstance(g, np.ndarray | np.float64):
        return np.broadcast_to(g, shape)
    if not shape:
        return g
    full = np.empty(shape, g.dtype)  # much faster than broadcast_to
    full[...] = g
    return full


def count(shape: Shape, axis: Axis) -> float:
    return float(product(shape[k] for k in reduce_axes(shape, axis)))


def _shares(y: Numbers, x: Numbers, axis: Axis) -> Numbers:
    """An equal share for every entry that reaches the extreme y: PyTorch's convention for amax."""
    tied = np.equal(x, y) * 1.0
    return tied / np.sum(tied, axis=axis, keepdims=True)


def gather_along(x: Numbers, axis: Axis) -> Numbers:
    """The reduced axes moved to the end and made one."""
    lost = reduce_axes(x.shape, axis)
    kept = tuple(n for k, n in enumerate(x.shape) if k not in lost)
    last = tuple(range(len(kept), len(x.shape)))
    return np.reshape(np.moveaxis(x, lost, last), (*kept, int(count(x.shape, axis))))


def _before_each(x: Numbers) -> Numbers:
    """For each entry of the last axis, the product of those before it."""
    first = np.ones((*x.shape[:-1], 1))
    return np.concatenate([first, np.cumprod(x[..., :-1], axis=-1)], axis=-1)


def others(x: Numbers) -> Numbers:
    """For each entry of the last axis the product of all others: of those before and behind it."""
    return _before_each(x) * np.flip(_before_each(np.flip(x, axis=-1)), axis=-1)


_along = partial(op, elementwise=False, params=("axis", "keepdims"))


def _enter_reduction(function: Routine, slope: Routine, **cells: Numbers) -> Op:
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


def _mean(x: Numbers, axis: Axis = None, keepdims: bool = False) -> Numbers:
    """NumPy's mean, without the detours that other dtypes ask for."""
    if type(x) is np.ndarray and x.dtype is FLOAT and x.size and x.ndim:
        total: Numbers = np.add.reduce(x, axis, None, None, keepdims)  # type: ignore[call-overload]
        return total / (x.size if axis is None else count(x.shape, axis))
    return np.mean(x, axis=axis if np.ndim(x) else None, keepdims=keepdims)


def _without_each(y: Numbers, x: Numbers, axis: Axis) -> Numbers:
    """The product of all the others, for each entry; entry by entry where one of them is zero."""
    if np.all(np.not_equal(x, 0)):
        return y / x
    lost = reduce_axes(x.shape, axis)
    order = [*(k for k in range(len(x.shape)) if k not in lost), *lost]
    without = np.reshape(others(gather_along(x, axis)), tuple(x.shape[k] for k in order))
    return np.moveaxis(without, range(len(order)), order)


def find_top(x: Numbers, axis: Axis) -> Numbers:
    """The largest entries along the axes, which stay; of nothing minus infinity."""
    return np.max(x + 0.0, axis=axis, keepdims=True, initial=-np.inf)


def stable_logsumexp(x: Numbers, axis: Axis = None, keepdims: bool = False) -> Numbers:
    """Shifted by the largest entry, so that nothing overflows."""
    top = find_top(x, axis)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


def plain_logsumexp(x: Numbers, axis: Axis = None, keepdims: bool = False) -> Numbers:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def _extreme_rule(y: Numbers, x: Numbers, axis: Axis = None, keepdims: bool = False) -> Pull:
    """Equal shares; of all entries together those alone, and what is no number where y is none."""
    if axis is not None:
        return lambda g: (
            spread(g, x.shape, axis, keepdims)
            * _shares(spread(y, x.shape, axis, keepdims), x, axis)
        )

    def pull(g: Numbers) -> Numbers:
        tied = np.isnan(x) if np.all(np.isnan(y)) else np.equal(x, y)
        return np.where(tied, g / np.sum(tied), 0.0)

    return pull


_extreme = partial(_along, vjps=(_extreme_rule,), kinks="ties", rounds=False)
_along(
    np.sum,
    (lambda y, x, axis=None, keepdims=False: lambda g, shape=x.shape: (
        repeat_along(spread(g, shape, axis, keepdims), shape)),),
    neutral=0.0,
)  # fmt: skip
_along(
    np.mean,
    (lambda y, x, axis=None, keepdims=False: lambda g, shape=x.shape: (
        repeat_along(spread(g, shape, axis, keepdims) / count(shape, axis), shape)),),
    forward=_mean,
)  # fmt: skip
max = _extreme(np.max, name="max", also=(np.amax,), school=("amax",))
min = _extreme(np.min, name="min", also=(np.amin,), school=("amin",))
_enter_reduction(np.prod, _without_each, neutral=1.0)
_enter_reduction(
    stable_logsumexp, lambda y, x, axis: np.exp(x - y), name="logsumexp",
    exact=Composed(plain_logsumexp),
)  # fmt: skip

# -- variances ------------------------------------------------------------------------------------


def _share_of_centred(x: Numbers, axis: Axis, ddof: float) -> Numbers:
    """(x - mean) / (n - ddof), where a divisor of 0 gives what NumPy gives: inf or nan."""
    return (x - np.mean(x, axis=axis, keepdims=True)) / np.float64(count(x.shape, axis) - ddof)


def _over_root(g: Numbers, y: Numbers) -> Numbers:
    """Of std: g / y, and 0 where all entries are equal, whatever g is: PyTorch's convention."""
    flat = np.equal(y, 0)
    return np.where(flat, 0.0, g / np.where(flat, 1.0, y))


def _var_defined(x: Numbers, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Numbers:
    """The mean of the squares less the square of the mean, times n / (n - ddof)."""
    n = int(count(x.shape, axis))
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return (n * np.sum(x * x, axis=axis, keepdims=keepdims) - total * total) / (n * (n - ddof))


VARYING = ("axis", "ddof", "keepdims")
_along(
    np.var,
    (lambda y, x, axis=None, ddof=0, keepdims=False: lambda g: (
        spread(g, x.shape, axis, keepdims) * 2 * _share_of_centred(x, axis, ddof)),),
    exact=Composed(_var_defined), params=VARYING,
)  # fmt: skip
_along(
    np.std,
    (lambda y, x, axis=None, ddof=0, keepdims=False: lambda g: (
        spread(_over_root(g, y), x.shape, axis, keepdims) * _share_of_centred(x, axis, ddof)),),
    exact=Composed(lambda x, **where: np.sqrt(_var_defined(x, **where))),
    kinks="all entries equal", params=VARYING,
)  # fmt: skip

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
    later = [g[..., -1]]  # from each entry on the sum of g times the product of what stands between
    for i in reversed(range(x.shape[-1] - 1)):
        later.append(g[..., i] + x[..., i + 1] * later[-1])
    return np.moveaxis(_before_each(x) * np.stack(later[::-1], axis=-1), -1, axis)


@formula(np.diff)
def diff(
    x: Numbers, n: int = 1, axis: int = -1, prepend: Numbers = None, append: Numbers = None
) -> Numbers:
    if n < 0 or not np.ndim(x):
        np.diff(np.zeros(np.shape(x)), n)  # NumPy's own refusal
    thin = keep_axes(np.shape(x), axis)
    given = [v for v in (prepend, x, append) if v is not None and v is not np._NoValue]
    if n and len(given) > 1:
        laid = [v if v is x or np.ndim(v) else np.broadcast_to(v, thin) for v in given]
        x = np.concatenate(laid, axis=axis)
    for _ in range(n):
        x = x[along(x, axis, slice(1, None))] - x[along(x, axis, slice(None, -1))]
    return x


def _unsort(g: Numbers, x: Numbers, axis: int | None) -> Numbers:
    """Every entry back to where it was before sorting; equal entries keep their order."""
    if axis is None:
        return np.reshape(_unsort(g, np.reshape(x, (-1,)), 0), x.shape)
    order = np.argsort(x, axis=axis, kind="stable")
    return np.take_along_axis(g, np.argsort(order, axis=axis), axis)


_running = partial(op, elementwise=False, params=("axis",))
_running(
    np.cumsum,
    (lambda y, x, axis=None: lambda g, shape=x.shape: np.reshape(_from_the_end(g, axis), shape),),
)
_running(
    np.cumprod,
    (lambda y, x, axis=None: lambda g: np.reshape(_product_rule(g, y, x, axis), x.shape),),
)
_running(
    np.sort, (lambda y, x, axis=-1: lambda g: _unsort(g, x, axis),), kinks="ties", rounds=False
)

# -- norms: of the entries along some axes, as one vector ------------------------------------------

EUCLID = (None, "fro", 2)
OF_MATRIX: dict[Numbers, tuple[float, int]] = {
    1: (np.inf, 0), -1: (-np.inf, 0), np.inf: (np.inf, 1), -np.inf: (-np.inf, 1),
}  # fmt: skip
"""A norm of matrices: the norm of a vector, of the sums along the first or the second axis."""
SPECTRAL: dict[Numbers, float] = {2: np.inf, -2: -np.inf, "nuc": 1}
"""A norm of matrices: the norm of a vector, of the singular values."""


def _arrange_norm(
    x: Numbers, ord: Numbers = None, axis: Axis = None, keepdims: bool = False, *, p: Numbers = None
) -> Call:
    """The call with its defaults: over one axis a vector's norm, over two a matrix's.

    With `p=` the entries of all axes are one vector's. Raises TypeError for what is no norm of a
    matrix, and for a count.
    """
    lost = reduce_axes(np.shape(x), axis)
    if ord == 0 or p == 0:
        raise TypeError("norm(..., ord=0) counts the entries that are not zero: no derivative")
    if p is not None:
        ord = None if p in EUCLID else p
        if ord is not None and axis is not None and np.size(axis) > 1:
            raise TypeError(
                f"norm(..., p={p!r}) over several axes is the norm of all their entries: reshape "
                "these to one axis first; np.linalg.norm(x, ord) is the norm of a matrix"
            )
    elif ord not in (None, "fro") and len(lost) > 1:
        x, ord = _find_vector(x, ord, lost)
        axis = lost
    return (x,), {"ord": ord, "axis": axis, "keepdims": keepdims}


def _find_vector(x: Numbers, ord: Numbers, axes: Shape) -> tuple[Numbers, float]:
    """The vector, along the axes of a matrix, whose norm is a norm of the matrix; and which."""
    if len(axes) == 2 and ord in SPECTRAL:
        values = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        return np.moveaxis(np.expand_dims(values, -1), (-2, -1), axes), SPECTRAL[ord]
    if len(axes) == 2 and ord in OF_MATRIX:
        ord, first = OF_MATRIX[ord]
        return np.sum(np.absolute(x), axis=axes[first], keepdims=True), ord
    raise TypeError(f"norm(..., ord={ord!r}) is no norm of a matrix")


def _slope(y: Numbers, x: Numbers, axis: Axis, ord: Numbers) -> Numbers:
    """dy/dx of a vector norm. PyTorch's conventions: 0 at 0, ties share."""
    if ord in EUCLID:
        return np.where(np.equal(y, 0), 0.0, x / np.where(np.equal(y, 0), 1.0, y))
    if ord == 1:
        return np.sign(x)
    if abs(ord) == np.inf:
        return np.sign(x) * _shares(_norm_defined(x, ord, axis, True), np.absolute(x), axis)
    flat = np.equal(y, 0) | np.equal(x, 0)  # below 1 the slope at 0 is 0 by convention
    size = np.where(flat, 1.0, np.absolute(x)) / np.where(flat, 1.0, y)
    return np.where(flat, 0.0, np.sign(x) * size ** (ord - 1))


def _norm_defined(x: Numbers, ord: Numbers, axis: Axis, keepdims: bool) -> Numbers:
    """Root of the sum of squares; largest absolute value; p-th root of the sum of p-th powers."""
    if ord in EUCLID:
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if abs(ord) == np.inf:
        return (np.max if ord > 0 else np.min)(np.absolute(x), axis=axis, keepdims=keepdims)
    total = np.sum(np.absolute(x) ** ord, axis=axis, keepdims=keepdims)
    return total if ord == 1 else total ** (1 / Fraction(ord))


_enter_reduction(
    np.linalg.norm, _slope, exact=Composed(_norm_defined), kinks="x = 0; ties",
    forward=lambda x, ord, **where: np.linalg.vector_norm(
        x, ord=2 if ord in EUCLID else ord, **where
    ),
    operands=1, arrange=_arrange_norm, params=(),
)  # fmt: skip
