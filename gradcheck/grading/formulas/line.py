"""A formula of single numbers as a line of ball operations, each on earlier slots.

Quick, because nothing but arbs is touched; each equal piece is computed once; numbers that are
typed stay exact fractions. It knows where it has no value, and where its pieces change their rule.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from flint import arb

from gradcheck.grading.equivalence import Array, NoValue
from gradcheck.language.kinds import CONSTANTS
from gradcheck.numbers.ball import exact
from gradcheck.ops import TABLE, Op
from gradcheck.ops.domains import difference, knots

Leaf = tuple[str, tuple[int, ...]]
Rule = Callable[..., Any]
CHOICE = "where"
TEST = "test"


class Step(NamedTuple):
    """One operation on earlier slots; `place` is where it stands in the formula's text."""

    rule: Rule
    args: tuple[int, ...]
    name: str
    place: tuple[int, int]

    @property
    def row(self) -> Op | None:
        """The op, where it is one; not of a comparison."""
        return TABLE.get(self.name)

    @property
    def knots(self) -> list[Rule]:
        """What is zero where the operation changes its rule."""
        if self.name == TEST:
            return [difference]
        return list(knots(self.row.kinks)) if self.row else []


@dataclass(frozen=True, eq=False)
class Line:
    """Slots: the leaves, then the numbers, then one for each step; the value is in slot `end`."""

    text: str
    leaves: tuple[Leaf, ...]
    numbers: tuple[Fraction | str, ...]
    steps: tuple[Step, ...]
    end: int
    plain: tuple[tuple[Rule, tuple[int, ...]], ...]
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
        values = self._all(point, bits)
        return {
            self.text[slice(*step.place)]
            for step in self.steps
            if step.row and step.row.unseen and step.row.unseen(*[values[i] for i in step.args])
        }

    def _all(self, point: Mapping[str, Array], bits: int) -> list[Any]:
        """What is in every slot at a point."""
        if bits not in self.known:
            self.known[bits] = [_number(number) for number in self.numbers]
        values: list[Any] = [point[name][index] for name, index in self.leaves]
        values += self.known[bits]
        for rule, args in self.plain:
            if len(args) == 2:
                values.append(rule(values[args[0]], values[args[1]]))
            else:
                values.append(rule(*[values[i] for i in args]))
        return values

    def _refuse(self, values: list[Any], slot: int) -> None:
        """Raise NoValue if the innermost piece that failed lies beyond doubt outside its domain."""
        first = len(self.leaves) + len(self.numbers)
        if slot < first:
            return
        step = self.steps[slot - first]
        args = self._taken(step, values)
        for i in args:
            if not values[i].is_finite():
                self._refuse(values, i)
                return
        if step.row and step.row.undefined and step.row.undefined(*[values[i] for i in args]):
            raise NoValue(f"`{self.text[slice(*step.place)]}` has no value")

    def _taken(self, step: Step, values: list[Any]) -> tuple[int, ...]:
        """The slots that a step's value came from: of a choice, only the one that was chosen."""
        if step.name == CHOICE:
            return (step.args[1] if values[step.args[0]] else step.args[2],)
        return tuple(i for i in step.args if isinstance(values[i], arb))

    @cached_property
    def knotted(self) -> tuple[tuple[Rule, tuple[int, ...]], ...]:
        """Each step that changes its rule somewhere: what is zero there, and of which slots."""
        return tuple(self._knotted())

    def _knotted(self) -> Iterator[tuple[Rule, tuple[int, ...]]]:
        first = len(self.leaves) + len(self.numbers)
        for step in self.steps:
            for knot in step.knots:
                yield knot, step.args
            if step.name in ("sqrt", "power") and step.args[0] >= first:
                yield from self._rooted(self.steps[step.args[0] - first], first)

    def _rooted(self, inner: Step, first: int) -> Iterator[tuple[Rule, tuple[int, ...]]]:
        """The root of a square is an absolute value."""
        squared = inner.name == "square" or (
            inner.name == "multiply" and inner.args[0] == inner.args[1]
        )
        if inner.name == "power" and len(self.leaves) <= inner.args[1] < first:
            exponent = self.numbers[inner.args[1] - len(self.leaves)]
            squared = isinstance(exponent, Fraction) and exponent.numerator % 2 == 0
        if squared:
            yield (lambda x: x), inner.args[:1]


def _number(number: Fraction | str) -> arb:
    return CONSTANTS[number][2]() if isinstance(number, str) else exact(number)
