"""How functions behave that are to be checked: pure, repeatable, linear in the cotangent."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Array, Estimate
from gradcheck.testing.call import Call

Backward = Callable[..., Any]  # of the arguments and a cotangent
RANDOM = "seed it inside, or hand over what it draws; of a module, `.eval()` it first"
BESIDE = 2.0**-10  # of an entry: points of a stack that is tried
UNITS = 1024  # of rounding that a value may carry: sums are taken in another order in a stack
LINEAR = 2.0**20  # units of rounding: what cancellation inside a linear map may cost


def impure(call: Call) -> list[str]:
    """What the function does besides giving a finite value; see `unlike` too."""
    first = call.value
    spoilt = _any_differs(call.left, call.args)
    call.answered(first, call.args)  # a copy less is kept
    if spoilt:
        return ["the function changes its arguments in place"]
    value = np.asarray(first) if isinstance(first, np.ndarray | float) else np.zeros(())
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        return [f"the function's value is not finite here: {value[~np.isfinite(value)][0]}"]
    return []


def mixed(call: Call) -> str:
    """Words where a function that is said to take stacks of points does not give each its value."""
    rng = np.random.default_rng(0)
    factors = [{i: 1.0 + BESIDE * rng.uniform(-1, 1, np.shape(call.args[i])) for i in call.wrt}
               for _ in range(2)]  # fmt: skip
    points = [call.fresh(), *map(call.moved, factors)]
    stack = {n: np.array([np.asarray(point[i], float) for point in points])
             for n, i in zip(call.labels, call.wrt, strict=True)}  # fmt: skip
    cure = "does it keep the points apart? (leave `batched` out if not)"
    try:
        came = call.of_stack(stack)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return f"batched=True, but the function does not take a stack of points: {error}"
    for k, point in enumerate(points):
        alone = np.asarray(call.function(*point) if k else call.value, dtype=np.float64)
        room = UNITS * call.grain() * np.max(np.abs(alone), initial=0.0)
        if not np.allclose(came[k], alone, rtol=0.0, atol=room, equal_nan=True):
            return f"batched=True, but row {k} of a stack is not what its point gives alone: {cure}"
    return ""


def unlike(call: Call, again: Estimate | None) -> str:
    """Words where the function gives another value when it is called again.

    `again` is what it gave for tensors: where that is the same, it has been called again.
    """
    if again is not None and np.array_equal(again.value, call.value):
        return ""
    same = not _differs(call.value, call.function(*call.fresh()))
    return "" if same else f"the function gives another value when it is called again - {RANDOM}"


def unjudged(came: Any, call: Call) -> list[str]:
    """Faults of what backward gives beside the gradients that are judged."""
    several = list(came) if isinstance(came, tuple | list) else [came]
    several = [came.get(name) for name in call.names] if isinstance(came, Mapping) else several
    faults = []
    if len(several) == len(call.args):
        for i, (g, arg) in enumerate(zip(several, call.args, strict=True)):
            whole = _kind(arg) in ("i", "u", "b")
            if whole and g is not None and i not in call.wrt and np.any(np.asarray(g) != 0):
                faults.append(f"a gradient came for {call.names[i]}, which is not differentiated")
    return faults


def with_all_that_came(came: Any, call: Call) -> Call:
    """The call with every float argument differentiated for which a gradient came, not only wrt.

    Who reads the result of backward adds it up, whether this check was to look at it or not.
    """
    if not isinstance(came, tuple | list) or len(came) != len(call.args):
        return call
    more = [i for i, g in enumerate(came) if g is not None and np.any(np.asarray(g) != 0)]
    kinds = list(map(_kind, call.args))
    added = [i for i in more if kinds[i] == "f" and i not in call.wrt]
    return call.by(tuple(sorted((*call.wrt, *added)))) if added else call


def _kind(value: Any) -> str:
    """NumPy's letter for the numbers of an argument; none for JAX's keys of random numbers."""
    own = getattr(value, "dtype", None)
    return np.asarray(value).dtype.kind if own is None else str(getattr(own, "kind", ""))


def pulled(
    backward: Backward, cotangent: Array, call: Call, *, all_that_comes: bool = False
) -> tuple[Call, dict[str, Any], tuple[str, ...]]:
    """The gradients that backward gives, and what else it does; the call, by all that came."""
    args, sent = call.fresh(), cotangent.copy()
    came = backward(args, sent)
    call = with_all_that_came(came, call) if all_that_comes else call
    first = call.by_name(came)
    faults = unjudged(came, call)
    if not np.array_equal(sent, cotangent):
        faults.append("backward changes the cotangent it is given")
    if _any_differs(args, call.args):
        faults.append("backward changes its arguments in place")
    again = call.by_name(backward(call.fresh(), cotangent.copy()))
    if any(_differs(first[name], again[name]) for name in first):
        faults.append("backward gives another result when it is called again")
    return call, first, tuple(faults)


def not_linear(backward: Backward, call: Call, c: Array, once: Mapping[str, Any]) -> list[str]:
    """A VJP is linear in the cotangent: zero in, zero out; minus twice in, minus twice out.

    `once` is what backward gave for the cotangent `c`. Below the smallest normal number floats lose
    their digits, and say nothing of it.
    """

    def at(cotangent: Array) -> dict[str, Any]:
        return call.by_name(backward(call.fresh(), cotangent))

    if any(g is not None and np.any(np.nan_to_num(g) != 0) for g in at(np.zeros_like(c)).values()):
        return ["backward does not use its cotangent: a cotangent of zeros gives a gradient"]
    twice = at(-2.0 * c)
    for name, g in once.items():
        if g is None or twice[name] is None or np.shape(g) != np.shape(twice[name]):
            continue
        off = np.abs(np.nan_to_num(twice[name] + 2.0 * g))
        level = np.max(np.abs(np.nan_to_num(g)), initial=0.0)
        if np.any(off > LINEAR * call.grain(g) * level + _smallest(g)):
            return [f"backward is not linear in the cotangent (argument {name})"]
    return []


def _smallest(g: Any) -> float:
    """The smallest normal number of an array's kind of float."""
    kind = np.asarray(g).dtype
    return float(np.finfo(kind if kind.kind == "f" else np.float64).tiny)


def _any_differs(some: Any, others: Any) -> bool:
    return any(_differs(a, b) for a, b in zip(some, others, strict=True))


def _differs(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray | float) and isinstance(b, np.ndarray | float):
        if isinstance(a, float) and isinstance(b, float):
            return not (a == b or (np.isnan(a) and np.isnan(b)))
        floats = np.asarray(a).dtype.kind == "f"
        return not (np.array_equal(a, b) or (floats and np.array_equal(a, b, equal_nan=True)))
    return False
