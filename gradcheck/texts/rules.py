"""What ops do to formulas: the texts of their values, and the way back through them.

Of what works entry by entry the slope is SymPy's derivative of the row's own closed form. An op
without a line here, and without such a slope, has no formula.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy

from gradcheck.engine.tape import Node
from gradcheck.ops.row import Composed, Op
from gradcheck.texts.algebra import (
    ADD,
    COMPARE,
    MATRIX,
    PICK,
    UNWRITTEN,
    Atom,
    Form,
    NoText,
    Shape,
    add_up,
    atom_of,
    broadcast,
    call,
    column,
    count,
    index,
    length_text,
    matmul,
    number,
    of_atom,
    outer,
    split,
    transpose,
    without,
)
from gradcheck.texts.rewriting import is_same
from gradcheck.values import Value

HALF = sympy.Rational(1, 2)


@dataclass(frozen=True)
class PullSite:
    """A place of the pass back: the cotangent `g` of an op's value `y`, asked for operand i."""

    i: int
    g: Form
    y: Form


def axes_of(axis: Value, rank: int) -> list[int]:
    """The axes that a parameter speaks of, all where it says nothing."""
    if axis is None:
        return list(range(rank))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return [int(k) % rank for k in given]


# -- slopes of single entries ----------------------------------------------------------------------

Y = sympy.Symbol("y", real=True)
KNOWN = (Y * (1 - Y), 1 - Y**2, 1 + Y**2, Y, 1 - sympy.exp(-Y), 2 * sympy.sqrt(Y))
"""What slopes are often equal to, in terms of the value."""


def _compare(sign: str, a: Form, b: Form) -> Form:
    """One where a condition holds, else zero."""
    own = broadcast(a.natural, b.natural)
    made = Atom(f"{a.at(ADD)} {sign} {b.at(ADD)}", own, COMPARE, "<")
    return Form(made, broadcast(a.shape, b.shape))


def _above(y: Form, a: Form, b: Form) -> Form:
    """`a > b`; `y > 0` where y has a name and is the larger of the two."""
    atom = atom_of(y)
    return _compare(">", y if b.is_zero and atom is not None and not atom.head else a, b)


ONE_SIDED: Mapping[str, tuple[Callable[..., Form], ...]] = {
    "relu": (lambda y, a: _above(y, a, number(0)),),
    "absolute": (lambda y, a: call("sign", a),),
    "maximum": (_above, lambda y, a, b: _above(y, b, a)),
    "minimum": (lambda y, a, b: _compare("<", a, b), lambda y, a, b: _compare("<", b, a)),
    "softplus": (lambda y, a: call("sigmoid", a),),
}
"""Rows that choose: their slope on either side of the kink, as a condition."""
CUTTING = ("relu", "maximum", "minimum")  # of which zero may be made


@lru_cache(maxsize=512)
def slopes(row: Op, exponent: sympy.Rational | None, count: int) -> tuple[sympy.Expr, ...]:
    """The slope by each argument u0, u1, ..., in terms of the value y where that is shorter."""
    if row.symbolic is None or isinstance(row.symbolic, Composed):
        raise NoText(f"no formula for the slope of {row.name}")
    symbols = [sympy.Symbol(f"u{i}", real=True) for i in range(count)]
    args: list[Value] = list(symbols)
    if exponent is not None:
        args[1] = exponent
    form = sympy.sympify(row.symbolic(*args))
    return tuple(_shorter(form, sympy.diff(form, s)) for s in symbols)


def _shorter(form: sympy.Expr, slope: sympy.Expr) -> sympy.Expr:
    said = slope.subs(form, Y) if form.args else slope
    if not said.has(Y) or said.free_symbols - {Y}:
        said = next((k for k in KNOWN if k.has(Y) and is_same(k.subs(Y, form), slope)), said)
    return min((said, slope), key=lambda e: (e.count_ops(), not e.has(Y)))


def _slope(at: PullSite, row: Op, operands: tuple[Form, ...]) -> Form:
    if row.name in ONE_SIDED:
        return ONE_SIDED[row.name][at.i](at.y, *operands)
    known = {f"u{k}": form for k, form in enumerate(operands)} | {"y": at.y}
    fixed = operands[1].expr if row.name == "power" and operands[1].expr.is_Rational else None
    return Form(_put_in(slopes(row, fixed, len(operands))[at.i], known))


def _put_in(expr: sympy.Expr, known: Mapping[str, Form]) -> sympy.Expr:
    """SymPy's tree with formulas for its symbols, and calls as NumPy's text has them."""
    if expr.is_Symbol:
        return known[str(expr)].expr
    if expr in (sympy.pi, sympy.E):
        return of_atom(str(expr).lower()).expr
    parts = [_put_in(part, known) for part in expr.args]
    if isinstance(expr, UNWRITTEN):
        raise NoText(f"no word for {expr.func}")
    if expr.is_Function:
        if (plain := expr.func(*parts)).is_Integer:
            return plain
        name = str(expr.func)
        return call(name.lower() if name == "Abs" else name, *map(Form, parts)).expr
    return expr.func(*parts) if parts else expr


# -- the way back ----------------------------------------------------------------------------------


def _stretch(g: Form, shape: Shape, axis: Value, keepdims: bool) -> Form:
    """A cotangent of a sum, for every entry that was summed."""
    axes = axes_of(axis, len(shape))
    if len(axes) == len(shape) or keepdims or not g.natural or axes == [0]:
        return g.as_shape(shape)
    if len(shape) == MATRIX:
        return column(g).as_shape(shape)
    places = ", ".join("None" if k in axes else ":" for k in range(len(shape)))
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    return index(g, places, kept).as_shape(shape)


def _whole(form: Form) -> tuple[Form, Form]:
    """A form as numbers and what they multiply, of the form's own shape."""
    if form.natural != tuple(form.shape):
        raise NoText("what is broadcast has no entries of its own")
    return split(form)


def _matmul(at: PullSite, a: Form, b: Form) -> Form:
    g = at.g
    match len(a.shape), len(b.shape), at.i:
        case 1, 1, i:
            return g * (b, a)[i]
        case 2, 1, 0:
            return outer(g, b)
        case 1, 2, 0:
            return matmul(b, g)
        case 1, 2, 1:
            return outer(a, g)
        case 2, 2, 0:
            return matmul(g, transpose(b))
        case 2, _, 1:
            return matmul(transpose(a), g)
    raise NoText("a product of stacks of matrices")


def _mean(at: PullSite, x: Form, axis: Value = None, keepdims: bool = False) -> Form:
    entries = count(x.shape, axes_of(axis, len(x.shape)))
    return _stretch(at.g / entries, x.shape, axis, keepdims)


def _var(at: PullSite, x: Form, axis: Value = None, keepdims: bool = False, ddof: int = 0) -> Form:
    axes = axes_of(axis, len(x.shape))
    outside = _stretch(at.g / (count(x.shape, axes) - ddof), x.shape, axis, keepdims)
    whole = len(axes) == len(x.shape)
    words = "" if whole else f"axis={axes[0] if len(axes) == 1 else tuple(axes)}, keepdims=True"
    shape = () if whole else tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    return outside * (x - call("mean", x, shape=shape, words=words)) * 2


def _max(at: PullSite, x: Form, axis: Value = None, **_: Value) -> Form:
    if len(x.shape) != 1 or at.g.natural:
        raise NoText("the largest of each row")
    return at.g * index(eye(x.shape[0]), f"argmax({x.text})", x.shape)


def _softmax(at: PullSite, x: Form, axis: Value = -1) -> Form:
    return at.y * (at.g - add_up(at.g * at.y, [axis], keepdims=len(x.shape) > 1))


def _log_softmax(at: PullSite, x: Form, axis: Value = -1) -> Form:
    return at.g - softmax(x, axis) * add_up(at.g, [axis], keepdims=len(x.shape) > 1)


def softmax(x: Form, axis: int) -> Form:
    axis = axis % len(x.shape)
    text = f"softmax({x.text}, axis={axis})"
    return of_atom(text, x.shape, head="softmax", parts=(x,), whole=(axis, sympy.S.One))


def _logsumexp(at: PullSite, x: Form, axis: Value = None, keepdims: bool = False) -> Form:
    axes = axes_of(axis, len(x.shape))
    if len(axes) > 1:
        raise NoText("a softmax over several axes")
    return _stretch(at.g, x.shape, axis, keepdims) * softmax(x, axes[0])


def _norm(
    at: PullSite, x: Form, ord: Value = None, axis: Value = None, keepdims: bool = False
) -> Form:  # fmt: skip
    if ord not in (None, 2, "fro") or (ord == 2 and axis is None and len(x.shape) > 1):
        raise NoText("another norm")
    return _stretch(at.g / at.y, x.shape, axis, keepdims) * x


def _inv(at: PullSite, a: Form) -> Form:
    turned = transpose(at.y)
    return -matmul(matmul(turned, at.g), turned)


def inverse(a: Form) -> Form:
    return call("inv", a, shape=a.shape)


def _solve(at: PullSite, a: Form, b: Form) -> Form:
    back = matmul(transpose(inverse(a)), at.g)
    if at.i == 1:
        return back
    return -(matmul(back, transpose(at.y)) if len(at.y.shape) == MATRIX else outer(back, at.y))


def _log_det(at: PullSite, a: Form) -> Form:
    return at.g * transpose(inverse(a))


def eye(n: int) -> Form:
    return of_atom(f"eye({length_text(n)})", (n, n),
                   head="eye", symmetric=True)  # fmt: skip


def _diag(at: PullSite, x: Form, **params: Value) -> Form:
    if any(params.get(k) not in (None, 0, int(k == "axis2")) for k in params):
        raise NoText("another diagonal")
    if not at.g.natural:
        return at.g * eye(x.shape[0])
    if at.g.natural == tuple(x.shape) and len(x.shape) == 1:  # all rows are one
        return at.g.as_shape(x.shape)
    numbers, inner = _whole(at.g)
    return numbers * call("diag", inner, shape=x.shape)


def reshape_form(g: Form, shape: Shape) -> Form:
    """The same entries in another shape; axes of one place by an index."""
    if tuple(g.shape) == tuple(shape) or not g.natural:
        return g.as_shape(shape)
    numbers, inner = _whole(g)
    for k, n in enumerate(shape):
        if n == 1 and (*shape[:k], *shape[k + 1 :]) == g.shape:
            places = ", ".join("None" if j == k else ":" for j in range(len(shape)))
            return index(g, places, shape)
    if tuple(n for n in g.shape if n != 1) == tuple(shape):
        return without(g, [k for k, n in enumerate(g.shape) if n == 1])
    said = ", ".join(map(length_text, shape)) + ("," if len(shape) == 1 else "")
    return numbers * call("reshape", inner, shape=shape, words=f"({said})")


def _getitem(at: PullSite, x: Form, index: Value = None) -> Form:
    g = at.g
    places = index if isinstance(index, tuple) else (index,)
    if all(p is None or (isinstance(p, slice) and p == slice(None)) for p in places):
        new = [k for k, p in enumerate(places) if p is None]
        return without(g, new) if g.natural == tuple(g.shape) else g.as_shape(x.shape)
    given = [None if isinstance(p, slice) or p is None else np.asarray(p) for p in places]
    if any(p is None or p.dtype.kind not in "iu" for p in given) or len(x.shape) > MATRIX:
        raise NoText("a part of an array")
    first, *others = (p for p in given if p is not None)
    if not others and first.ndim > 1:
        g = reshape_form(g, (first.size, *x.shape[1:]))
        first = first.ravel()
    rows = pick_rows(x.shape[0], first)
    if not others and first.ndim == 0:
        return g * rows if len(x.shape) == 1 else outer(rows, g)
    if not others and first.ndim == 1:
        return matmul(transpose(rows), g)
    if len(others) == 1 and first.ndim == 0 == others[0].ndim:
        return g * outer(rows, pick_rows(x.shape[1], others[0]))
    if len(others) == 1 and first.ndim == 1 and list(first) == list(range(x.shape[0])):
        each = g.as_shape((x.shape[0], 1)) if not g.natural else column(g)
        return each * pick_rows(x.shape[1], others[0], x.shape[:1])
    raise NoText("a part of an array")


def pick_rows(n: int, places: Value, rows: Shape | None = None) -> Form:
    """`eye(n)[[1, 3]]`: one where an entry is picked."""
    text, shape = str(places.tolist()), (*(rows or places.shape), n)
    whole = places.ndim, sympy.S.One
    return of_atom(f"{eye(n).text}[{text}]", shape, head=PICK + text, whole=whole)


def _where(at: PullSite, c: Form, a: Form, b: Form) -> Form:
    return at.g * (c if at.i == 1 else number(1) - c)


def _cumsum(at: PullSite, x: Form, **_: Value) -> Form:
    if len(x.shape) != 1:
        raise NoText("a running sum of a matrix")
    numbers, inner = _whole(at.g)
    back = call("cumsum", index(inner, "::-1", x.shape), shape=x.shape)
    return numbers * index(back, "::-1", x.shape)


def _einsum(at: PullSite, *xs: Form, subscripts: str = "") -> Form:
    given, _, due = subscripts.replace(" ", "").partition("->")
    letters = given.split(",")
    left = [(s, x) for k, (s, x) in enumerate(zip(letters, xs, strict=True)) if k != at.i]
    front = at.g
    if due:
        front, inner = _whole(at.g)
        left = [(due, inner), *left]
    if set(letters[at.i]) - set("".join(s for s, _ in left)) or "." in subscripts:
        raise NoText("an axis that is summed alone")
    words = f"{','.join(s for s, _ in left)}->{letters[at.i]}"
    text = f"einsum('{words}', {', '.join(x.text for _, x in left)})"
    return front * of_atom(text, xs[at.i].shape)


BACK: Mapping[str, Callable[..., Form]] = {
    "add": lambda at, a, b: at.g,
    "subtract": lambda at, a, b: -at.g if at.i else at.g,
    "multiply": lambda at, a, b: at.g * (b, a)[at.i],
    "divide": lambda at, a, b: -(at.g * at.y / b) if at.i else at.g / b,
    "negative": lambda at, a: -at.g,
    "matmul": _matmul,
    "outer": lambda at, a, b: matmul(transpose(at.g) if at.i else at.g, (b, a)[at.i]),
    "sum": lambda at, x, axis=None, keepdims=False: _stretch(at.g, x.shape, axis, keepdims),
    "mean": _mean,
    "var": _var,
    "max": _max,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "norm": _norm,
    "inv": _inv,
    "solve": _solve,
    "det": lambda at, a: at.y * _log_det(at, a),
    "logabsdet": _log_det,
    "trace": lambda at, x, **_: at.g * eye(x.shape[0]),
    "diag": _diag,
    "diagonal": _diag,
    **dict.fromkeys(
        ("transpose", "matrix_transpose", "swapaxes"), lambda at, x, **_: transpose(at.g)
    ),
    **dict.fromkeys(
        ("reshape", "ravel", "expand_dims", "squeeze"),
        lambda at, x, **_: reshape_form(at.g, x.shape),
    ),
    **dict.fromkeys(("copy", "broadcast_to"), lambda at, x, **_: at.g),
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
    if node.op.name in CUTTING and _vanishes(at, operands):
        return at.g
    return at.g * _slope(at, node.op, operands)


def _vanishes(at: PullSite, operands: tuple[Form, ...]) -> bool:
    """Whether the cotangent is zero already where a ramp is: `maximum(0, u)` is where u < 0."""
    bases = [f.as_base_exp() for f in sympy.Mul.make_args(at.g.expr)]
    ramp = all(x.is_zero for k, x in enumerate(operands) if k != at.i)
    return ramp and any(base == at.y.expr and to.is_positive for base, to in bases)


def fit_form(g: Form, shape: Shape) -> Form:
    """What was broadcast is summed."""
    if len(g.shape) > len(shape):
        g = add_up(g, list(range(len(g.shape) - len(shape))))
    long = [k for k, n in enumerate(shape) if n == 1 != g.shape[k]]
    return add_up(g, long, keepdims=True) if long else g.as_shape(shape)


# -- values ----------------------------------------------------------------------------------------

VALUES: Mapping[str, Callable[..., Form]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negative": lambda a: -a,
    "square": lambda a: a ** sympy.Integer(2),
    "reciprocal": lambda a: number(1) / a,
    "sqrt": lambda a: a**HALF,
    "power": lambda a, b: a**b,
    "absolute": lambda a: call("abs", a),
    "matmul": matmul,
    "sum": lambda x, axis=None, keepdims=False: add_up(x, axes_of(axis, len(x.shape)), keepdims),
    **dict.fromkeys(("transpose", "matrix_transpose", "swapaxes"), lambda x, **_: transpose(x)),
    "solve": lambda a, b: matmul(inverse(a), b),
    "softmax": lambda x, axis=-1: softmax(x, axis),
    "logabsdet": lambda x: of_atom(f"slogdet({x.text})[1]"),
    **dict.fromkeys(("copy", "broadcast_to"), lambda x, **_: x),
}
RESHAPING = ("reshape", "ravel", "expand_dims", "squeeze")


def value(node: Node, shape: Shape, operands: tuple[Form, ...]) -> Form:
    """What an op makes, as a formula of its operands."""
    name, params = node.op.name, node.params
    if name in VALUES:
        return VALUES[name](*operands, **params).as_shape(shape)
    if name in RESHAPING:
        return reshape_form(operands[0], shape)
    if name == "getitem":
        places = params["index"] if isinstance(params["index"], tuple) else (params["index"],)
        return index(operands[0], ", ".join(map(_place, places)), shape)
    if name == "einsum":
        inner = ", ".join(x.text for x in operands)
        return of_atom(f"einsum('{params['subscripts']}', {inner})", shape)
    if node.op.elementwise and not params:
        return call(name, *operands)
    said = {k: v for k, v in params.items() if v is not None and v is not False and k != "sides"}
    words = ", ".join(f"{k}={_spell(v)}" for k, v in said.items())
    return call(name, *operands, shape=shape, words=words)


def _spell(value: Value) -> str:
    if isinstance(value, int | str | tuple | float):
        return repr(value)
    raise NoText("a parameter that has no text")


def _place(place: Value) -> str:
    if isinstance(place, slice):
        bounds = ["" if b is None else str(int(b)) for b in (place.start, place.stop, place.step)]
        return ":".join(bounds[:2]) + (f":{bounds[2]}" if bounds[2] else "")
    if place is None or place is Ellipsis:
        return "None" if place is None else "..."
    return str(np.asarray(place).tolist())
