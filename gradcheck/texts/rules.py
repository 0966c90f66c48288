"""What ops do to formulas: the text of each op's value, and the way back through those that move,
sum and multiply. An op without a line here, and without a slope of SymPy's, has no formula.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.engine.tape import Node
from gradcheck.texts.algebra import MATRIX, Algebra
from gradcheck.texts.arrays import (
    ONE,
    Form,
    NoText,
    Shape,
    Size,
    Term,
    add,
    broadcast,
    call,
    compare,
    index,
    number,
    of_atom,
    of_term,
    scale,
    single,
    Atom,
    ATOM,
    COLUMN,
    column,
)
from gradcheck.texts.slopes import constant, raised, slope

REDUCED = ("mean", "norm")
Rule = Callable[..., Form]


def axes_of(axis: Any, rank: int) -> list[int]:
    """The axes that a parameter speaks of, all where it says nothing."""
    if axis is None:
        return list(range(rank))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return [int(k) % rank for k in given]


def stretched(g: Form, shape: Shape, axis: Any, keepdims: bool) -> Form:
    """A cotangent of a sum, for every entry that was summed."""
    axes = axes_of(axis, len(shape))
    if len(axes) == len(shape) or keepdims or not g.shape:
        return Form(g.terms, shape)
    if len(shape) == MATRIX and axes == [1]:
        return Form(column(g).terms, shape)
    if len(shape) == MATRIX and axes == [0]:
        return Form(g.terms, shape)
    places = ", ".join("None" if k in axes else ":" for k in range(len(shape)))
    return Form(index(g, places, tuple(1 if k in axes else n for k, n in enumerate(shape))).terms, shape)


# -- the way back ----------------------------------------------------------------------------------


def _matmul(t: Algebra, i: int, g: Form, y: Form, a: Form, b: Form) -> Form:
    ranks = (len(a.shape), len(b.shape))
    match ranks, i:
        case (1, 1), 0:
            return t.times(g, b)
        case (1, 1), 1:
            return t.times(g, a)
        case (2, 1), 0:
            return t.outer(g, b)
        case (2, 1), 1:
            return t.matmul(t.transpose(a), g)
        case (1, 2), 0:
            return t.matmul(b, g)
        case (1, 2), 1:
            return t.outer(a, g)
        case (2, 2), 0:
            return t.matmul(g, t.transpose(b))
        case (2, 2), 1:
            return t.matmul(t.transpose(a), g)
    raise NoText("a product of stacks of matrices")


def _sum(t: Algebra, i: int, g: Form, y: Form, x: Form, axis: Any = None, keepdims: bool = False) -> Form:
    return stretched(g, x.shape, axis, keepdims)


def _mean(t: Algebra, i: int, g: Form, y: Form, x: Form, axis: Any = None, keepdims: bool = False) -> Form:
    size = t.count(x.shape, axes_of(axis, len(x.shape)))
    return stretched(t.over(g, size), x.shape, axis, keepdims)


def _var(t: Algebra, i: int, g: Form, y: Form, x: Form, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Form:
    axes = axes_of(axis, len(x.shape))
    size = add(t.count(x.shape, axes), number(-ddof))
    centred = add(x, scale(mean(x, axes), -1))
    return t.times(stretched(t.over(g, size), x.shape, axis, keepdims), scale(centred, 2))


def mean(x: Form, axes: list[int]) -> Form:
    """`mean(x, axis=1, keepdims=True)`."""
    whole = len(axes) == len(x.shape)
    words = "" if whole else f"axis={axes[0] if len(axes) == 1 else tuple(axes)}, keepdims=True"
    shape = () if whole else tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    return call("mean", x, shape=shape, words=words, along=tuple(axes))


def _softmax(t: Algebra, i: int, g: Form, y: Form, x: Form, axis: Any = -1) -> Form:
    inner = t.sum(t.times(g, y), [axis % len(x.shape)], True)
    return add(t.times(y, g), scale(t.times(y, inner), -1))


def _log_softmax(t: Algebra, i: int, g: Form, y: Form, x: Form, axis: Any = -1) -> Form:
    total = t.sum(g, [axis % len(x.shape)], True)
    return add(g, scale(t.times(t.softmax(x, axis), total), -1))


def _logsumexp(t: Algebra, i: int, g: Form, y: Form, x: Form, axis: Any = None, keepdims: bool = False) -> Form:
    axes = axes_of(axis, len(x.shape))
    if len(axes) > 1:
        raise NoText("a softmax over several axes")
    return t.times(stretched(g, x.shape, axis, keepdims), t.softmax(x, axes[0]))


def _norm(t: Algebra, i: int, g: Form, y: Form, x: Form, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Form:
    if ord not in (None, 2, "fro") or (ord == 2 and axis is None and len(x.shape) > 1):
        raise NoText("another norm")
    return t.times(stretched(t.over(g, y), x.shape, axis, keepdims), x)


def _inv(t: Algebra, i: int, g: Form, y: Form, a: Form) -> Form:
    turned = t.transpose(y)
    return scale(t.matmul(t.matmul(turned, g), turned), -1)


def inverse(a: Form) -> Form:
    """`inv(a)`."""
    return call("inv", a, shape=a.shape)


def _turned_inverse(t: Algebra, a: Form) -> Form:
    same = t.transpose(a).text == a.text
    return inverse(a) if same else t.transpose(inverse(a))


def _solve(t: Algebra, i: int, g: Form, y: Form, a: Form, b: Form) -> Form:
    back = t.matmul(_turned_inverse(t, a), g)
    if i == 1:
        return back
    whole = t.outer(back, y) if len(y.shape) == 1 else t.matmul(back, t.transpose(y))
    return scale(whole, -1)


def eye(t: Algebra, n: int) -> Form:
    """The identity."""
    return of_atom(Atom(f"eye({t.named(n)})", (n, n), ATOM, "eye"))


def _trace(t: Algebra, i: int, g: Form, y: Form, x: Form, **_: Any) -> Form:
    return t.times(g, eye(t, x.shape[0]))


def _diag(t: Algebra, i: int, g: Form, y: Form, x: Form, **params: Any) -> Form:
    if any(params.get(k) not in (None, 0, v) for k, v in (("k", 0), ("offset", 0), ("axis1", 0), ("axis2", 1))):
        raise NoText("another diagonal")
    return diagonal(t, g, x.shape)


def diagonal(t: Algebra, x: Form, shape: Shape) -> Form:
    """`diag(x)`."""
    term = single(Form(x.terms, x.shape))
    if x.natural == ():
        return t.times(x, eye(t, shape[0]))
    if x.natural != x.shape:
        raise NoText("the diagonal of what is broadcast")
    inner = of_term(Term(ONE, term.factors), x.shape)
    return scale(call("diag", inner, shape=shape), term.number) if x.terms else number(0, shape)


def _reshape(t: Algebra, i: int, g: Form, y: Form, x: Form, **_: Any) -> Form:
    return reshaped(g, x.shape, t)


def reshaped(g: Form, shape: Shape, t: Algebra) -> Form:
    """The same entries in another shape; new axes of one place by an index."""
    if g.shape == shape:
        return Form(g.terms, shape)
    if g.natural == () or g.is_zero:
        return Form(g.terms, shape)
    if [n for n in shape if n != 1] == [n for n in g.shape if n != 1]:
        if len(shape) == len(g.shape) + 1 and g.natural == g.shape:
            k = next((k for k in range(len(shape)) if (*shape[:k], *shape[k + 1 :]) == g.shape), None)
            if k is not None:
                places = ", ".join("None" if j == k else ":" for j in range(len(shape)))
                return index(g, places, shape)
        if len(shape) < len(g.shape):
            left, axes = list(shape), []
            for k, n in enumerate(g.shape):
                if left and left[0] == n:
                    left.pop(0)
                else:
                    axes.append(k)
            if not left and g.natural == g.shape:
                return t._without(g, axes)
    if g.natural != g.shape:
        raise NoText("another shape of what is broadcast")
    term = single(g)
    inner = of_term(Term(ONE, term.factors), g.shape)
    said = ", ".join(t.named(n) for n in shape) + ("," if len(shape) == 1 else "")
    return scale(call("reshape", inner, shape=shape, words=f"({said})"), term.number)


def _getitem(t: Algebra, i: int, g: Form, y: Form, x: Form, index: Any = None, **_: Any) -> Form:
    places = index if isinstance(index, tuple) else (index,)
    if all(p is None or (isinstance(p, slice) and p == slice(None)) for p in places):
        new = [k for k, p in enumerate(places) if p is None]
        return t._without(g, new) if g.natural == g.shape else Form(g.terms, x.shape)
    first = np.asarray(places[0]) if not isinstance(places[0], slice) and places[0] is not None else None
    if first is None or first.dtype.kind not in "iu":
        raise NoText("a part of an array")
    rows = _unit(t, x.shape[0], first)
    if len(places) == 1 and first.ndim <= 1 and len(x.shape) <= MATRIX:
        if first.ndim == 0:
            return t.times(g, rows) if len(x.shape) == 1 else t.outer(rows, g)
        return t.matmul(t.transpose(rows), g)
    if len(places) == 2 and first.ndim == 1 and list(first) == list(range(x.shape[0])):
        second = np.asarray(places[1])
        if second.dtype.kind in "iu" and second.shape == first.shape:
            upright = Form(g.terms, (x.shape[0], 1)) if g.natural == () else column(g)
            return Form(t.times(upright, _unit(t, x.shape[1], second)).terms, x.shape)
    raise NoText("a part of an array")


def _unit(t: Algebra, n: int, places: Any) -> Form:
    """Rows of the identity."""
    shape = (*places.shape, n)
    made = Atom(f"eye({t.named(n)})[{places.tolist()}]", shape, ATOM, "rows")
    t.whole[made] = len(shape) - 1
    return of_atom(made)


def _where(t: Algebra, i: int, g: Form, y: Form, c: Form, a: Form, b: Form) -> Form:
    return t.times(g, c if i == 1 else add(number(1), scale(c, -1)))


def _logaddexp(t: Algebra, i: int, g: Form, y: Form, a: Form, b: Form) -> Form:
    first, second = (a, b) if i == 0 else (b, a)
    return t.times(g, call("sigmoid", add(first, scale(second, -1))))


def _outer(t: Algebra, i: int, g: Form, y: Form, a: Form, b: Form) -> Form:
    return t.matmul(g, b) if i == 0 else t.matmul(t.transpose(g), a)


def _cumsum(t: Algebra, i: int, g: Form, y: Form, x: Form, axis: Any = None, **_: Any) -> Form:
    if len(x.shape) != 1 or g.natural != g.shape:
        raise NoText("a running sum of a matrix")
    turned = index(call("cumsum", index(g, "::-1", g.shape), shape=g.shape), "::-1", g.shape)
    return turned


def _clip(t: Algebra, i: int, g: Form, y: Form, x: Form, *bounds: Form, sides: Any = ()) -> Form:
    if i:
        raise NoText("a bound")
    for side, bound in zip(sides, bounds, strict=True):
        g = t.times(g, compare(">" if side == "low" else "<", x, bound))
    return g


def _einsum(t: Algebra, i: int, g: Form, y: Form, *xs: Form, subscripts: str = "", **_: Any) -> Form:
    given, _, due = subscripts.replace(" ", "").partition("->")
    letters = given.split(",")
    others = [(s, x) for k, (s, x) in enumerate(zip(letters, xs, strict=True)) if k != i]
    left = [(due, g), *others]
    if set(letters[i]) - set("".join(s for s, _ in left)) or g.natural not in (g.shape, ()):
        raise NoText("an axis that is summed alone")
    if due == "" or g.natural == ():
        front, left = g, others
    else:
        term = single(g)
        front, left = number(term.number), [(due, of_term(Term(ONE, term.factors), g.shape)), *others]
    words = f"'{','.join(s for s, _ in left)}->{letters[i]}', "
    text = f"einsum({words}{', '.join(x.text for _, x in left)})"
    return t.times(front, of_atom(Atom(text, xs[i].shape, ATOM, "einsum")))


BACK: Mapping[str, Rule] = {
    "add": lambda t, i, g, y, a, b: g,
    "subtract": lambda t, i, g, y, a, b: g if i == 0 else scale(g, -1),
    "multiply": lambda t, i, g, y, a, b: t.times(g, (b, a)[i]),
    "divide": lambda t, i, g, y, a, b: (
        t.over(g, b) if i == 0 else scale(t.over(t.times(g, y), b), -1)
    ),
    "negative": lambda t, i, g, y, a: scale(g, -1),
    "positive": lambda t, i, g, y, a: g,
    "matmul": _matmul,
    "dot": _matmul,
    "inner": lambda t, i, g, y, a, b: t.times(g, (b, a)[i]),
    "outer": _outer,
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "logaddexp": _logaddexp,
    "norm": _norm,
    "inv": _inv,
    "solve": _solve,
    "det": lambda t, i, g, y, a: t.times(t.times(g, y), _turned_inverse(t, a)),
    "logabsdet": lambda t, i, g, y, a: t.times(g, _turned_inverse(t, a)),
    "trace": _trace,
    "diag": _diag,
    "diagonal": _diag,
    "transpose": lambda t, i, g, y, x, **_: t.transpose(g),
    "matrix_transpose": lambda t, i, g, y, x, **_: t.transpose(g),
    "swapaxes": lambda t, i, g, y, x, **_: t.transpose(g),
    "reshape": _reshape,
    "ravel": _reshape,
    "expand_dims": _reshape,
    "squeeze": _reshape,
    "copy": lambda t, i, g, y, x, **_: g,
    "broadcast_to": lambda t, i, g, y, x, **_: g,
    "getitem": _getitem,
    "where": _where,
    "clip": _clip,
    "cumsum": _cumsum,
    "einsum": _einsum,
}
"""Ops whose way back is no slope of single entries."""


def pulled(t: Algebra, node: Node, i: int, g: Form, y: Form, operands: tuple[Form, ...]) -> Form:
    """The cotangent of operand i as a formula, before it is fitted."""
    if g.is_zero:
        return number(0, operands[i].shape)
    if node.op.name in BACK:
        return BACK[node.op.name](t, i, g, y, *operands, **node.params)
    if not node.op.elementwise:
        raise NoText(f"no formula for the way back through {node.op.name}")
    return t.times(g, slope(t, node.op, i, y, operands))


def fitted(t: Algebra, g: Form, shape: Shape) -> Form:
    """What was broadcast is summed."""
    extra = len(g.shape) - len(shape)
    if extra > 0:
        g = t.sum(g, list(range(extra)))
    stretched_axes = [k for k, n in enumerate(shape) if n == 1 != g.shape[k]]
    return t.sum(g, stretched_axes, True) if stretched_axes else Form(g.terms, shape)


# -- values ----------------------------------------------------------------------------------------


def value(t: Algebra, node: Node, shape: Shape, operands: tuple[Form, ...]) -> Form:
    """What an op makes, as a formula of its operands."""
    name, params = node.op.name, node.params
    if node.op.elementwise:
        shape = t.matched(*(x.shape for x in operands))
    match name, operands:
        case "add", (a, b):
            return Form(add(a, b).terms, shape)
        case "subtract", (a, b):
            return Form(add(a, scale(b, -1)).terms, shape)
        case "multiply", (a, b):
            return t.times(a, b)
        case "divide", (a, b):
            return t.over(a, b)
        case "negative", (a,):
            return scale(a, -1)
        case "square", (a,):
            return t.power(a, Fraction(2))
        case "reciprocal", (a,):
            return t.power(a, Fraction(-1))
        case "sqrt", (a,):
            return t.power(a, Fraction(1, 2))
        case "power", (a, b):
            to = constant(b)
            return raised(a, b) if to is None else t.power(a, to)
        case ("matmul" | "dot"), (a, b) if a.shape and b.shape:
            return t.matmul(a, b)
        case "sum", (x,):
            return t.sum(x, axes_of(params.get("axis"), len(x.shape)), bool(params.get("keepdims")))
        case ("transpose" | "matrix_transpose" | "swapaxes"), (x,):
            return t.transpose(x)
        case "softmax", (x,):
            return t.softmax(x, params.get("axis", -1))
        case "inv", (x,):
            return inverse(x)
        case "absolute", (x,):
            return call("abs", x)
        case ("reshape" | "expand_dims" | "squeeze" | "ravel"), (x,):
            return reshaped(x, _sized(shape, x.shape), t)
        case "getitem", (x,):
            return _indexed(x, params["index"], shape)
        case "diagonal", (x,):
            return call("diagonal", x, shape=shape)
        case "logabsdet", (x,):
            return index(call("slogdet", x, shape=(2,)), "1", ())
        case "einsum", _:
            inner = ", ".join(x.text for x in operands)
            return of_atom(Atom(f"einsum('{params['subscripts']}', {inner})", shape))
        case "copy" | "broadcast_to", (x,):
            return Form(x.terms, shape)
    if node.op.elementwise and not params:
        return call(name, *operands)
    params = {k: v for k, v in params.items() if k != "sides"}
    along = axes_of(params.get("axis"), len(operands[0].shape)) if name in REDUCED else []
    words = ", ".join(f"{k}={_said(v)}" for k, v in params.items() if v is not None and v is not False)
    return call(name, *operands, shape=shape, words=words, along=tuple(along))


def _said(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    if isinstance(value, int | str | tuple | bool | float):
        return repr(value)
    raise NoText("a parameter that has no text")


def _sized(shape: Shape, given: Shape) -> Shape:
    """A shape whose sizes are called as those of another that has them in this order."""
    left = [n for n in given if n != 1]
    found = []
    for n in shape:
        found.append(left.pop(0) if left and left[0] == n else n)
    return tuple(found)


def _indexed(x: Form, places: Any, shape: Shape) -> Form:
    given = places if isinstance(places, tuple) else (places,)
    texts = [_place(p) for p in given]
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
