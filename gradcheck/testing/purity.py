"""How functions behave that are to be checked: pure, repeatable, linear in the cotangent."""

from dataclasses import dataclass

import numpy as np

from gradcheck.opinions.opinion import Estimate
from gradcheck.testing.call import Call, is_float
from gradcheck.values import Array, Params, Value

RANDOM = "seed it inside, or hand over what it draws; of a module, `.eval()` it first"
IGNORED = "backward does not use its cotangent: a cotangent of zeros gives a gradient"
LINEAR = 2.0**20  # units of rounding: what cancellation inside a linear map may cost


def impure(call: Call) -> list[str]:
    """What the function does besides giving a finite value; see `unlike` too."""
    first = call.value
    spoilt = _any_differs(call.left, call.args)
    call.with_answer(first, call.args)  # a copy less is kept
    if spoilt:
        return ["the function changes its arguments in place"]
    value = np.asarray(first) if isinstance(first, np.ndarray | float) else np.zeros(())
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        return [f"the function's value is not finite here: {value[~np.isfinite(value)][0]}"]
    return []


def unlike(call: Call, again: Estimate | None) -> str:
    """Words where the function gives another value when it is called again.

    `again` is what it gave for tensors: where that is the same, it has been called again.
    """
    if again is not None and np.array_equal(again.value, call.value):
        return ""
    same = not _differs(call.value, call.program.value(*call.fresh()))
    return "" if same else f"the function gives another value when it is called again - {RANDOM}"


def find_unjudged(found: Params, call: Call) -> list[str]:
    """Faults of what backward gives beside the gradients that are judged."""
    return [
        f"a gradient came for {name}, which is not differentiated"
        for i, name in enumerate(call.names)
        if i not in call.wrt
        and _kind(call.args[i]) in ("i", "u", "b")
        and _is_something(found.get(name))
    ]


def as_it_came(found: Params, call: Call) -> Call:
    """The call by every array for which a gradient came, not only by those of wrt.

    Who reads the result of backward adds it up, whether this check was to look at it or not. A
    number inside of a tree, for which nothing came, is a constant.
    """
    added = {
        i
        for i, name in enumerate(call.names)
        if is_float(call.args[i]) and _is_something(found.get(name))
    }
    constant = {
        i
        for i in call.wrt
        if isinstance(call.args[i], float)
        and found.get(call.names[i]) is None
        and call.program.is_inside(i)
    }
    wrt = tuple(sorted({*call.wrt, *added} - constant))
    return call if wrt == tuple(sorted(call.wrt)) or not wrt else call.by(wrt)


def _is_something(gradient: Value) -> bool:
    return gradient is not None and bool(np.any(np.asarray(gradient) != 0))


def _kind(value: Value) -> str:
    """NumPy's letter for the numbers of an argument; none for JAX's keys of random numbers."""
    own = getattr(value, "dtype", None)
    return np.asarray(value).dtype.kind if own is None else str(getattr(own, "kind", ""))


@dataclass(frozen=True)
class Pulled:
    """What backward gave: the call, by all that came; the gradients; faults, and what is no fault.

    `spoilt` says that the cotangent was written into.
    """

    call: Call
    gradients: dict[str, Value]
    faults: tuple[str, ...]
    spoilt: bool


def pull_back(cotangent: Array, call: Call, *, all_that_comes: bool = False) -> Pulled:
    """The gradients that backward gives, and what else it does."""
    pull = call.program.pull
    args, sent = call.fresh(), cotangent.copy()
    came = pull(args, sent)
    found = call.program.gradients(came, call.wrt)
    call = as_it_came(found, call) if all_that_comes else call
    first = call.by_name(came)
    faults = find_unjudged(found, call)
    if _any_differs(args, call.args):
        faults.append("backward changes its arguments in place")
    again = call.by_name(pull(call.fresh(), cotangent.copy()))
    if any(_differs(first[name], again[name]) for name in first):
        faults.append("backward gives another result when it is called again")
    return Pulled(call, first, tuple(faults), not np.array_equal(sent, cotangent))


def not_linear(call: Call, c: Array, once: Params) -> list[str]:
    """A VJP is linear in the cotangent: zero in, zero out; minus twice in, minus twice out.

    `once` is what backward gave for the cotangent `c`. Below the smallest normal number floats lose
    their digits, and say nothing of it.
    """

    def at(cotangent: Array) -> dict[str, Value]:
        return call.by_name(call.program.pull(call.fresh(), cotangent))

    if any(g is not None and np.any(np.nan_to_num(g) != 0) for g in at(np.zeros_like(c)).values()):
        return [IGNORED]
    twice = at(-2.0 * c)
    for name, g in once.items():
        if g is None or twice[name] is None or np.shape(g) != np.shape(twice[name]):
            continue
        off = np.abs(np.nan_to_num(twice[name] + 2.0 * g))
        level = np.max(np.abs(np.nan_to_num(g)), initial=0.0)
        if np.any(off > LINEAR * call.grain(g) * level + _smallest(g)):
            return [f"backward is not linear in the cotangent (argument {name})"]
    return []


def _smallest(g: Value) -> float:
    kind = np.asarray(g).dtype
    return float(np.finfo(kind if kind.kind == "f" else np.float64).tiny)


def _any_differs(some: Value, others: Value) -> bool:
    return any(_differs(a, b) for a, b in zip(some, others, strict=True))


def _differs(a: Value, b: Value) -> bool:
    if isinstance(a, np.ndarray | float) and isinstance(b, np.ndarray | float):
        if isinstance(a, float) and isinstance(b, float):
            return not (a == b or (np.isnan(a) and np.isnan(b)))
        floats = np.asarray(a).dtype.kind == "f"
        return not (np.array_equal(a, b) or (floats and np.array_equal(a, b, equal_nan=True)))
    return False
