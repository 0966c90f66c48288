"""How a value follows from the leaves: what the program did, without saying with which numbers.

A form is what one line of the program asked NumPy to do, so that it can be asked again with exact
numbers. A leaf that is stepped becomes a new root: each version is a variable of its own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Union

import numpy as np

from gradcheck.engine.tensor import Tensor
from gradcheck.errors import GradcheckError
from gradcheck.language.kinds import CONSTANTS, KINDS, NumberKind
from gradcheck.numbers.scalars import Scalars
from gradcheck.opinions.again import WAYS

Array = np.ndarray[Any, Any]
How = Callable[[NumberKind], Callable[..., Any]]
Span = tuple[int, int] | None
DIGITS = 15  # that a float64 keeps of any decimal
SMALL = 1_000  # of a denominator


@dataclass(frozen=True, eq=False)
class Root:
    """A leaf as it is between two writes: `owner` is whose, `value` what it held."""

    owner: Any
    value: Array
    version: int = 0


@dataclass(frozen=True, eq=False)
class Form:
    """One thing done: `how(kind)` is the function, `args` hold forms and plain values."""

    how: How
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    span: Span = None
    name: str = ""


@dataclass(frozen=True, eq=False)
class GradForm(Form):
    """The gradient of one value by another: `args` are y, x, and the cotangent or None."""


@dataclass(frozen=True, eq=False)
class Lost:
    """A value whose history is not followed, and why."""

    why: str


Term = Union[Form, Root, Lost]  # noqa: UP007 - used in isinstance as well


def in_order(top: Term) -> list[Term]:
    """Every term below one, each after those that it needs; no recursion, for loops are long."""
    done: dict[int, Term] = {}
    waiting: list[tuple[Term, bool]] = [(top, False)]
    while waiting:
        term, ready = waiting.pop()
        if id(term) in done:
            continue
        if ready or not isinstance(term, Form):
            done[id(term)] = term
            continue
        waiting.append((term, True))
        needed = [*_terms((*term.args, *term.kwargs.values()))]
        waiting += [(each, False) for each in reversed(needed)]
    return list(done.values())


def roots(top: Term) -> list[Root]:
    """The versions of leaves that a value depends on."""
    return [term for term in in_order(top) if isinstance(term, Root)]


def evaluate(
    top: Term,
    kind: str,
    given: Mapping[Root, Any],
    at: Callable[[Span], None] = lambda span: None,
    *,
    instead: tuple[Term, Any] | None = None,
    outer: int = 0,
) -> Any:
    """The value of a form on numbers of a kind; `at` hears which part of the text is evaluated.

    `instead` is a term that has another value than the one that would follow; `outer` counts the
    gradients around this one.
    """
    numbers, outer = KINDS[kind], max(outer, height(top))
    known: dict[int, Any] = {} if instead is None else {id(instead[0]): instead[1]}
    for term in in_order(top):
        if id(term) in known:
            continue
        if isinstance(term, Lost):
            raise GradcheckError(term.why)
        if isinstance(term, Root):
            known[id(term)] = given[term]
            continue
        at(term.span)
        args = [_filled(each, known, numbers) for each in term.args]
        named = {name: _filled(each, known, numbers) for name, each in term.kwargs.items()}
        if isinstance(term, GradForm):
            y, x, g = args
            again = partial(_again, term, kind, given, at, outer)
            known[id(term)] = WAYS[kind](y, x, g, again, outer - height(term))
            continue
        known[id(term)] = term.how(numbers)(*args, **named)
    return known[id(top)]


def _again(  # noqa: PLR0917 - all but the last are given when it is made
    term: GradForm,
    kind: str,
    given: Mapping[Root, Any],
    at: Callable[[Span], None],
    outer: int,
    x: Any,
) -> Any:
    """What is differentiated, for another value of what it is differentiated by."""
    return evaluate(term.args[0], kind, given, at, instead=(term.args[1], x), outer=outer)


def exactly(top: Term) -> Term:
    """The same form with each float as the number that it was written as.

    Raises GradcheckError on a float of which that cannot be told: it was computed, and rounded.
    """
    done: dict[int, Any] = {}
    for term in in_order(top):
        if isinstance(term, Form):
            named = {name: _exact(_put(each, done)) for name, each in term.kwargs.items()}
            args = tuple(_exact(_put(each, done)) for each in term.args)
            done[id(term)] = replace(term, args=args, kwargs=named)
        else:
            done[id(term)] = term
    return done[id(top)]  # type: ignore[no-any-return]


def _exact(value: Any) -> Any:
    """Floats as Fractions or multiples of pi and e, in lists too; those in arrays as Fractions."""
    if isinstance(value, float | np.floating) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "f" and not value.shape
    ):
        return _constant(float(value))
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.vectorize(lambda each: fraction(float(each)), otypes=[object])(value)
    if type(value) in (list, tuple):
        return type(value)(map(_exact, value))
    return value


def _constant(value: float) -> "Fraction | Form":
    """A number of the text: a Fraction, or a small multiple of pi or e."""
    try:
        return fraction(value)
    except GradcheckError:
        for name, (number, *_) in CONSTANTS.items():
            times = Fraction(value / number).limit_denominator(SMALL)
            if float(times) * number == value:
                return Form(partial(_multiple, name), (times,))
        raise


def _multiple(name: str, kind: NumberKind) -> Callable[[Any], Any]:
    """So many times a named constant."""
    return lambda times: kind.constant(name) * times


def fraction(value: float) -> Fraction:
    """A float as the decimal of at most 15 digits that it was written as, or as a small fraction.

    So many digits come back from a float64 as they went in. Of the numbers below 1,000 that are
    computed otherwise, one in 10^9 is a float of a fraction whose denominator is below 1,000.
    """
    if not np.isfinite(value):
        raise GradcheckError(f"{value} is no number")
    text = repr(value)
    digits = text.partition("e")[0].replace(".", "").lstrip("-0")
    if len(digits.rstrip("0")) <= DIGITS:
        return Fraction(text)
    small = Fraction(value).limit_denominator(SMALL)
    if float(small) != value:
        raise GradcheckError(f"{text} was computed, and is known to the digits of a float only")
    return small


def height(top: Term) -> int:
    """How many gradients of gradients a value is made of."""
    found: dict[int, int] = {}
    for term in in_order(top):
        below = _terms((*term.args, *term.kwargs.values())) if isinstance(term, Form) else ()
        found[id(term)] = max((found[id(each)] for each in below), default=0)
        found[id(term)] += isinstance(term, GradForm)
    return found[id(top)]


def cut(top: Term, at: Term | None, root: Root) -> Term:
    """The same form with one of its values in it as a variable of its own."""
    done: dict[int, Any] = {}
    for term in in_order(top):
        done[id(term)] = root if term is at else _rebuilt(term, done)
    return done[id(top)]  # type: ignore[no-any-return]


def _rebuilt(term: Term, known: Mapping[int, Any]) -> Term:
    """A form over the new versions of what it needs."""
    if not isinstance(term, Form):
        return term
    named = {name: _put(each, known) for name, each in term.kwargs.items()}
    return replace(term, args=tuple(_put(each, known) for each in term.args), kwargs=named)


def _put(value: Any, known: Mapping[int, Any]) -> Any:
    """Terms by what is known for them, in lists too."""
    if isinstance(value, Form | Root | Lost):
        return known[id(value)]
    if type(value) in (list, tuple):
        return type(value)(_put(each, known) for each in value)
    return value


def _terms(values: Any) -> Iterator[Term]:
    """The terms among some values, and in the lists among them."""
    for value in values:
        if isinstance(value, Form | Root | Lost):
            yield value
        elif type(value) in (list, tuple):
            yield from _terms(value)


def _filled(value: Any, known: Mapping[int, Any], kind: NumberKind) -> Any:
    """Terms by their values; arrays of floats as numbers of the kind."""
    if type(value) in (list, tuple):
        return type(value)(_filled(each, known, kind) for each in value)
    if isinstance(value, Fraction) or (isinstance(value, np.ndarray) and value.dtype.kind in "fO"):
        return kind.lift(value)
    return _put(value, known)


# -- what a form is ------------------------------------------------------------------------------


def picking(how: How, k: int) -> How:
    """One of several results."""
    return lambda kind: lambda *args, **kwargs: how(kind)(*args, **kwargs)[k]


def filler(number: float) -> How:
    """All entries replaced by one number."""
    return lambda kind: lambda x: x * 0.0 + number


def assigning(kind: Any, index: Any) -> Callable[..., Any]:
    """A copy with entries put in the place of others."""

    def assigned(x: Any, value: Any) -> Any:
        changed = kind.function("copy")(x)
        if kind.name == "tensor" and not isinstance(changed, Tensor):
            changed = Tensor(np.array(changed))
        if isinstance(changed, Scalars):
            plain = np.asarray(value, dtype=object)
            np.asarray(changed)[index] = plain if plain.shape else plain.item()
        else:
            changed[index] = value
        return changed

    return assigned


def divisor(term: Term | None) -> float:
    """The k of `loss / k`, or of `loss * (1 / k)`; 1 where the loss is not divided."""
    if not isinstance(term, Form) or len(term.args) != 2:
        return 1.0
    first, second = map(_number, term.args)
    if term.name in ("truediv", "divide") and second:
        return second
    factor = first or second
    return 1.0 / factor if term.name in ("mul", "multiply") and factor else 1.0


def _number(value: Any) -> float | None:
    plain = isinstance(value, int | float | np.ndarray) and np.ndim(value) == 0
    return float(value) if plain else None
