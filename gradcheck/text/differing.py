"""Words by which PyTorch and NumPy mean different things: under `torch.` they are refused.

Everything runs on NumPy; what NumPy would silently answer otherwise than PyTorch is not guessed.
"""

import ast
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gradcheck.text.refusals import Refusal
from gradcheck.text.walk import Check, dotted


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


DIVISOR = Differing(
    _without_divisor,
    "PyTorch divides by n - 1, NumPy by n: say `correction=1` or `correction=0`",
)
EXTREME = Differing(
    _more_than_one,
    "PyTorch gives values and places: write `amax(x, dim)` or `amin(x, dim)`, and for the larger "
    "of two `maximum(a, b)`",
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
    "transpose": Differing(_more_than_one, "write `swapaxes(x, 0, 1)`, or `permute(x, (1, 0))`"),
}


def refuse_differing(check: Check, call: ast.Call) -> None:
    """Complain of a call that names PyTorch's function where NumPy's is another."""
    if not isinstance(call.func, ast.Attribute):
        return
    prefix, name = check.prefix(call.func.value), call.func.attr
    found = DIFFERING.get(name)
    if found and prefix.split(".")[0] == "torch" and found.meant(call):
        what = f"`{dotted(call.func)}`, which is not what `np.{name}` is"
        check.refuse(call.func, Refusal(what, found.cure))
