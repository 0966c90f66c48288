"""A typed text while it is made readable: each character remembers where it was typed."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from gradcheck.answers.complaint import shown
from gradcheck.errors import Complaint, TextError

New = Callable[[re.Match[str]], str | None]


@dataclass
class Draft:
    """The text to be read, the place of each of its characters in `typed`, and remarks."""

    typed: str
    text: str
    places: list[int]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, typed: str) -> Self:
        """The draft of a text that nothing has been done to."""
        return cls(typed, typed, list(range(len(typed))))

    def swap(self, pattern: re.Pattern[str], new: str | New) -> None:
        """Put something else for each match; a function may say None: the match stays."""
        text, places, at = "", list[int](), 0
        for match in pattern.finditer(self.text):
            written = new if isinstance(new, str) else new(match)
            if written is None:
                continue
            start, stop = match.span()
            text += self.text[at:start] + written
            places += self.places[at:start] + [self.place(start)] * len(written)
            at = stop
        if at or text:
            self.text, self.places = text + self.text[at:], places + self.places[at:]

    def cut(self, start: int, stop: int) -> None:
        """Keep only what stands between two places of the text."""
        self.text, self.places = self.text[start:stop], self.places[start:stop]

    def note(self, note: str) -> None:
        """Record what was done, once."""
        if note not in self.notes:
            self.notes.append(note)

    def place(self, at: int) -> int:
        """Where the character at a place of the text was typed; past the end, after the last."""
        if at < len(self.places):
            return self.places[at]
        return self.places[-1] + 1 if self.places else len(self.typed)

    def placed(self, error: TextError) -> TextError:
        """A complaint about the text as one about what was typed."""
        return TextError(
            [self._there(fault) if fault.column else fault for fault in error.complaints]
        )

    def _there(self, fault: Complaint) -> Complaint:
        """The column, the width and the source of a complaint, in what was typed."""
        first, last = self.place(fault.column - 1), self.place(fault.column + fault.width - 2)
        width = max(last - first + 1, 1) if fault.width > 1 else 1
        return replace(fault, column=first + 1, width=width, source=shown(self.typed))
