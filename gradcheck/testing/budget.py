"""Seconds that may be spent on something: what takes longer ends where it is, in this thread."""

import ctypes
import threading
import time
from collections.abc import Callable
from math import inf
from typing import TypeVar

T = TypeVar("T")
LEAST, OFTEN = 0.01, 0.05  # seconds: too few to begin, and between two looks at the clock


class OutOfTime(BaseException):
    """Raised wherever a thread is when its time is over; no `except Exception` holds it up."""


class Budget:
    """What is left of some seconds that a thread computes, and whether they were too few."""

    def __init__(self, seconds: float) -> None:
        """Of the thread that makes it."""
        self.until = time.thread_time() + seconds
        self.over = False
        self._ends: list[float] = []  # of the runs that are going on, one inside another
        self._lock = threading.Lock()

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.until - time.thread_time()

    def run(self, work: Callable[[], T], seconds: float = inf) -> T | None:
        """What a function gives, if it needs no more than so many of the seconds; else None."""
        now, whole = time.thread_time(), not self._ends
        if self.left < LEAST:
            self.over = True
            return None
        depth = len(self._ends)
        try:
            with self._lock:
                self._ends.append(min(self.until, now + seconds))
            if whole:
                watched = threading.get_ident(), self
                threading.Thread(target=_watch, args=watched, daemon=True).start()
            found = work()
            with self._lock:
                del self._ends[depth:]
        except OutOfTime:
            self.over = self.over or self.left <= 0 or whole
            if self.over and not whole:
                raise
            return None
        else:
            return found
        finally:
            del self._ends[depth:]

    def interrupt(self, ident: int, now: float) -> bool:
        """End the innermost run if its time is over; whether any is still going on."""
        with self._lock:
            if self._ends and now >= self._ends[-1]:
                self._ends[-1] = inf  # once
                raised = ctypes.py_object(OutOfTime)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), raised)
            return bool(self._ends)


def _watch(ident: int, budget: Budget) -> None:
    """Look at the clock of a thread until nothing is left to be ended."""
    clock = time.pthread_getcpuclockid(ident)
    while budget.interrupt(ident, time.clock_gettime(clock)):
        time.sleep(OFTEN)
