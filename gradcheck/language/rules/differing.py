"""Words by which PyTorch and NumPy mean different things: where PyTorch's is meant, a refusal.

Everything runs on NumPy; what NumPy would silently answer otherwise than PyTorch is not guessed.
PyTorch is meant under `torch.`, `nn.` and `F.`, and by methods that NumPy's arrays do not have or
whose `dim=` they do not take.
"""

import ast
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gradcheck.language.rules.refusals import Refusal
from gradcheck.language.rules.walk import Check, dotted


class Differing(NamedTuple):
    """When a call of `torch.name` is another thing than `np.name`, and what to write instead."""

    meant: Callable[[ast.Call], bool]
    cure: str


def _keywords(call: ast.Call) -> set[str]:
    return {keyword.arg or "" for keyword in call.keywords}


def _always(call: ast.Call) -> bool:
    return True


def _without_divisor(call: ast.Call) -> bool:
    return not _keywords(call) & {"correction", "unbiased", "ddof"}


def _more_than_one(call: ast.Call) -> bool:
    return len(call.args) > 1 or bool(_keywords(call))


def _along(call: ast.Call) -> bool:
    """`x.max(dim=0)`: an axis in PyTorch's word."""
    return bool(_keywords(call) & {"dim", "keepdim"})


def _divided_along(call: ast.Call) -> bool:
    return _along(call) and _without_divisor(call)


def _without_axis(most: int) -> Callable[[ast.Call], bool]:
    """No `dim=`, and not more arguments than stand before it."""
    return lambda call: len(call.args) <= most and not _keywords(call) & {"dim", "axis"}


def _of_all_entries(call: ast.Call) -> bool:
    """A norm with an order by which NumPy would mean the norm of a matrix."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    orders = [*call.args[1:2], *(named[k] for k in named if k == "ord")]
    axes = [*call.args[2:3], *(named[k] for k in named if k in AXES)]
    harmless = all(isinstance(k, ast.Constant) and k.value in HARMLESS for k in orders)
    return not harmless and (not axes or isinstance(axes[0], ast.Tuple | ast.List))


def _unturned(call: ast.Call) -> bool:
    """`x.transpose(0, 1)`: the order of the axes to NumPy, two axes to exchange to PyTorch."""
    return len(call.args) == 2 and tuple(map(ast.unparse, call.args)) not in TURNED


AXES = ("dim", "axis")
TURNED = {("1", "0"), ("-1", "-2")}
HARMLESS = (2, "fro", None)
NORM = "PyTorch takes all entries, NumPy rows or columns: say `p=...`, or `np.linalg.norm`"
CROSS = "PyTorch takes the first axis of length 3, NumPy the last axis: say `dim=...`"
SWAP = "write `swapaxes(x, 0, 1)`, or `permute(x, (1, 0))`"

DIVISOR = Differing(
    _without_divisor,
    "PyTorch divides by n - 1, NumPy by n: say `correction=1` or `correction=0`",
)
EXTREME = Differing(
    _more_than_one,
    "PyTorch gives values and places: write `amax(x, dim)` or `amin(x, dim)`, and for the larger "
    "of two `maximum(a, b)`",
)
SOFTMAX = Differing(
    _without_axis(1), "PyTorch guesses the axis from the shape: say `dim=-1` for the last one"
)
DIFFERING: Mapping[str, Differing] = {
    "std": DIVISOR,
    "var": DIVISOR,
    "max": EXTREME,
    "min": EXTREME,
    "median": Differing(
        _always, "PyTorch takes the lower of two middle entries, NumPy their mean: `np.median`"
    ),
    "sort": Differing(_always, "PyTorch gives values and places: `np.sort` gives the values"),
    "split": Differing(
        _always, "PyTorch takes the length of a part, NumPy the number of parts: `np.split`"
    ),
    "transpose": Differing(_more_than_one, SWAP),
    "norm": Differing(_of_all_entries, NORM),
    "cross": Differing(_without_axis(2), CROSS),
    "softmax": SOFTMAX,
    "log_softmax": SOFTMAX,
    "pad": Differing(
        _always, "PyTorch counts the axes from the last, NumPy from the first: `np.pad(x, ...)`"
    ),
}
EXTREMES = ("max", "min")
METHODS: Mapping[str, Differing] = {
    "std": DIVISOR._replace(meant=_divided_along),
    "var": DIVISOR._replace(meant=_divided_along),
    "median": DIFFERING["median"]._replace(meant=_along),
    "sort": DIFFERING["sort"]._replace(meant=_along),
    "transpose": Differing(_unturned, SWAP),
    "cross": Differing(_without_axis(1), CROSS),
}
PYTORCHS = frozenset({"torch", "nn", "F"})


def refuse_picked(check: Check, value: ast.expr) -> None:
    """Complain of `x.max(dim=0)[0]` and `v, i = x.max(dim=0)`: here it is the values alone.

    `value` is what is indexed or unpacked. As a value it stays: `dim` is `axis`.
    """
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in EXTREMES
        and _along(value)
    ):
        what = f"one of the two that PyTorch's `.{value.func.attr}` gives"
        check.refuse(value.func, Refusal(what, EXTREME.cure))


def refuse_differing(check: Check, call: ast.Call) -> None:
    """Complain of a call that names PyTorch's function where NumPy's is another."""
    if not isinstance(call.func, ast.Attribute):
        return
    prefix, name = check.prefix(call.func.value), call.func.attr
    table = DIFFERING if _pytorchs(prefix) else {} if prefix else METHODS
    found = table.get(name)
    if found and found.meant(call):
        spelled = dotted(call.func) or f".{name}"
        what = f"`{spelled}`, by which PyTorch means another thing"
        check.refuse(call.func, Refusal(what, found.cure))


def _pytorchs(prefix: str) -> bool:
    """Whether a prefix names PyTorch, and not the part of it that is like NumPy's."""
    first, *rest = prefix.split(".")
    return first in PYTORCHS and "linalg" not in rest
