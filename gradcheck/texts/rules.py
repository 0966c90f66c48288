"""What ops do to formulas: their values, and the way back through them.

What is linear has one row, the letters of `einsum`, which serves both ways. Of what works entry by
entry the slope is SymPy's derivative of the row's own closed form; what is neither has a row in
`BACK`, or no formula.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import sympy

from gradcheck.engine.tape import Node
from gradcheck.numbers.symbolic import form_of
from gradcheck.ops.reductions import reduce_axes
from gradcheck.ops.row import TABLE, Op
from gradcheck.texts.entries import (
    ATOM,
    ONE,
    ROW,
    ArrayEntry,
    Form,
    Named,
    NoText,
    Shape,
    Total,
    broadcast,
    delta,
    draw_letter,
    is_symmetric,
    leaf,
    letter,
    letters,
    make_total,
    number,
    places_of,
    size,
    sum_over,
)
from gradcheck.texts.rewriting import is_same
from gradcheck.texts.writer import count_text, write_form
from gradcheck.values import Value


@dataclass(frozen=True)
class PullSite:
    """A place of the pass back: the cotangent `g` of an op's value `y`, asked for operand i."""

    i: int
    g: Form
    y: Form


NAMES = "abcdefghijklmnopqrstuvwxyz"


# -- what is linear --------------------------------------------------------------------------------


def contract(subscripts: str, *forms: Form, sizes: Mapping[str, int] | None = None) -> Form:
    """`einsum`; `1` is an axis of length one, a letter twice behind the arrow a diagonal.

    What is only behind the arrow is as long as `sizes` say, and the same all along.
    """
    given, _, out = subscripts.partition("->")
    pairs = list(zip(given.split(","), forms, strict=True))
    lengths = {"1": 1, **(sizes or {})}
    for term, form in pairs:
        for name, n in zip(term, form.shape, strict=True):
            (lengths[name],) = broadcast((lengths.get(name, 1),), (n,))
    known, found = dict[str, Value](), ONE
    for k, name in enumerate(reversed(out)):
        if name in known and name != "1":
            found *= delta(lengths[name], letter(k), known[name])
        known.setdefault(name, letter(k))
    bound = {name: draw_letter() for name in lengths if name not in known and name != "1"}
    known |= bound
    for term, form in pairs:
        rule = {p: known[n] for n, p in zip(term, form.places, strict=True) if p != 0}
        found *= form.expr.xreplace(rule)
    counts = {place: size(lengths[name]) for name, place in bound.items()}
    return Form(sum_over(found, counts, count_text), tuple(lengths[name] for name in out))


def _sum(x: Form, axis: Value = None, keepdims: bool = False) -> str:
    names, lost = NAMES[: len(x.shape)], reduce_axes(x.shape, axis)
    kept = ("1" * keepdims if k in lost else name for k, name in enumerate(names))
    return f"{names}->{''.join(kept)}"


def add_up(x: Form, axis: Value, keepdims: bool = False) -> Form:
    return contract(_sum(x, axis, keepdims), x)


def fit_form(g: Form, shape: Shape) -> Form:
    """What was broadcast is summed."""
    extra = len(g.shape) - len(shape)
    g = add_up(g, tuple(range(extra)))
    ones = tuple(k for k, n in enumerate(shape) if n == 1 != g.shape[k])
    return add_up(g, ones, keepdims=True)


def count(x: Form, axis: Value) -> Form:
    """How many entries there are along some axes."""
    return Form(sympy.Mul(*(size(x.shape[k]) for k in reduce_axes(x.shape, axis))))


def _matmul(a: Form, b: Form) -> str:
    rows, columns = "i" * (len(a.shape) > 1), "k" * (len(b.shape) > 1)
    one, other = (NAMES[13 : 11 + len(x.shape)][::-1] for x in (a, b))  # stacks, from the end
    return f"{one}{rows}j,{other}j{columns}->{max(one, other, key=len)}{rows}{columns}"


def _turn(row: str) -> Callable[..., str]:
    """Letters in the order in which the op leaves the axes: those of an array 1 by 2 by 3."""

    def turn(x: Form, **params: Value) -> str:
        lengths = range(1, len(x.shape) + 1)
        turned = TABLE[row].forward(np.empty(lengths), **params).shape
        return f"{NAMES[: len(lengths)]}->{''.join(NAMES[n - 1] for n in turned)}"

    return turn


def _diagonal(x: Form, **_: Value) -> str:
    return "i->ii" if len(x.shape) == 1 else "ii->i"


LINEAR: Mapping[str, Callable[..., str]] = {
    "matmul": _matmul,
    "outer": lambda a, b: "i,j->ij",
    "sum": _sum,
    "mean": _sum,
    "trace": lambda x, **_: "ii->",
    "diag": _diagonal,
    "diagonal": _diagonal,
    **{row: _turn(row) for row in ("transpose", "matrix_transpose", "swapaxes", "moveaxis")},
    "einsum": lambda *xs, subscripts: subscripts.replace(" ", ""),
}
"""Ops that are linear in each operand, in the letters of `einsum`.

What these do not say (another diagonal) is a wrong text, which is not shown.
"""


def _divisor(node: Node, operands: tuple[Form, ...]) -> Form:
    mean = node.op.name == "mean"
    return count(operands[0], node.params.get("axis")) if mean else number(1)


def _pull_linear(at: PullSite, node: Node, operands: tuple[Form, ...]) -> Form:
    given, _, out = LINEAR[node.op.name](*operands, **node.params).partition("->")
    terms, others = given.split(","), list(operands)
    due, x = terms.pop(at.i), others.pop(at.i)
    sizes = dict(zip(due[::-1], x.shape[::-1], strict=True))
    g = at.g / _divisor(node, operands)
    return contract(f"{','.join([out, *terms])}->{due}", g, *others, sizes=sizes)


# -- slopes of single entries ----------------------------------------------------------------------

UNWRITTEN = (sympy.Piecewise, sympy.Max, sympy.Min, sympy.Heaviside, sympy.DiracDelta)
Y = sympy.Symbol("y", real=True)
KNOWN = (Y * (1 - Y), 1 - Y**2, 1 + Y**2, Y, 1 - sympy.exp(-Y), 2 * sympy.sqrt(Y))
"""What slopes are often equal to, in terms of the value."""


def call(name: str, *forms: Form) -> Form:
    """A function entry by entry, which SymPy does not rewrite."""
    function = sympy.Function(name, real=True)
    function.is_Atom = True
    shape = broadcast(*(form.shape for form in forms))
    return Form(function(*(form.expr for form in forms)), shape)


def _above(y: Form, a: Form, b: Form) -> Form:
    """`a > b`; `y > 0` where y has a name and is the larger of the two."""
    named = b.expr == 0 and isinstance(y.expr, ArrayEntry | Named)
    return call("greater", y if named else a, b)


ONE_SIDED: Mapping[str, tuple[Callable[..., Form], ...]] = {
    "relu": (lambda y, a: _above(y, a, number(0)),),
    "absolute": (lambda y, a: call("sign", a),),
    "maximum": (_above, lambda y, a, b: _above(y, b, a)),
    "minimum": (lambda y, a, b: call("less", a, b), lambda y, a, b: call("less", b, a)),
    "softplus": (lambda y, a: call("sigmoid", a),),
}
"""Rows that choose: their slope on either side of the kink, as a condition."""
CUTTING = ("relu", "maximum", "minimum")  # of which zero may be made


@lru_cache(maxsize=512)
def derive_closed(row: Op, exponent: Value, count: int) -> tuple[Value, ...]:
    """The value by arguments u0, u1, ..., then its slopes, by the value y where that is shorter."""
    symbols = [sympy.Symbol(f"u{i}", real=True) for i in range(count)]
    args: list[Value] = [symbols[0], exponent] if exponent is not None else list(symbols)
    form = sympy.sympify(form_of(row)(*args), strict=True)
    return form, *(_shorten(form, sympy.diff(form, s)) for s in symbols)


def _shorten(form: Value, slope: Value) -> Value:
    said = slope.subs(form, Y) if form.args else slope
    if not said.has(Y) or said.free_symbols - {Y}:
        said = next((k for k in KNOWN if k.has(Y) and is_same(k.subs(Y, form), slope)), said)
    return min((said, slope), key=lambda e: (e.count_ops(), not e.has(Y)))


def _find_closed(row: Op, operands: tuple[Form, ...]) -> tuple[Value, ...]:
    fixed = operands[1].expr if row.name == "power" and operands[1].expr.is_Rational else None
    return derive_closed(row, fixed, len(operands))


def _put_in(expr: Value, operands: tuple[Form, ...], y: Form | None = None) -> Value:
    """SymPy's tree with formulas for its symbols, and calls that it does not rewrite."""
    if expr.is_Symbol:
        return y.expr if expr == Y and y is not None else operands[int(expr.name[1:])].expr
    parts = [_put_in(part, operands, y) for part in expr.args]
    if isinstance(expr, UNWRITTEN):
        raise NoText(f"no word for {expr.func}")
    if not expr.is_Function or expr.func(*parts).is_Integer:
        return expr.func(*parts) if parts else expr
    return call({"Abs": "abs"}.get(str(expr.func), str(expr.func)), *map(Form, parts)).expr


def _slope(at: PullSite, row: Op, operands: tuple[Form, ...]) -> Form:
    if row.name in ONE_SIDED:
        return ONE_SIDED[row.name][at.i](at.y, *operands)
    return Form(_put_in(_find_closed(row, operands)[1 + at.i], operands, at.y))


def _vanishes(at: PullSite, operands: tuple[Form, ...]) -> bool:
    """Whether the cotangent is zero already where a ramp is: `maximum(0, u)` is where u < 0."""
    bases = [f.as_base_exp() for f in sympy.Mul.make_args(at.g.expr)]
    ramp = all(x.expr == 0 for k, x in enumerate(operands) if k != at.i)
    return ramp and any(base == at.y.expr and to.is_positive for base, to in bases)


# -- the way back ----------------------------------------------------------------------------------


def _stretch(g: Form, x: Form, axis: Value, keepdims: bool = False) -> Form:
    there, back = _sum(x, axis, keepdims).split("->")
    return contract(f"{back}->{there}", g, sizes=dict(zip(there, x.shape, strict=True)))


def _var(at: PullSite, x: Form, axis: Value = None, keepdims: bool = False, ddof: int = 0) -> Form:
    n = count(x, axis)
    centred = x - add_up(x, axis, keepdims=True) / n
    return _stretch(at.g / (n - number(ddof)), x, axis, keepdims) * centred * number(2)


def _max(at: PullSite, x: Form, axis: Value = None, **_: Value) -> Form:
    return at.g * Form(delta(x.shape[0], Named(f"argmax({write_form(x)})"), letter(0)), x.shape)


def softmax(x: Form, axis: Value = -1) -> Form:
    (k,) = reduce_axes(x.shape, axis)
    return leaf(f"softmax({write_form(x)}, axis={k})", x.shape, whole=(k, ONE))


def _softmax(at: PullSite, x: Form, axis: Value = -1) -> Form:
    return at.y * (at.g - add_up(at.g * at.y, axis, keepdims=True))


def _log_softmax(at: PullSite, x: Form, axis: Value = -1) -> Form:
    return at.g - softmax(x, axis) * add_up(at.g, axis, keepdims=True)


def _norm(at: PullSite, x: Form, ord: Value = None, axis: Value = None, **kept: Value) -> Form:
    if ord == 1:
        return at.g * call("sign", x)
    return _stretch(at.g / at.y, x, axis, **kept) * x


def inverse(a: Form) -> Form:
    return leaf(f"inv({write_form(a)})", a.shape, symmetric=is_symmetric(a))


def _solve(at: PullSite, a: Form, b: Form) -> Form:
    column = "k" * (len(at.y.shape) - 1)
    back = contract(f"ji,j{column}->i{column}", inverse(a), at.g)
    return back if at.i else -contract(f"i{column},j{column}->ij", back, at.y)


def _call_on(g: Form, said: str, shape: Shape, binding: int = 0) -> Form:
    """A call on a product, behind what of that has no axes."""
    parts = sympy.Mul.make_args(g.expr)
    arrays, numbers = sympy.sift(parts, lambda part: bool(letters(part)), binary=True)
    inner = write_form(Form(sympy.Mul(*arrays), g.shape), binding)
    return Form(sympy.Mul(*numbers)) * leaf(said.format(inner), shape)


def reshape_form(g: Form, shape: Shape) -> Form:
    """The same entries in another shape; where only axes of length one differ, the same letters."""
    old, new = ([p for p in places_of(s) if p != 0] for s in (g.shape, shape))
    if [n for n in g.shape if n != 1] == [n for n in shape if n != 1]:
        return Form(g.expr.xreplace(dict(zip(old, new, strict=True))), shape)
    said = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    return _call_on(g, f"reshape({{}}, ({said}))", shape)


RESHAPING = ("reshape", "ravel", "expand_dims", "squeeze", "copy")
BACK: Mapping[str, Callable[..., Form]] = {
    "where": lambda at, c, a, b: at.g * (c if at.i == 1 else number(1) - c),
    "broadcast_to": lambda at, x, **_: at.g,
    **dict.fromkeys(RESHAPING, lambda at, x, **_: reshape_form(at.g, x.shape)),
    "getitem": lambda at, x, index: put_back(at.g, x, index),
    "var": _var,
    "std": lambda at, x, **how: _var(replace(at, g=at.g / (at.y + at.y)), x, **how),
    "max": _max,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": lambda at, x, axis=None, keepdims=False: (
        _stretch(at.g, x, axis, keepdims) * softmax(x, 0 if axis is None else axis)
    ),
    "norm": _norm,
    "inv": lambda at, a: -contract("ki,kl,jl->ij", at.y, at.g, at.y),
    "solve": _solve,
    "det": lambda at, a: at.y * contract(",ji->ij", at.g, inverse(a)),
    "logabsdet": lambda at, a: contract(",ji->ij", at.g, inverse(a)),
    "cumsum": lambda at, x, **_: _call_on(at.g, "cumsum({}[::-1])[::-1]", x.shape, ATOM),
}
"""Ops whose way back is neither a slope of single entries nor that of what is linear."""


def pull_form(at: PullSite, node: Node, operands: tuple[Form, ...]) -> Form:
    """The cotangent of operand i as a formula, before it is fitted."""
    name = node.op.name
    if name in LINEAR:
        return _pull_linear(at, node, operands)
    if name in BACK:
        return BACK[name](at, *operands, **node.params)
    kept = name in CUTTING and _vanishes(at, operands)
    return at.g if kept else at.g * _slope(at, node.op, operands)


# -- entries that are picked -----------------------------------------------------------------------


def _read_index(shape: Shape, index: Value) -> list[Value]:
    """What stands in each axis's place: a letter of the result, a number, an entry of numbers.

    NoText for parts of axes, and for conditions.
    """
    given = index if isinstance(index, tuple) else (index,)
    for p in given:
        if (isinstance(p, slice) and p != slice(None)) or np.asarray(p).dtype == bool:
            raise NoText("a part of an array")
    found = []
    for n, numbers in zip(shape, np.indices(shape), strict=True):
        at = numbers[index]
        named, along = places_of(at.shape), [k for k in range(at.ndim) if np.ptp(at, axis=k).any()]
        picked = at[tuple(slice(None) if k in along else 0 for k in range(at.ndim))]
        if picked.ndim == 1 and list(picked) == list(range(n)):
            found.append(named[along[0]])
        elif picked.ndim == 0:
            found.append(sympy.Integer(int(picked)))
        else:
            rows = Named(str(picked.tolist()), picked.shape)
            found.append(ArrayEntry(rows, *(named[k] for k in along)))
    return found


def _pick(x: Form, index: Value, shape: Shape) -> Form:
    places = zip(x.places, _read_index(x.shape, index), strict=True)
    return Form(x.expr.xreplace({own: place for own, place in places if own != 0}), shape)


def put_back(g: Form, x: Form, places: Value) -> Form:
    """Each cotangent where its entry was picked; picks in rows and columns are made one row."""
    if not isinstance(places, tuple) and np.ndim(places) > 1:
        g = reshape_form(g, (np.size(places), *x.shape[1:]))
        places = np.ravel(places)
    found = _read_index(x.shape, places)
    again = {place: draw_letter() for place in g.places if place != 0}
    expr = g.expr.xreplace(again)
    for place, own, n in zip(found, x.places, x.shape, strict=True):
        expr *= delta(n, place.xreplace(again), own) if own != 0 else 1
    bound = {again[p]: size(n) for p, n in zip(g.places, g.shape, strict=True) if p != 0}
    return Form(sum_over(expr, bound, count_text), x.shape)


# -- values ----------------------------------------------------------------------------------------

VALUES: Mapping[str, Callable[..., Form]] = {
    "absolute": lambda a: call("abs", a),
    "inv": inverse,
    "solve": lambda a, b: contract("ij,jk->ik" if len(b.shape) > 1 else "ij,j->i", inverse(a), b),
    "softmax": softmax,
    "logabsdet": lambda x: leaf(f"slogdet({write_form(x)})[1]"),
}


def make_value(node: Node, shape: Shape, operands: tuple[Form, ...]) -> Form:
    """What an op makes, as a formula of its operands; `shape` is what it has to have."""
    name, params = node.op.name, node.params
    left = [n for n in operands[0].shape if n != 1] if operands else []
    shape = tuple(left.pop(left.index(n)) if n in left else n for n in shape)  # with its names
    if name in LINEAR:
        found = contract(LINEAR[name](*operands, **params), *operands) / _divisor(node, operands)
        row = name == "matmul" and len(operands[0].shape) == 1 < len(operands[1].shape)
        if row and isinstance(found.expr, Total):  # said as it is in the program
            return replace(found, expr=make_total(found.expr.args[1], found.expr.bound, ROW))
        return found
    if name in VALUES:
        return VALUES[name](*operands, **params)
    if name in RESHAPING:
        return reshape_form(operands[0], shape)
    if name == "broadcast_to":
        return replace(operands[0], shape=shape)
    if name == "getitem":
        return _pick(operands[0], params["index"], shape)
    if node.op.elementwise and not params:
        return _write_entrywise(node.op, operands)
    said = {k: v for k, v in params.items() if v is not None and v is not False}
    words = [f"{k}={v!r}" for k, v in said.items()]
    return leaf(f"{name}({', '.join([*map(write_form, operands), *words])})", shape)


def _write_entrywise(row: Op, operands: tuple[Form, ...]) -> Form:
    """The row's own closed form where that has no functions, else a call by its name."""
    form = _find_closed(row, operands)[0] if callable(row.symbolic) else None
    if form is None or form.has(sympy.Function):
        return call(row.name, *operands)
    shape = broadcast(*(x.shape for x in operands))
    return Form(_put_in(form, operands), shape)
