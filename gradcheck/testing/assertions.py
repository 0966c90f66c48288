"""Assertions for test suites: `assert_gradient` and `assert_vjp` on unmodified NumPy functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Case
from gradcheck.opinions.runs import STACK
from gradcheck.testing.blind import beside, hidden
from gradcheck.testing.call import Call, call, signed
from gradcheck.testing.claims import RTOL
from gradcheck.testing.findings import found, mender
from gradcheck.testing.foreign.edge import Foreign
from gradcheck.testing.foreign.recognised import (
    foreign,
    in_its_floats,
    in_our_order,
    is_argument,
    refuse_contexts,
)
from gradcheck.testing.judging import Claim
from gradcheck.testing.layout import laid_out, outputs
from gradcheck.testing.purity import impure, mixed, not_linear, pulled
from gradcheck.testing.result import Result
from gradcheck.testing.state import Settled, settled

__all__ = ["GradientError", "Result", "assert_gradient", "assert_vjp", "check"]

COTANGENTS = 3
DRIFTS = (
    "the function's value changes with what it keeps from call to call (running statistics?); "
    "every call of this check began with the state that was handed over"
)
OF_AN_ARRAY = (
    "the function gives an array: judged is the gradient of sum(c * value), c of random numbers; "
    "of one slope an entry, `assert_vjp(f, lambda c, x: c * slopes(x), x)`"
)
Extra = Sequence[Sequence[Any]]
NONE: Mapping[str, Any] = MappingProxyType({})


class GradientError(AssertionError):
    """A gradient is wrong, or could not be established; `result` holds the whole finding."""

    __module__ = "gradcheck.testing"  # what pytest's summary shows, where room is short

    def __init__(self, text: str, result: "Result") -> None:
        """Keep the result beside the message."""
        super().__init__(text)
        self.result = result


def check(
    f: Callable[..., Any],
    *args: Any,
    gradient: Any = None,
    wrt: int | Sequence[int] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    at: Extra = (),
    kwargs: Mapping[str, Any] = NONE,
    batched: bool = False,
) -> Result:
    """Three opinions on f at `args` (and at the extra points `at`); a claimed gradient is judged.

    `f` maps floats or float64 arrays to a number or an array; `gradient` is an array or a tuple of
    arrays, one a differentiated argument, or a callable (same arguments) -> such arrays. For an
    array-valued f the gradient is that of `sum(c * f(...))`, c a random signed cotangent: use
    `assert_vjp` to judge a backward pass. `rtol` is a floor: the error bars decide.

    Arguments may be dicts, lists, tuples or dataclasses of arrays, and gradients are then arranged
    likewise; `kwargs` are handed to f as they are. Of `(loss, ...)` the loss is differentiated.

    `batched` says that f takes a stack of points: every differentiated argument with one more axis
    in front, the value with it too. A function that takes only floats is then asked at many points
    at once; that it gives each of them what it gives alone is tried first. It has to be said, for
    that trial proves three points: what branches on a size, or mixes rows that lie as near to one
    another as probes do, would not show. Nor may a function be handed shapes that nobody promised.
    """
    theirs = foreign(f, args) if gradient is None else None
    if theirs is not None:
        return _judged_theirs(theirs, wrt, seed, rtol)
    if gradient is not None:
        f, args, gradient = in_its_floats(f, args, gradient)
    claim = gradient if callable(gradient) else None
    alone, calls, arranged = _arranged(f, claim, (args, *at), wrt, kwargs, scalar=True)
    try:
        calls = _stacking(calls, batched)
        faults = tuple(dict.fromkeys(fault for each in calls for fault in impure(each)))
        calls += _beside(calls, seed) if claim is not None else []
        asked = [(each, each.case(seed + k)) for k, each in enumerate(calls)]
        told = calls if gradient is not None else []
        given = gradient if claim is not None or gradient is None else arranged(gradient)
        claims = [_claimed(given, alone.backward, each) for each in told]
        several = gradient is not None and calls[0].shape() != ()
        notes = (*_told(alone, calls[0]), *((OF_AN_ARRAY,) if several else ()))
        return found(f, asked, claims, rtol, faults, notes=notes, mend=mender(f, claim, alone))
    finally:
        alone.kept.put_back()


def assert_gradient(
    f: Callable[..., Any],
    *args: Any,
    gradient: Any = None,
    wrt: int | Sequence[int] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    at: Extra = (),
    kwargs: Mapping[str, Any] = NONE,
    batched: bool = False,
) -> Result:
    """As `check`, but raises GradientError, which says what is wrong, where and by how much."""
    __tracebackhide__ = True
    told = {"gradient": gradient, "wrt": wrt, "seed": seed, "rtol": rtol, "at": at}
    return _raised(check(f, *args, **told, kwargs=kwargs, batched=batched))


def assert_vjp(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    *args: Any,
    wrt: int | Sequence[int] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    at: Extra = (),
    kwargs: Mapping[str, Any] = NONE,
    batched: bool = False,
) -> Result:
    """Judge `backward(cotangent, *args) -> one gradient per argument` against the three opinions.

    Several random signed cotangents of the shape of `forward(*args)`; strict shapes (PyTorch would
    silently sum a gradient that is too large); backward must be linear in the cotangent,
    repeatable, and leave its arguments alone. Raises GradientError.

    Of a value that is a tuple or dict of arrays the cotangent is arranged likewise; of
    `(out, cache)` it is that of `out`, and `backward(cotangent, cache)` gets the cache. A layer's
    `backward(cotangent)` gets that alone, after its forward ran at the same arguments. JAX's
    `f_bwd(res, g)` is called as JAX calls it. `batched` says that forward takes a stack of points,
    as for `check`.
    """
    __tracebackhide__ = True
    theirs = foreign(forward, (backward, *args)) if is_argument(backward, forward) else None
    if theirs is not None:  # assert_vjp(F.apply, x): their own backward is what is judged
        return _raised(_judged_theirs(theirs, wrt, seed, rtol))
    if not callable(backward):
        raise TypeError(f"backward is to be a function, {type(backward).__name__} came")
    refuse_contexts(forward)
    forward, backward = in_our_order(forward, backward, args)
    forward, args, backward = in_its_floats(forward, args, backward)
    how: Any = {"seed": seed, "rtol": rtol, "at": at, "kwargs": kwargs, "batched": batched}
    return _raised(_vjp(forward, backward, args, wrt, **how))


def _judged_theirs(theirs: Foreign, wrt: Any, seed: int, rtol: float) -> Result:
    """Their own gradient, judged as any backward pass."""
    places = theirs.wrt if wrt is None else wrt
    found = _vjp(theirs.forward, theirs.backward, theirs.args, places, seed=seed, rtol=rtol)
    return replace(found, notes=(*found.notes, theirs.note))


def _vjp(
    forward: Any,
    backward: Any,
    args: tuple[Any, ...],
    wrt: Any,
    *,
    seed: int,
    rtol: float,
    at: Extra = (),
    kwargs: Mapping[str, Any] = NONE,
    batched: bool = False,
) -> Result:
    """A backward pass judged, and nothing raised."""
    alone, calls, _ = _arranged(forward, backward, (args, *at), wrt, kwargs, scalar=False)
    try:
        assert alone.backward is not None
        all_of = _Asked(alone.backward, seed, np.random.default_rng(seed))
        calls = [all_of.ask(each, all_that_comes=True) for each in _stacking(calls, batched)]
        for each in _beside(calls, seed):
            all_of.ask(each, all_that_comes=False)
        once, notes = tuple(dict.fromkeys(all_of.faults)), _told(alone, calls[0])
        mend = mender(forward, backward, alone)
        return found(forward, all_of.asked, all_of.claims, rtol, once, notes=notes, mend=mend)
    finally:
        alone.kept.put_back()


def _arranged(
    f: Any, backward: Any, points: Extra, wrt: Any, kwargs: Mapping[str, Any], *, scalar: bool
) -> tuple[Settled, list[Call], Callable[[Any], Any]]:
    """Both functions without a memory and of plain arrays; the calls of one and claims so too."""
    layout = laid_out(f, points[0], kwargs) if callable(f) else None
    like: Callable[[Any], Any] = _same
    arranged: Callable[[Any], Any] = _same
    forward = f
    if layout is not None:
        forward, like, arranged = layout.forward(f), layout.backward, layout.by_label
        points, wrt = [layout.of(point) for point in points], layout.wrt(wrt)
    flat = None if backward is None else like(backward)
    first = call(forward, points[0], wrt)
    alone = settled(forward, flat, first.args)
    shape, inner, whole = outputs(alone.value, scalar=scalar), alone.like, alone.forward

    def remade(other: Any) -> Any:
        by = inner(like(other))
        return by if shape is None or scalar else shape.backward(by, whole)

    given = whole if shape is None else shape.forward(whole)
    plain = backward is None or shape is None or scalar
    back = alone.backward if plain else remade(backward)
    first = first if given is first.function else replace(first, function=given)
    calls = [first.answered(alone.value, alone.left) if shape is None else first]
    calls += [call(given, point, wrt) for point in points[1:]]
    alone = replace(alone, forward=given, backward=back, like=remade, left=())
    return alone, calls, arranged


def _same(value: Any) -> Any:
    return value


@dataclass
class _Asked:
    """Questions and claims, one for every point and cotangent, and how backward behaves."""

    backward: Callable[..., Any]
    seed: int
    rng: np.random.Generator
    asked: list[tuple[Call, Case]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def ask(self, point: Call, *, all_that_comes: bool) -> Call:
        """Ask about one point; the call that was asked about, by every gradient that came."""
        self.faults += impure(point)
        shape = point.shape()
        for k in range(COTANGENTS if shape else 1):  # a number's VJP is linear in one number
            c = signed(self.rng, shape)
            wider = all_that_comes and k == 0
            point, came, bad = pulled(self.backward, c, point, all_that_comes=wider)
            self.asked.append((point, point.case(self.seed + k, c)))
            self.claims.append(Claim(point, came, self.backward, c))
            self.faults += bad
        self.faults += not_linear(self.backward, point, c, came)
        return point


def _stacking(calls: list[Call], batched: bool) -> list[Call]:
    """The calls of a function that is said to take stacks of points, where that is so.

    Of so many entries that two points fill a stack, none is made. ValueError where it takes none.
    """
    size = sum(np.size(calls[0].args[i]) for i in calls[0].wrt)
    if not batched or 2 * size > STACK:
        return calls
    if fault := mixed(calls[0]):
        raise ValueError(fault)
    return [replace(each, stacks=True).answered(each.value, each.left) for each in calls]


def _beside(calls: Sequence[Call], seed: int) -> list[Call]:
    """A generic point, where the given one is special and stands alone."""
    near = beside(calls[0], seed) if len(calls) == 1 else None
    return [] if near is None else [near]


def _told(alone: Settled, point: Call) -> tuple[str, ...]:
    """What a reader should know of the functions' memory, and of what was not looked at."""
    return (*((DRIFTS,) if alone.drifts else ()), *hidden(point))


def _raised(result: Result) -> Result:
    __tracebackhide__ = True
    if not result.ok:
        raise GradientError(result.message, result)
    return result


def _claimed(gradient: Any, by: Callable[..., Any] | None, point: Call) -> Claim:
    if by is None:
        return Claim(point, point.by_name(gradient))
    return Claim(point, by=by)
