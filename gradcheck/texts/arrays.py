"""Arrays as formulas: sums of products in one order, written as NumPy's text.

A `Form` is a sum of `Term`s, a term a number times powers of `Atom`s, entry by entry. Numbers are
collected in front, like terms added, what cancels is gone. An atom is known by its text: a name, a
call, a product of matrices, a bracket.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from math import gcd

LONGEST = 1_000  # characters of any part: beyond, nobody reads the whole
MOST_TERMS = 60  # of a product of brackets that is multiplied out
ADD, MULTIPLY, POWER, ATOM = range(4)  # how tightly a text binds
DECIMAL = 10**9

ONE = Fraction(1)
COLUMN = ":, None"


class NoText(ArithmeticError):
    """What cannot be written down, or is too long."""


class AxisLength(int):
    """The length of an axis, and what it is called."""

    text: str

    def __new__(cls, length: int, text: str = "") -> "AxisLength":
        """A length; without a text its digits."""
        made = super().__new__(cls, length)
        made.text = text or str(length)
        return made


Shape = tuple[int, ...]


@dataclass(frozen=True)
class Atom:
    """One factor: its text, the shape that NumPy gives that, and what it is made of."""

    text: str
    shape: Shape = ()
    binding: int = ATOM
    head: str = field(default="", compare=False)
    parts: tuple["Form", ...] = field(default=(), compare=False)
    along: tuple[int, ...] = field(default=(), compare=False)  # the axes of a sum or a norm

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST:
            raise NoText("too long to be written out")

    @property
    def tight(self) -> str:
        """The text, in brackets where anything binds more."""
        return self.text if self.binding == ATOM else f"({self.text})"


Factors = Mapping[Atom, Fraction]


@dataclass(frozen=True)
class Term:
    """A number times powers of atoms."""

    number: Fraction = ONE
    factors: Factors = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        """The shape that NumPy gives its text."""
        return broadcast(*(atom.shape for atom in self.factors))

    def scaled(self, number: Fraction) -> "Term":
        """So many times as much."""
        return replace(self, number=self.number * number)


@dataclass(frozen=True)
class Form:
    """A sum of terms; `shape` is that of the array, whose text may be broadcast to it."""

    terms: tuple[Term, ...]
    shape: Shape = ()

    @property
    def natural(self) -> Shape:
        """The shape that NumPy gives its text."""
        return broadcast(*(term.shape for term in self.terms))

    @property
    def text(self) -> str:
        """NumPy's text."""
        return write(self)[0]

    @property
    def is_zero(self) -> bool:
        """Whether nothing is left of it."""
        return not self.terms

    def at(self, binding: int) -> str:
        """The text, in brackets where it binds less."""
        text, own = write(self)
        return text if own >= binding else f"({text})"

    def alone(self) -> Atom | None:
        """The atom that it is."""
        if len(self.terms) != 1 or self.terms[0].number != 1 or len(self.terms[0].factors) != 1:
            return None
        ((atom, power),) = self.terms[0].factors.items()
        return atom if power == 1 else None


def broadcast(*shapes: Shape) -> Shape:
    """NumPy's rule, keeping what sizes are called."""
    width = max(map(len, shapes), default=0)
    padded = [(1,) * (width - len(s)) + tuple(s) for s in shapes]
    return tuple(max(axis, key=_rank_of_length) for axis in zip(*padded, strict=True))


def _rank_of_length(n: int) -> int:
    """Lengths that have a name before those that have none, 1 last."""
    return 0 if n == 1 else 2 if isinstance(n, AxisLength) and not n.text.isdigit() else 1


# -- arithmetic ------------------------------------------------------------------------------------


def number(value: Fraction | int, shape: Shape = ()) -> Form:
    """A number, everywhere in an array."""
    return Form((Term(Fraction(value)),) if value else (), shape)


def of_atom(atom: Atom, shape: Shape | None = None) -> Form:
    """An atom alone."""
    return Form((Term(ONE, {atom: ONE}),), atom.shape if shape is None else shape)


def of_term(term: Term, shape: Shape) -> Form:
    """A term alone."""
    return Form((term,) if term.number else (), shape)


def add(*forms: Form) -> Form:
    """A sum, like terms added."""
    found: dict[frozenset[tuple[Atom, Fraction]], Term] = {}
    for term in (term for form in forms for term in form.terms):
        key = frozenset(term.factors.items())
        held = found.get(key)
        found[key] = term if held is None else replace(held, number=held.number + term.number)
    kept = tuple(term for term in found.values() if term.number)
    if len(kept) > LONGEST // 5:
        raise NoText("too long to be written out")
    return Form(kept, broadcast(*(form.shape for form in forms)))


def scale(form: Form, by: Fraction | int) -> Form:
    """A number times a form."""
    return Form(tuple(t.scaled(Fraction(by)) for t in form.terms if by), form.shape)


def constant(form: Form) -> Fraction | None:
    """The number that a form is."""
    if form.is_zero:
        return Fraction(0)
    (first, *others) = form.terms
    return None if others or first.factors else first.number


def merge_factors(*factors: Factors) -> dict[Atom, Fraction]:
    """Powers of the same atom added."""
    found: dict[Atom, Fraction] = {}
    for atom, power in (pair for each in factors for pair in each.items()):
        found[atom] = found.get(atom, Fraction(0)) + power
    return {atom: power for atom, power in found.items() if power}


def single(form: Form) -> Term:
    """A form as one term: what all its terms share, times a bracket."""
    if len(form.terms) <= 1:
        return form.terms[0] if form.terms else Term(Fraction(0))
    first = form.terms[0].factors
    shared = {
        atom: min((t.factors[atom] for t in form.terms), key=abs)
        for atom in first
        if len({t.factors.get(atom, Fraction(0)) > 0 for t in form.terms}) == 1
        and all(atom in t.factors for t in form.terms)
    }
    by = _content([term.number for term in form.terms])
    back = {atom: -power for atom, power in shared.items()}
    inner = tuple(Term(t.number / by, merge_factors(t.factors, back)) for t in form.terms)
    return Term(by, merge_factors(shared, {bracket(Form(inner, form.shape)): ONE}))


def _content(numbers: Sequence[Fraction]) -> Fraction:
    sign = -1 if all(n < 0 for n in numbers) else 1
    if len({abs(n) for n in numbers}) == 1:
        return sign * abs(numbers[0])
    if all(n.denominator == 1 for n in numbers):
        return Fraction(sign * reduce(gcd, (abs(n.numerator) for n in numbers)))
    return Fraction(sign)


def bracket(form: Form) -> Atom:
    """A form as one factor."""
    text, binding = write(form)
    return Atom(text, form.natural, binding, "(", (form,))


def expand(form: Form) -> Form:
    """Brackets multiplied out, where that gives a bounded number of terms."""
    found: list[Form] = []
    for term in form.terms:
        product = Form((Term(term.number),), form.shape)
        for atom, power in term.factors.items():
            opens = atom.head == "(" and power.denominator == 1 and 0 < power <= 3
            inner = (
                expand(atom.parts[0]) if opens else of_term(Term(ONE, {atom: power}), atom.shape)
            )
            for _ in range(int(power) if opens else 1):
                pairs = [(a, b) for a in product.terms for b in inner.terms]
                if len(pairs) > MOST_TERMS:
                    raise NoText("too many terms")
                terms = [
                    Term(a.number * b.number, merge_factors(a.factors, b.factors)) for a, b in pairs
                ]
                product = add(*(of_term(t, form.shape) for t in terms))
        found.append(product)
    return replace(add(*found), shape=form.shape) if found else form


# -- writing ---------------------------------------------------------------------------------------


def write(form: Form) -> tuple[str, int]:
    """NumPy's text, and how tightly it binds; what is positive comes first."""
    if not form.terms:
        return "0", ATOM
    if len(form.terms) == 1:
        return _written(form.terms[0])
    first = next((k for k, t in enumerate(form.terms) if t.number > 0), 0)
    terms = (form.terms[first], *form.terms[:first], *form.terms[first + 1 :])
    text = _summand(terms[0])
    for term in terms[1:]:
        positive = replace(term, number=abs(term.number))
        text += f" {'+' if term.number > 0 else '-'} {_summand(positive)}"
    return text, ADD


def _summand(term: Term) -> str:
    text, binding = _written(term)
    return text if binding > ADD else f"({text})"


def _written(term: Term) -> tuple[str, int]:
    """A term: its number, numbers with names, arrays, then what they are divided by."""
    top, bottom = _digits(abs(term.number))
    ordered = sorted(term.factors.items(), key=lambda p: (len(p[0].shape), p[0].head == "<"))
    above = [(atom, *_power(atom, power)) for atom, power in ordered if power > 0]
    below = [_power(atom, -power) for atom, power in ordered if power < 0]
    texts = [top] if top != "1" or not above else []
    for k, (atom, text, binding) in enumerate(above):
        bare = atom.head == "@" and k == len(above) - 1 and not any(a.shape for a, *_ in above[:k])
        texts.append(text if bare or binding > MULTIPLY else f"({text})")
    texts = [" * ".join(texts)]
    texts += [text if binding > MULTIPLY else f"({text})" for text, binding in below]
    texts += [bottom] if bottom != "1" else []
    whole = " / ".join(texts)
    if term.number < 0:  # NumPy has no minus before a condition
        return (
            f"-{'1 * ' * (above[0][0].head == '<' and top == '1')}{whole}"
            if above
            else f"-{whole}",
            MULTIPLY,
        )
    if len(above) == 1 and len(texts) == 1 and top == "1":
        return above[0][1:]
    return whole, MULTIPLY if above or below else ATOM


def _digits(value: Fraction) -> tuple[str, str]:
    """A number above the line and one below it; a decimal where it is one of fifths."""
    rest = value.denominator
    if rest % 5 == 0 and DECIMAL % rest == 0:
        return repr(float(value)), "1"
    if rest > DECIMAL:
        return repr(float(value)), "1"
    return str(value.numerator), str(rest)


def _power(atom: Atom, power: Fraction) -> tuple[str, int]:
    if power == 1:
        return atom.text, atom.binding
    if power == Fraction(1, 2):
        return f"sqrt({atom.text})", ATOM
    top, bottom = (repr(float(power)), "1") if power.denominator == 2 else _digits(power)
    return f"{atom.tight} ** {top if bottom == '1' else f'({top} / {bottom})'}", POWER


def join(forms: Iterable[Form]) -> str:
    """Arguments of a call."""
    return ", ".join(form.text for form in forms)


def call(
    name: str,
    *forms: Form,
    shape: Shape | None = None,
    words: str = "",
    along: tuple[int, ...] = (),
) -> Form:
    """`name(forms, words)`; entry by entry where no shape is given."""
    text = f"{name}({join(forms)}{', ' + words if words else ''})"
    natural = broadcast(*(form.natural for form in forms)) if shape is None else shape
    whole = broadcast(*(form.shape for form in forms)) if shape is None else shape
    return of_atom(Atom(text, natural, ATOM, name, forms, along), whole)


def compare(sign: str, a: Form, b: Form) -> Form:
    """One where a condition holds, else zero."""
    text = f"{a.at(ADD)} {sign} {b.at(ADD)}"
    return of_atom(
        Atom(text, broadcast(a.natural, b.natural), -1, "<"), broadcast(a.shape, b.shape)
    )


def raise_to(base: Form, to: Form) -> Form:
    """A power whose exponent is no number."""
    natural = broadcast(base.natural, to.natural)
    made = Atom(f"{base.at(ATOM)} ** {to.at(ATOM)}", natural, POWER, "**", (base, to))
    return of_atom(made, broadcast(base.shape, to.shape))


def index(
    form: Form, places: str, shape: Shape, head: str = "", along: tuple[int, ...] = ()
) -> Form:
    """`form[places]`, its numbers before it."""
    if form.is_zero:
        return number(0, shape)
    term = single(form)
    scalars, arrays = split(term)
    if not arrays:
        return of_term(term, shape)
    inner = of_term(Term(ONE, arrays), form.shape)
    made = Atom(f"{inner.at(ATOM)}[{places}]", shape, ATOM, head or f"[{places}]", (inner,), along)
    return of_term(Term(term.number, merge_factors(scalars, {made: ONE})), shape)


def column(form: Form) -> Form:
    """A vector as a column, `form[:, None]`; entries picked of a matrix each for itself."""
    term = single(form)
    arrays = [atom for atom in term.factors if atom.shape]
    if form.is_zero or any(atom.head != "pick" for atom in arrays):
        return index(form, COLUMN, (*form.shape, 1))
    each = {upright(atom) if atom.shape else atom: p for atom, p in term.factors.items()}
    return of_term(Term(term.number, each), (*form.shape, 1))


def upright(atom: Atom) -> Atom:
    """A vector as a column."""
    text = f"{atom.tight}[{COLUMN}]"
    return Atom(text, (*atom.shape, 1), ATOM, f"[{COLUMN}]", (of_atom(atom),))


def split(term: Term) -> tuple[Factors, Factors]:
    """The factors that are numbers, and those that are arrays."""
    scalars = {atom: p for atom, p in term.factors.items() if not atom.shape}
    return scalars, {atom: p for atom, p in term.factors.items() if atom.shape}
