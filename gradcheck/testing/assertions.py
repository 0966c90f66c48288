"""Assertions for test suites: `assert_gradient` and `assert_vjp` on unmodified NumPy functions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from gradcheck.opinions.opinion import Case
from gradcheck.testing.call import (
    Call,
    arguments_of,
    as_it_came,
    beside,
    calls_of,
    draw_signed,
    find_hidden,
    impure,
    not_linear,
    pull_back,
)
from gradcheck.testing.findings import Check, explain_claims
from gradcheck.testing.foreign import Adapted, adapt
from gradcheck.testing.judging import Claim
from gradcheck.testing.limits import RTOL
from gradcheck.testing.program import UserProgram, program_of
from gradcheck.testing.result import Result
from gradcheck.values import Params, Routine, Value

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
SPOILT = (
    "backward writes into the cotangent that it is given: sound where nobody else reads it; "
    "pure=True refuses it"
)
Extra = Sequence[Sequence[Value]]
NONE: Params = MappingProxyType({})


class GradientError(AssertionError):
    """A gradient is wrong, or could not be established.

    Attributes
    ----------
    result : Result
        The whole finding.

    Examples
    --------
    >>> try:
    ...     assert_gradient(lambda x: x**3, 2.0, gradient=-12.0)
    ... except GradientError as error:
    ...     print(error.result.ok, str(error).splitlines()[0])
    False d/dx is -12, should be 12: sign-error
    """

    __module__ = "gradcheck.testing"  # what pytest's summary shows, where room is short

    def __init__(self, text: str, result: "Result") -> None:
        """Keep the result beside the message."""
        super().__init__(text)
        self.result = result


@np.errstate(all="ignore")
def check(
    f: Routine,
    *args: Value,
    gradient: Value = None,
    wrt: int | Sequence[int] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    at: Extra = (),
    kwargs: Params = NONE,
    explain: float = 3.0,
) -> Result:
    """Three opinions on f at some arguments; a claimed gradient is judged.

    Parameters
    ----------
    f
        Maps floats or float64 arrays to a number or an array. Of `(loss, ...)` the loss is
        differentiated; of an array the gradient is that of `sum(c * f(...))`, c a random signed
        cotangent: use `assert_vjp` to judge a backward pass.
    *args
        Numbers, arrays, or dicts, lists, tuples and dataclasses of arrays; gradients are then
        arranged likewise.
    gradient
        An array or a tuple of arrays, one a differentiated argument; a callable (same arguments)
        -> such arrays; or True, where f gives `(value, gradient)`.
    wrt
        Positions of the arguments that are differentiated; all that hold floats if left out.
    seed
        Of the random directions and cotangents.
    rtol
        A floor of the tolerance: the error bars decide.
    at
        Further points, each a tuple of arguments.
    kwargs
        Handed to f as they are.
    explain
        Seconds that may be spent on explaining a wrong gradient; 0 for none.

    Returns
    -------
    Result
        True where nothing is wrong; the opinions, what was judged, and a message.

    Examples
    --------
    >>> check(lambda x: x**3, 2.0, gradient=12.0).verdict
    'agree'
    >>> bool(check(lambda x: x**3, 2.0, gradient=6.0))
    False
    """
    began = time.thread_time()
    _check_options(rtol, at, explain)
    given = adapt(f, gradient, args)
    if given.note:
        return _judge_theirs(given, wrt, seed=seed, rtol=rtol, explain=explain)
    f, gradient = given.forward, given.claim
    made = callable(gradient) or gradient is True
    args = arguments_of(f, given.args, wrt)
    program = program_of(f, gradient if made else None, args, kwargs, scalar=True)
    try:
        calls = calls_of(program, (args, *at), wrt)
        faults = tuple(dict.fromkeys(fault for each in calls for fault in impure(each)))
        claims: list[Claim] = []
        if made:
            calls += _beside(calls, seed)
            came = program.gradients(program.pull(calls[0].fresh()), calls[0].wrt)
            wrt = as_it_came(came, calls[0]).wrt
            calls = [each.like(wrt=wrt) for each in calls]
            claims = [Claim(each) for each in calls]
        elif gradient is not None:
            came = program.gradients(gradient, calls[0].wrt)
            wrt = as_it_came(came, calls[0]).wrt
            calls = [each.like(wrt=wrt) for each in calls]
            claims = [Claim(each, each.by_name(gradient)) for each in calls]
        asked = [(each, each.case(seed + k)) for k, each in enumerate(calls)]
        several = gradient is not None and calls[0].shape() != ()
        notes = (*_remarks(program, calls[0]), *((OF_AN_ARRAY,) if several else ()))
        return explain_claims(Check(program, asked, claims, rtol, faults, notes, explain, began))
    finally:
        program.kept.put_back()


def assert_gradient(f: Routine, *args: Value, **options: Value) -> Result:
    """As `check`, but raises what is wrong, where and by how much.

    Parameters
    ----------
    f, *args
        The function and its arguments.
    **options
        `gradient`, `wrt`, `seed`, `rtol`, `at`, `kwargs` and `explain`, as for `check`.

    Raises
    ------
    GradientError
        An AssertionError; its `result` holds the whole finding.

    Examples
    --------
    >>> assert_gradient(lambda x: np.sum(x**2), np.array([1.0, 2.0])).gradient
    array([2., 4.])
    """
    __tracebackhide__ = True
    return _raise_if_wrong(check(f, *args, **options))


def assert_vjp(
    forward: Routine,
    backward: Routine,
    *args: Value,
    wrt: int | Sequence[int] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    at: Extra = (),
    kwargs: Params = NONE,
    explain: float = 3.0,
    cache: bool | None = None,
    params: Value = None,
    grads: Value = None,
    pure: bool = False,
) -> Result:
    """Judge a backward pass against the three opinions; raises GradientError.

    Several random signed cotangents of the shape of `forward(*args)`; strict shapes (PyTorch would
    silently sum a gradient that is too large); backward must be linear in the cotangent,
    repeatable, and leave its arguments alone.

    Parameters
    ----------
    forward
        Gives an array, several (a tuple or dict: backward gets a cotangent for each), or `(out,
        ..., cache)`.
    backward
        Called as it is written: `backward(cotangent, *args)`, `backward(cotangent, cache)`,
        `backward(dh, dc, cache)`, or `backward(cotangent)` of a layer, after its forward ran at
        the same arguments. Gives a gradient per argument, in order or by name.
    *args, wrt, seed, rtol, at, kwargs, explain
        As for `check`.
    cache
        Whether the last of what forward gives is a cache: asked for where that cannot be told.
    params, grads
        The dict or list in which a layer keeps its weights and that in which it leaves their
        gradients, functions that give them, or names of attributes.
    pure
        Refuse a backward that writes into its cotangent.

    Returns
    -------
    Result
        Its `message` says what this check could not have seen.

    Raises
    ------
    GradientError
        The backward pass is wrong, or could not be judged.

    Examples
    --------
    >>> assert_vjp(np.tanh, lambda g, x: g * (1 - np.tanh(x) ** 2), np.array([0.5, -1.0])).ok
    True
    """
    __tracebackhide__ = True
    _check_options(rtol, at, explain)
    if not callable(backward) or 0 in getattr(forward, "nondiff_argnums", ()):
        # assert_vjp(F.apply, x): their own backward is what is judged
        given = adapt(forward, None, (backward, *args))
        if not given.note:
            raise TypeError(f"backward is to be a function, {type(backward).__name__} came")
        return _raise_if_wrong(_judge_theirs(given, wrt, seed=seed, rtol=rtol, explain=explain))
    given = adapt(forward, backward, args)
    forward, backward, args = given.forward, given.claim, given.args
    weights = None
    if params is not None:
        owner = getattr(forward, "__self__", None)
        weights = (params, getattr(owner, "grads", None) if grads is None else grads)
        if weights[1] is None:
            raise TypeError("params= needs grads=: where backward leaves the weights' gradients")
    how: dict[str, Value] = {"seed": seed, "rtol": rtol, "explain": explain, "at": at}
    how |= {"kwargs": kwargs, "cache": cache, "weights": weights, "pure": pure}
    return _raise_if_wrong(_vjp(forward, backward, args, wrt, **how))


def _check_options(rtol: float, at: Value, explain: float) -> None:
    """ValueError for what is no tolerance, no list of points, no time."""
    if not (isinstance(rtol, int | float) and 0 <= rtol < np.inf):
        raise ValueError(f"rtol= is a relative tolerance, such as 1e-9; {rtol!r} came")
    if not (isinstance(explain, int | float) and explain >= 0):
        raise ValueError(f"explain= is a number of seconds, 0 for none; {explain!r} came")
    if not isinstance(at, list | tuple):
        raise TypeError(f"at= is a list of points, each a tuple: at=[(x,)]; {at!r} came")


def _judge_theirs(theirs: Adapted, wrt: Value, **options: Value) -> Result:
    places = theirs.wrt if wrt is None else wrt
    options |= {"weights": theirs.weights}
    result = _vjp(theirs.forward, theirs.claim, theirs.args, places, **options)
    return replace(result, notes=(*result.notes, theirs.note))


@np.errstate(all="ignore")
def _vjp(
    forward: Value,
    backward: Value,
    args: tuple[Value, ...],
    wrt: Value,
    *,
    seed: int,
    rtol: float,
    explain: float,
    at: Extra = (),
    kwargs: Params = NONE,
    cache: bool | None = None,
    weights: tuple[Value, Value] | None = None,
    pure: bool = False,
) -> Result:
    began = time.thread_time()
    args = arguments_of(forward, args, wrt)
    program = program_of(
        forward, backward, args, kwargs, scalar=False, cache=cache, weights=weights
    )
    try:
        all_of = _Asked(seed, np.random.default_rng(seed), pure)
        calls = [all_of.ask(each, all_that_comes=True)
                 for each in calls_of(program, (args, *at), wrt)]  # fmt: skip
        for each in _beside(calls, seed):
            all_of.ask(each, all_that_comes=False)
        once = tuple(dict.fromkeys(all_of.faults))
        notes = (*_remarks(program, calls[0]), *dict.fromkeys(all_of.notes))
        found_out = Check(program, all_of.asked, all_of.claims, rtol, once, notes, explain, began)
        return explain_claims(found_out)
    finally:
        program.kept.put_back()


@dataclass
class _Asked:
    """Questions and claims, one for every point and cotangent, and how backward behaves."""

    seed: int
    rng: np.random.Generator
    pure: bool
    asked: list[tuple[Call, Case]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def ask(self, point: Call, *, all_that_comes: bool) -> Call:
        """Ask about one point; the call that was asked about, by every gradient that came."""
        self.faults += impure(point)
        shape = point.shape()
        for k in range(COTANGENTS if shape else 1):  # a number's VJP is linear in one number
            c = draw_signed(self.rng, shape)
            came = pull_back(c, point, all_that_comes=all_that_comes and k == 0)
            point = came.call
            self.asked.append((point, point.case(self.seed + k, c)))
            self.claims.append(Claim(point, came.gradients, c))
            self.faults += came.faults
            if came.spoilt:
                (self.faults if self.pure else self.notes).append(SPOILT)
        self.faults += not_linear(point, c, came.gradients)
        return point


def _beside(calls: Sequence[Call], seed: int) -> list[Call]:
    """A generic point, where the given one is special and stands alone."""
    near = beside(calls[0], seed) if len(calls) == 1 else None
    return [] if near is None else [near]


def _remarks(program: UserProgram, point: Call) -> tuple[str, ...]:
    """What a reader should know of the functions' memory, and of what was not looked at."""
    return (*((DRIFTS,) if program.drifts else ()), *find_hidden(point))


def _raise_if_wrong(result: Result) -> Result:
    __tracebackhide__ = True
    if not result.ok:
        raise GradientError(result.message, result)
    return result
