"""Which expression of a user's Python file is being evaluated just now."""

import inspect
import linecache
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

Span = tuple[int, int]


def file_of(f: Callable[..., Any]) -> str:
    """The file that a function was written in; nothing where it has none."""
    try:
        return inspect.getfile(inspect.unwrap(f))
    except TypeError:
        return ""


def here(file: str) -> Span | None:
    """The innermost expression of the file under evaluation, as offsets into its text."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == file:
            return _span(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


def text_of(file: str) -> str:
    """The whole text of a user's file, into which `here` points."""
    return "".join(linecache.getlines(file)) if file else ""


@lru_cache(maxsize=4096)
def _span(code: CodeType, instruction: int) -> Span | None:
    first, last, left, right = list(code.co_positions())[instruction // 2]
    lines = linecache.getlines(code.co_filename)
    if first is None or last is None or left is None or right is None or last > len(lines):
        return None
    return _offset(lines, first, left), _offset(lines, last, right)


def _offset(lines: list[str], line: int, column: int) -> int:
    """The character offset of a line and a column, which Python counts in UTF-8 bytes."""
    before = lines[line - 1].encode()[:column].decode(errors="ignore")
    return sum(map(len, lines[: line - 1])) + len(before)
