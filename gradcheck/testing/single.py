"""Where single precision enters a program whose arguments are doubles: `x.astype("f")`, a buffer.

The program runs once on arrays that look at what is made of them, with a NumPy that looks at what
it makes from nothing. Asked only where a claim is off, or where values differ.
"""

import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gradcheck.testing.buffers import GATHERERS, MAKERS, Makers

DOUBLE = float(np.finfo(np.float64).eps)
LONGEST = 56  # characters of a line of source in a message
NOT_THEIRS = ("gradcheck", "numpy")
Look = Callable[[Any], Any]


class Coarse:
    """Floats coarser than float64, and the line of the program where they were first seen."""

    def __init__(self) -> None:
        self.kind = ""
        self.place = self.text = ""
        self.unit = DOUBLE

    def look(self, value: Any) -> Any:
        """The value, seen."""
        dtype = getattr(value, "dtype", None)
        if dtype is not None and dtype.kind == "f" and dtype.itemsize < np.dtype(float).itemsize:
            self.unit = max(self.unit, float(np.finfo(dtype).eps))
            if not self.kind:
                self.kind, (self.place, self.text) = dtype.name, _place()
        return value

    def words(self) -> str:
        """What a reader should know of it; nothing where all is in doubles."""
        if not self.kind:
            return ""
        where = f" at {self.place}" if self.place else ""
        told = f"{self.kind} enters{where}; judged as far as it can show (rtol= says how far)"
        return f"{told}\n{self.text}" if self.text else told


def coarse_inside(run: Callable[[Makers, Look], Any]) -> Coarse:
    """What is coarser than float64 while a program runs.

    `run` runs it with makers of arrays that are looked at; its arguments go through what it is
    handed.
    """
    found = Coarse()

    class Seen(np.ndarray[Any, Any]):
        """An array whose makes are looked at."""

        def __array_finalize__(self, obj: Any) -> None:
            found.look(self)

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            outs = kwargs.get("out", ())
            for each in (*inputs, *outs):
                found.look(each)
            if outs:
                kwargs["out"] = tuple(map(_bare, outs))
            made = getattr(ufunc, method)(*map(_bare, inputs), **kwargs)
            if outs:
                return outs[0] if len(outs) == 1 else outs
            return tuple(map(seen, made)) if isinstance(made, tuple) else seen(made)

    def _bare(value: Any) -> Any:
        return value.view(np.ndarray) if isinstance(value, Seen) else value

    def seen(value: Any) -> Any:
        found.look(value)
        plain = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        return np.array(value).view(Seen) if plain else value

    def made(maker: Callable[..., Any], *given: Any, **kwargs: Any) -> Any:
        return found.look(maker(*given, **kwargs))

    try:
        with np.errstate(all="ignore"):
            came = run(dict.fromkeys((*MAKERS, *GATHERERS), made), seen)
    except Exception:  # noqa: BLE001 - only looked at: a user's code may raise anything
        return found
    for each in came if isinstance(came, tuple | list) else [came]:
        found.look(each)
    return found


def _place() -> tuple[str, str]:
    """File and line of the innermost line of the user's, and its text."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        owner = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if owner not in NOT_THEIRS:
            file, line = frame.f_code.co_filename, frame.f_lineno
            text = linecache.getline(file, line).strip()
            return f"{Path(file).name}:{line}", text[:LONGEST]
        frame = frame.f_back
    return "", ""
