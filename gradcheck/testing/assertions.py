"""Assertions for test suites, on unmodified NumPy functions: gradients, backward passes, more."""

import time
from collections.abc import Callable, Sequence
from math import prod
from textwrap import shorten

import numpy as np

from gradcheck.engine.autograd import grad, tensor
from gradcheck.engine.recording import changing
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.opinions.limits import RTOL
from gradcheck.testing.call import (
    POINTS,
    find_hidden,
    make_calls,
    move_beside,
    read_arguments,
    read_numeric,
)
from gradcheck.testing.copies import Copies
from gradcheck.testing.findings import Check
from gradcheck.testing.foreign import Adapted, adapt
from gradcheck.testing.program import LABELS, NONE, make_program
from gradcheck.testing.result import Result, align
from gradcheck.values import Params, Routine, Value

UNTAPED = (
    "reverse mode cannot follow f, and its slopes are the reference here; where it has a gradient "
    "of its own, `assert_gradient(gradient, x, gradient=hessian)` judges the Hessian by that:"
)
OF_AN_ARRAY = (
    "the function gives an array: judged is the gradient of sum(c * value), c of random numbers; "
    "of one slope an entry, `assert_vjp(f, lambda c, x: c * slopes(x), x)`"
)
ENTRIES = 64  # of a value up to which a wrong tangent is located entry by entry
ALONG = "t, of f(x + t v)"
Extra = Sequence[Sequence[Value]]


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
        super().__init__(text)
        self.result = result

    def __reduce__(self) -> tuple[type, tuple[str, None]]:
        return type(self), (str(self), None)  # to another process: functions stay in theirs


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
        differentiated; of several numbers the gradient is that of `sum(c * f(...))`, c a random
        signed cotangent: use `assert_vjp` to judge a backward pass.
    *args
        Numbers, arrays, or dicts, lists, tuples and dataclasses of arrays; gradients are then
        arranged likewise.
    gradient
        An array or a tuple of arrays, one a differentiated argument; a callable (same arguments)
        -> such arrays; or True, where f gives `(value, gradient)`. Of several numbers also the
        Jacobian, of the value's shape and then the argument's.
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
    given = adapt(f, gradient, args, at)
    how: dict[str, Value] = {"seed": seed, "rtol": rtol, "kwargs": kwargs, "explain": explain}
    return _judge(given, wrt, scalar=not given.note, **how)


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
        The dict or list in which a layer keeps its weights (or these, listed) and that in which it
        leaves their gradients, functions that give them, or names. Without `grads` backward gives
        them behind those of its arguments, one each or in a dict.
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
    how: dict[str, Value] = {"seed": seed, "rtol": rtol, "kwargs": kwargs, "explain": explain}
    # assert_vjp(F.apply, x): their own backward is what is judged
    theirs = not callable(backward) or 0 in getattr(forward, "nondiff_argnums", ())
    claim, args = (None, (backward, *args)) if theirs else (backward, args)
    given = adapt(forward, claim, args, at)
    if theirs and not given.note:
        raise TypeError(f"backward is to be a function, {type(backward).__name__} came")
    if params is not None:
        owner = getattr(given.forward, "__self__", None)
        how["weights"] = params, getattr(owner, "grads", None) if grads is None else grads
    return _raise_if_wrong(_judge(given, wrt, scalar=False, cache=cache, pure=pure, **how))


def assert_jvp(f: Routine, jvp: Routine, x: Value, v: Value, **options: Value) -> Result:
    """Judge a Jacobian-vector product, the slope of f along v.

    Parameters
    ----------
    f
        Gives an array.
    jvp
        `jvp(x, v)` gives the tangent, or `(value, tangent)` as JAX has it.
    x, v
        The point and the direction, of one shape; tuples of such for several arguments.
    **options
        `at`, `seed`, `rtol` and `explain` as for `check`; `wrt`, the arguments that v moves.

    Returns
    -------
    Result
        What was found.

    Raises
    ------
    GradientError
        Where the tangent is not the slope of f along v.
    TypeError
        Where shapes do not fit.

    Examples
    --------
    >>> assert_jvp(np.sin, lambda x, v: np.cos(x) * v, np.ones(2), np.array([1.0, -2.0])).ok
    True
    """
    __tracebackhide__ = True
    points, given = (each if isinstance(each, tuple) else (each,) for each in (x, v))
    wrt = np.ravel(options.pop("wrt", range(len(points)))).tolist()
    along = dict(zip(wrt, given, strict=False))
    shapes = {k: np.shape(p) for k, p in enumerate(points) if k in wrt}
    if len(given) != len(wrt) or {k: np.shape(u) for k, u in along.items()} != shapes:
        raise TypeError("x and v are to have the same shapes: v is a direction in which x moves")
    came = jvp(x, v)
    tangent = np.asarray(came[1] if isinstance(came, tuple) else came, dtype=np.float64)
    shape = np.shape(f(*points))
    if tangent.shape != shape:
        raise TypeError(f"the tangent has the shape {tangent.shape}, the value {shape}")

    def move(t: Value) -> Value:
        return f(*(np.asarray(p) + t * np.asarray(along.get(k, 0)) for k, p in enumerate(points)))

    setattr(move, LABELS, {0: ALONG})
    further = options.pop("at", ())
    listed = isinstance(further, list | tuple)
    if not (listed and all(isinstance(p, tuple) and len(p) == len(points) for p in further)):
        raise TypeError(POINTS)
    try:
        found = assert_vjp(move, lambda c, t: np.sum(c * tangent), 0.0, **options)
    except GradientError:
        if shape and tangent.size <= ENTRIES:
            assert_gradient(move, 0.0, gradient=tangent, **options)  # entry by entry
        raise
    for each in further:
        at = each if isinstance(x, tuple) else each[0]
        assert_jvp(f, jvp, at, v, wrt=wrt, **options)
    return found


def assert_hessian(
    f: Callable[[Value], Value], hessian: Callable[[Value], Value], x: Value, **options: Value
) -> Result:
    """Judge second derivatives: `hessian(x)` of a function that gives a number.

    The reference is the gradient of reverse mode, differentiated once more by the tape and by
    differences; f itself is checked first.

    Parameters
    ----------
    f
        Gives a number.
    hessian
        `hessian(x)` has the shape of x twice.
    x
        The point.
    **options
        `seed`, `rtol` and `explain` as for `check`.

    Returns
    -------
    Result
        What was found.

    Raises
    ------
    GradientError
        Where an entry is wrong, or f is not what its own gradient says.

    Examples
    --------
    >>> assert_hessian(lambda x: np.sum(x**3), lambda x: np.diag(6 * x), np.array([1.0, 2.0])).ok
    True
    """
    __tracebackhide__ = True
    due = np.shape(x) * 2

    def slopes(x: Value) -> Value:
        own = isinstance(x, Tensor)
        if not own and np.asarray(x).dtype.kind != "f":
            raise TypeError("the gradient of reverse mode takes plain numbers and tensors")
        leaf = x if own else tensor(np.asarray(x, dtype=np.float64), requires_grad=True)
        with changing(numbers=True):
            try:
                value = f(leaf)
            except (TypeError, ValueError):  # of `np.array(x)`: the copy gathers what it is made of
                value = gathering(leaf)
        (found,) = grad(value, [leaf], create_graph=own)
        return found if own else np.asarray(unwrap(found))

    def pull(c: Value, x: Value) -> Value:
        h = read_numeric(hessian(x), "the Hessian")
        if h.shape != due:
            raise TypeError(f"the Hessian has the shape {h.shape}; of this argument it is {due}")
        return np.tensordot(c, h, np.ndim(x))[()]

    f(x)  # raises what is f's own
    gathering = Copies("tensor").of(f)
    try:
        slopes(np.asarray(x, dtype=np.float64))
    except Exception as error:
        raise TypeError(f"{UNTAPED} {error}") from error
    assert_gradient(f, x, **options)
    return assert_vjp(slopes, pull, x, **options)


def check_table(rows: Sequence[tuple[Value, ...]], **options: Value) -> list[Result | None]:
    """Check several functions, print one row for each argument, and give all the results.

    Parameters
    ----------
    rows
        Each is `(f, backward, *args)`, or `(f, None, *args)` for the opinions alone.
    **options
        `seed`, `rtol` and `explain` as for `check`.

    Returns
    -------
    list of Result
        One for each row, None where it cannot be judged; nothing is raised.

    Examples
    --------
    >>> def sine(x): return np.sin(x)
    >>> found = check_table([(sine, lambda g, x: g * np.cos(x), 1.0)])
    function  argument  entries  claimed  expected  found
    sine      x         1                           agree
    """
    found: list[Result | None] = []
    lines = [("function", "argument", "entries", "claimed", "expected", "found")]
    for row in rows:
        if not isinstance(row, tuple | list) or len(row) < 2:
            raise TypeError(f"a row is (f, backward, *args) or (f, None, *args); {row!r} came")
        f, backward, *args = row
        name = getattr(f, "__name__", type(f).__name__)
        try:
            result = check(f, *args, **options) if backward is None else assert_vjp(
                f, backward, *args, **options
            )  # fmt: skip
        except GradientError as error:
            result = error.result
        except Exception as error:  # noqa: BLE001 - the other rows are judged all the same
            found.append(None)
            lines.append((name, "", "", "", "", shorten(f"{type(error).__name__}: {error}", 40)))
            continue
        found.append(result)
        judged = {part.part: part for part in result.judged}
        for by in result.case.wrt:
            size, part = str(np.size(result.case.inputs[by])), judged.get(by)
            claimed = expected = ""
            for off in part.off[:1] if part else ():
                due = [off.expected] if off.interval is None else off.interval
                claimed, expected = f"{off.claimed:.6g}", " to ".join(f"{x:.6g}" for x in due)
            said = "wrong" if part and not part.right else result.verdict
            said = shorten(result.faults[0], 40) if result.faults and said != "wrong" else said
            lines.append((name, by, size, claimed, expected, said))
    print(*align(lines), sep="\n")
    return found


# -- what all of them do ---------------------------------------------------------------------------


@np.errstate(all="ignore")
def _judge(
    given: Adapted,
    wrt: Value,
    *,
    scalar: bool,
    seed: int,
    rtol: float,
    explain: float,
    kwargs: Params,
    cache: bool | None = None,
    pure: bool = False,
    weights: tuple[Value, Value] | None = None,
) -> Result:
    """Ask about every point, and at a generic one where the given one is special and alone."""
    began = time.thread_time()
    if not (isinstance(rtol, int | float) and 0 <= rtol < np.inf):
        raise ValueError(f"rtol= is a relative tolerance, such as 1e-9; {rtol!r} came")
    if not (isinstance(explain, int | float) and explain >= 0):
        raise ValueError(f"explain= is a number of seconds, 0 for none; {explain!r} came")
    forward, claim, wrt = given.forward, given.claim, given.wrt if wrt is None else wrt
    args = read_arguments(forward, given.args, whole=wrt is None and weights is None)
    program = make_program(
        forward, claim, args, kwargs, scalar=scalar, cache=cache, weights=weights
    )
    rng = np.random.default_rng(seed)
    check = Check(program, claim, pure, seed, rng, rtol, explain, began)
    try:
        first, *more = map(check.ask, make_calls(program, (args, *given.at), wrt))
        alone = program.backward is not None and not more
        if alone and (near := move_beside(first, seed)) is not None:
            check.ask(near)
        array = scalar and claim is not None and prod(first.shape()) != 1 and not first.rows
        every = (*find_hidden(first), *check.notes, OF_AN_ARRAY if array else "", given.note)
        check.notes = dict.fromkeys(filter(None, every))
        return check.judge()
    finally:
        program.kept.put_back()


def _raise_if_wrong(result: Result) -> Result:
    __tracebackhide__ = True
    if not result.ok:
        raise GradientError(result.message, result)
    return result
