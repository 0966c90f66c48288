"""What ops do to formulas: the texts of their values, and the way back through them.

An op without a line here, and without a slope of SymPy's, has no formula.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.engine.tape import Node
from gradcheck.texts.algebra import MATRIX, Algebra, pick
from gradcheck.texts.arrays import (
    ATOM,
    ONE,
    Atom,
    Form,
    NoText,
    Shape,
    Term,
    add,
    call,
    column,
    constant,
    index,
    number,
    of_atom,
    of_term,
    raise_to,
    scale,
    single,
)
from gradcheck.texts.slopes import slope

WHOLE = slice(None)


@dataclass(frozen=True)
class PullSite:
    """A place of the pass back: the cotangent `g` of an op's value `y`, asked for operand i."""

    algebra: Algebra
    i: int
    g: Form
    y: Form


def axes_of(axis: Any, rank: int) -> list[int]:
    """The axes that a parameter speaks of, all where it says nothing."""
    if axis is None:
        return list(range(rank))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return [int(k) % rank for k in given]


def stretch(g: Form, shape: Shape, axis: Any, keepdims: bool) -> Form:
    """A cotangent of a sum, for every entry that was summed."""
    axes = axes_of(axis, len(shape))
    if len(axes) == len(shape) or keepdims or not g.shape or axes == [0]:
        return Form(g.terms, shape)
    if len(shape) == MATRIX:
        return Form(column(g).terms, shape)
    places = ", ".join("None" if k in axes else ":" for k in range(len(shape)))
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    return Form(index(g, places, kept).terms, shape)


def numbers_apart(form: Form) -> tuple[Fraction, Form]:
    """A form as a number and what it multiplies, of the form's own shape."""
    if form.natural != form.shape:
        raise NoText("what is broadcast has no entries of its own")
    term = single(form)
    return term.number, of_term(Term(ONE, term.factors), form.shape)


# -- the way back ----------------------------------------------------------------------------------


def _matmul(at: PullSite, a: Form, b: Form) -> Form:
    t, g = at.algebra, at.g
    match len(a.shape), len(b.shape), at.i:
        case 1, 1, i:
            return t.times(g, (b, a)[i])
        case 2, 1, 0:
            return t.outer(g, b)
        case 1, 2, 0:
            return t.matmul(b, g)
        case 1, 2, 1:
            return t.outer(a, g)
        case 2, 2, 0:
            return t.matmul(g, t.transpose(b))
        case 2, _, 1:
            return t.matmul(t.transpose(a), g)
    raise NoText("a product of stacks of matrices")


def _sum(at: PullSite, x: Form, axis: Any = None, keepdims: bool = False) -> Form:
    return stretch(at.g, x.shape, axis, keepdims)


def _mean(at: PullSite, x: Form, axis: Any = None, keepdims: bool = False) -> Form:
    size = at.algebra.count(x.shape, axes_of(axis, len(x.shape)))
    return stretch(at.algebra.over(at.g, size), x.shape, axis, keepdims)


def _var(at: PullSite, x: Form, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Form:
    axes = axes_of(axis, len(x.shape))
    size = add(at.algebra.count(x.shape, axes), number(-ddof))
    outer = stretch(at.algebra.over(at.g, size), x.shape, axis, keepdims)
    return at.algebra.times(outer, scale(add(x, scale(mean(x, axes), -1)), 2))


def mean(x: Form, axes: list[int]) -> Form:
    """`mean(x, axis=1, keepdims=True)`."""
    whole = len(axes) == len(x.shape)
    axis = axes[0] if len(axes) == 1 else tuple(axes)
    shape = () if whole else tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    words = "" if whole else f"axis={axis}, keepdims=True"
    return call("mean", x, shape=shape, words=words, along=tuple(axes))


def _max(at: PullSite, x: Form, axis: Any = None, **_: Any) -> Form:
    if len(x.shape) != 1 or at.g.shape:
        raise NoText("the largest of each row")
    row = index(eye(at.algebra, x.shape[0]), f"argmax({x.text})", x.shape)
    return at.algebra.times(at.g, row)


def _softmax(at: PullSite, x: Form, axis: Any = -1) -> Form:
    t = at.algebra
    total = t.sum(t.times(at.g, at.y), [axis % len(x.shape)], True)
    return t.times(at.y, add(at.g, scale(total, -1)))


def _log_softmax(at: PullSite, x: Form, axis: Any = -1) -> Form:
    t = at.algebra
    total = t.sum(at.g, [axis % len(x.shape)], True)
    return add(at.g, scale(t.times(t.softmax(x, axis), total), -1))


def _logsumexp(at: PullSite, x: Form, axis: Any = None, keepdims: bool = False) -> Form:
    axes = axes_of(axis, len(x.shape))
    if len(axes) > 1:
        raise NoText("a softmax over several axes")
    whole = stretch(at.g, x.shape, axis, keepdims)
    return at.algebra.times(whole, at.algebra.softmax(x, axes[0]))


def _norm(
    at: PullSite, x: Form, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Form:  # fmt: skip
    if ord not in (None, 2, "fro") or (ord == 2 and axis is None and len(x.shape) > 1):
        raise NoText("another norm")
    ratio = stretch(at.algebra.over(at.g, at.y), x.shape, axis, keepdims)
    return at.algebra.times(ratio, x)


def _inv(at: PullSite, a: Form) -> Form:
    t, turned = at.algebra, at.algebra.transpose(at.y)
    return scale(t.matmul(t.matmul(turned, at.g), turned), -1)


def inverse(a: Form) -> Form:
    """`inv(a)`."""
    return call("inv", a, shape=a.shape)


def _solve(at: PullSite, a: Form, b: Form) -> Form:
    t = at.algebra
    back = t.matmul(t.transpose(inverse(a)), at.g)
    if at.i == 1:
        return back
    many = len(at.y.shape) == MATRIX
    return scale(t.matmul(back, t.transpose(at.y)) if many else t.outer(back, at.y), -1)


def _log_det(at: PullSite, a: Form) -> Form:
    return at.algebra.times(at.g, at.algebra.transpose(inverse(a)))


def _det(at: PullSite, a: Form) -> Form:
    return at.algebra.times(at.y, _log_det(at, a))


def eye(t: Algebra, n: int) -> Form:
    """The identity."""
    return of_atom(Atom(f"eye({t.named(n)})", (n, n), ATOM, "eye"))


def _trace(at: PullSite, x: Form, **_: Any) -> Form:
    return at.algebra.times(at.g, eye(at.algebra, x.shape[0]))


def _diag(at: PullSite, x: Form, **params: Any) -> Form:
    if any(params.get(k) not in (None, 0, int(k == "axis2")) for k in params):
        raise NoText("another diagonal")
    if at.g.natural == ():
        return at.algebra.times(at.g, eye(at.algebra, x.shape[0]))
    if at.g.natural == x.shape and at.i == 0 and len(x.shape) == 1:  # all rows are one
        return Form(at.g.terms, x.shape)
    by, inner = numbers_apart(at.g)
    return scale(call("diag", inner, shape=x.shape), by)


def _reshape(at: PullSite, x: Form, **_: Any) -> Form:
    return reshape_form(at.algebra, at.g, x.shape)


def reshape_form(t: Algebra, g: Form, shape: Shape) -> Form:
    """The same entries in another shape; axes of one place by an index."""
    if g.shape == shape or g.natural == () or g.is_zero:
        return Form(g.terms, shape)
    by, inner = numbers_apart(g)
    if len(shape) == len(g.shape) + 1:
        for k in range(len(shape)):
            if shape[k] == 1 and (*shape[:k], *shape[k + 1 :]) == g.shape:
                return index(
                    g, ", ".join("None" if j == k else ":" for j in range(len(shape))), shape
                )
    gone = [k for k in range(len(g.shape)) if g.shape[k] == 1]
    if tuple(n for n in g.shape if n != 1) == shape:
        return t.without(g, gone)
    said = ", ".join(t.named(n) for n in shape) + ("," if len(shape) == 1 else "")
    return scale(call("reshape", inner, shape=shape, words=f"({said})"), by)


def _getitem(at: PullSite, x: Form, index: Any = None) -> Form:
    t, g = at.algebra, at.g
    places = index if isinstance(index, tuple) else (index,)
    if all(p is None or (isinstance(p, slice) and p == WHOLE) for p in places):
        new = [k for k, p in enumerate(places) if p is None]
        return t.without(g, new) if g.natural == g.shape else Form(g.terms, x.shape)
    given = [None if isinstance(p, slice) or p is None else np.asarray(p) for p in places]
    if any(p is None or p.dtype.kind not in "iu" for p in given) or len(x.shape) > MATRIX:
        raise NoText("a part of an array")
    first, *others = (p for p in given if p is not None)
    if not others and first.ndim > 1:
        g = reshape_form(t, g, (first.size, *x.shape[1:]))
        first = first.ravel()
    rows = _unit(t, x.shape[0], first)
    if not others and first.ndim == 0:
        return t.times(g, rows) if len(x.shape) == 1 else t.outer(rows, g)
    if not others and first.ndim == 1:
        return t.matmul(t.transpose(rows), g)
    if len(others) == 1 and first.ndim == 0 == others[0].ndim:
        return t.times(g, t.outer(rows, _unit(t, x.shape[1], others[0])))
    if len(others) == 1 and first.ndim == 1 and list(first) == list(range(x.shape[0])):
        upright = Form(g.terms, (x.shape[0], 1)) if g.natural == () else column(g)
        return t.times(upright, _unit(t, x.shape[1], others[0]))
    raise NoText("a part of an array")


def _unit(t: Algebra, n: int, places: Any) -> Form:
    shape = (*places.shape, n)
    along = tuple(int(k) for k in np.atleast_1d(places))
    made = Atom(f"eye({t.named(n)})[{places.tolist()}]", shape, ATOM, "rows", along=along)
    t.whole[made] = len(shape) - 1
    return of_atom(made)


def _where(at: PullSite, c: Form, a: Form, b: Form) -> Form:
    return at.algebra.times(at.g, c if at.i == 1 else add(number(1), scale(c, -1)))


def _logaddexp(at: PullSite, a: Form, b: Form) -> Form:
    first, second = (a, b) if at.i == 0 else (b, a)
    return at.algebra.times(at.g, call("sigmoid", add(first, scale(second, -1))))


def _outer(at: PullSite, a: Form, b: Form) -> Form:
    t = at.algebra
    return t.matmul(at.g, b) if at.i == 0 else t.matmul(t.transpose(at.g), a)


def _cumsum(at: PullSite, x: Form, **_: Any) -> Form:
    if len(x.shape) != 1:
        raise NoText("a running sum of a matrix")
    by, inner = numbers_apart(at.g)
    back = index(call("cumsum", index(inner, "::-1", x.shape), shape=x.shape), "::-1", x.shape)
    return scale(back, by)


def _einsum(at: PullSite, *xs: Form, subscripts: str = "") -> Form:
    given, _, due = subscripts.replace(" ", "").partition("->")
    letters = given.split(",")
    left = [(s, x) for k, (s, x) in enumerate(zip(letters, xs, strict=True)) if k != at.i]
    front = at.g
    if due:
        by, inner = numbers_apart(at.g)
        front, left = number(by), [(due, inner), *left]
    if set(letters[at.i]) - set("".join(s for s, _ in left)) or "." in subscripts:
        raise NoText("an axis that is summed alone")
    words = f"{','.join(s for s, _ in left)}->{letters[at.i]}"
    text = f"einsum('{words}', {', '.join(x.text for _, x in left)})"
    return at.algebra.times(front, of_atom(Atom(text, xs[at.i].shape)))


def _turned(at: PullSite, x: Form, **_: Any) -> Form:
    return at.algebra.transpose(at.g)


BACK: Mapping[str, Callable[..., Form]] = {
    "add": lambda at, a, b: at.g,
    "subtract": lambda at, a, b: scale(at.g, -1 if at.i else 1),
    "multiply": lambda at, a, b: at.algebra.times(at.g, (b, a)[at.i]),
    "divide": lambda at, a, b: (
        scale(at.algebra.over(at.algebra.times(at.g, at.y), b), -1)
        if at.i
        else at.algebra.over(at.g, b)
    ),
    "negative": lambda at, a: scale(at.g, -1),
    "matmul": _matmul,
    "dot": _matmul,
    "outer": _outer,
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "max": _max,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "logaddexp": _logaddexp,
    "norm": _norm,
    "inv": _inv,
    "solve": _solve,
    "det": _det,
    "logabsdet": _log_det,
    "trace": _trace,
    "diag": _diag,
    "diagonal": _diag,
    "transpose": _turned,
    "matrix_transpose": _turned,
    "swapaxes": _turned,
    "reshape": _reshape,
    "ravel": _reshape,
    "expand_dims": _reshape,
    "squeeze": _reshape,
    "copy": lambda at, x, **_: at.g,
    "broadcast_to": lambda at, x, **_: at.g,
    "getitem": _getitem,
    "where": _where,
    "cumsum": _cumsum,
    "einsum": _einsum,
}
"""Ops whose way back is no slope of single entries."""


def pull_form(at: PullSite, node: Node, operands: tuple[Form, ...]) -> Form:
    """The cotangent of operand i as a formula, before it is fitted."""
    if at.g.is_zero:
        return number(0, operands[at.i].shape)
    if node.op.name in BACK:
        return BACK[node.op.name](at, *operands, **node.params)
    if not node.op.elementwise:
        raise NoText(f"no formula for the way back through {node.op.name}")
    return at.algebra.times(at.g, slope(at.algebra, node.op, at.i, at.y, operands))


def fit_form(t: Algebra, g: Form, shape: Shape) -> Form:
    """What was broadcast is summed."""
    if len(g.shape) > len(shape):
        g = t.sum(g, list(range(len(g.shape) - len(shape))))
    long = [k for k, n in enumerate(shape) if n == 1 != g.shape[k]]
    return t.sum(g, long, True) if long else Form(g.terms, shape)


# -- values ----------------------------------------------------------------------------------------


def _power(t: Algebra, a: Form, b: Form) -> Form:
    to = constant(b)
    return raise_to(a, b) if to is None else t.power(a, to)


VALUES: Mapping[str, Callable[..., Form]] = {
    "add": lambda t, a, b: add(a, b),
    "subtract": lambda t, a, b: add(a, scale(b, -1)),
    "multiply": lambda t, a, b: t.times(a, b),
    "divide": lambda t, a, b: t.over(a, b),
    "negative": lambda t, a: scale(a, -1),
    "square": lambda t, a: t.power(a, Fraction(2)),
    "reciprocal": lambda t, a: t.power(a, Fraction(-1)),
    "sqrt": lambda t, a: t.power(a, Fraction(1, 2)),
    "power": _power,
    "absolute": lambda t, a: call("abs", a),
    "matmul": lambda t, a, b: t.matmul(a, b),
    "dot": lambda t, a, b: t.matmul(a, b),
    "sum": lambda t, x, axis=None, keepdims=False: t.sum(x, axes_of(axis, len(x.shape)), keepdims),
    "transpose": lambda t, x, **_: t.transpose(x),
    "matrix_transpose": lambda t, x, **_: t.transpose(x),
    "swapaxes": lambda t, x, **_: t.transpose(x),
    "solve": lambda t, a, b: t.matmul(inverse(a), b),
    "softmax": lambda t, x, axis=-1: t.softmax(x, axis),
    "logabsdet": lambda t, x: index(call("slogdet", x, shape=(2,)), "1", ()),
    "copy": lambda t, x, **_: x,
    "broadcast_to": lambda t, x, **_: x,
}
RESHAPING = ("reshape", "ravel", "expand_dims", "squeeze")
ALONG = ("mean", "norm")


def value(t: Algebra, node: Node, shape: Shape, operands: tuple[Form, ...]) -> Form:
    """What an op makes, as a formula of its operands."""
    name, params = node.op.name, node.params
    if name in VALUES:
        made = VALUES[name](t, *operands, **params)
        return made if made.shape == tuple(shape) else Form(made.terms, shape)
    if name in RESHAPING:
        return reshape_form(t, operands[0], _sized(shape, operands[0].shape))
    if name == "getitem":
        return _indexed(operands[0], params["index"], shape)
    if name == "einsum":
        inner = ", ".join(x.text for x in operands)
        return of_atom(Atom(f"einsum('{params['subscripts']}', {inner})", shape))
    if node.op.elementwise and not params:
        return call(name, *operands)
    said = {k: v for k, v in params.items() if v is not None and v is not False and k != "sides"}
    words = ", ".join(f"{k}={_said(v)}" for k, v in said.items())
    along = axes_of(params.get("axis"), len(operands[0].shape)) if name in ALONG else []
    return call(name, *operands, shape=shape, words=words, along=tuple(along))


def _said(value: Any) -> str:
    if isinstance(value, int | str | tuple | float):
        return repr(value)
    raise NoText("a parameter that has no text")


def _sized(shape: Shape, given: Shape) -> Shape:
    """A shape whose sizes are called as those of another that has them in this order."""
    left = [n for n in given if n != 1]
    return tuple(left.pop(0) if left and left[0] == n else n for n in shape)


def _indexed(x: Form, places: Any, shape: Shape) -> Form:
    given = places if isinstance(places, tuple) else (places,)
    texts = [_place(p) for p in given]
    whole = [np.asarray(p) for p in given if not isinstance(p, slice) and p is not None]
    if len(whole) == len(given) == len(x.shape) and all(p.dtype.kind in "iu" for p in whole):
        if len(given) == 1 and whole[0].ndim == 0 and whole[0] >= 0:
            return pick(x, (int(whole[0]),))
        if len(given) == 2 and whole[0].ndim == 1 and list(whole[0]) == list(range(x.shape[0])):
            return pick(x, tuple(int(k) for k in whole[1]))
    if texts == [":", "None"]:
        return column(x)
    return index(x, ", ".join(texts), _sized(shape, x.shape))


def _place(place: Any) -> str:
    if isinstance(place, slice):
        bounds = ["" if b is None else str(int(b)) for b in (place.start, place.stop, place.step)]
        return ":".join(bounds[:2]) + (f":{bounds[2]}" if bounds[2] else "")
    if place is None or place is Ellipsis:
        return "None" if place is None else "..."
    return str(np.asarray(place).tolist())
