"""A problem's section of its file: numbers and programs read from it, and what is wrong in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.documents import Document
from gradcheck.errors import Complaint, TextError
from gradcheck.language import Program, Vocabulary, check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.opinions.opinion import Array
from gradcheck.problem.arrays import exact_array, exact_number
from gradcheck.problem.record import Input, too_large, unnameable

Place = tuple[str | int, ...]


@dataclass
class Section:
    """Where a problem stands in its document; complaints are collected, to be raised together."""

    document: Document
    at: Place
    complaints: list[Complaint] = field(default_factory=list)

    def complain(self, path: Place, words: str, cure: str, *, key: bool = False) -> None:
        """Note what is wrong at a path, or at its key, and what would mend it."""
        self.complaints.append(self.document.complaint((*self.at, *path), words, cure, key=key))

    def value(self, path: Place) -> Any:
        """What stands at a path, its numbers as they are written."""
        return self.document.node((*self.at, *path)).value

    def array(self, path: Place) -> Array:
        """Nested lists of numbers at a path, exact; ragged ones and words are complained of."""
        value = self.value(path)
        found = exact_array(value)
        if found is None and isinstance(value, str):
            self.complain(path, "a number was expected, a text came", "write it without quotes")
        elif found is None:
            words = "numbers in nested lists of equal lengths were expected"
            self.complain(path, words, "even them out")
        return np.zeros((), dtype=object) if found is None else found

    def program(
        self,
        path: Place,
        source: str,
        declared: Sequence[str],
        vocabulary: Vocabulary = VOCABULARY,
        *,
        valued: bool = False,
    ) -> Program | None:
        """The program at a path, checked; None, and its complaints are noted."""
        line, column = self.document.origin((*self.at, *path))
        try:
            return check_program(
                source,
                declared=declared,
                vocabulary=vocabulary,
                file=self.document.file,
                line=line,
                column=column,
                valued=valued,
            )
        except TextError as error:
            self.complaints += error.complaints
            return None


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
