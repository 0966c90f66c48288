"""Ctrl-C, remembered: Python loses an exception that it raises in a finalizer or a callback.

What runs long calls `raise_lost` now and then, which raises the lost exception again; the process
ends with 130 if it was interrupted, whatever became of the exception.
"""

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

STOPPED = 130  # as a shell says of what SIGINT ended


class Interrupts:
    """The handler of SIGINT, which knows whether it came."""

    interrupted = False
    over = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The signal has come; raises KeyboardInterrupt."""
        self.interrupted = True
        self.raise_lost()

    def raise_lost(self) -> None:
        """Raises KeyboardInterrupt if there was one: it was lost, if somebody still asks."""
        if self.interrupted and not self.over:
            raise KeyboardInterrupt

    def close(self) -> None:
        """The command is over, and ignores what comes now; one that was interrupted ends at once.

        Python itself would end by the signal after an interrupted `exec` (of a dataclass, say), or
        while it takes itself apart.
        """
        self.over = True
        if signal.getsignal(signal.SIGINT) is self:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self.interrupted:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(STOPPED)


INTERRUPTS = Interrupts()


def watch_interrupts() -> None:
    """From now on, in a process that is one command; what is ignored, as behind `&`, stays so."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, INTERRUPTS)
