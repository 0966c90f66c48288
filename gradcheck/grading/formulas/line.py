"""A formula of single numbers as a line of ball operations, each on earlier slots.

Quick, because nothing but arbs is touched; each equal piece is computed once; numbers that are
typed stay exact fractions. It knows where it has no value, and where its pieces change their rule.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

from flint import arb

from gradcheck.grading.equivalence import Array, NoValue
from gradcheck.language.kinds import CONSTANTS
from gradcheck.numbers.ball import exact
from gradcheck.ops import TABLE
from gradcheck.ops.domains import difference, knots

Leaf = tuple[str, tuple[int, ...]]
Rule = Callable[..., Any]
CHOICE = "where"
TEST = "test"


Knot = tuple[Rule, tuple[int, ...]]
Step = tuple[Rule, tuple[int, ...], str, tuple[int, int]]
"""One operation: its rule, the earlier slots that it is on, its name, its place in the text."""


@cache
def _knots(name: str) -> tuple[Rule, ...]:
    """What is zero where an operation changes its rule."""
    if name == TEST:
        return (difference,)
    row = TABLE.get(name)
    return tuple(knots(row.kinks)) if row else ()


@cache
def _unseen(name: str) -> Rule | None:
    """Where an operation's result has no influence to be seen, if there is such a place."""
    row = TABLE.get(name)
    return row.unseen if row else None


@dataclass(eq=False)
class Line:
    """Slots: the leaves, then the numbers, then one for each step; the value is in slot `end`."""

    text: str
    leaves: tuple[Leaf, ...]
    numbers: tuple[Fraction | str, ...]
    steps: Sequence[Step]
    end: int
    known: dict[int, list[arb]] = field(default_factory=dict)

    def value(self, point: Mapping[str, Array], bits: int) -> arb:
        """The value at a point of arbs, at the precision set; NoValue where there is none."""
        values = self._all(point, bits)
        end: arb = values[self.end]
        if not end.is_finite():
            self._refuse(values, self.end)
        return end

    def knots(self, point: Mapping[str, Array], bits: int) -> list[arb]:
        """What must be zero where a piece of the formula changes its rule, at a point."""
        values = self._all(point, bits)
        return [knot(*[values[i] for i in args]) for knot, args in self.knotted]

    def hidden(self, point: Mapping[str, Array], bits: int) -> set[str]:
        """The pieces, as they were typed, that have no influence to be seen at a point."""
        rules = [(_unseen(name), args, place) for _, args, name, place in self.steps]
        asked = [each for each in rules if each[0] is not None]
        values = self._all(point, bits) if asked else []
        return {
            self.text[slice(*place)]
            for rule, args, place in asked
            if rule and rule(*[values[i] for i in args])
        }

    def _all(self, point: Mapping[str, Array], bits: int) -> list[Any]:
        """What is in every slot at a point."""
        if bits not in self.known:
            self.known[bits] = [_number(number) for number in self.numbers]
        values: list[Any] = [point[name][index] for name, index in self.leaves]
        values += self.known[bits]
        for rule, args, _, _ in self.steps:
            if len(args) == 2:
                i, j = args
                values.append(rule(values[i], values[j]))
            else:
                values.append(rule(*[values[i] for i in args]))
        return values

    def _refuse(self, values: list[Any], slot: int) -> None:
        """Raise NoValue if the innermost piece that failed lies beyond doubt outside its domain."""
        first = len(self.leaves) + len(self.numbers)
        if slot < first:
            return
        step = self.steps[slot - first]
        _, _, name, place = step
        args = _taken(step, values)
        for i in args:
            if not values[i].is_finite():
                self._refuse(values, i)
                return
        row = TABLE.get(name)
        if row and row.undefined and row.undefined(*[values[i] for i in args]):
            raise NoValue(f"`{self.text[slice(*place)]}` has no value")

    @cached_property
    def knotted(self) -> Sequence[Knot]:
        """Each step that changes its rule somewhere: what is zero there, and of which slots."""
        return list(self._knotted())

    def _knotted(self) -> Iterator[Knot]:
        first = len(self.leaves) + len(self.numbers)
        for _, args, name, _ in self.steps:
            for knot in _knots(name):
                yield knot, args
            if name in ("sqrt", "power") and args[0] >= first:
                yield from self._rooted(self.steps[args[0] - first], first)

    def _rooted(self, inner: Step, first: int) -> Iterator[Knot]:
        """The root of a square is an absolute value."""
        _, args, name, _ = inner
        squared = name == "square" or (name == "multiply" and args[0] == args[1])
        if name == "power" and len(self.leaves) <= args[1] < first:
            exponent = self.numbers[args[1] - len(self.leaves)]
            squared = isinstance(exponent, Fraction) and exponent.numerator % 2 == 0
        if squared:
            yield (lambda x: x), args[:1]


def _taken(step: Step, values: list[Any]) -> tuple[int, ...]:
    """The slots that a step's value came from: of a choice, only the one that was chosen."""
    _, args, name, _ = step
    if name == CHOICE:
        return (args[1] if values[args[0]] else args[2],)
    return tuple(i for i in args if isinstance(values[i], arb))


def _number(number: Fraction | str) -> arb:
    return CONSTANTS[number][2]() if isinstance(number, str) else exact(number)
