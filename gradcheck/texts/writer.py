"""NumPy's text of what is said in entries: the shortest of a few."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import permutations
from math import prod
from typing import NamedTuple

import sympy

from gradcheck.numbers.closed import SPELLED
from gradcheck.texts.entries import (
    ATOM,
    MEAN,
    ROW,
    ZERO,
    ArrayEntry,
    Form,
    Letter,
    Named,
    NoText,
    Total,
    is_below,
    letters,
    make_total,
)
from gradcheck.values import Routine, Value

LONGEST = 500  # characters of any part: beyond, nobody reads the whole
COMPARE, ADD, MULTIPLY, MATMUL, POWER = range(5)  # how tightly a text binds
DECIMAL = 10**9  # what is a number of fifths of this, or of less, is a decimal
HARD_TO_READ = 10  # characters that count for a call of `einsum`
MOST_PLACES = 1_000_000  # of one call of `einsum`: it goes through all of them
ORDERS = 6  # of letters that are looked at
SIGNS = {"greater": ">", "less": "<"}

Order = tuple[Value, ...]  # letters of axes, front to back; zero for an axis of length one


class Written(NamedTuple):
    """A text, and how tightly it binds."""

    text: str
    binding: int = ATOM

    def at(self, binding: int) -> str:
        """The text, in brackets where it binds less."""
        return self.text if self.binding >= binding else f"({self.text})"


def write_form(form: Form, binding: int = 0) -> str:
    """The text of an array of just that shape; NoText where it would be of a smaller one."""
    if not letters(form.expr) >= {place for place in form.places if place}:
        raise NoText("what is broadcast has no entries of its own")
    return write(form.expr, form.places).at(binding)


def count_text(expr: Value) -> int:
    """How long the text is, the axes in any order; `einsum` has to be worth it."""
    text = write(expr, tuple(sorted(letters(expr), key=str, reverse=True))).text
    return len(text) + HARD_TO_READ * text.count("einsum(")


@lru_cache(maxsize=4096)
def write(expr: Value, order: Order = ()) -> Written:
    """The text that stands for the entries of an array with these axes, or broadcasts to it."""
    own = letters(expr)
    first = next((k for k, place in enumerate(order) if place in own), len(order))
    if isinstance(expr, ArrayEntry) or own.issuperset(order[first:]):
        found = _write(expr, order)
    else:
        found = _lay_out(expr, order, order[first:])
    if len(found.text) > LONGEST:
        raise NoText("too long to be written out")
    return found


def _lay_out(expr: Value, order: Order, axes: Order) -> Written:
    """Along some of the axes: each part with ones for the others, or the whole by an index."""
    own = letters(expr)
    bare = write(expr, tuple(place for place in axes if place in own))
    places = ", ".join(":" if place in own else "None" for place in axes)
    column = Written(f"{bare.at(ATOM)}[{places}]")
    with suppress(NoText):
        found = _write(expr, order)
        as_sum = isinstance(expr, Total) and bare.text.startswith("sum(")  # with `keepdims=`
        if as_sum and found.text.count(".T") == bare.text.count(".T"):
            return found
        return min(column, found, key=lambda way: len(way.text))
    return column


def _write(expr: Value, order: Order) -> Written:
    if isinstance(expr, Named):
        return Written(expr.name, expr.binding)
    if isinstance(expr, ArrayEntry):
        return _write_entry(expr, order)
    if isinstance(expr, Total):
        return _write_total(expr, order)
    if expr.is_Add:
        return _sum(expr, order)
    if expr.is_Mul or expr.is_Rational or is_below(expr):
        return _write_product(expr, order)
    if expr.is_Pow:
        base, to = write(expr.base, order), expr.exp
        if to == sympy.Rational(1, 2):
            return Written(f"sqrt({base.text})")
        half = to.is_Rational and to.q == 2
        exponent = repr(float(to)) if half else write(to, order).at(ATOM)
        return Written(f"{base.at(ATOM)} ** {exponent}", POWER)
    if expr in (sympy.pi, sympy.E):
        return Written(str(expr).lower())
    name, parts = str(expr.func), [write(part, order) for part in expr.args]
    if name in SIGNS:
        return Written(f"{parts[0].at(ADD)} {SIGNS[name]} {parts[1].at(ADD)}", COMPARE)
    return Written(f"{SPELLED.get(name, name)}({', '.join(part.text for part in parts)})")


def is_condition(expr: Value) -> bool:
    return str(expr.func) in SIGNS


# -- arrays ----------------------------------------------------------------------------------------


def _write_entry(entry: Value, order: Order) -> Written:
    """An array with its axes in another order, or beside axes of length one."""
    array = entry.args[0]
    whole, axes = _pick(array, entry.args[1:])
    if len(axes) == 2 and axes[0] == axes[1]:
        whole, axes = Written(f"diag({whole.text})"), axes[:1]
    own = [place for place in axes if isinstance(place, Letter)]
    if own != [place for place in order if place in own]:
        if len(axes) != 2:
            raise NoText("many axes turned")
        symmetric = array.symmetric and whole.text == array.name
        whole, axes = whole if symmetric else Written(f"{whole.at(ATOM)}.T"), axes[::-1]
    due = [place if place in own else ZERO for place in order]
    beyond = len(due) - len(axes)
    if beyond >= 0 and due[beyond:] == list(axes) and not any(due[:beyond]):
        return whole
    places, left = list[str](), list(axes)
    for place in due[next((k for k, place in enumerate(due) if place), len(due)) :]:
        while place and left[0] != place:
            places.append(str(left.pop(0)))
        places.append(":" if place else "None")
        left = left[1:] if place else left
    return Written(f"{whole.at(ATOM)}[{', '.join([*places, *map(str, left)])}]")


def _pick(array: Named, places: Sequence[Value]) -> tuple[Written, Order]:
    """The text with its index, and the letters of the axes of that."""
    if all(isinstance(p, Letter) or n == 1 for p, n in zip(places, array.shape, strict=True)):
        return Written(array.name, array.binding), tuple(places)
    within = next((p.args[1:] for p in places if isinstance(p, ArrayEntry)), ())
    along = [k for k, p in enumerate(places) if not isinstance(p, Letter) or p in within]
    said, axes = [":"] * len(places), [p for k, p in enumerate(places) if k not in along]
    for k in along:
        place = places[k].args[0] if isinstance(places[k], ArrayEntry) else places[k]
        said[k] = str(list(range(array.shape[k])) if isinstance(place, Letter) else place)
    at = along[0] if along[-1] - along[0] < len(along) else 0
    axes[at:at] = within
    while said[-1] == ":":
        said.pop()
    text = Written(array.name, array.binding).at(ATOM)
    return Written(f"{text}[{', '.join(said)}]"), tuple(axes)


# -- sums and products of entries ------------------------------------------------------------------


def _sum(expr: Value, order: Order) -> Written:
    """What is positive comes first, numbers last."""
    signed = [(bool(term.as_coeff_Mul()[0] < 0), term) for term in expr.args]
    terms = [(minus, term, write(-term if minus else term, order)) for minus, term in signed]
    terms.sort(key=lambda t: (t[0], t[1].is_number, t[2].text.casefold(), t[2].text))
    text = write(terms[0][1], order).at(MULTIPLY)
    for minus, _, written in terms[1:]:
        text += f" {'-' if minus else '+'} {written.at(MULTIPLY)}"
    return Written(text, ADD)


def _write_product(expr: Value, order: Order) -> Written:
    """A product: its number, numbers with names, arrays, then what they are divided by."""
    count, rest = expr.as_coeff_Mul()
    size = abs(count)
    decimal = size.q > DECIMAL or (size.q % 5 == 0 and DECIMAL % size.q == 0)
    top, bottom = (repr(float(size)), "1") if decimal else (str(size.p), str(size.q))
    factors = _find_means([f for f in sympy.Mul.make_args(rest) if f != 1], order)
    factors = _split_cross(factors, order[-2:])
    factors.sort(key=lambda f: _rank_factor(f, order))
    above = [f for f in factors if not is_below(f)]
    texts = [top] if top != "1" or not above else []
    for k, factor in enumerate(above):
        last = k == len(above) - 1 and not any(map(letters, above[:k]))
        texts.append(write(factor, order).at(MATMUL if last else POWER))
    below = [write(1 / f, order).at(POWER) for f in factors if is_below(f)]
    whole = " / ".join([" * ".join(texts), *below, *([bottom] if bottom != "1" else [])])
    if count < 0:  # NumPy has no minus before a condition
        bare = bool(above) and is_condition(above[0]) and top == "1"
        return Written(f"-{'1 * ' if bare else ''}{whole}", MULTIPLY)
    if len(texts) > 1 or below or bottom != "1":
        return Written(whole, MULTIPLY)
    return write(above[0], order) if above else Written(whole)


def _find_means(factors: list[Value], order: Order) -> list[Value]:
    for one in [f for f in factors if isinstance(f, Total)]:
        counts = [1 / n for n in one.bound.values()]
        found = all(factors.count(n) == counts.count(n) for n in counts)
        if found and write(one, order).text.startswith("sum("):
            mean = make_total(one.args[1], one.bound, MEAN)
            factors = [mean if f == one else f for f in factors if f not in counts]
    return factors


def _split_cross(factors: list[Value], ends: Order) -> list[Value]:
    sides = [[f for f in factors if letters(f) == {place}] for place in ends]
    if len(sides) < 2 or any(all(map(is_below, side)) for side in sides):
        return factors
    texts = (write(sympy.Mul(*side), (end,)).text for side, end in zip(sides, ends, strict=True))
    crossed = ArrayEntry(Named(f"outer({', '.join(texts)})", (2, 2)), *ends)
    return [*(f for f in factors if len(letters(f)) != 1 or letters(f) - set(ends)), crossed]


def _rank_factor(factor: Value, order: Order) -> tuple[object, ...]:
    """Where a factor stands: what has axes later, conditions last, products of matrices first."""
    text, binding = write(1 / factor if is_below(factor) else factor, order)
    axes = () if isinstance(factor, Total) else factor.atoms(ArrayEntry)
    rank = max([len(letters(factor)), *(len(entry.args) - 1 for entry in axes)])
    compound = factor.is_Add or "(" in text
    return rank, is_condition(factor), binding != MATMUL, compound, text.casefold(), text


# -- sums over letters -----------------------------------------------------------------------------


def _write_total(expr: Value, order: Order) -> Written:
    """A product of matrices or `sum`, letter by letter; with more than two axes `einsum`."""
    factors = sympy.Mul.make_args(expr.args[1])
    if max(len(letters(f)) for f in (expr, *factors)) > 2:
        if len(set(map(letters, factors))) == 1:
            return _sum_call(expr, order)
        lengths = dict[Value, int]()
        for entry in expr.args[1].atoms(ArrayEntry):
            lengths |= zip(entry.args[1:], entry.args[0].shape, strict=True)
        if len(expr.bound) == 1 or prod(lengths.values()) <= MOST_PLACES:
            return _write_einsum(expr, order)
    nested = _nest(factors, expr.bound, expr.args[0])
    if not isinstance(nested, Total) or nested.args[1] != expr.args[1]:
        return write(nested, order)
    return _find_shortest(partial(way, expr, order) for way in (_write_matmul, _sum_call))


def _find_shortest(ways: Iterable[Callable[[], Written]], key: Routine = len) -> Written:
    """The shortest of the texts that there are; NoText where there is none."""
    found = list[Written]()
    for way in ways:
        with suppress(NoText):
            found.append(way())
    if not found:
        raise NoText("no sum over axes")
    return min(found, key=lambda written: key(written.text))


def _nest(factors: Sequence[Value], bound: dict[Letter, Value], kind: Value) -> Value:
    """The sum as sums over one letter each, the cheapest first."""
    if not bound:
        return sympy.Mul(*factors)
    touched = {b: [f for f in factors if b in letters(f)] for b in bound}
    first = min(bound, key=lambda b: len(frozenset().union(*map(letters, touched[b]))))
    alike = len(set(map(letters, touched[first]))) == 1
    names = {
        b: n for b, n in bound.items() if b == first or (alike and touched[b] == touched[first])
    }
    made = make_total(sympy.Mul(*touched[first]), names, kind)
    rest = [f for f in factors if f not in touched[first]]
    return _nest([*rest, made], {b: n for b, n in bound.items() if b not in names}, kind)


def _write_matmul(expr: Value, order: Order) -> Written:
    """`a @ b`: what hangs on one end beside what hangs on the other."""
    own, (row, column) = letters(expr), (ZERO, ZERO, *order)[-2:]
    if expr.args[0] == MEAN or len(expr.bound) > 1 or not own <= {row, column}:
        raise NoText("no product of matrices")
    (over,), factors = expr.bound, list(sympy.Mul.make_args(expr.args[1]))
    alone = [f for f in factors if letters(f) == {over}]
    left, right = ([f for f in factors if end in letters(f)] for end in (row, column))
    match row in own, column in own:
        case True, True if not set(left) & set(right):
            return _join(left, (row, over), alone + right, (over, column))
        case True, False if alone:
            return _join(left, (row, over), alone, (over, ZERO))
        case False, True if alone and len(order) > 1 and row == 0:
            return _join(alone, (ZERO, over), right, (over, column))
        case False, True if alone and expr.args[0] == ROW:
            return _join(alone, (over,), right, (over, column))
        case False, True if alone:
            return _join(right, (column, over), alone, (over,))
        case False, False if len(factors) == 2:  # a product with a vector stands on the right
            factors.sort(key=lambda f: (isinstance(f, Total), *_rank_factor(f, (over,))))
            return _join(factors[:1], (over,), factors[1:], (over,))
        case False, False if len(factors) == 1:
            base, to = factors[0].as_base_exp()
            if to == 2 and isinstance(base, ArrayEntry):
                return _join([base], (over,), [base], (over,))
    raise NoText("no product of matrices")


def _join(left: Sequence[Value], rows: Order, right: Sequence[Value], columns: Order) -> Written:
    first, second = _link(sympy.Mul(*left), rows), _link(sympy.Mul(*right), columns)
    row = len(right) == 1 and isinstance(right[0], Total) and right[0].args[0] == ROW
    second = f"({second})" if row and second[0] != "(" else second
    return Written(f"{first} @ {second}", MATMUL)


def _link(factor: Value, order: Order) -> str:
    """A factor of a product of matrices, turned as a whole where nothing in it has to be then."""
    written = write(factor, order)
    text = written.at(MATMUL if written.binding == MATMUL else ATOM)
    if len(order) == 2 and ".T" in text and not isinstance(factor, ArrayEntry | Total):
        turned = f"{write(factor, order[::-1]).at(ATOM)}.T"
        return turned if turned.count(".T") == 1 and len(turned) <= len(text) else text
    return text


def _sum_call(expr: Value, order: Order) -> Written:
    """`sum(...)` over axes that stay as ones where the text has to have them."""
    body, own, bound = expr.args[1], letters(expr), expr.bound
    if isinstance(body, ArrayEntry) and body.args[1:2] == body.args[2:]:
        return Written(f"trace({body.args[0].name})")
    kept = [place for place in order if place in own]
    due = list(order[next((k for k, o in enumerate(order) if o in own or o == 0), len(order)) :])
    gaps = [k for k, place in enumerate(due) if place not in own]
    stays = len(gaps) == len(bound)
    if gaps and own and not stays:
        raise NoText("ones between axes")
    orders = list[list[Value]]()
    for names in permutations(bound if stays else [*kept, *bound]):
        filled = iter(names)
        axes = [o if o in own else next(filled) for o in due] if stays else list(names)
        orders += [axes] if [place for place in axes if place in own] == kept else []
    word = "mean" if expr.args[0] == MEAN else "sum"

    def say(axes: list[Value]) -> Written:
        summed = tuple(k for k, place in enumerate(axes) if place in bound)
        words = f", axis={summed[0] if len(summed) == 1 else summed}" if kept or stays else ""
        words += ", keepdims=True" if stays else ""
        return Written(f"{word}({write(body, tuple(axes)).text}{words})")

    ways = (partial(say, axes) for axes in orders[:ORDERS])
    return _find_shortest(ways, lambda text: (text.count(".T"), len(text)))


def _write_einsum(expr: Value, order: Order) -> Written:
    own = [place for place in order if place in letters(expr)]
    if list(order[len(order) - len(own) :]) != own:
        raise NoText("axes of length one")
    names = dict(zip([*own, *expr.bound], "ijklmnopq", strict=False))
    said, texts = [], []
    for factor in sympy.Mul.make_args(expr.args[1]):
        places = factor.args[1:] if isinstance(factor, ArrayEntry) else ()
        if set(places) != letters(factor) or len(set(places)) < len(places):
            places = tuple(sorted(letters(factor), key=list(names).index))
        said.append("".join(names[place] for place in places))
        texts.append(write(factor, tuple(places)).text)
    out = "".join(names[place] for place in own)
    return Written(f"einsum('{','.join(said)}->{out}', {', '.join(texts)})")
