"""Arrays in index notation: SymPy's expressions over entries `X[i, j]`, and sums over letters.

Axes are lettered from the last one back, so that what is broadcast has fewer letters and nothing
else. A transpose is another order of letters, a product of matrices a sum of products, a diagonal
one letter twice, a pick a number in a letter's place, and the unit matrix Kronecker's delta.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as numbers_from
from itertools import zip_longest
from math import prod

import sympy

from gradcheck.values import Value

LARGEST = 100  # operations of a formula: beyond, its text would be too long
TERMS = 60  # of a product of brackets that is multiplied out
ATOM = 5  # binds most tightly (see `writer`)
FRESH = numbers_from()
ZERO, ONE = sympy.S.Zero, sympy.S.One
PLAIN, ROW, MEAN = ZERO, ONE, sympy.Integer(2)
"""Sums: of what may be turned round; of a row times a matrix, as it was typed; divided by size."""

Shape = tuple[int, ...]
Whole = tuple[int, Value]


class NoText(ArithmeticError):
    """What cannot be written down, or is too long."""


class AxisLength(int):
    """The length of an axis, and what it is called."""

    text: str

    def __new__(cls, length: int, text: str) -> "AxisLength":
        made = super().__new__(cls, length)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text


class Letter(sympy.Symbol):  # type: ignore[misc]
    """The place along an axis: `i0` is that of the last axis, `k1` one that is summed over."""


def letter(k: int) -> Letter:
    return Letter(f"i{k}")


class Named(sympy.Symbol):  # type: ignore[misc]
    """A piece of NumPy's text, the shape of what it stands for, and how tightly it binds.

    `symmetric`: its own transpose; `whole`: along which axis its entries add to which number;
    `is_unit`: the unit matrix.
    """

    def __new__(
        cls,
        text: str,
        shape: Shape = (),
        binding: int = ATOM,
        symmetric: bool = False,
        whole: Whole | None = None,
    ) -> "Named":
        """A symbol that is equal to those that are in every respect like it."""
        made: Named = sympy.Symbol.__xnew__(cls, text, real=True)
        made.shape, made.binding, made.symmetric, made.whole = shape, binding, symmetric, whole
        made.is_unit = symmetric and text.startswith("eye(")
        return made

    def _hashable_content(self) -> tuple[object, ...]:
        lengths = tuple(map(str, self.shape))
        return self.name, str((self.shape, lengths, self.symmetric, self.whole))


class ArrayEntry(sympy.Expr):  # type: ignore[misc]
    """One entry of an array: a letter, a number or an entry of whole numbers for each axis."""

    is_commutative = is_real = is_Atom = True  # noqa: N815 - SymPy's name

    def __new__(cls, array: Named, *places: Value) -> Value:
        """An entry; of the unit matrix where both places are known, a number."""
        if array.symmetric:
            places = tuple(sorted(places, key=lambda p: (isinstance(p, Letter), str(p))))
        if array.is_unit and (places[0] == places[1] or places[1].is_Integer):
            return ONE if places[0] == places[1] else ZERO
        return super().__new__(cls, array, *places)


class Total(sympy.Expr):  # type: ignore[misc]
    """A sum: its kind, what is summed, the letters that it is over, each with their number."""

    is_commutative = is_real = is_Atom = True  # noqa: N815 - SymPy's name

    @property
    def bound(self) -> dict[Letter, Value]:
        """The letters that are summed over, and how many places there are."""
        return dict(zip(self.args[2::2], self.args[3::2], strict=True))


def make_total(body: Value, bound: dict[Letter, Value], kind: Value = PLAIN) -> Total:
    return Total(kind, body, *(part for pair in bound.items() for part in pair))


@lru_cache(maxsize=8192)
def letters(expr: Value) -> frozenset[Letter]:
    """The letters that an expression hangs on."""
    if isinstance(expr, Letter):
        return frozenset({expr})
    found = frozenset[Letter]().union(*map(letters, expr.args))
    return found.difference(expr.bound) if isinstance(expr, Total) else found


# -- whole arrays ----------------------------------------------------------------------------------


def broadcast(*shapes: Shape) -> Shape:
    """NumPy's rule, keeping what sizes are called."""
    axes = zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1)
    found = (max(axis, key=lambda n: (n != 1, isinstance(n, AxisLength))) for axis in axes)
    return tuple(found)[::-1]


def _join(combine: Callable[[Value, Value], Value]) -> Callable[["Form", "Form"], "Form"]:
    return lambda a, b: Form(combine(a.expr, b.expr), broadcast(a.shape, b.shape))


@dataclass(frozen=True)
class Form:
    """The entries of an array of a shape; an unknown one has no `expr`."""

    expr: Value
    shape: Shape = ()

    def __post_init__(self) -> None:
        expr = self.expr
        if expr is not None and (
            (expr.is_number and not expr.is_finite) or expr.count_ops() > LARGEST
        ):
            raise NoText("no finite number, or too long to be written out")

    __add__ = _join(operator.add)
    __sub__ = _join(operator.sub)
    __mul__ = _join(operator.mul)
    __truediv__ = _join(operator.truediv)

    def __neg__(self) -> "Form":
        return Form(-self.expr, self.shape)

    @property
    def places(self) -> tuple[Value, ...]:
        """Each axis's letter; zero along one of length one."""
        return places_of(self.shape)


def places_of(shape: Sequence[int]) -> tuple[Value, ...]:
    return tuple(ZERO if n == 1 else letter(len(shape) - 1 - k) for k, n in enumerate(shape))


def number(value: Value, shape: Shape = ()) -> Form:
    return Form(sympy.Rational(value), shape)


def leaf(text: str, shape: Sequence[int] = (), **more: Value) -> Form:
    """What a piece of NumPy's text stands for."""
    array = Named(text, tuple(shape), **more)
    return Form(ArrayEntry(array, *places_of(shape)) if shape else array, tuple(shape))


def size(n: int) -> Value:
    return Named(str(n)) if isinstance(n, AxisLength) else sympy.Integer(int(n))


def delta(n: int, one: Value, other: Value) -> Value:
    """Entries of the unit matrix: one where two places are the same."""
    return ArrayEntry(Named(f"eye({n})", (n, n), symmetric=True), one, other)


def is_symmetric(form: Form) -> bool:
    """Whether a matrix is its own transpose, as its formula says."""
    turn = {letter(0): letter(1), letter(1): letter(0)}
    square = len(form.shape) == 2 and form.shape[0] == form.shape[1] != 1
    return square and form.expr.xreplace(turn) == form.expr


# -- products and brackets -------------------------------------------------------------------------


def is_below(factor: Value) -> bool:
    return bool(factor.is_Pow and factor.exp.is_Rational and factor.exp < 0)


def _gather(expr: Value) -> Value:
    """What the terms share in front; of a power's `s + 0.1` no fraction is."""
    kept, names = dict[Value, Value](), dict[Value, Value]()
    for base in {power.base for power in expr.atoms(sympy.Pow) if power.base.is_Add}:
        constant, rest = base.as_coeff_Add()
        if constant.q != 1:  # 2*s + 0.2 is twice s + 0.1
            count = rest.primitive()[0]
            kept[base] = count * names.setdefault(constant / count + rest / count, sympy.Dummy())
    found = sympy.factor_terms(expr.xreplace(kept), clear=True, sign=False)
    return found.xreplace({name: base for base, name in names.items()})


@lru_cache(maxsize=4096)
def factor_terms(expr: Value) -> Value:
    """As one product where its terms share something; what is below a line in it is cancelled."""
    found = _gather(expr)
    for bracket in [f for f in sympy.Mul.make_args(found) if f.is_Add]:
        rest = [f for f in sympy.Mul.make_args(found) if f != bracket]
        under = {b for t in bracket.args for b, e in t.as_powers_dict().items() if e.is_negative}
        over = sympy.Mul(*(f for f in rest if f.as_base_exp()[0] in under and not is_below(f)))
        if over != 1:
            opened = expand_terms(sympy.Add(*(over * t for t in bracket.args)))
            rest = [f for f in rest if f not in (*over.args, over)]
            less = sympy.Mul(*rest, _gather(opened))
            return factor_terms(less) if less.count_ops() < found.count_ops() else found
        count = found.as_coeff_Mul()[0]  # in the bracket, where it makes fractions of what is there
        if count.q != 1 and any(abs(term.as_coeff_Mul()[0]) != 1 for term in bracket.args):
            found = sympy.Mul(
                *(f for f in rest if f != count), (count * bracket).expand(deep=False)
            )
    return found


def expand_terms(expr: Value) -> Value:
    """With its brackets multiplied out, where that gives a bounded number of terms."""
    terms, many = sympy.Add.make_args(expr), 0
    for term in terms:
        powers = (f.as_base_exp() for f in sympy.Mul.make_args(term))
        many += prod(len(sympy.Add.make_args(b)) ** abs(e) for b, e in powers if e.is_Integer)
    if many >= TERMS:
        return expr
    return sympy.Add(*(t.expand(deep=False, power_base=False, power_exp=False) for t in terms))


def turn_round(product: Value) -> Value:
    """`p - y` for `-(y - p)`: a minus in front goes into a bracket of arrays."""
    count, parts = product.as_coeff_Mul()[0], sympy.Mul.make_args(product)
    for f in parts if count < 0 else ():
        if f.is_Add and letters(f) and any(t.as_coeff_Mul()[0] < 0 for t in f.args):
            others = [g for g in parts if g not in (count, f)]
            return sympy.Mul(-count, *others, -f, evaluate=bool(others) or count == -1)
    return product


# -- sums ------------------------------------------------------------------------------------------


def draw_letter() -> Letter:
    return Letter(f"t{next(FRESH)}")


def pick_entries(expr: Value) -> Value:
    """`x[k] * eye(n)[k]` for `x * eye(n)[k]`: of x one entry is left."""
    found = ZERO
    for term in sympy.Add.make_args(expr):
        parts = sympy.Mul.make_args(term)
        rows = next((f for f in parts if isinstance(f, ArrayEntry) and f.args[0].is_unit), ONE)
        picks = rows != 1 and not isinstance(rows.args[1], Letter)
        rule = {rows.args[2]: rows.args[1]} if picks else {}
        found += rows * (term / rows).xreplace(rule)
    return found


def sum_over(expr: Value, bound: dict[Letter, Value], length: Callable[[Value], int]) -> Value:
    """The sum over letters, in the shortest of three ways: in one, of products, or of most."""
    if not bound or expr == 0:
        return expr
    whole, terms = factor_terms(expr), sympy.Add.make_args(pick_entries(expand_terms(expr)))
    found = [_sum_product(whole, bound)]
    if len(terms) > 1:
        each = {term: _sum_product(term, bound) for term in terms}
        plain = [term for term in terms if isinstance(each[term].as_coeff_Mul()[1], Total)]
        apart = sympy.Add(*(each[term] for term in terms if term not in plain))
        together = _sum_product(factor_terms(sympy.Add(*plain)), bound) if plain else ZERO
        found = [apart + together, *found, sympy.Add(*each.values())]
    return min(found, key=length)


def _sum_product(term: Value, sizes: dict[Letter, Value]) -> Value:
    """The sum of one product: inner sums are opened, deltas and what adds to a number are used."""
    count, term = turn_round(term).as_coeff_Mul()
    bound, factors = dict(sizes), list[Value]()
    for factor in sympy.Mul.make_args(term):
        if isinstance(factor, Total) and not letters(factor).isdisjoint(bound):
            again = {name: draw_letter() for name in factor.bound}
            factors += sympy.Mul.make_args(factor.args[1].xreplace(again))
            bound |= {again[name]: n for name, n in factor.bound.items()}
        else:
            factors.append(factor)
    while (step := _contract(factors, bound)) is not None:
        factors = step
    while bound:
        part, names = list[Value](), {next(iter(bound))}
        while more := [f for f in factors if letters(f) & names]:
            part += more
            factors = [f for f in factors if f not in more]
            names = names.union(*(letters(f) & bound.keys() for f in more))
        own = {b: bound.pop(b) for b in names}
        count *= _rename_bound(sympy.Mul(*part), own) if part else sympy.Mul(*own.values())
    return count * sympy.Mul(*factors)


def open_sum(total: "Total") -> Value:
    """The sums of its terms."""
    again = {name: draw_letter() for name in total.bound}
    bound = {again[name]: n for name, n in total.bound.items()}
    terms = sympy.Add.make_args(expand_terms(total.args[1].xreplace(again)))
    return sympy.Add(*(_sum_product(term, bound) for term in terms))


def _contract(factors: list[Value], bound: dict[Letter, Value]) -> list[Value] | None:
    """The factors without one letter that a delta, or a factor of known sum, takes away."""
    for k, factor in enumerate(factors):
        rest, places = factors[:k] + factors[k + 1 :], factor.args[1:]
        if not isinstance(factor, ArrayEntry):
            continue
        one = next((p for p in reversed(places) if p in bound), None)
        if factor.args[0].is_unit and one is not None:
            bound.pop(one)
            other = places[0] if one == places[1] else places[1]
            return [f for f in (f.xreplace({one: other}) for f in rest) if f != 1]
        axis, number = factor.args[0].whole or (0, None)
        at = places[axis] if number is not None else None
        if at in bound and not any(at in letters(other) for other in (*rest, *places[:axis])):
            bound.pop(at)
            return [*rest, number]
    return None


def _rename_bound(body: Value, bound: dict[Letter, Value]) -> Total:
    """A sum with letters of its own, what was summed first first, whatever they were called."""
    taken = (int(name.name[1:]) for name in body.atoms(Letter) if name.name[0] == "k")
    first = max(taken, default=0) + 1
    old = sorted(bound, key=lambda name: -int(name.name[1:]))
    again = {name: Letter(f"k{first + k}") for k, name in enumerate(old)}
    return make_total(body.xreplace(again), {again[name]: bound[name] for name in old})
