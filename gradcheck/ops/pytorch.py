"""What `torch.x` is where it is not `np.x`, for tensors and for the checked language.

Everything runs on NumPy. Where PyTorch's arguments stand in another order, its functions are here
(OWN); what NumPy would silently answer otherwise is not guessed, but refused or said by another
formula. A call is told by its arguments after the first one (`x`) and its keywords; what is not
known of them before the program runs is UNKNOWN. FUNCTIONS holds for `torch.name(x, ...)`, METHODS
for `x.name(...)`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradcheck.ops.row import BY_SPELLING, TABLE, everything, respell
from gradcheck.ops.shapes import as_tuple
from gradcheck.values import Numbers, Params, Routine

Meant = Callable[[Sequence[Numbers], Params], bool]

UNKNOWN = object()
"""An argument whose value is not in the text."""
AXES = {"dim", "axis"}


class Differing(NamedTuple):
    """When a call of PyTorch's is another thing than NumPy's, and what to write instead.

    `here` is the name of PyTorch's function where it is among ours: then that is called.
    """

    meant: Meant
    cure: str
    here: str = ""

    def wrap_around(self, found: Routine, name: str) -> Routine:
        """NumPy's function, but for calls that PyTorch reads otherwise: its own, or TypeError."""

        def careful(x: Numbers, *args: Numbers, **named: Numbers) -> Numbers:
            if not self.meant(args, named):
                return found(x, *args, **named)
            if self.here:
                return everything()[self.here](x, *args, **named)
            raise TypeError(f"{name}: {self.cure}; `axis=` has NumPy's meaning")

        return careful


def _takes_all_entries(args: Sequence[Numbers], named: Params) -> bool:
    """A norm with an order by which NumPy would mean the norm of a matrix."""
    orders = [*args[:1], *(v for k, v in named.items() if k == "ord")]
    axes = [*args[1:2], *(v for k, v in named.items() if k in AXES)]
    harmless = all(k in (2, "fro", None) for k in orders)
    return not harmless and (not axes or isinstance(axes[0], tuple | list))


ALWAYS: Meant = lambda args, named: True
WITH_MORE: Meant = lambda args, named: bool(args or named)
ALONG: Meant = lambda args, named: bool(named.keys() & {"dim", "keepdim"})
"""`x.max(dim=0)`: an axis in PyTorch's word."""
NOT_NUMPYS: Meant = lambda args, named: "axis" not in named
"""NumPy's arrays have no such method, or another: `axis=` alone says that NumPy is meant."""
UNDIVIDED: Meant = lambda args, named: not named.keys() & {"correction", "unbiased", "ddof"}
DIVISOR = "PyTorch divides by n - 1, NumPy by n: say `correction=1` or `correction=0`"
SOFTMAX = Differing(
    lambda args, named: not args and not named.keys() & AXES,
    "PyTorch guesses the axis from the shape: say `dim=-1` for the last one",
)
FUNCTIONALS = {"pad": "pad_last"}
"""What `F.name` is here, where `torch.name` or NumPy's is another thing."""
FUNCTIONS: Mapping[str, Differing] = {
    "std": Differing(UNDIVIDED, DIVISOR), "var": Differing(UNDIVIDED, DIVISOR),
    "max": Differing(WITH_MORE, "", "max_along"), "min": Differing(WITH_MORE, "", "min_along"),
    "median": Differing(ALWAYS, "", "median_along"), "sort": Differing(ALWAYS, "", "sort_along"),
    "split": Differing(ALWAYS, "", "split_along"),
    "softmax": SOFTMAX, "log_softmax": SOFTMAX,
    "transpose": Differing(WITH_MORE, "write `swapaxes(x, 0, 1)`, or `permute(x, (1, 0))`"),
    "norm": Differing(
        _takes_all_entries,
        "PyTorch takes all entries, NumPy rows or columns: say `p=...`, or `np.linalg.norm`",
    ),
    "cross": Differing(
        lambda args, named: len(args) < 2 and not named.keys() & AXES,
        "PyTorch takes the first axis of length 3, NumPy the last axis: say `dim=...`",
    ),
    "meshgrid": Differing(
        lambda args, named: "indexing" not in named,
        'PyTorch lets the first vector lie along the first axis, NumPy not: say `indexing="ij"`',
    ),
    "gradient": Differing(ALWAYS, "PyTorch gives a tuple: write NumPy's `gradient(x, h)`"),
    "quantile": Differing(lambda args, named: bool(args[1:]), "say `dim=...` and `keepdim=...`"),
    "pad": Differing(
        ALWAYS, "PyTorch counts the axes from the last, NumPy from the first: `np.pad(x, ...)`"
    ),
}  # fmt: skip
LINALG: Mapping[str, Differing] = {
    "vander": Differing(
        ALWAYS, "PyTorch counts the powers upwards: `np.vander(x, increasing=True)`"
    ),
    "diagonal": Differing(
        ALWAYS, "PyTorch takes the last two axes: `np.diagonal(x, 0, -2, -1)`, or `np.diag(x)`"
    ),
}
"""The same for `torch.linalg.name(x, ...)`."""
METHODS: Mapping[str, Differing] = {
    **dict.fromkeys(
        ("std", "var"), Differing(lambda *call: ALONG(*call) and UNDIVIDED(*call), DIVISOR)
    ),
    "max": Differing(ALONG, "", "max_along"), "min": Differing(ALONG, "", "min_along"),
    "median": Differing(NOT_NUMPYS, "", "median_along"),
    "sort": Differing(NOT_NUMPYS, "", "sort_along"),
    "split": Differing(NOT_NUMPYS, "", "split_along"),
    "array_split": Differing(ALONG, "", "split_along"),
    "repeat": Differing(
        NOT_NUMPYS,
        "PyTorch tiles, NumPy repeats each entry: `tile(x, (2, 1))`, or `repeat_interleave(x, 2)`",
    ),
    # NumPy's order of the axes would leave a matrix as it is, which nobody writes
    "transpose": Differing(lambda args, named: len(args) == 2, "", "swapaxes"),
}  # fmt: skip

# -- functions and methods of PyTorch's own ------------------------------------------------------


def transpose(x: Numbers, *axes: Numbers, **named: Numbers) -> Numbers:
    """`x.transpose(1, 0)`; two axes of more are exchanged, where NumPy's order says nothing."""
    if len(axes) == 2 and np.ndim(x) > 2:
        return TABLE["swapaxes"](x, *axes)
    if len(axes) == 2 == np.ndim(x) and [k % 2 for k in axes] == [0, 1]:
        turned = "transpose(0, 1) turns a matrix in PyTorch, not in NumPy"
        raise TypeError(f"{turned}: write t.T or swapaxes(0, 1)")
    return TABLE["transpose"](x, *axes, **named)


def norm(
    x: Numbers, p: Numbers = None, axis: Numbers = None, keepdims: bool = False, *,
    ord: Numbers = None,
) -> Numbers:  # fmt: skip
    """`x.norm(p, dim, keepdim)` of all entries, as PyTorch has it; `ord=` is np.linalg.norm's."""
    return TABLE["norm"](x, ord, axis, keepdims, p=p)


def cross(x: Numbers, other: Numbers, axis: int | None = None) -> Numbers:
    """`x.cross(other)`: over PyTorch's axis, the first of length 3, unless one is given."""
    if axis is None:
        axis = np.shape(x).index(3) if 3 in np.shape(x) else -1
    return TABLE["cross"](x, other, axis=axis)


def divide(x: Numbers, other: Numbers, *, rounding_mode: str | None = None) -> Numbers:
    """`x.div(other, rounding_mode="floor")`: the quotient, or what is left of it by "trunc"."""
    if rounding_mode not in (None, "trunc", "floor"):
        raise TypeError(f"div: rounding_mode={rounding_mode!r} is neither 'trunc' nor 'floor'")
    if rounding_mode == "floor":
        return TABLE["floor_divide"](x, other)
    quotient = TABLE["divide"](x, other)
    return TABLE["trunc"](quotient) if rounding_mode else quotient


def squeeze(x: Numbers, axis: Numbers = None) -> Numbers:
    """`x.squeeze(0)`: the axis is gone if it has one entry, as PyTorch has it."""
    if axis is None:
        return TABLE["squeeze"](x)
    single = tuple(k for k in as_tuple(axis) if np.ndim(x) and np.shape(x)[k] == 1)
    if not single:
        return TABLE["reshape"](x, np.shape(x))
    return TABLE["squeeze"](x, axis=single if isinstance(axis, tuple | list) else single[0])


def reciprocal(x: Numbers) -> Numbers:
    """`x.reciprocal()`: of integers in floats, where np.reciprocal says 0."""
    return TABLE["reciprocal"](1.0 * x if getattr(x, "dtype", np.dtype(int)).kind in "iub" else x)


def _make_scaled(name: str) -> Routine:
    """`x.add(other, alpha=2)`: x + alpha other; likewise `x.sub`."""
    return lambda x, other, *, alpha=1: TABLE[name](x, other if alpha == 1 else alpha * other)


OF_METHODS = "method_"
"""Before the name of a function, where a program of the checked language calls it as a method."""
OWN: Mapping[str, Routine] = {
    "add": _make_scaled("add"), "subtract": _make_scaled("subtract"), "divide": divide,
    "transpose": transpose, "norm": norm, "cross": cross, "squeeze": squeeze,
    "where": lambda x, condition, other: TABLE["where"](condition, x, other),
    "polygamma": lambda x, n: TABLE["polygamma"](n, x),
    "reciprocal": reciprocal,
}  # fmt: skip

AS_FUNCTIONS = frozenset(OWN) - {"where", "polygamma"}
"""Those that PyTorch has as functions of the same meaning."""


def find_pytorchs(name: str) -> Routine | None:
    """What PyTorch's function of that name is here, None where there is none.

    Where NumPy's means another thing, a call that PyTorch would read otherwise raises TypeError;
    `axis=` says that NumPy's is meant.
    """
    known = BY_SPELLING.get(name, name)
    if known in AS_FUNCTIONS:
        return accept_spellings(OWN[known])
    found, differing = everything().get(name), FUNCTIONS.get(name)
    if found is None or differing is None:
        return found
    careful = differing.wrap_around(found, name)
    return lambda x, *args, **named: (found if "axis" in named else careful)(x, *args, **named)


def accept_spellings(own: Routine) -> Routine:
    return lambda x, *args, **named: own(x, *args, **respell(named))
