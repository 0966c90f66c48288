"""One writer a batch: a lock that dies with its process, and says whose it is."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from gradcheck.errors import GradcheckError

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be replaced either
    fcntl = None  # type: ignore[assignment]

NAME = "results.lock"


class Taken(GradcheckError):
    """Another process works on the batch, or nobody can."""


@contextmanager
def only_writer(directory: Path) -> Iterator[None]:
    """Make the directory if need be, and hold its lock; Taken names the process that does already.

    A record lock belongs to the process alone: children do not inherit it, and the system drops it
    when the process dies, however that happens.
    """
    try:
        directory.mkdir(0o700, parents=True, exist_ok=True)
        opened = (directory / NAME).open("a+", encoding="utf-8")
    except OSError as error:
        raise Taken(f"{directory}: cannot be written: {error.strerror}") from None
    with opened as file:
        if fcntl is not None:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                owner = file.read(500).strip() or "another process"
                raise Taken(f"{directory}: {owner} is grading here - wait for it to end") from None
        file.truncate(0)
        since = datetime.now().astimezone().strftime("%H:%M:%S")
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {since},")
        file.flush()
        yield
        file.truncate(0)
