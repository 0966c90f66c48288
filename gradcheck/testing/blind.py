"""Points at which mistakes cannot be seen, and others beside them at which they can."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.testing.call import Call, is_symmetric

ASIDE = 0.1  # of every entry's own size: far enough to see, near enough to stay in the domain
FEW = 1000  # entries that are looked at for equals: to sort a million takes time


def beside(call: Call, seed: int) -> Call | None:
    """The call at a generic point beside a special one; None where the point is generic already.

    At 0, 1 or 2, where entries repeat and where a matrix is symmetric, wrong formulas often give
    right numbers (2x for x**2 at 2, `c @ W` for `c @ W.T`). Only what is differentiated is moved,
    each entry by a part of itself, so that signs and zeros stay. None too where the function is not
    finite there or refuses the point.
    """
    if not any(_special(np.asarray(call.args[i])) for i in call.wrt):
        return None
    there = moved(call, np.random.default_rng(seed))
    try:
        with np.errstate(all="ignore"):
            there = _as_it_is_read(call, there)
            return there if bool(np.all(np.isfinite(there.plain()))) else None
    except Exception:  # noqa: BLE001 - a user's function may refuse any point
        return None


def _special(values: np.ndarray[Any, Any]) -> bool:
    """Whether some entry is a whole number, or some entries are alike."""
    if (values == np.rint(values)).any():
        return bool(values.all())  # what is 0 stays 0: a kink may lie there
    in_order = values.ravel()[:FEW].copy()
    in_order.sort()
    return bool((in_order[1:] == in_order[:-1]).any())


def _as_it_is_read(call: Call, there: Call) -> Call:
    """The point with matrices symmetric again of which the function reads one triangle alone."""
    for i in call.wrt:
        for half in (np.tril, np.triu) if is_symmetric(call.args[i]) else ():
            read = half(np.asarray(there.args[i]))
            whole = read + np.swapaxes(read, -1, -2) - read * np.eye(read.shape[-1])
            again = replace(there, args=(*there.args[:i], whole, *there.args[i + 1 :]))
            if np.array_equal(again.plain(), there.plain()):
                there = again
    return there


def moved(call: Call, rng: np.random.Generator) -> Call:
    """The call with every differentiated entry a little larger or smaller."""
    args = list(call.args)
    for i in call.wrt:
        value = args[i]
        there = np.asarray(value) * (1 + ASIDE * rng.uniform(-1, 1, np.shape(value)))
        args[i] = there.astype(value.dtype) if isinstance(value, np.ndarray) else float(there)
    return replace(call, args=tuple(args), beside=True)


def taller(call: Call) -> Call | None:
    """The call with one more row in all arrays that are as long as the first; None of numbers."""
    shape = np.shape(call.args[call.wrt[0]])
    if not shape or call.program.outputs.paths:
        return None
    args = [
        np.concatenate([a, a[-1:] * 9 // 8 if a.dtype.kind in "iu" else a[-1:] * 1.125])
        if isinstance(a, np.ndarray) and a.ndim and len(a) == shape[0] and a.dtype.kind in "fiu"
        else a
        for a in call.args
    ]
    return replace(call, args=tuple(args), beside=True)


def hidden(call: Call) -> Iterator[str]:
    """What the shapes and the values of a call leave unseen, in words."""
    value = call.plain()
    if value.dtype.kind in "iub":
        kind = value.dtype
        yield f"the function's value is of dtype {kind}: its gradient is 0 wherever there is one"
    if value.size == 0:
        yield "the function's value is empty: nothing was checked"
    for name, i in zip(call.labels, call.wrt, strict=True):
        shape = np.shape(call.args[i])
        if 0 in shape:
            yield f"{name} is empty, of shape {shape}: nothing of it was checked"
        elif 1 in shape:
            yield (
                f"{name} has an axis of length 1 (shape {shape}): a sum over it, a mean, and none "
                "at all give the same"
            )
