"""PyTorch's methods whose arguments stand in another order, or mean something else, than NumPy's.

`x.name(...)` on numbers of every kind: a tensor's methods and those of the checked language are
these very functions, so that neither has a meaning of its own.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.ops.differing import FUNCTIONS
from gradcheck.ops.row import TABLE, everything, spelled

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


def polygamma(x: Any, n: int) -> Any:
    """`x.polygamma(n)`."""
    return TABLE["polygamma"](n, x)


OF_METHODS = "method_"
"""Before the name of a function, where a program of the checked language calls it as a method."""
OWN: Mapping[str, Callable[..., Any]] = {
    method.__name__: method for method in (where, transpose, norm, cross, polygamma)
}

AS_FUNCTIONS = frozenset({"transpose", "norm", "cross"})
"""Those that PyTorch has as functions of the same meaning."""


def pytorchs(name: str) -> Callable[..., Any] | None:
    """What PyTorch's function of that name is here, None where there is none.

    Where NumPy's means another thing, a call that PyTorch would read otherwise raises TypeError;
    `axis=` says that NumPy's is meant.
    """
    if name in AS_FUNCTIONS:
        own = OWN[name]
        return lambda x, *args, **named: own(x, *args, **spelled(named))
    found, differing = everything().get(name), FUNCTIONS.get(name)
    if found is None or differing is None:
        return found

    def careful(x: Any, *args: Any, **named: Any) -> Any:
        if "axis" not in named and differing.meant(args, named):
            raise TypeError(f"{name}: {differing.cure}; `axis=` has NumPy's meaning")
        return found(x, *args, **named)

    return careful
