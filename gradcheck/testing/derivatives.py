"""Other derivatives judged by the same opinions: Jacobian-vector products, Hessians; a table."""

from collections.abc import Callable, Sequence

import numpy as np

from gradcheck.engine.autograd import grad, tensor
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.testing.assertions import GradientError, Result, assert_gradient, assert_vjp, check
from gradcheck.testing.program import LABELS
from gradcheck.testing.result import align
from gradcheck.values import Routine, Value

ENTRIES = 64  # of a value up to which a wrong tangent is located entry by entry
ALONG = "t, of f(x + t v)"


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
        `seed`, `rtol` and `explain` as for `check`.

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
    >>> from gradcheck.testing import assert_jvp
    >>> assert_jvp(np.sin, lambda x, v: np.cos(x) * v, np.ones(2), np.array([1.0, -2.0])).ok
    True
    """
    __tracebackhide__ = True
    points, along = (x, v) if isinstance(x, tuple) else ((x,), (v,))
    if list(map(np.shape, points)) != list(map(np.shape, along)):
        raise TypeError("x and v are to have the same shapes: v is a direction in which x moves")
    came = jvp(x, v)
    tangent = np.asarray(came[1] if isinstance(came, tuple) else came, dtype=np.float64)
    shape = np.shape(f(*points))
    if tangent.shape != shape:
        raise TypeError(f"the tangent has the shape {tangent.shape}, the value {shape}")

    def moved(t: Value) -> Value:
        pairs = zip(points, along, strict=True)
        return f(*(np.asarray(p) + t * np.asarray(u) for p, u in pairs))

    def entries(t: Value) -> Value:  # each by a variable of its own
        return sum(moved(t[index])[index] for index in np.ndindex(shape))

    for each in (moved, entries):
        setattr(each, LABELS, {0: ALONG})
    try:
        return assert_vjp(moved, lambda c, t: np.sum(c * tangent), 0.0, **options)
    except GradientError:
        if shape and tangent.size <= ENTRIES:
            assert_gradient(entries, np.zeros(shape), gradient=tangent, **options)
        raise


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
    >>> from gradcheck.testing import assert_hessian
    >>> assert_hessian(lambda x: np.sum(x**3), lambda x: np.diag(6 * x), np.array([1.0, 2.0])).ok
    True
    """
    __tracebackhide__ = True
    assert_gradient(f, x, **options)
    due = np.shape(x) * 2

    def slopes(x: Value) -> Value:
        own = isinstance(x, Tensor)
        if not own and np.asarray(x).dtype.kind != "f":
            raise TypeError("the gradient of reverse mode takes plain numbers and tensors")
        leaf = x if own else tensor(np.asarray(x, dtype=np.float64), requires_grad=True)
        (found,) = grad(f(leaf), [leaf], create_graph=own)
        return found if own else np.asarray(bare(found))

    def pulled(c: Value, x: Value) -> Value:
        h = np.asarray(hessian(x), dtype=np.float64)
        if h.shape != due:
            raise TypeError(f"the Hessian has the shape {h.shape}; of this argument it is {due}")
        return np.tensordot(c, h, np.ndim(x))[()]

    return assert_vjp(slopes, pulled, x, **options)


def check_table(rows: Sequence[tuple[Value, ...]], **options: Value) -> list[Result]:
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
        One for each row; nothing is raised.

    Examples
    --------
    >>> def sine(x): return np.sin(x)
    >>> found = check_table([(sine, lambda g, x: g * np.cos(x), 1.0)])
    function  argument  entries  claimed  expected  found
    sine      x         1                           agree
    """
    found, lines = [], [("function", "argument", "entries", "claimed", "expected", "found")]
    for f, backward, *args in rows:
        try:
            result = check(f, *args, **options) if backward is None else assert_vjp(
                f, backward, *args, **options
            )  # fmt: skip
        except GradientError as error:
            result = error.result
        found.append(result)
        name = getattr(f, "__name__", type(f).__name__)
        judged = {part.part: part for part in result.judged}
        for by in result.case.wrt:
            size, part = str(np.size(result.case.inputs[by])), judged.get(by)
            numbers, said = ("", ""), "wrong" if part and part.shape else result.verdict
            if part is not None and part.off:  # where it is farthest off
                off = max(part.off, key=lambda off: off.distance)
                numbers, said = (f"{off.claimed:.6g}", f"{off.expected:.6g}"), "wrong"
            lines.append((name, by, size, *numbers, said))
    print(*align(lines), sep="\n")
    return found
