"""Words by which PyTorch and NumPy mean different things: when PyTorch's is meant, and the cure.

Everything runs on NumPy; what NumPy would silently answer otherwise than PyTorch is not guessed.
A call is told by its arguments after the first one (`x`) and its keywords; what is not known of
them before the program runs is UNKNOWN. FUNCTIONS holds for `torch.name(x, ...)`, METHODS for
`x.name(...)`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Meant = Callable[[Sequence[Any], Mapping[str, Any]], bool]

UNKNOWN = object()
"""An argument whose value is not in the text."""


class Differing(NamedTuple):
    """When a call of PyTorch's is another thing than NumPy's, and what to write instead.

    `here` is the name of PyTorch's function where it is among ours: then that is called.
    """

    meant: Meant
    cure: str
    here: str = ""


def _always(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    return True


def _without_divisor(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    return not named.keys() & {"correction", "unbiased", "ddof"}


def _with_more(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    return bool(args or named)


def along(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """`x.max(dim=0)`: an axis in PyTorch's word."""
    return bool(named.keys() & {"dim", "keepdim"})


def _without_numpys_axis(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """NumPy's arrays have no such method, or another: `axis=` alone says that NumPy is meant."""
    return "axis" not in named


def _divided_along(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    return along(args, named) and _without_divisor(args, named)


def _without_axis(most: int) -> Meant:
    """No `dim=`, and not more arguments than stand before it."""
    return lambda args, named: len(args) <= most and not named.keys() & set(AXES)


def _of_all_entries(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """A norm with an order by which NumPy would mean the norm of a matrix."""
    orders = [*args[:1], *(named[k] for k in named if k == "ord")]
    axes = [*args[1:2], *(named[k] for k in named if k in AXES)]
    harmless = all(k in HARMLESS for k in orders)
    return not harmless and (not axes or isinstance(axes[0], tuple | list))


def _unturned(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """`x.transpose(0, 1)`: the order of the axes to NumPy, two axes to exchange to PyTorch."""
    return len(args) == 2 and tuple(args) not in TURNED


AXES = ("dim", "axis")
TURNED = {(1, 0), (-1, -2)}
HARMLESS = (2, "fro", None)
SWAP = "write `swapaxes(x, 0, 1)`, or `permute(x, (1, 0))`"

DIVISOR = Differing(
    _without_divisor,
    "PyTorch divides by n - 1, NumPy by n: say `correction=1` or `correction=0`",
)
MAX = Differing(_with_more, "", "max_along")
MIN = Differing(_with_more, "", "min_along")
MEDIAN = Differing(_always, "", "median_along")
SORT = Differing(_always, "", "sort_along")
SPLIT = Differing(_always, "", "split_along")
CROSS = Differing(
    _without_axis(1),
    "PyTorch takes the first axis of length 3, NumPy the last axis: say `dim=...`",
)
SOFTMAX = Differing(
    _without_axis(0), "PyTorch guesses the axis from the shape: say `dim=-1` for the last one"
)
FUNCTIONALS = {"pad": "pad_last"}
"""What `F.name` is here, where `torch.name` or NumPy's is another thing."""
FUNCTIONS: Mapping[str, Differing] = {
    "std": DIVISOR,
    "var": DIVISOR,
    "max": MAX,
    "min": MIN,
    "median": MEDIAN,
    "sort": SORT,
    "split": SPLIT,
    "transpose": Differing(_with_more, SWAP),
    "norm": Differing(
        _of_all_entries,
        "PyTorch takes all entries, NumPy rows or columns: say `p=...`, or `np.linalg.norm`",
    ),
    "cross": CROSS,
    "meshgrid": Differing(
        lambda args, named: "indexing" not in named,
        'PyTorch lets the first vector lie along the first axis, NumPy not: say `indexing="ij"`',
    ),
    "gradient": Differing(_with_more, "PyTorch's `spacing` and `dim` are NumPy's `gradient(x, h)`"),
    "quantile": Differing(lambda args, named: bool(args[1:]), "say `dim=...` and `keepdim=...`"),
    "softmax": SOFTMAX,
    "log_softmax": SOFTMAX,
    "pad": Differing(
        _always, "PyTorch counts the axes from the last, NumPy from the first: `np.pad(x, ...)`"
    ),
}
LINALG: Mapping[str, Differing] = {
    "vander": Differing(
        _always, "PyTorch counts the powers upwards: `np.vander(x, increasing=True)`"
    ),
    "diagonal": Differing(
        _always, "PyTorch takes the last two axes: `np.diagonal(x, 0, -2, -1)`, or `np.diag(x)`"
    ),
}
"""The same for `torch.linalg.name(x, ...)`."""
METHODS: Mapping[str, Differing] = {
    "std": DIVISOR._replace(meant=_divided_along),
    "var": DIVISOR._replace(meant=_divided_along),
    "max": MAX._replace(meant=along),
    "min": MIN._replace(meant=along),
    "median": MEDIAN._replace(meant=_without_numpys_axis),
    "sort": SORT._replace(meant=_without_numpys_axis),
    "split": SPLIT._replace(meant=_without_numpys_axis),
    "array_split": SPLIT._replace(meant=along),
    "repeat": Differing(
        _without_numpys_axis,
        "PyTorch tiles, NumPy repeats each entry: `tile(x, (2, 1))`, or `repeat_interleave(x, 2)`",
    ),
    "transpose": Differing(_unturned, SWAP),
}
