"""What a pass back does with formulas: products and powers, matrix products, sums over axes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from gradcheck.texts.arrays import (
    ATOM,
    COLUMN,
    MULTIPLY,
    ONE,
    Atom,
    AxisLength,
    Factors,
    Form,
    NoText,
    Shape,
    Term,
    add,
    bracket,
    broadcast,
    call,
    column,
    expand,
    index,
    merge_factors,
    number,
    of_atom,
    of_term,
    scale,
    single,
    split,
    upright,
)

MATRIX = 2  # axes
SYMMETRIC = ("eye",)


@dataclass
class Algebra:
    """Arithmetic on forms that knows the program's own names and sizes.

    `definitions` are the products that a name stands for, `opposite` the atoms `exp(z)` with what
    is one over one more, `whole` the atoms whose entries along an axis add to one; `alike` says
    which sizes are one, `shapes` the shapes of names.
    """

    definitions: list[tuple[Factors, Atom]] = field(default_factory=list)
    opposite: dict[Atom, Atom] = field(default_factory=dict)
    whole: dict[Atom, int] = field(default_factory=dict)
    alike: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    symmetric: set[str] = field(default_factory=set)

    # -- names -------------------------------------------------------------------------------------

    def define(self, name: str, form: Form) -> Form:
        """A name for a form; products of what it stands for are written with it."""
        atom = Atom(name, form.shape)
        self.shapes[name] = form.shape
        if self.is_symmetric(form):
            self.symmetric.add(name)
        if len(form.terms) == 1 and form.terms[0].number == 1 and form.natural == form.shape:
            factors = form.terms[0].factors
            self.definitions.append((factors, atom))
            for each, axis in self._adding_to_one(form):
                self.whole[each] = axis
                self.whole[atom] = axis
        return of_atom(atom)

    def is_symmetric(self, form: Form) -> bool:
        """Whether a matrix is its own transpose, as its formula says."""
        if form.is_zero or len(form.shape) != MATRIX or form.shape[0] != form.shape[1]:
            return False
        try:
            return self.transpose(form) == form
        except NoText:
            return False

    def _adding_to_one(self, form: Form) -> list[tuple[Atom, int]]:
        """Whether a product is entries over their sum along an axis."""
        factors = form.terms[0].factors
        found = [(atom, self.whole[atom]) for atom in factors if atom in self.whole]
        if len(factors) == 1 and found:
            return found
        for atom, power in factors.items():
            if power == -1 and atom.head == "sum" and len(atom.parts) == 1:
                rest = {a: p for a, p in factors.items() if a is not atom}
                inner = atom.parts[0]
                if len(inner.terms) == 1 and inner.terms[0].factors == rest:
                    return [(atom, atom.along[0])] if len(atom.along) == 1 else []
        return []

    def one(self, a: int, b: int) -> None:
        """Two sizes are the same."""
        if isinstance(a, AxisLength) and isinstance(b, AxisLength) and a == b:
            first, second = sorted((self.named(a), self.named(b)), key=self._age)
            if first != second and not (first.isdigit() or second.isdigit()):
                self.alike[second] = first

    def _age(self, size: str) -> int:
        """Sizes of the first inputs come first."""
        name = size.partition(".")[0]
        return list(self.shapes).index(name) if name in self.shapes else len(self.shapes)

    def named(self, size: int) -> str:
        """What a size is called."""
        text = size.text if isinstance(size, AxisLength) else str(size)
        while text in self.alike:
            text = self.alike[text]
        return text

    def matched(self, *shapes: Shape) -> Shape:
        """The shape that shapes are broadcast to; sizes that meet are the same."""
        for a in shapes:
            for b in shapes:
                for m, n in zip(reversed(a), reversed(b), strict=False):
                    if m != 1 and n != 1:
                        self.one(m, n)
        return broadcast(*shapes)

    def count(self, shape: Shape, axes: Collection[int]) -> Form:
        """How many entries there are along some axes."""
        sizes = [self.named(shape[k]) for k in axes if shape[k] != 1]
        if len(sizes) > 1 and len(axes) == len(shape):
            for name, other in reversed(self.shapes.items()):
                if len(other) > 1 and sorted(map(self.named, other)) == sorted(sizes):
                    return of_atom(Atom(f"{name}.size"))
        found = number(1)
        for text in sizes:
            found = self.times(found, number(int(text)) if text.isdigit() else of_atom(Atom(text)))
        return found

    # -- products and powers -----------------------------------------------------------------------

    def times(self, a: Form, b: Form) -> Form:
        """A product, entry by entry."""
        shape = self.matched(a.shape, b.shape)
        if a.is_zero or b.is_zero:
            return number(0, shape)
        first, second = single(a), single(b)
        factors = self._normal(merge_factors(first.factors, second.factors))
        return self._eased(of_term(Term(first.number * second.number, factors), shape))

    def over(self, a: Form, b: Form) -> Form:
        """A quotient."""
        return self.times(a, self.power(b, Fraction(-1)))

    def _normal(self, factors: dict[Atom, Fraction]) -> dict[Atom, Fraction]:
        """Products that a name stands for by that name; `exp(-z) * p` is `1 - p`."""
        for meaning, name in self.definitions:
            while all(factors.get(a, Fraction(0)) / p >= 1 for a, p in meaning.items()):
                back = {a: -p for a, p in meaning.items()}
                factors = merge_factors(factors, back, {name: ONE})
            if len(meaning) == 1:  # a power of it, too
                ((atom, power),) = meaning.items()
                times = factors.get(atom, Fraction(0)) / power
                if times and times.denominator == 1:
                    factors = merge_factors(factors, {atom: -power * times, name: times})
        for grown, part in list(self.opposite.items()):
            known = next((n for m, n in self.definitions if m == {part: ONE}), part)
            for atom in {part, known}:
                if factors.get(grown, 0) == 1 and factors.get(atom, 0) >= 1:
                    rest = add(number(1, atom.shape), scale(of_atom(atom), -1))
                    less = merge_factors(factors, {grown: -ONE, atom: -ONE}, {bracket(rest): ONE})
                    return self._normal(less)
        return _picked(factors)

    def softmax(self, x: Form, axis: int) -> Form:
        """`softmax(x, axis=1)`, whose entries add to one along that axis."""
        axis = axis % len(x.shape)
        made = call("softmax", x, shape=x.shape, words=f"axis={axis}")
        atom = made.alone()
        assert atom is not None
        self.whole[atom] = axis
        return made

    def _eased(self, form: Form) -> Form:
        """With a bracket multiplied out, where that takes away what stands below a line in it."""
        (term,) = form.terms
        for atom, power in term.factors.items():
            if atom.head != "(" or power != 1:
                continue
            inner = atom.parts[0].terms
            below = {_source(a) for t in inner for a, p in t.factors.items() if p < 0}
            if not any(a in below and p > 0 for a, p in term.factors.items()):
                continue
            rest = merge_factors(term.factors, {atom: -ONE})
            opened = add(
                *(
                    of_term(
                        Term(t.number * term.number, self._normal(merge_factors(t.factors, rest))),
                        form.shape,
                    )
                    for t in inner
                )
            )
            ways = [of_term(single(way), form.shape) for way in (opened, *self.expanded(opened))]
            return min((form, *ways), key=lambda each: len(each.text))
        return form

    def expanded(self, form: Form) -> list[Form]:
        """The form with its brackets multiplied out, where that is not too long."""
        try:
            opened = expand(form)
        except NoText:
            return []
        terms = (Term(t.number, self._normal(dict(t.factors))) for t in opened.terms)
        return [add(number(0, form.shape), *(of_term(t, form.shape) for t in terms))]

    def power(self, form: Form, to: Fraction) -> Form:
        """A power with a number as its exponent."""
        if form.is_zero or to == 0:
            return number(int(to == 0), form.shape)
        if to < 0 and (logistic := self._logistic(form)) is not None:
            return of_term(Term(ONE, self._normal({logistic: -to})), form.shape)
        term = single(form)
        lone = len(term.factors) == 1 and set(term.factors.values()) == {ONE}
        if to.denominator == 1 or (term.number == 1 and lone):
            raised = {atom: p * to for atom, p in term.factors.items()}
            whole = Term(
                term.number ** int(to) if to.denominator == 1 else ONE, self._normal(raised)
            )
            return of_term(whole, form.shape)
        return of_term(Term(ONE, {bracket(form): to}), form.shape)

    def _logistic(self, form: Form) -> Atom | None:
        """`sigmoid(z)` where the form is `1 + exp(-z)`."""
        if len(form.terms) != 2 or any(t.number != 1 for t in form.terms):
            return None
        grown = [a for t in form.terms for a, p in t.factors.items() if a.head == "exp" and p == 1]
        if len(grown) != 1 or sum(len(t.factors) for t in form.terms) != 1:
            return None
        made = call("sigmoid", scale(grown[0].parts[0], -1)).alone()
        assert made is not None
        self.opposite[grown[0]] = made
        return made

    # -- matrices ----------------------------------------------------------------------------------

    def matmul(self, a: Form, b: Form) -> Form:
        """A product of matrices and vectors."""
        if max(len(a.shape), len(b.shape)) > MATRIX or not (a.shape and b.shape):
            raise NoText("a product of stacks of matrices")
        inner = 0 if len(b.shape) == 1 else -2
        self.one(a.shape[-1], b.shape[inner])
        shape = (*a.shape[:-1], *(b.shape[1:] if len(b.shape) == MATRIX else ()))
        if a.is_zero or b.is_zero:
            return number(0, shape)
        first, second = single(a), single(b)
        (numbers, left), (more, right) = split(first), split(second)
        front = of_term(Term(first.number * second.number, merge_factors(numbers, more)), ())
        one, other = of_term(Term(ONE, left), a.shape), of_term(Term(ONE, right), b.shape)
        if _stays(other, len(b.shape) + inner if inner else 0):
            summed = self.sum(one, [len(a.shape) - 1])
            if len(b.shape) == MATRIX and len(a.shape) == MATRIX:
                summed = column(summed)
            found = self.times(summed, self.row(other, inner))
        elif _stays(one, len(a.shape) - 1):
            summed = self.sum(other, [0])
            found = self.times(self.row(one, -1), summed)
        else:
            found = self._chain(one, other, shape)
        return Form(self.times(front, found).terms, shape)

    def turned_round(self, form: Form) -> Form:
        """`X.T @ (p - y)` for `-X.T @ (y - p)`."""
        return Form(tuple(map(self._without_minus, form.terms)), form.shape)

    def _without_minus(self, term: Term) -> Term:
        for atom, power in term.factors.items() if term.number < 0 else ():
            other = self._negated(atom) if power == 1 else None
            if other is not None:
                return Term(-term.number, merge_factors(term.factors, {atom: -ONE}, {other: ONE}))
        return term

    def _negated(self, atom: Atom) -> Atom | None:
        """A bracket, or a product with one, with the other sign, where that is no longer."""
        if atom.head == "(" and any(t.number < 0 for t in atom.parts[0].terms):
            return bracket(scale(atom.parts[0], -1))
        for k, part in enumerate(atom.parts) if atom.head == "@" else ():
            inner = part.alone()
            other = None if inner is None else self._negated(inner)
            if other is not None:
                links = [*atom.parts[:k], of_atom(other, part.shape), *atom.parts[k + 1 :]]
                return self._chain_of(links).alone()
        return None

    def row(self, form: Form, axis: int) -> Form:
        """What does not change along an axis, at one place of that."""
        shape = tuple(n for k, n in enumerate(form.shape) if k != axis % len(form.shape))
        if form.natural in ((), shape):
            return Form(form.terms, shape)
        if len(form.shape) == MATRIX and axis in (-1, 1):
            return Form(form.terms, (*shape, 1))
        return Form(form.terms, (1, *shape)) if len(form.natural) == MATRIX else form

    def _chain(self, a: Form, b: Form, shape: Shape) -> Form:
        parts = [*_links(a), *(_links(b) if len(_links(b)[0].shape) == MATRIX else [b])]
        parts = [p for p in parts if not _is_eye(p)] or [a]
        if len(parts) == 1:
            return Form(parts[0].terms, shape)
        for k, part in enumerate(parts):
            atom = part.alone()
            if atom is not None and atom.head == "outer":
                left = self._chain_of([*parts[:k], atom.parts[0]])
                turned = [self.transpose(p) for p in reversed(parts[k + 1 :])]
                if len(shape) == MATRIX:
                    return self.outer(left, self._chain_of([*turned, atom.parts[1]]))
        natural = tuple(
            1 if n == 1 else m
            for n, m in zip(
                (
                    *parts[0].natural[-2:-1],
                    *(parts[-1].natural[-1:] if len(parts[-1].shape) > 1 else ()),
                ),
                shape,
                strict=False,
            )
        )
        text = " @ ".join(p.at(ATOM) for p in parts)
        return of_atom(
            Atom(
                text, natural if len(natural) == len(shape) else shape, MULTIPLY, "@", tuple(parts)
            ),
            shape,
        )

    def transpose(self, form: Form) -> Form:
        """A matrix turned."""
        if len(form.shape) < MATRIX:
            return form
        if len(form.shape) > MATRIX:
            raise NoText("a stack of matrices turned")
        shape = form.shape[::-1]
        terms = []
        for term in form.terms:
            turned = {self._turned(atom): p for atom, p in term.factors.items()}
            terms.append(Term(term.number, turned))
        apart = Form(tuple(terms), shape)
        whole = single(form)
        scalars, arrays = split(whole)
        inner = bracket(of_term(Term(ONE, arrays), form.shape))
        if inner.head != "(" or inner.shape != form.shape:
            return apart
        made = Atom(f"({inner.text}).T", shape, ATOM, ".T", (of_atom(inner),))
        together = of_term(Term(whole.number, merge_factors(scalars, {made: ONE})), shape)
        return min(together, apart, key=lambda found: len(found.at(ATOM)))

    def _turned(self, atom: Atom) -> Atom:
        if not atom.shape or atom.head in SYMMETRIC or atom.text in self.symmetric:
            return atom
        if atom.head == "inv" and self.is_symmetric(atom.parts[0]):
            return atom
        if len(atom.shape) == 1:
            return upright(atom)
        if atom.head == "(":
            return bracket(self.transpose(atom.parts[0]))
        if atom.head in (".T", f"[{COLUMN}]") and (inner := atom.parts[0].alone()) is not None:
            return inner
        if atom.head == "@":
            made = self._chain_of([self.transpose(part) for part in reversed(atom.parts)])
            if (lone := made.alone()) is not None:
                return lone
        if atom.head == "outer":
            turned = call("outer", *reversed(atom.parts), shape=atom.shape[::-1])
            return next(iter(turned.terms[0].factors))
        return Atom(f"{atom.tight}.T", atom.shape[::-1], ATOM, ".T", (of_atom(atom),))

    def _chain_of(self, parts: Sequence[Form]) -> Form:
        found = parts[0]
        for part in parts[1:]:
            found = self.matmul(found, part)
        return found

    def outer(self, a: Form, b: Form) -> Form:
        """Every entry of one vector times every entry of another."""
        first, second = single(a), single(b)
        (numbers, left), (more, right) = split(first), split(second)
        front = of_term(Term(first.number * second.number, merge_factors(numbers, more)), ())
        shape = (*a.shape, *b.shape)
        if not left or not right:
            upright = column(of_term(Term(ONE, left), a.shape)) if left else number(1)
            return Form(
                self.times(front, self.times(upright, of_term(Term(ONE, right), b.shape))).terms,
                shape,
            )
        one, other = of_term(Term(ONE, left), a.shape), of_term(Term(ONE, right), b.shape)
        return self.times(front, call("outer", one, other, shape=shape))

    # -- sums --------------------------------------------------------------------------------------

    def sum(self, form: Form, axes: Sequence[int], keepdims: bool = False) -> Form:
        """The sum over some axes: what does not change along them stands before it."""
        rank = len(form.shape)
        axes = [k % rank for k in axes]
        shape = _reduced(form.shape, axes, keepdims)
        if not axes:
            return form
        opened = (
            self.expanded(form) if any(a.head == "(" for t in form.terms for a in t.factors) else []
        )
        ways = [self._added(each, axes, keepdims, shape) for each in (form, *opened)]
        return min(ways, key=lambda found: len(found.text))

    def _added(self, form: Form, axes: Sequence[int], keepdims: bool, shape: Shape) -> Form:
        rank = len(form.shape)
        found, rest = [], []
        for term in form.terms:
            made = self._summed(term, form.shape, axes, keepdims, shape)
            found.append(made) if made is not None else rest.append(term)
        if rest:
            inside = single(Form(tuple(rest), form.shape))
            scalars, arrays = split(inside)
            inner = of_term(Term(ONE, arrays), form.shape)
            words = [] if len(axes) == rank and not keepdims else _words(axes, keepdims)
            made = call("sum", inner, shape=shape, words=", ".join(words), along=tuple(axes))
            found.append(self.times(of_term(Term(inside.number, scalars), ()), made))
        return Form(add(*found).terms, shape)

    def _summed(
        self, term: Term, shape: Shape, axes: Sequence[int], keepdims: bool, due: Shape
    ) -> Form | None:
        """The sum of one term, where it is more than a call of `sum`."""
        still = [k for k in axes if _constant_along(term.shape, k, len(shape))]
        if still:
            counted = self.count(shape, [k for k in still if shape[k] != 1])
            left = [k for k in axes if k not in still]
            inner = self.sum(of_term(term, shape), left, True) if left else of_term(term, shape)
            if not keepdims:
                inner = self.without(inner, axes)
            return Form(self.times(counted, inner).terms, due)
        for atom, power in term.factors.items():
            if power == 1 and atom in self.whole and list(axes) == [self.whole[atom] % len(shape)]:
                rest = Term(term.number, merge_factors(term.factors, {atom: -ONE}))
                if all(_constant_along(rest.shape, k, len(shape)) for k in axes):
                    inner = Form((rest,), tuple(1 if k in axes else n for k, n in enumerate(shape)))
                    return Form((inner if keepdims else self.without(inner, axes)).terms, due)
        picked = self._one_each(term, shape, axes)
        if picked is not None:
            return Form((column(picked) if keepdims and due[:-1] else picked).terms, due)
        fixed = {
            a: p
            for a, p in term.factors.items()
            if a.shape and all(_constant_along(a.shape, k, len(shape)) for k in axes)
        }
        if fixed:
            rest = Term(term.number, {a: p for a, p in term.factors.items() if a not in fixed})
            outside = Form(
                (Term(ONE, fixed),), tuple(1 if k in axes else n for k, n in enumerate(shape))
            )
            outside = outside if keepdims else self.without(outside, axes)
            return Form(
                self.times(outside, self.sum(of_term(rest, shape), axes, keepdims)).terms, due
            )
        return None if keepdims else self._as_product(term, shape, axes)

    def _one_each(self, term: Term, shape: Shape, axes: Sequence[int]) -> Form | None:
        """`sum(eye(n)[1] * s)` as `s[1]`; in a matrix one of each row."""
        for atom, power in term.factors.items():
            if atom.head == "rows" and power == 1 and list(axes) == [len(shape) - 1]:
                rest = of_term(Term(term.number, merge_factors(term.factors, {atom: -ONE})), shape)
                if rest.natural == shape == atom.shape:
                    return pick(rest, atom.along)
        return None

    def _as_product(self, term: Term, shape: Shape, axes: Sequence[int]) -> Form | None:
        """`sum(a * b)` as `a @ b`, `sum(A * v[:, None], axis=0)` as `v @ A`."""
        scalars, arrays = split(term)
        pairs = list(arrays.items())
        if len(pairs) != 2 or any(p != 1 for _, p in pairs):
            return None
        front = of_term(Term(term.number, scalars), ())
        (a, _), (b, _) = pairs
        if len(shape) == 1 and a.shape == b.shape == shape:
            return self.times(front, self.matmul(of_atom(a), of_atom(b)))
        if len(shape) != MATRIX or len(axes) != 1:
            return None
        for matrix, vector in ((a, b), (b, a)):
            if len(matrix.shape) != MATRIX or 1 in matrix.shape:
                continue
            if axes[0] == 0 and vector.head == f"[{COLUMN}]":
                return self.times(
                    front, self.matmul(self.transpose(of_atom(matrix)), vector.parts[0])
                )
            if axes[0] == 1 and len(vector.shape) == 1:
                return self.times(front, self.matmul(of_atom(matrix), of_atom(vector)))
        return None

    def without(self, form: Form, axes: Collection[int]) -> Form:
        """A form that has one place along some axes, without these."""
        rank = len(form.shape)
        shape = tuple(n for k, n in enumerate(form.shape) if k not in axes)
        terms = []
        for term in form.terms:
            factors = {_dropped(atom, axes, rank): p for atom, p in term.factors.items()}
            terms.append(Term(term.number, factors))
        return Form(tuple(terms), shape)


def _picked(factors: dict[Atom, Fraction]) -> dict[Atom, Fraction]:
    """`eye(n)[1] * s / s[1]` is `eye(n)[1]`: it is zero but where these are the same."""
    rows = {atom.along for atom, power in factors.items() if atom.head == "rows" and power > 0}
    for atom, power in factors.items():
        whole = _source(atom)
        if whole is not atom and factors.get(whole) == -power and _entry(atom).along in rows:
            return merge_factors(factors, {atom: -power, whole: power})
    return factors


def _entry(atom: Atom) -> Atom:
    """What stands as a column."""
    return (atom.head == f"[{COLUMN}]" and atom.parts[0].alone()) or atom


def _source(atom: Atom) -> Atom:
    """What an atom is an entry of; else itself."""
    entry = _entry(atom)
    return (entry.head == "pick" and entry.parts[0].alone()) or atom


def _dropped(atom: Atom, axes: Collection[int], rank: int) -> Atom:
    missing = rank - len(atom.shape)
    own = [k - missing for k in axes if k >= missing]
    if not own:
        return atom
    if atom.head == f"[{COLUMN}]" and own == [1] and (inner := atom.parts[0].alone()) is not None:
        return inner
    places = ", ".join("0" if k in own else ":" for k in range(len(atom.shape)))
    shape = tuple(n for k, n in enumerate(atom.shape) if k not in own)
    text = (
        atom.text.removesuffix(", keepdims=True)") + ")"
        if atom.head == "sum" and atom.text.endswith(", keepdims=True)")
        else ""
    )
    return Atom(
        text or f"{atom.tight}[{places}]", shape, ATOM, atom.head if text else "[]", atom.parts
    )


def pick(form: Form, places: tuple[int, ...]) -> Form:
    """`s[1]`, or `P[[0, 1], [1, 0]]`: an entry, or one of each row."""
    rows = list(range(len(places)))
    said = f"{places[0]}" if len(form.shape) == 1 else f"{rows}, {list(places)}"
    term = single(form)
    upright = {a: p for a, p in term.factors.items() if a.head == f"[{COLUMN}]"}
    rest = Term(term.number, {a: p for a, p in term.factors.items() if a not in upright})
    found = index(of_term(rest, form.shape), said, form.shape[:-1], "pick", places)
    inner = {a.parts[0].alone(): p for a, p in upright.items()}
    if not upright or None in inner or len(found.terms) != 1:
        return index(form, said, form.shape[:-1], "pick", places)
    (one,) = found.terms
    flat = {atom: power for atom, power in inner.items() if atom is not None}
    return of_term(Term(one.number, merge_factors(one.factors, flat)), form.shape[:-1])


def _constant_along(shape: Shape, axis: int, rank: int) -> bool:
    place = axis - (rank - len(shape))
    return place < 0 or shape[place] == 1


def _stays(form: Form, axis: int) -> bool:
    """Whether nothing in it changes along an axis that is longer than one."""
    return form.shape[axis] != 1 and _constant_along(form.natural, axis, len(form.shape))


def _reduced(shape: Shape, axes: Collection[int], keepdims: bool) -> Shape:
    kept = ((k, n) for k, n in enumerate(shape) if keepdims or k not in axes)
    return tuple(1 if k in axes else n for k, n in kept)


def _words(axes: Sequence[int], keepdims: bool) -> list[str]:
    said = [f"axis={axes[0] if len(axes) == 1 else tuple(axes)}"]
    return [*said, "keepdims=True"] if keepdims else said


def _links(form: Form) -> list[Form]:
    atom = form.alone()
    return list(atom.parts) if atom is not None and atom.head == "@" else [form]


def _is_eye(form: Form) -> bool:
    atom = form.alone()
    return atom is not None and atom.head == "eye"
