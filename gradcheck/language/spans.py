"""From a frame of a running program to the characters of its text."""

from dataclasses import dataclass, field
from types import CodeType, FrameType

from gradcheck.documents.passage import Passage

# The file name of every compiled program, by which its frames are known.
MARK = "<gradcheck program>"
# Under this name the globals of a running program keep its spans.
SPANS = "program.spans"
Span = tuple[int, int]


@dataclass
class Spans:
    """The spans of one program's code objects, read from each once."""

    passage: Passage
    known: dict[int, list[Span | None]] = field(default_factory=dict)

    def of(self, code: CodeType, instruction: int) -> Span | None:
        """The start and end offsets of what an instruction (by `f_lasti`) was compiled from."""
        if id(code) not in self.known:
            self.known[id(code)] = [self._span(*where) for where in code.co_positions()]
        spans = self.known[id(code)]
        return spans[instruction // 2] if 0 <= instruction // 2 < len(spans) else None

    def _span(
        self, line: int | None, end_line: int | None, start: int | None, end: int | None
    ) -> Span | None:
        """The offsets of a place; of its whole line where Python was told to forget columns."""
        if not line:
            return None
        if end_line is None or start is None or end is None:
            text = self.passage.lines[line - 1]
            return self.passage.span((line, line, 0, len(text.encode())))
        return self.passage.span((line, end_line, start, end))


def locate(frame: FrameType) -> Span | None:
    """The span of the program's text that a frame is at; None for frames of anything else."""
    if frame.f_code.co_filename != MARK:
        return None
    found = frame.f_globals.get(SPANS)
    return found.of(frame.f_code, frame.f_lasti) if isinstance(found, Spans) else None
