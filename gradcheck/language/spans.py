"""From a frame of running code to the characters of the text that it was compiled from."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType

from gradcheck.documents.passage import Passage, Where

# The file name of every compiled program, by which its frames are known.
MARK = "<gradcheck program>"
# Under this name the globals of a running program keep its spans.
SPANS = "program.spans"
Span = tuple[int, int]


@dataclass
class Spans:
    passage: Passage
    known: dict[int, tuple[CodeType, list[Span | None]]] = field(default_factory=dict)

    def of(self, code: CodeType, instruction: int) -> Span | None:
        """The start and end offsets of what an instruction (by `f_lasti`) was compiled from."""
        if id(code) not in self.known:
            self.known[id(code)] = code, [self._span(*where) for where in code.co_positions()]
        spans = self.known[id(code)][1]
        return spans[instruction // 2] if 0 <= instruction // 2 < len(spans) else None

    def _span(
        self, line: int | None, end_line: int | None, start: int | None, end: int | None
    ) -> Span | None:
        if not line or max(line, end_line or 0) > len(self.passage.lines):
            return None
        if end_line is None or start is None or end is None:
            text = self.passage.lines[line - 1]
            return self.passage.span((line, line, 0, len(text.encode())))
        return self.passage.span((line, end_line, start, end))


def where_in(code: CodeType, instruction: int, line: int) -> Where:
    """The place that an instruction was compiled from; `line` stands in where Python forgot it."""
    first, last, start, end = list(code.co_positions())[instruction // 2]
    first = first or line
    return first, last or first, start or 0, end or 0


def locate(frame: FrameType) -> Span | None:
    """The span of the program's text that a frame is at; None for frames of anything else."""
    if frame.f_code.co_filename != MARK:
        return None
    found = frame.f_globals.get(SPANS)
    return found.of(frame.f_code, frame.f_lasti) if isinstance(found, Spans) else None


def executing() -> Span | None:
    return next((span for frame in frames() if (span := locate(frame)) is not None), None)


def frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
