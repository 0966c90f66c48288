"""Functions that choose: absolute value, sign, larger, smaller, where. Kinks follow PyTorch."""

import operator
from typing import Any

import numpy as np

from gradcheck.ops.reads import Vjp
from gradcheck.ops.row import Composed, Example, Op, op


def _kept(g: Any, chosen: Any) -> Any:
    """`np.where(chosen, g, 0.0)`; of plain arrays by their bits, without a branch an entry.

    Where entries are chosen at random a processor guesses every other branch wrong, which takes
    four times as long as the arithmetic. A product with the mask would make nan of infinite ones.
    """
    plain = type(g) is np.ndarray and type(chosen) is np.ndarray
    if plain and g.dtype == np.float64 and chosen.dtype == np.bool_:
        return (g.view(np.int64) & -chosen.view(np.int8)).view(np.float64)
    return np.where(chosen, g, 0.0)


def _share(g: Any, a: Any, b: Any) -> Any:
    """All of g where a wins, half where a and b tie: PyTorch's convention for maximum."""
    won, tied = _kept(g, np.greater(a, b)), np.equal(a, b)
    return np.where(tied, g * 0.5, won) if tied.any() else won


def _first(wins: Any, b: Any) -> Any:
    """1 where the first wins or the second is not a number."""
    return (wins | np.isnan(b)) * 1.0


absolute = op(
    np.absolute,
    also=(np.fabs,),
    vjps=(lambda g, y, x: g * np.sign(x),),  # 0 at x = 0
    exact=Composed(lambda x: -x if x < 0 else x),
    kinks=(0.0,),
    grad_fn="AbsBackward0",
    rounds=False,
    school=("abs", "fabs"),
)

sign = op(
    np.sign,
    vjps=(lambda g, y, x: g * 0.0,),
    exact=Composed(lambda x: (x > 0) - (x < 0)),
    kinks=(0.0,),
    grad_fn="SignBackward0",
    rounds=False,
    school=("sgn",),
    example=Example("x * sign(x)", {"x": (3,)}),
)


def _of_two(function: Any, stays: Any, vjps: tuple[Vjp, Vjp], grad_fn: str) -> Op:
    """The row of a choice of one of two: of the first where it `stays` before the second."""
    chosen = Composed(lambda a, b: a if stays(a, b) else b)
    return op(function, vjps=vjps, exact=chosen, kinks="a = b", grad_fn=grad_fn, rounds=False)


maximum = _of_two(
    np.maximum,
    operator.ge,
    (lambda g, y, a, b: _share(g, a, b), lambda g, y, a, b: _share(g, b, a)),
    "MaximumBackward0",
)

minimum = _of_two(
    np.minimum,
    operator.le,
    (lambda g, y, a, b: _share(g, b, a), lambda g, y, a, b: _share(g, a, b)),
    "MinimumBackward0",
)

fmax = _of_two(
    np.fmax,
    operator.ge,
    (
        lambda g, y, a, b: g * _first(np.greater_equal(a, b), b),
        lambda g, y, a, b: g * (1.0 - _first(np.greater_equal(a, b), b)),
    ),
    "FmaxBackward0",
)

fmin = _of_two(
    np.fmin,
    operator.le,
    (
        lambda g, y, a, b: g * _first(np.less_equal(a, b), b),
        lambda g, y, a, b: g * (1.0 - _first(np.less_equal(a, b), b)),
    ),
    "FminBackward0",
)

copysign = op(
    np.copysign,
    vjps=(
        lambda g, y, a, b: g * np.sign(a) * np.where(np.signbit(b), -1.0, 1.0),
        lambda g, y, a, b: g * 0.0,
    ),
    exact=Composed(lambda a, b: abs(a) if b >= 0 else -abs(a)),
    kinks="a = 0 or b = 0",
    grad_fn="CopysignBackward0",
    rounds=False,
)

heaviside = op(
    np.heaviside,
    vjps=(None, None),
    exact=Composed(lambda a, b: b if a == 0 else 1 * (a > 0)),
    kinks=(0.0,),
    grad_fn="NotImplemented",
    rounds=False,
)

where = op(
    np.where,
    vjps=(
        None,
        lambda g, y, c, a, b: _kept(g, c),
        lambda g, y, c, a, b: np.where(c, 0.0, g),
    ),
    grad_fn="WhereBackward0",
    elementwise=False,
    rounds=False,
    example=Example("where(a > 0, a * b, b)", {"a": (4,), "b": (4,)}),
)


def _bounded(
    x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Numbers as bounds are parameters, arrays are operands: both are differentiated."""
    bounds = {"low": min if a_min is None else a_min, "high": max if a_max is None else a_max}
    sides = tuple(side for side, v in bounds.items() if np.ndim(v) or hasattr(v, "shape"))
    fixed = {side: v for side, v in bounds.items() if side not in sides}
    return (x, *(bounds[side] for side in sides)), fixed | {"sides": sides}


def _ends(bounds: tuple[Any, ...], sides: tuple[str, ...], fixed: dict[str, Any]) -> list[Any]:
    """The lower and the upper bound, wherever they stand; None where there is none."""
    at = fixed | dict(zip(sides, bounds, strict=True))
    return [at["low"], at["high"]]


def _clip_rule(
    index: int, g: Any, y: Any, x: Any, *bounds: Any, sides: tuple[str, ...], **fixed: Any
) -> Any:
    """1 inside and on the bounds; a bound has the gradient where it is taken."""
    low, high = _ends(bounds, sides, fixed)
    low = -np.inf if low is None else low
    high = np.inf if high is None else high
    if index == 0:
        return _kept(g, np.greater_equal(x, low) & np.less_equal(x, high))
    if sides[index - 1] == "low":
        return _kept(g, np.less(x, low) & np.less(low, high))
    return _kept(g, np.greater(x, high) | np.less(high, low))


def _endless(bound: Any) -> bool:
    """Whether a bound is a plain infinity: no exact number is beyond it."""
    return isinstance(bound, float) and bool(np.isinf(bound))


def _clip_defined(x: Any, *bounds: Any, sides: tuple[str, ...], **fixed: Any) -> Any:
    """The bound where x is beyond it; where they cross, the upper one."""
    low, high = (None if _endless(end) else end for end in _ends(bounds, sides, fixed))
    x = x if low is None else np.where(x < low, low, x)
    return x if high is None else np.where(x > high, high, x)


clip = op(
    np.clip,
    forward=lambda x, *bounds, sides, **fixed: np.clip(x, *_ends(bounds, sides, fixed)),
    vjps=_clip_rule,
    exact=Composed(_clip_defined),
    kinks="the bounds",
    grad_fn=lambda operands, params: f"ClampBackward{int(not params['sides'])}",
    elementwise=False,
    operands=None,
    arrange=_bounded,
    rounds=False,
    school=("clamp",),
    example=Example("clip(a, -0.5, 0.5) * b", {"a": (4,), "b": (4,)}),
)

nan_to_num = op(
    np.nan_to_num,
    forward=lambda x, **put: np.nan_to_num(x, **put),  # noqa: PLW0108 - `copy` is no choice
    vjps=(lambda g, y, x, **put: g * np.isfinite(x),),
    exact=Composed(lambda x, **put: x),
    grad_fn="NanToNumBackward0",
    rounds=False,
    operands=1,
    arrange=lambda x, *, copy=True, **put: ((x,), put),
)
