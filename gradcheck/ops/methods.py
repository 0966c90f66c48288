"""PyTorch's methods whose arguments stand in another order, or mean something else, than NumPy's.

`x.name(...)` on numbers of every kind: a tensor's methods and those of the checked language are
these very functions, so that neither has a meaning of its own.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.ops.differing import FUNCTIONS
from gradcheck.ops.formula import everything
from gradcheck.ops.row import BY_SPELLING, TABLE, spelled

TWO_AXES = "transpose(0, 1) turns a matrix in PyTorch, not in NumPy: write t.T or swapaxes(0, 1)"


def where(x: Any, condition: Any, other: Any) -> Any:
    """`x.where(condition, other)`: x where the condition holds, else the other."""
    return TABLE["where"](condition, x, other)


def transpose(x: Any, *axes: Any, **named: Any) -> Any:
    """`x.transpose(1, 0)`; two axes of more are exchanged, where NumPy's order says nothing."""
    if len(axes) == 2 and np.ndim(x) > 2:
        return TABLE["swapaxes"](x, *axes)
    if len(axes) == 2 == np.ndim(x) and [k % 2 for k in axes] == [0, 1]:
        raise TypeError(TWO_AXES)
    return TABLE["transpose"](x, *axes, **named)


def norm(
    x: Any, p: Any = None, axis: Any = None, keepdims: bool = False, *, ord: Any = None
) -> Any:
    """`x.norm(p, dim, keepdim)` of all entries, as PyTorch has it; `ord=` is np.linalg.norm's."""
    return TABLE["norm"](x, ord, axis, keepdims, p=p)


def cross(x: Any, other: Any, axis: int | None = None) -> Any:
    """`x.cross(other)`: over PyTorch's axis, the first of length 3, unless one is given."""
    if axis is None:
        axis = np.shape(x).index(3) if 3 in np.shape(x) else -1
    return TABLE["cross"](x, other, axis=axis)


def add(x: Any, other: Any, *, alpha: float = 1) -> Any:
    """`x.add(other, alpha=2)`: x + alpha other."""
    return TABLE["add"](x, other if alpha == 1 else alpha * other)


def subtract(x: Any, other: Any, *, alpha: float = 1) -> Any:
    """`x.sub(other, alpha=2)`: x - alpha other."""
    return TABLE["subtract"](x, other if alpha == 1 else alpha * other)


def divide(x: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """`x.div(other, rounding_mode="floor")`: the quotient, or what is left of it by "trunc"."""
    if rounding_mode not in (None, "trunc", "floor"):
        raise TypeError(f"div: rounding_mode={rounding_mode!r} is neither 'trunc' nor 'floor'")
    if rounding_mode == "floor":
        return TABLE["floor_divide"](x, other)
    quotient = TABLE["divide"](x, other)
    return TABLE["trunc"](quotient) if rounding_mode else quotient


def squeeze(x: Any, axis: Any = None) -> Any:
    """`x.squeeze(0)`: the axis is gone if it has one entry, as PyTorch has it."""
    if axis is None:
        return TABLE["squeeze"](x)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    single = tuple(k for k in given if np.ndim(x) and np.shape(x)[k] == 1)
    if not single:
        return TABLE["reshape"](x, np.shape(x))
    return TABLE["squeeze"](x, axis=single if isinstance(axis, tuple | list) else single[0])


def polygamma(x: Any, n: int) -> Any:
    """`x.polygamma(n)`."""
    return TABLE["polygamma"](n, x)


OF_METHODS = "method_"
"""Before the name of a function, where a program of the checked language calls it as a method."""
OWN: Mapping[str, Callable[..., Any]] = {
    method.__name__: method
    for method in (where, transpose, norm, cross, add, subtract, divide, squeeze, polygamma)
}

AS_FUNCTIONS = frozenset({"transpose", "norm", "cross", "add", "subtract", "divide", "squeeze"})
"""Those that PyTorch has as functions of the same meaning."""


def pytorchs(name: str) -> Callable[..., Any] | None:
    """What PyTorch's function of that name is here, None where there is none.

    Where NumPy's means another thing, a call that PyTorch would read otherwise raises TypeError;
    `axis=` says that NumPy's is meant.
    """
    if BY_SPELLING.get(name, name) in AS_FUNCTIONS:
        own = OWN[BY_SPELLING.get(name, name)]
        return lambda x, *args, **named: own(x, *args, **spelled(named))
    found, differing = everything().get(name), FUNCTIONS.get(name)
    if found is None or differing is None:
        return found

    def careful(x: Any, *args: Any, **named: Any) -> Any:
        if "axis" not in named and differing.meant(args, named):
            if differing.here:
                return everything()[differing.here](x, *args, **named)
            raise TypeError(f"{name}: {differing.cure}; `axis=` has NumPy's meaning")
        return found(x, *args, **named)

    return careful
