"""Whether operations are recorded, and who watches while they are."""

from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any


class Mode:
    """The one piece of state of the tape: recording or not, an observer, a disturbance.

    `observe(node, tensor, operands)` sees each node as it is made; `disturb(op, y)` may alter each forward
    value, which is how rounding errors are sampled.
    """

    __slots__ = ("disturb", "observe", "recording")

    def __init__(self) -> None:
        """Recording, unobserved, undisturbed."""
        self.recording = True
        self.observe: Callable[[Any, Any, Any], None] | None = None
        self.disturb: Callable[[Any, Any], Any] | None = None


MODE = Mode()


class _Recording(ContextDecorator):
    """Set the recording flag for a block or a function, and put it back afterwards."""

    def __init__(self, flag: bool, at_once: bool = False) -> None:
        self._flag = flag
        self._before: list[bool] = []
        if at_once:
            self.__enter__()

    def __enter__(self) -> None:
        self._before.append(MODE.recording)
        MODE.recording = self._flag

    def __exit__(self, *exc: object) -> None:
        MODE.recording = self._before.pop()


def no_grad() -> _Recording:
    """Block or decorator inside which nothing is recorded."""
    return _Recording(False)


def enable_grad() -> _Recording:
    """Block or decorator inside which operations are recorded again."""
    return _Recording(True)


def set_grad_enabled(mode: bool) -> _Recording:
    """Switch recording on or off at once; as a block, put it back at the end."""
    return _Recording(mode, at_once=True)


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return MODE.recording


@contextmanager
def watched(
    observe: Callable[[Any, Any, Any], None] | None = None,
    disturb: Callable[[Any, Any], Any] | None = None,
) -> Iterator[None]:
    """Let an observer see every node, or a disturbance alter every forward, inside the block."""
    before = MODE.observe, MODE.disturb
    MODE.observe, MODE.disturb = observe, disturb
    try:
        yield
    finally:
        MODE.observe, MODE.disturb = before
