"""Functions that round: flat between the jumps, so their gradient is zero."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from flint import arb

from gradcheck.ops.later import sympy
from gradcheck.ops.row import Composed, Example, op


def _flat(name: str) -> Callable[[Any], Any]:
    """A SymPy function with the derivative that SymPy leaves open: zero between the jumps."""

    @cache
    def flat() -> Any:
        kind = getattr(sympy, name)
        return type(kind)(name, (kind,), {"fdiff": lambda self, argindex=1: sympy.S.Zero})

    def function(x: Any) -> Any:
        return flat()(x)

    return function


def _nearest(x: Any) -> Any:
    """The nearest integer; of two, the even one."""
    n = np.floor(x + 0.5)
    return n - 1 if n - x == 0.5 and np.floor(n / 2) * 2 != n else n


def _to_places(x: Any, decimals: int = 0) -> Any:
    """The nearest multiple of a power of ten."""
    scale = Fraction(10) ** decimals
    return _nearest(x * scale) / scale


_flat_between = partial(op, vjps=(lambda g, y, x, **how: g * 0.0,), rounds=False)

floor = _flat_between(
    np.floor,
    symbolic=_flat("floor"),
    ball=arb.floor,
    kinks="integers",
    grad_fn="FloorBackward0",
    example=Example("a * floor(3 * a)", {"a": (3,)}),
)

ceil = _flat_between(
    np.ceil,
    symbolic=_flat("ceiling"),
    ball=arb.ceil,
    kinks="integers",
    grad_fn="CeilBackward0",
    example=Example("a * ceil(3 * a)", {"a": (3,)}),
)

trunc = _flat_between(
    np.trunc,
    also=(np.fix,),
    exact=Composed(lambda x: np.floor(x) if x >= 0 else np.ceil(x)),
    kinks="integers",
    grad_fn="TruncBackward0",
    school=("fix",),
    example=Example("a * trunc(3 * a)", {"a": (3,)}),
)

rint = _flat_between(
    np.rint,
    exact=Composed(_nearest),
    kinks="half-integers",
    grad_fn="RoundBackward0",
    example=Example("a * rint(3 * a)", {"a": (3,)}),
)

round = _flat_between(
    np.round,
    also=(np.around,),
    exact=Composed(_to_places),
    size="ordered",
    kinks="half-integers",
    grad_fn=lambda operands, params: f"RoundBackward{int(bool(params.get('decimals')))}",
    params=("decimals",),
    example=Example("a * round(3 * a)", {"a": (3,)}),
)
