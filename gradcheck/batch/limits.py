"""What a process may take for one item of its task: seconds of computing, and memory.

A task says `with item(k)` around each of its items (`work.judged`: its answers). In a process that
is no worker nothing is limited. What is done outside of items has no limit either: preparing a
problem is the instructor's own work.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # Windows, where time is watched from outside and memory is not
    resource = None  # type: ignore[assignment]

SECONDS = 10.0  # of computing for one answer; the slowest shipped one takes a fiftieth of it
MEMORY = 1 << 30  # bytes for one answer, beside what the process has before
PAGES = Path("/proc/self/statm")  # first the pages of address space, of which RLIMIT_AS is a bound
NOTHING = -1  # the item that is worked on, outside of items


@dataclass(frozen=True)
class Limits:
    """What one item may take: seconds of computing, and bytes of memory (where Linux counts)."""

    seconds: float = SECONDS
    memory: int = MEMORY


class _Inside:
    """The limits of this process, and where it says what it works on; unset outside of workers."""

    limits: Limits | None = None
    place: Any = None
    bounded = False  # whether the memory has its bound since the task began


@contextmanager
def item(k: int) -> Iterator[None]:
    """Work on the item k within the limits; in a process that is no worker there are none.

    The system ends the process when the time is over: nothing in Python could, while it computes
    with big numbers in C. Only computing counts, however busy the machine is.
    """
    limits = _Inside.limits
    if limits is None:
        yield
        return
    _Inside.place.value = k
    _bound(limits)
    alarm(limits.seconds)
    try:
        yield
    finally:
        alarm(0.0)
        _Inside.place.value = NOTHING


def alarm(seconds: float) -> None:
    """The end of this process after so many seconds of computing; 0: none."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _bound(limits: Limits) -> None:
    """Let the memory grow by no more than the limit, from the first item of a task."""
    if not _Inside.bounded:
        _Inside.bounded = True
        if resource is not None and PAGES.exists():
            _set_most(used() + limits.memory)


def used() -> int:
    """The bytes that this process has asked for so far, on Linux."""
    return int(PAGES.read_text().split()[0]) * resource.getpagesize()


def _set_most(most: int) -> None:
    """So many bytes, or as many as the system allows; -1: no bound."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    over = hard != resource.RLIM_INFINITY and not 0 <= most <= hard
    resource.setrlimit(resource.RLIMIT_AS, (hard if over else most, hard))


def begin(limits: Limits, place: Any) -> None:
    """Set limits in this process from now on; `place` is where it says what it works on."""
    _Inside.limits, _Inside.place = limits, place


def end_task() -> None:
    """Take the bound of the memory away: the next task sets it anew."""
    if _Inside.bounded and resource is not None:
        _set_most(resource.RLIM_INFINITY)
    _Inside.bounded = False
