"""Which expression of a user's Python file is being evaluated just now."""

import inspect
import linecache
from functools import lru_cache
from types import CodeType

from gradcheck.documents.passage import Passage
from gradcheck.language.spans import Span, Spans, frames
from gradcheck.values import Routine


def file_of(f: Routine) -> str:
    """The file that a function was written in; nothing where it has none."""
    try:
        return inspect.getfile(inspect.unwrap(f))
    except TypeError:
        return ""


def here(file: str) -> Span | None:
    """The innermost expression of the file under evaluation, as offsets into its text."""
    inside = (frame for frame in frames() if frame.f_code.co_filename == file)
    frame = next(inside, None)
    return None if frame is None else _spans(frame.f_code).of(frame.f_code, frame.f_lasti)


def text_of(file: str) -> str:
    """The whole text of a user's file, into which `here` points."""
    return "".join(linecache.getlines(file)) if file else ""


@lru_cache(maxsize=64)
def _spans(code: CodeType) -> Spans:
    return Spans(Passage(text_of(code.co_filename)))
