"""What can be wrong with a text: place, expectation, what came, and the cure."""

from collections.abc import Sequence
from dataclasses import dataclass

OURS = "a fault of gradcheck itself"
TYPED_EXPONENT = 400  # of ten in a typed decimal; float64 itself ends at 308
ANSWER_EXPONENT = 1_000  # of a power in an answer: exact numbers of 1,000 digits are quick
STUDENT_EXPONENT = 400  # of a power of whole numbers in an answer that is a program
PROGRAM_EXPONENT = 10_000  # of a power of whole numbers in a problem's own program
LONG_LINE, BEFORE, DOTS = 100, 40, "..."  # characters shown of a longer line, and before the place


@dataclass(frozen=True)
class Complaint:
    """One fault in one place of a file, or an answer: its line is 0, else they count from 1."""

    message: str
    cure: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    source: str = ""
    width: int = 1

    def __str__(self) -> str:
        """`file:line:column: message - cure`, then the source line with a caret under the place."""
        where = (self.file, self.line, self.column) if self.line else (self.file,)
        place = ":".join(str(part) for part in where if part)
        head = f"{place}: {self.message}" if place else self.message
        head += f" - {self.cure}" if self.cure else ""
        if not self.source:
            return head
        start = max(self.column, 1) - 1
        shown, start, end = cut_window(self.source, start, start + max(self.width, 1))
        return f"{head}\n    {shown}\n    {' ' * start}{'^' * (end - start)}"


def cut_window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a long line around a place, and where the place is in it; dots stand for ends."""
    if len(line) <= LONG_LINE:
        return line, start, end
    first = max(0, min(start - BEFORE, len(line) - LONG_LINE))
    last = first + LONG_LINE
    left, right = DOTS if first else "", DOTS if last < len(line) else ""
    shift = len(left) - first
    return left + line[first:last] + right, start + shift, min(end, last) + shift


def underline(source: str, span: tuple[int, int] | None, indent: str = "      ") -> list[str]:
    """The source line of a span with the span underlined, as a compiler shows it."""
    if span is None or not source:
        return []
    start = source.rfind("\n", 0, span[0]) + 1
    end = source.find("\n", span[0])
    line = source[start : end if end >= 0 else len(source)]
    dedent = len(line) - len(line.lstrip())
    column = span[0] - start - dedent
    width = max(1, min(span[1] - span[0], len(line) - dedent - column))
    shown, first, last = cut_window(line.strip(), column, column + width)
    return [indent + shown, indent + " " * first + "~" * (last - first)]


class GradcheckError(Exception):
    """Root of every error that gradcheck raises on purpose."""


class TextError(GradcheckError):
    """A text (problem file, program, answer) that cannot be read; carries its complaints.

    `done` is what a program had done before it ended so.
    """

    done = 0

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        """Keep the complaints as records: a program may read them, a person the message."""
        self.complaints = tuple(complaints)
        super().__init__("\n".join(str(complaint) for complaint in self.complaints))


class OutOfBudget(GradcheckError):
    """A program asked for more steps, numbers or digits than its budget allows."""
