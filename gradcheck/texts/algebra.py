"""Arrays as formulas: SymPy's expressions over atoms, which are pieces of NumPy's text.

Entry by entry SymPy calculates: numbers are collected, like terms added, what cancels is gone. What
is no work of single entries (a product of matrices, a sum over an axis, an index, a call) makes a
new atom, known by its text and the shape that NumPy gives that.
"""

import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import prod

import sympy

from gradcheck.values import Value

LONGEST = 500  # characters of any part: beyond, nobody reads the whole
LARGEST = 100  # operations of a formula: beyond, its text would be too long
TERMS = 60  # of a product of brackets that is multiplied out
COMPARE, ADD, MULTIPLY, POWER, ATOM = range(5)  # how tightly a text binds
DECIMAL = 10**9
MATRIX = 2  # axes
COLUMN = ":, None"
PICK = "pick "  # the head of rows of the identity, before their places
WORDS = {"Abs": "abs"}
UNWRITTEN = (sympy.Piecewise, sympy.Max, sympy.Min, sympy.Heaviside, sympy.DiracDelta)

Shape = tuple[int, ...]
Whole = tuple[int, sympy.Expr]


class NoText(ArithmeticError):
    """What cannot be written down, or is too long."""


class AxisLength(int):
    """The length of an axis, and what it is called."""

    text: str

    def __new__(cls, length: int, text: str) -> "AxisLength":
        made = super().__new__(cls, length)
        made.text = text
        return made


class Atom(sympy.Symbol):  # type: ignore[misc]
    """One factor: its text, its shape in NumPy, and what it is made of.

    `symmetric`: its own transpose; `whole`: along which axis its entries add to which number.
    """

    shape: Shape
    binding: int
    head: str
    parts: tuple["Form", ...]
    symmetric: bool
    whole: Whole | None

    def __new__(
        cls,
        text: str,
        shape: Shape = (),
        binding: int = ATOM,
        head: str = "",
        parts: tuple["Form", ...] = (),
        *,
        symmetric: bool = False,
        whole: Whole | None = None,
    ) -> "Atom":
        """An atom; NoText where it is too long."""
        if len(text) > LONGEST:
            raise NoText("too long to be written out")
        made: Atom = sympy.Symbol.__xnew__(cls, text, real=True)
        made.shape, made.binding, made.head = shape, binding, head
        made.parts, made.symmetric, made.whole = parts, symmetric, whole
        return made

    def _hashable_content(self) -> tuple[object, ...]:
        same = [self.shape, *map(length_text, self.shape), self.symmetric, self.whole]
        inner = [(part.shape, part.expr._hashable_content()) for part in self.parts]
        return self.name, str((same, inner))


def length_text(n: int) -> str:
    return n.text if isinstance(n, AxisLength) else str(n)


def broadcast(*shapes: Shape) -> Shape:
    """NumPy's rule, keeping what sizes are called."""
    width = max(map(len, shapes), default=0)
    padded = [(1,) * (width - len(s)) + tuple(s) for s in shapes]
    axes = zip(*padded, strict=True)
    return tuple(max(axis, key=lambda n: (n != 1, isinstance(n, AxisLength))) for axis in axes)


def natural(expr: sympy.Expr) -> Shape:
    """The shape that NumPy gives an expression's text."""
    return broadcast(*(atom.shape for atom in expr.atoms(Atom)))


def _join(combine: Callable[[Value, Value], Value]) -> Callable[["Form", Value], "Form"]:
    """An operation entry by entry, of a result that is finite and not too long."""

    def joined(self: "Form", other: Value) -> "Form":
        other = other if isinstance(other, Form) else Form(other)
        expr = combine(self.expr, other.expr)
        if not expr.is_finite and expr.is_number:
            raise NoText("no finite number")
        if expr.count_ops() > LARGEST:
            raise NoText("too long to be written out")
        return Form(expr, broadcast(self.shape, other.shape))

    return joined


@dataclass(frozen=True)
class Form:
    """An expression, and the shape of the array, to which its text may have to be broadcast."""

    expr: Value
    shape: Shape = ()

    __add__ = _join(operator.add)
    __sub__ = _join(operator.sub)
    __mul__ = _join(operator.mul)
    __truediv__ = _join(operator.truediv)
    __pow__ = _join(operator.pow)

    def __neg__(self) -> "Form":
        return Form(-self.expr, self.shape)

    @property
    def natural(self) -> Shape:
        return natural(self.expr)

    @property
    def is_zero(self) -> bool:
        return bool(self.expr == 0)

    @property
    def text(self) -> str:
        return write(self.expr)[0]

    def at(self, binding: int) -> str:
        return at(self.expr, binding)

    def as_shape(self, shape: Shape) -> "Form":
        return Form(self.expr, shape)


def number(value: Value, shape: Shape = ()) -> Form:
    return Form(sympy.Rational(value), shape)


def of_atom(text: str, shape: Shape = (), binding: int = ATOM, **more: Value) -> Form:
    return Form(Atom(text, shape, binding, **more), shape)


def call(name: str, *forms: Form, shape: Shape | None = None, words: str = "") -> Form:
    """`name(forms, words)`; entry by entry where no shape is given."""
    text = f"{name}({', '.join([*(form.text for form in forms), *filter(None, [words])])})"
    own = broadcast(*(form.natural for form in forms)) if shape is None else shape
    whole = broadcast(*(form.shape for form in forms)) if shape is None else shape
    return Form(Atom(text, own, ATOM, name, forms), whole)


# -- writing ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def write(expr: sympy.Expr) -> tuple[str, int]:
    """NumPy's text, and how tightly it binds."""
    if isinstance(expr, Atom):
        return expr.name, expr.binding
    if expr.is_Add:
        return _sum_text(expr)
    if expr.is_Mul or expr.is_Rational or (expr.is_Pow and _is_below(expr)):
        return _product_text(expr)
    if expr.is_Pow:
        to = expr.exp
        if to == sympy.Rational(1, 2):
            return f"sqrt({write(expr.base)[0]})", ATOM
        half = to.is_Rational and to.q == 2
        return f"{at(expr.base, ATOM)} ** {repr(float(to)) if half else at(to, ATOM)}", POWER
    if expr.is_Function and not isinstance(expr, UNWRITTEN):
        name = str(expr.func)
        return f"{WORDS.get(name, name)}({', '.join(write(part)[0] for part in expr.args)})", ATOM
    if expr in (sympy.pi, sympy.E):
        return str(expr).lower(), ATOM
    raise NoText(f"no word for {expr.func}")


def at(expr: sympy.Expr, binding: int) -> str:
    """The text, in brackets where it binds less."""
    text, own = write(expr)
    return text if own >= binding else f"({text})"


def _sum_text(expr: sympy.Expr) -> tuple[str, int]:
    """What is positive comes first, numbers last."""
    signed = [(bool(term.as_coeff_Mul()[0] < 0), term) for term in expr.args]
    terms = [(negative, term, write(-term if negative else term)) for negative, term in signed]
    terms.sort(key=lambda t: (t[0], t[1].is_number, t[2][0].casefold(), t[2][0]))
    (_, first, _), *others = terms
    text = at(first, MULTIPLY)
    for negative, _, (written, binding) in others:
        bare = written if binding >= MULTIPLY else f"({written})"
        text += f" {'-' if negative else '+'} {bare}"
    return text, ADD


def _is_below(factor: sympy.Expr) -> bool:
    return bool(factor.is_Pow and factor.exp.is_Rational and factor.exp < 0)


def _product_text(expr: sympy.Expr) -> tuple[str, int]:
    """A product: its number, numbers with names, arrays, then what they are divided by."""
    count, rest = expr.as_coeff_Mul()
    top, bottom = _digits(abs(count))
    factors = sorted((f for f in sympy.Mul.make_args(rest) if f != 1), key=_place)
    above = [f for f in factors if not _is_below(f)]
    texts = [top] if top != "1" or not above else []
    for k, factor in enumerate(above):
        text, binding = write(factor)
        last = k == len(above) - 1 and not any(map(natural, above[:k]))
        bare = binding > MULTIPLY or (last and getattr(factor, "head", "") == "@")
        texts.append(text if bare else f"({text})")
    below = [at(1 / f, POWER) for f in factors if _is_below(f)]
    whole = " / ".join([" * ".join(texts), *below, *([bottom] if bottom != "1" else [])])
    if count < 0:  # NumPy has no minus before a condition
        bare = bool(above) and getattr(above[0], "head", "") == "<" and top == "1"
        return f"-{'1 * ' if bare else ''}{whole}", MULTIPLY
    if len(above) == 1 and texts[0] == whole:
        return write(above[0])
    return whole, MULTIPLY if above or below or bottom != "1" else ATOM


def _place(factor: sympy.Expr) -> tuple[object, ...]:
    """Where a factor stands: what has axes later, conditions last, products of matrices first."""
    head = getattr(factor, "head", "")
    text = write(1 / factor if _is_below(factor) else factor)[0]
    kind = head == "<", head != "@", factor.is_Add or "(" in text, text.casefold(), text
    return len(natural(factor)), *kind


def _digits(value: sympy.Rational) -> tuple[str, str]:
    """A number above the line and one below it; a decimal where it is one of fifths."""
    if value.q > 1 and ((value.q % 5 == 0 and DECIMAL % value.q == 0) or value.q > DECIMAL):
        return repr(float(value)), "1"
    return str(value.p), str(value.q)


# -- parts -----------------------------------------------------------------------------------------


def factor_terms(expr: sympy.Expr) -> sympy.Expr:
    """As one product where its terms share something; what is below a line in it is cancelled."""
    found = sympy.factor_terms(expr, clear=True, sign=False)
    for bracket in [f for f in sympy.Mul.make_args(found) if f.is_Add]:
        rest = [f for f in sympy.Mul.make_args(found) if f != bracket]
        under = {b for t in bracket.args for b, e in t.as_powers_dict().items() if e.is_negative}
        over = sympy.Mul(*(f for f in rest if f.as_base_exp()[0] in under and not _is_below(f)))
        if over != 1:
            ways = [sympy.Add(*(over * t for t in bracket.args))]
            ways.append(sympy.factor_terms(expand_terms(ways[0]), clear=True, sign=False))
            shortest = min(ways, key=lambda way: len(write(way)[0]))
            less = sympy.Mul(*(f for f in rest if f not in (*over.args, over)), shortest)
            return factor_terms(less) if less.count_ops() < found.count_ops() else found
        count = found.as_coeff_Mul()[0]  # in the bracket, where it makes fractions of what is there
        inside = [term.as_coeff_Mul()[0] for term in bracket.args]
        if count.q != 1 and any(abs(each) != 1 for each in inside):
            others = [f for f in rest if f != count]
            found = sympy.Mul(*others, (count * bracket).expand(deep=False))
    return found


def expand_terms(expr: sympy.Expr) -> sympy.Expr:
    """With its brackets multiplied out, where that gives a bounded number of terms."""
    sizes, terms = [1], sympy.Add.make_args(expr)
    for term in terms:
        powers = (f.as_base_exp() for f in sympy.Mul.make_args(term))
        sizes.append(prod(len(sympy.Add.make_args(b)) ** abs(e) for b, e in powers if e.is_Integer))
    if sum(sizes) > TERMS:
        return expr
    return sympy.Add(*(t.expand(deep=False, power_base=False, power_exp=False) for t in terms))


def turn_round(product: sympy.Expr) -> sympy.Expr:
    """`p - y` for `-(y - p)`: a minus in front goes into a bracket of arrays."""
    count, parts = product.as_coeff_Mul()[0], sympy.Mul.make_args(product)
    for f in parts if count < 0 else ():
        if f.is_Add and natural(f) and any(t.as_coeff_Mul()[0] < 0 for t in f.args):
            others = [g for g in parts if g not in (count, f)]
            return sympy.Mul(-count, *others, -f, evaluate=bool(others) or count == -1)
    return product


def split(form: Form) -> tuple[Form, Form]:
    """The factors that are numbers, and those that are arrays."""
    parts = sympy.Mul.make_args(turn_round(factor_terms(form.expr)))
    numbers = sympy.Mul(*(part for part in parts if not natural(part)))
    return Form(numbers), Form(sympy.Mul(*(part for part in parts if natural(part))), form.shape)


def atom_of(form: Form) -> Atom | None:
    return form.expr if isinstance(form.expr, Atom) else None


def index(form: Form, places: str, shape: Shape) -> Form:
    """`form[places]`, its numbers before it."""
    numbers, arrays = split(form)
    if not arrays.natural:
        return Form(form.expr, shape)
    made = of_atom(f"{arrays.at(ATOM)}[{places}]", shape, head=f"[{places}]", parts=(arrays,))
    return (numbers * made).as_shape(shape)


def column(form: Form) -> Form:
    """A vector as a column, `form[:, None]`; a product factor by factor."""
    shape, atoms = (*form.shape, 1), [a for a in form.expr.atoms(Atom) if a.shape]
    if form.expr.has(sympy.Add) or len(atoms) != 1:
        return index(form, COLUMN, shape)
    (only,) = atoms
    turned = index(Form(only, only.shape), COLUMN, (*only.shape, 1)).expr
    return Form(form.expr.xreplace({only: turned}), shape)


def pick_entries(expr: sympy.Expr) -> sympy.Expr:
    """`x[k] * eye(n)[k]` for `x * eye(n)[k]`: of x one entry is left."""
    found = []
    for term in sympy.Add.make_args(expr):
        parts = sympy.Mul.make_args(term)
        rows = next((f for f in parts if getattr(f, "head", "").startswith(PICK)), None)
        found.append(term if rows is None else sympy.Mul(*(_pick_entry(f, rows) for f in parts)))
    return sympy.Add(*found)


def _pick_entry(factor: sympy.Expr, rows: Atom) -> sympy.Expr:
    base, to = factor.as_base_exp()
    if base == rows or not isinstance(base, Atom) or tuple(base.shape) != tuple(rows.shape):
        return factor
    whole, places = Form(base, base.shape), rows.head.removeprefix(PICK)
    if len(rows.shape) == 1:
        return index(whole, places, ()).expr ** to
    each = f"{list(range(rows.shape[0]))}, {places}"
    return column(index(whole, each, rows.shape[:1])).expr ** to


def without(form: Form, axes: Collection[int]) -> Form:
    """A form that has one place along some axes, without these."""
    rank = len(form.shape)
    shape = tuple(n for k, n in enumerate(form.shape) if k not in axes)
    dropped = {atom: _drop(atom, axes, rank) for atom in form.expr.atoms(Atom)}
    return Form(form.expr.xreplace(dropped), shape)


def _drop(atom: Atom, axes: Collection[int], rank: int) -> sympy.Expr:
    missing = rank - len(atom.shape)
    own = [k - missing for k in axes if k >= missing]
    if not own:
        return atom
    if atom.head == f"[{COLUMN}]" and own == [1]:
        return atom.parts[0].expr
    places = ", ".join("0" if k in own else ":" for k in range(len(atom.shape)))
    shape = tuple(n for k, n in enumerate(atom.shape) if k not in own)
    bare = atom.name.removesuffix(", keepdims=True)")
    text = f"{bare})" if bare != atom.name else f"{at(atom, ATOM)}[{places}]"
    return Atom(text, shape, ATOM, "[]", atom.parts)


# -- matrices --------------------------------------------------------------------------------------


def transpose(form: Form) -> Form:
    """A matrix turned: each atom of a formula is, or the whole where that is shorter."""
    if len(form.shape) < MATRIX:
        return form
    if len(form.shape) > MATRIX:
        raise NoText("a stack of matrices turned")
    shape = form.shape[::-1]
    turned = {atom: _transpose(atom) for atom in form.expr.atoms(Atom)}
    each = Form(form.expr.xreplace(turned), shape)
    numbers, arrays = split(form)
    if arrays.expr.is_Symbol or arrays.natural != tuple(form.shape):
        return each
    whole = of_atom(f"({arrays.text}).T", shape, head=".T", parts=(arrays,))
    return min(each, (numbers * whole).as_shape(shape), key=lambda way: len(way.at(ATOM)))


def _transpose(atom: Atom) -> sympy.Expr:
    if not atom.shape or atom.symmetric:
        return atom
    if len(atom.shape) == 1:
        return index(Form(atom, atom.shape), COLUMN, (*atom.shape, 1)).expr
    if atom.head in (".T", f"[{COLUMN}]"):
        return atom.parts[0].expr
    if atom.head == "inv" and is_symmetric(atom.parts[0]):
        return atom
    if atom.head == "@":
        return chain([transpose(part) for part in reversed(atom.parts)]).expr
    if atom.head == "outer":
        return call("outer", *reversed(atom.parts), shape=atom.shape[::-1]).expr
    made = Form(atom, atom.shape)
    return Atom(f"{at(atom, ATOM)}.T", atom.shape[::-1], ATOM, ".T", (made,))


def is_symmetric(form: Form) -> bool:
    """Whether a matrix is its own transpose, as its formula says."""
    if len(form.shape) != MATRIX or form.shape[0] != form.shape[1]:
        return False
    turned = {atom: _transpose(atom) for atom in form.expr.atoms(Atom)}
    return write(form.expr.xreplace(turned)) == write(form.expr)


def matmul(a: Form, b: Form) -> Form:
    """A product of matrices and vectors, its numbers in front."""
    if max(len(a.shape), len(b.shape)) > MATRIX or not (a.shape and b.shape):
        raise NoText("a product of stacks of matrices")
    shape = (*a.shape[:-1], *b.shape[1:])
    if a.is_zero or b.is_zero:
        return number(0, shape)

    def stays(form: Form, axis: int) -> bool:  # along an axis that is longer than one
        return form.shape[axis] != 1 and constant_along(form.natural, axis, len(form.shape))

    (numbers, one), (more, other) = split(a), split(b)
    front = numbers * more
    minus = front.expr.as_coeff_Mul()[0] < 0 and other.expr.is_Add
    if minus and any(term.as_coeff_Mul()[0] < 0 for term in other.expr.args):
        front, other = -front, -other
    if stays(other, 0):
        summed = add_up(one, [len(a.shape) - 1])
        summed = column(summed) if len(shape) == MATRIX else summed
        found = summed * _row(other, 0)
    elif stays(one, len(a.shape) - 1):
        found = _row(one, len(a.shape) - 1) * add_up(other, [0])
    else:
        found = chain([*_links(one), *(_links(other) if len(b.shape) == MATRIX else [other])])
    return (front * found).as_shape(shape)


def constant_along(shape: Shape, axis: int, rank: int) -> bool:
    """Whether what has this shape is the same everywhere along an axis of the whole."""
    place = axis - (rank - len(shape))
    return place < 0 or shape[place] == 1


def _row(form: Form, axis: int) -> Form:
    """What does not change along an axis, at one place of that, as a factor of a product."""
    kept = tuple(n for k, n in enumerate(form.shape) if k != axis)
    return Form(form.expr, kept if axis == 0 else (*kept, 1))


def _links(form: Form) -> list[Form]:
    atom = atom_of(form)
    return list(atom.parts) if atom is not None and atom.head == "@" else [form]


def chain(links: Sequence[Form]) -> Form:
    """`a @ b @ c`, without identities, a product with `outer(u, v)` as one."""
    parts = [p for p in links if getattr(p.expr, "head", "") != "eye"] or [links[0]]
    if len(parts) == 1:
        return parts[0]
    for k, part in enumerate(parts):
        atom = atom_of(part)
        if atom is not None and atom.head == "outer" and len(parts[-1].shape) == MATRIX:
            left = reduce(matmul, [*parts[:k], atom.parts[0]])
            back = [transpose(p) for p in reversed(parts[k + 1 :])]
            return outer(left, reduce(matmul, [*back, atom.parts[1]]))
    flat = [
        link
        for k, p in enumerate(parts)
        for link in (_links(p) if k == 0 or len(p.shape) == MATRIX else [p])
    ]
    text = " @ ".join(p.at(ATOM) for p in flat)
    last = flat[-1].natural[-1:] if len(flat[-1].shape) > 1 else ()
    made = Atom(text, (*flat[0].natural[:-1], *last), MULTIPLY, "@", tuple(flat))
    return Form(made, (*flat[0].shape[:-1], *flat[-1].shape[1:]))


def outer(a: Form, b: Form) -> Form:
    """Every entry of one vector times every entry of another."""
    (numbers, one), (more, other) = split(a), split(b)
    shape = (*a.shape, *b.shape)
    if one.natural and other.natural:
        made = call("outer", one, other, shape=shape)
    else:
        made = (column(one) if one.natural else one) * Form(other.expr)
    return (numbers * more * made).as_shape(shape)


# -- sums ------------------------------------------------------------------------------------------


def count(shape: Shape, axes: Collection[int]) -> Form:
    """How many entries there are along some axes."""
    lengths = (shape[k] for k in axes if shape[k] != 1)
    named = (of_atom(n.text) if isinstance(n, AxisLength) else number(int(n)) for n in lengths)
    return reduce(operator.mul, named, number(1))


def add_up(form: Form, axes: Sequence[int], keepdims: bool = False) -> Form:
    """The sum over some axes: what does not change along them stands before it."""
    rank = len(form.shape)
    axes = [k % rank for k in axes]
    shape = _reduce(form.shape, form.shape, axes, keepdims)
    if not axes or form.is_zero:
        return form.as_shape(shape)
    ways = [factor_terms(form.expr)]
    if any(factor.is_Add for factor in sympy.Mul.make_args(ways[0])):
        ways.append(expand_terms(form.expr))
    found = [_add_up(way, form.shape, axes, keepdims).as_shape(shape) for way in ways]
    return min(reversed(found), key=lambda way: len(way.text))


def _add_up(expr: sympy.Expr, shape: Shape, axes: Sequence[int], keepdims: bool) -> Form:
    found, together = number(0), sympy.Integer(0)
    for term in sympy.Add.make_args(pick_entries(expr)):
        made = _term_added(term, shape, axes, keepdims)
        if made is None:
            together += term
        else:
            found = found + made
    if together == 0:
        return found
    numbers, inner = split(Form(together, shape))
    some = keepdims or len(axes) < len(shape)
    words = f"axis={axes[0] if len(axes) == 1 else tuple(axes)}" if some else ""
    words += ", keepdims=True" if keepdims else ""
    due = _reduce(inner.natural, shape, axes, keepdims)
    return found + numbers * call("sum", inner, shape=due, words=words)


def _reduce(own: Shape, shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    whole = (1,) * (len(shape) - len(own)) + tuple(own)
    kept = ((k, n) for k, n in enumerate(whole) if keepdims or k not in axes)
    return tuple(1 if k in axes else n for k, n in kept)


def _term_added(term: sympy.Expr, shape: Shape, axes: Sequence[int], keepdims: bool) -> Form | None:
    """The sum of one term, where it is more than a call of `sum`."""
    rank = len(shape)
    still = [k for k in axes if constant_along(natural(term), k, rank)]
    if still:
        left = [k for k in axes if k not in still]
        if not (left or keepdims) and (total := _total_of_mean(term, shape, axes)):
            return total
        inner = Form(term, tuple(1 if k in still else n for k, n in enumerate(shape)))
        inner = add_up(inner, left, keepdims=True) if left else inner
        inner = inner if keepdims else without(inner, axes)
        return count(shape, still) * inner
    factors = sympy.Mul.make_args(term)
    fixed = [f for f in factors if all(constant_along(natural(f), k, rank) for k in axes)]
    rest = sympy.Mul(*(f for f in factors if f not in fixed))
    if any(map(natural, fixed)):
        outside = Form(sympy.Mul(*fixed), tuple(1 if k in axes else n for k, n in enumerate(shape)))
        outside = outside if keepdims else without(outside, axes)
        return outside * add_up(Form(rest, shape), axes, keepdims)
    for whole in (f for f in factors if getattr(f, "whole", None) and len(axes) == 1):
        if whole.whole[0] != axes[0] + len(whole.shape) - rank:
            continue
        inner = Form(term / whole, tuple(1 if k in axes else n for k, n in enumerate(shape)))
        if not all(constant_along(inner.natural, k, rank) for k in axes):
            break
        return Form(whole.whole[1]) * (inner if keepdims else without(inner, axes))
    found = None if keepdims else _as_product(sympy.Mul.make_args(rest), shape, axes)
    return None if found is None else Form(sympy.Mul(*fixed)) * found


def _total_of_mean(term: sympy.Expr, shape: Shape, axes: Sequence[int]) -> Form | None:
    """The sum of means along the axes that they are taken along: the sum of what they are of."""
    numbers, arrays = split(Form(term, shape))
    mean = atom_of(arrays)
    if mean is None or mean.head != "mean" or tuple(mean.parts[0].shape) != tuple(shape):
        return None
    words = mean.name.removeprefix(f"mean({mean.parts[0].text}").removesuffix(", keepdims=True)")
    whole = words in ("", ")") and len(axes) == len(shape)
    if not whole and words.removesuffix(")") != f", axis={axes[0]}":
        return None
    return numbers * add_up(mean.parts[0], axes)


def _as_product(pair: Sequence[Value], shape: Shape, axes: Sequence[int]) -> Form | None:
    """`sum(a * b)` as `a @ b`, `sum(A * v[:, None], axis=0)` as `A.T @ v`."""
    if len(pair) != MATRIX or len(axes) != 1:
        return None
    for one, other in (pair, pair[::-1]):
        a, b = natural(one), natural(other)
        if len(shape) == 1 and a == b == tuple(shape):
            first, second = sorted(pair, key=_place)
            return matmul(Form(first, shape), Form(second, shape))
        if len(shape) != MATRIX or len(a) != MATRIX or 1 in a:
            continue
        if axes[0] == 1 and len(b) == 1:
            return matmul(Form(one, a), Form(other, b))
        if axes[0] == 0 and getattr(other, "head", "") == f"[{COLUMN}]":
            return matmul(transpose(Form(one, a)), other.parts[0])
    return None
