"""Whether operations are recorded, and who watches while they are."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Self

from gradcheck.values import Routine, Value

Observe = Callable[[Value, Value, Value], None]
Disturb = Callable[[Value, Value], Value]
Walked = Callable[[Value, Value], None]

UNUSUAL: list[None] = []
"""One entry a thread that does not record, or is watched: where it is empty, no mode need be read.

An entry too many (a thread that ended inside a block) costs time and nothing else.
"""


class Mode(threading.local):
    """The one piece of state of the tape: recording or not, an observer, a disturbance.

    `observe(node, tensor, operands)` sees each node as it is made, `walked(roots, landed)` each
    backward pass before anything is added to a `.grad`; `disturb(op, y)` may alter each forward
    value, which is how rounding errors are sampled. A `ledger` is handed what is to be done to a
    `.grad` or a leaf: `deposit(leaf, g, do)`, `clear(leaf, do)`, `zero(tensor, do)`,
    `write(tensor, do)`, and `kept(tensor, g, do)` for a value that retains its gradient. `taken`
    counts how often numbers left tracked tensors (copies of leaves too), as PyTorch allows in
    silence. Every thread has its own mode.
    """

    recording: bool = True
    observe: Observe | None = None
    disturb: Disturb | None = None
    walked: Walked | None = None
    ledger: Value = None
    usual: bool = True
    taken: int = 0

    def set(self, recording: bool, observe: Observe | None, disturb: Disturb | None) -> None:
        self.recording, self.observe, self.disturb = recording, observe, disturb
        before, self.usual = self.usual, recording and observe is None and disturb is None
        if before and not self.usual:
            UNUSUAL.append(None)
        elif self.usual and not before:
            UNUSUAL.pop()

    def record(self, flag: bool) -> None:
        self.set(flag, self.observe, self.disturb)


MODE = Mode()


class Recording(ContextDecorator):
    """Set the recording flag for a block or a function, and put it back afterwards."""

    def __init__(self, flag: bool, at_once: bool = False) -> None:
        """Remember the flag; `at_once` sets it without waiting for a block."""
        self._flag = flag
        self._at_once = at_once
        self._before: list[bool] = [MODE.recording]
        if at_once:
            MODE.record(flag)

    def __enter__(self) -> Self:
        if self._at_once:
            self._at_once = False
        else:
            self._before.append(MODE.recording)
            MODE.record(self._flag)
        return self

    def __exit__(self, *exc: object) -> None:
        MODE.record(self._before.pop())

    def __call__(self, function: Routine) -> Routine:  # type: ignore[override]
        """The function with the flag set while it runs."""
        if self._at_once:
            MODE.record(self._before[0])
            self._at_once = False
        return super().__call__(function)


def no_grad(function: Routine | None = None) -> Value:
    """Block or decorator inside which nothing is recorded.

    Parameters
    ----------
    function
        What is decorated, where it stands without brackets.

    Returns
    -------
    Recording or function
        A block for `with`, which decorates too; or the decorated function.

    Examples
    --------
    >>> from gradcheck import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> with no_grad():
    ...     w -= 0.5
    >>> w
    tensor(1.5000, requires_grad=True)
    """
    return Recording(False) if function is None else Recording(False)(function)


def enable_grad(function: Routine | None = None) -> Value:
    """Block or decorator inside which operations are recorded again."""
    return Recording(True) if function is None else Recording(True)(function)


inference_mode = no_grad
"""PyTorch's other name for it; what is made inside may be used outside here."""


def set_grad_enabled(mode: bool) -> Recording:
    """Switch recording on or off at once; as a block, put it back at the end."""
    return Recording(mode, at_once=True)


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return MODE.recording


@contextmanager
def watching(
    observe: Observe | None = None,
    disturb: Disturb | None = None,
    walked: Walked | None = None,
    ledger: Value = None,
) -> Iterator[None]:
    """Let an observer see every node or pass, or a disturbance alter every forward, inside."""
    before, others = (MODE.observe, MODE.disturb), (MODE.walked, MODE.ledger)
    MODE.set(MODE.recording, observe, disturb)
    MODE.walked, MODE.ledger = walked, ledger
    try:
        yield
    finally:
        MODE.set(MODE.recording, *before)
        MODE.walked, MODE.ledger = others
