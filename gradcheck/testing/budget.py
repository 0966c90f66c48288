"""Seconds that may be spent on something: what takes longer ends where it is, in this thread."""

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from typing import TypeVar

T = TypeVar("T")
LEAST, OFTEN = 0.01, 0.05  # seconds: too few to begin, and between two looks at the clock
AGAIN = 0.5
"""Seconds after which what did not end is told again: a finalizer, or a callback of the garbage
collector, may have taken it."""


class OutOfTime(BaseException):
    """Raised wherever a thread is when its time is over; no `except Exception` holds it up."""


class TimeBudget:
    """What is left of some seconds that a thread computes, and whether they were too few."""

    def __init__(self, seconds: float) -> None:
        """Of the thread that makes it; where its clock cannot be read from another, of the wall."""
        self._ident = threading.get_ident()
        self._now: Callable[[], float] = time.monotonic
        if hasattr(time, "pthread_getcpuclockid"):
            self._now = partial(time.clock_gettime, time.pthread_getcpuclockid(self._ident))
        self.until = self._now() + seconds
        self.over = False
        self._ends: list[float] = []  # of the runs that are going on, one inside another
        self._lock = threading.Lock()

    @property
    def left(self) -> float:
        return self.until - self._now()

    def run(self, work: Callable[[], T], seconds: float = inf) -> T | None:
        """What a function gives, if it needs no more than so many of the seconds; else None."""
        if self.left < LEAST:
            self.over = True
            return None
        depth = len(self._ends)
        try:
            with self._lock:
                self._ends.append(min(self.until, self._now() + seconds))
            if not depth:
                threading.Thread(target=self._watch, daemon=True).start()
            found = work()
            with self._lock:
                del self._ends[depth:]
            return found
        except OutOfTime:
            self.over = self.over or self.left <= 0 or not depth
            if self.over and depth:
                raise
            return None
        finally:
            del self._ends[depth:]

    def _watch(self) -> None:
        """End the innermost run whenever its time is over, until none is going on."""
        raised, ident = ctypes.py_object(OutOfTime), ctypes.c_ulong(self._ident)
        while self._ends:
            with self._lock, suppress(OSError):  # the thread has ended, and its clock with it
                if self._ends and self._now() >= self._ends[-1]:
                    self._ends[-1] = self._now() + AGAIN
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, raised)
            time.sleep(OFTEN)
