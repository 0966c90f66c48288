"""Expressions in index notation as numbers: balls, contracted two by two."""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, reduce
from string import ascii_letters
from typing import Any

import numpy as np

from gradcheck.closed_forms.index import (
    Applied,
    Axes,
    Called,
    Delta,
    Factor,
    Index,
    Named,
    Product,
    Sum,
    distinct,
)
from gradcheck.errors import OutOfBudget
from gradcheck.language import Budget, Program, check_program, run
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.numbers.ball import arbs, balls
from gradcheck.ops.matrices import summed

PRODUCTS = 20_000_000
"""The most products that one contraction may take: a few seconds of flint's matrices."""
ENTRIES = 300_000
"""The most entries of an intermediate array: half a second of balls."""


EQUAL = "u0 == u1"
"""An entry and the largest of its row: the very same number, or the forward has met a tie."""


@dataclass(frozen=True)
class Array:
    """Numbers, and the index of each of their axes, each once and none for an axis of one entry."""

    numbers: Any
    axes: tuple[Index, ...]


@dataclass(frozen=True)
class Values:
    """The numbers that names stand for; texts of our own are run as programs.

    `sized` are the arrays whose sizes texts may speak of.
    """

    sized: Mapping[str, Any]
    names: MutableMapping[str, Any] = field(default_factory=dict)

    def of(self, expression: Sum) -> Any:
        """An expression as an array with its axes in order, those of one entry among them."""
        return self._laid(self._sum(expression), expression.axes)

    def _laid(self, found: Array, axes: Axes) -> Any:
        """Numbers with the axes asked for; along one that they lack they repeat."""
        own = [a for a in axes if a in found.axes]
        numbers = found.numbers.transpose([found.axes.index(a) for a in own])
        shape = iter(numbers.shape)
        numbers = numbers.reshape([next(shape) if a in own else 1 for a in axes])
        return np.broadcast_to(numbers, [1 if a is None else self.length(a) for a in axes])

    def length(self, index: Index) -> int:
        """How long an axis is."""
        return int(index.size) if index.size.isdigit() else int(self.text(index.size, {}))

    def text(self, text: str, inner: Mapping[str, Any]) -> Any:
        """A text of our own on numbers, `u0` and so on among them."""
        known = {**self.sized, **inner}
        program = _program(text, tuple(known))
        return run(program, known, KINDS["ball"], Budget()).value

    def _sum(self, expression: Sum) -> Array:
        wanted = distinct(expression.axes)
        parts = [self._product(product, wanted) for product in expression.products]
        if not parts:
            return Array(balls(0), ())
        if len(parts) == 1:
            return parts[0]
        axes = tuple(a for a in wanted if any(a in part.axes for part in parts))
        return Array(reduce(np.add, [_spread(part, axes) for part in parts]), axes)

    def _product(self, product: Product, wanted: Axes) -> Array:
        number: Any = Fraction(product.number)
        for size, power in product.sizes:
            number = number * self._size(size) ** power
        pieces = [self._factor(factor) for factor in product.factors]
        return contracted([Array(balls(number), ()), *pieces], wanted)

    def _size(self, text: str) -> Any:
        """A size as a fraction, so that one below a line stays exact."""
        found = np.asarray(self.text(text, {}), dtype=object).item()
        return Fraction(int(found)) if isinstance(found, int | np.integer) else found

    def _factor(self, factor: Factor) -> Array:
        if isinstance(factor, Named):
            known = self.names if factor.name in self.names else self.sized
            return _without_repeats(known[factor.name], factor.axes)
        if isinstance(factor, Sum):
            return self._sum(factor)
        if isinstance(factor, Delta):
            a, b = factor.axes
            return Array(balls(np.eye(self.length(a), dtype=int)), (a, b))
        if isinstance(factor, Applied):
            axes = tuple(a for a in factor.axes if a is not None)
            inner = [_spread(self._sum(part), axes) for part in factor.parts]
        else:
            inner = [self.of(part) for part in factor.parts]
        if factor.text == EQUAL:
            return Array(balls(_overlap(*inner)), axes)
        found = self.text(factor.text, {f"u{i}": numbers for i, numbers in enumerate(inner)})
        found = balls(np.asarray(found, dtype=object))
        return Array(found, axes) if isinstance(factor, Applied) else _called(found, factor)


def _overlap(a: Any, b: Any) -> Any:
    """Whether numbers are one and the same, as far as balls can tell."""
    return np.vectorize(lambda x, y: int(x.overlaps(y)), otypes=[int])(arbs(a), arbs(b))


@lru_cache(maxsize=4096)
def _program(text: str, names: tuple[str, ...]) -> Program:
    return check_program(text, declared=names, vocabulary=VOCABULARY)


def _called(found: Any, factor: Called) -> Array:
    return _without_repeats(found, factor.axes)


def _without_repeats(numbers: Any, axes: Axes) -> Array:
    """Numbers without axes of one entry; where two axes have one index, the diagonal."""
    own = tuple(a for a in axes if a is not None)
    numbers = numbers.reshape([n for n, a in zip(numbers.shape, axes, strict=True) if a])
    once = tuple(dict.fromkeys(own))
    if len(once) < len(own):
        letter = dict(zip(once, ascii_letters, strict=False))
        word = "".join(letter[a] for a in own)
        plain = np.asarray(numbers, dtype=object)
        numbers = balls(np.einsum(f"{word}->{''.join(letter[a] for a in once)}", plain))
    return Array(numbers, once)


def _spread(array: Array, axes: Sequence[Index]) -> Any:
    """Numbers ready to be broadcast against others with these axes."""
    own = [a for a in axes if a in array.axes]
    numbers = array.numbers.transpose([array.axes.index(a) for a in own])
    shape = iter(numbers.shape)
    return numbers.reshape([next(shape) if a in own else 1 for a in axes])


def contracted(pieces: Sequence[Array], wanted: Axes) -> Array:
    """The product of arrays, summed over every index that is not wanted.

    First what has no index of its own is multiplied in, then two at a time are summed over what
    only they have: the pair that leaves the fewest entries.
    """
    left = list(pieces)
    while True:
        left = _absorbed(left)
        left = [_alone(p, left, wanted) for p in left]
        if len(left) == 1:
            return left[0]
        a, b = min(_pairs(left), key=lambda pair: _entries(pair, left, wanted))
        rest = [p for p in left if p is not a and p is not b]
        left = [*rest, _met(a, b, rest, wanted)]


def _alone(piece: Array, pieces: Sequence[Array], wanted: Axes) -> Array:
    """A piece summed over the indices that nobody else has."""
    others = {a for p in pieces if p is not piece for a in p.axes}
    gone = [a for a in piece.axes if a not in others and a not in wanted]
    if not gone:
        return piece
    numbers = np.sum(piece.numbers, axis=tuple(piece.axes.index(a) for a in gone))
    return Array(balls(numbers), tuple(a for a in piece.axes if a not in gone))


def _absorbed(pieces: Sequence[Array]) -> list[Array]:
    """Pieces multiplied entry by entry into one that has all of their indices."""
    found: list[Array] = []
    for piece in sorted(pieces, key=lambda p: -len(p.axes)):
        for k, other in enumerate(found):
            if set(piece.axes) <= set(other.axes):
                found[k] = Array(other.numbers * _spread(piece, other.axes), other.axes)
                break
        else:
            found.append(piece)
    return found


def _pairs(pieces: Sequence[Array]) -> list[tuple[Array, Array]]:
    every = [(a, b) for k, a in enumerate(pieces) for b in pieces[k + 1 :]]
    return [pair for pair in every if set(pair[0].axes) & set(pair[1].axes)] or every


def _kept(a: Array, b: Array, rest: Sequence[Array], wanted: Axes) -> tuple[Index, ...]:
    """The indices of a product that others have, or that are wanted."""
    needed = {x for p in rest for x in p.axes} | {x for x in wanted if x is not None}
    return tuple(dict.fromkeys(x for x in (*a.axes, *b.axes) if x in needed))


def _lengths(*pieces: Array) -> dict[Index, int]:
    return {x: n for p in pieces for x, n in zip(p.axes, p.numbers.shape, strict=True)}


def _entries(pair: tuple[Array, Array], pieces: Sequence[Array], wanted: Axes) -> int:
    a, b = pair
    rest = [p for p in pieces if p is not a and p is not b]
    long = _lengths(a, b)
    return int(np.prod([long[x] for x in _kept(a, b, rest, wanted)], dtype=int))


def _met(a: Array, b: Array, rest: Sequence[Array], wanted: Axes) -> Array:
    """Two pieces multiplied and summed over what only they have."""
    axes, long = _kept(a, b, rest, wanted), _lengths(a, b)
    entries = int(np.prod([long[x] for x in axes], dtype=int))
    if entries > ENTRIES or np.prod(list(long.values()), dtype=float) > PRODUCTS:
        raise OutOfBudget("the closed form is too large here")
    letter = dict(zip(long, ascii_letters, strict=False))
    words = ["".join(letter[x] for x in piece.axes) for piece in (a, b)]
    found = summed(words, "".join(letter[x] for x in axes), a.numbers, b.numbers)
    return Array(balls(found), axes)
