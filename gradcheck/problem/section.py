"""A problem's section of its file: numbers and programs read from it, and what is wrong in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.documents import Document
from gradcheck.errors import Complaint, TextError
from gradcheck.language import Program, Vocabulary, check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.opinions.opinion import Array
from gradcheck.problem.arrays import exact_array

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
