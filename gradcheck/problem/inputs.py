"""The inputs of a problem: given numbers, shapes to draw numbers for, choices for each student."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Array
from gradcheck.problem.arrays import exact_number
from gradcheck.problem.record import Input, too_large, unnameable
from gradcheck.problem.section import Place, Section

MOST = 1_000  # values of an input: more than any class has students


@dataclass
class Inputs:
    """Reads inputs from a section; `choices` are the values of which a student gets one."""

    section: Section
    choices: dict[str, tuple[Array, ...]] = field(default_factory=dict)

    def read(self, name: str, value: Any) -> Input:
        """One input; what is wrong with it is complained of."""
        if cure := unnameable(name):
            self.section.complain(("inputs", name), f"`{name}` is not a name", cure, key=True)
        if isinstance(value, int | float | list):
            array = self.section.array(("inputs", name))
            return Input(name, array, array.shape, True)
        ways = (value.shape, value.value, value.choose, value.integers, value.decimals)
        if sum(way is not None for way in ways) != 1:
            words = "one of `shape`, `value`, `choose`, `integers` and `decimals` was expected"
            self.section.complain(("inputs", name), words, "give one")
        if value.shape is not None:
            if words := too_large(value.shape):
                self.section.complain(("inputs", name, "shape"), words, "make it smaller")
            return Input(name, None, tuple(value.shape), value.requires_grad)
        if value.value is None:
            first = self._choices(name, value)[0]
            return Input(name, first, first.shape, value.requires_grad)
        array = self.section.array(("inputs", name, "value"))
        return Input(name, array, array.shape, value.requires_grad)

    def _choices(self, name: str, value: Any) -> tuple[Array, ...]:
        """The values of which a student gets one; complains where there is no choice."""
        at = ("inputs", name)
        if value.choose is not None:
            found = [self.section.array((*at, "choose", k)) for k in range(len(value.choose))]
            path: Place = (*at, "choose")
        else:
            path = (*at, "integers" if value.integers is not None else "decimals")
            found = self._between(path)
        if len({each.shape for each in found}) > 1:
            self.section.complain(path, "the values have different shapes", "even them out")
        if len({str(each.tolist()) for each in found}) < len(found):
            self.section.complain(
                path, "a value stands here twice", "keep one: all are drawn alike"
            )
        if not 2 <= len(found) <= MOST:
            many = f"more than {MOST:,}" if len(found) > MOST else len(found)
            words = f"{many} values: from 2 to {MOST:,} were expected"
            self.section.complain(path, words, "`value:` gives one value to all")
        self.choices[name] = tuple(found)
        return (*found, np.zeros((), dtype=object))

    def _between(self, path: Place) -> list[Array]:
        """From the first number to the second, in steps of one, or of the last decimal place."""
        low, high, *places = map(exact_number, self.section.value(path))
        step = Fraction(1, 10 ** int(places[0])) if places else Fraction(1)
        count = min(MOST, int((high - low) // step)) + 1
        return [np.array(low + k * step, dtype=object) for k in range(count)]
