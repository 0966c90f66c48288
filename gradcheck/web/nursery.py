"""The process that prepares every problem once, and forks workers that know them all.

A fork costs milliseconds where a fresh process would take seconds, so that a worker whose answer
ran away can be killed and replaced at once. No thread ever runs here: forking is safe.
"""

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from typing import Any

from gradcheck.batch.limits import alarm, used
from gradcheck.web.frames import framed, receive
from gradcheck.web.work import Work

FORK = b"f"
QUIET = 1.0  # seconds between two looks for workers that have died
FILES = 32


def main(descriptor: int) -> None:
    """Prepare the problems that are sent, and fork a worker for every socket that is sent."""
    for ignored in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)  # the server ends it, by hanging up
    warnings.simplefilter("ignore")  # PyTorch's own, about programs that say why on purpose
    control = socket.socket(fileno=descriptor)
    start = receive(control)
    work = Work.of(start["sets"])
    waiting = list(start["problems"])
    while True:
        readable, _, _ = select.select([control], [], [], 0 if waiting else QUIET)
        if readable:
            _fork(control, work, start["memory"])
        elif waiting:
            id = waiting.pop(0)
            news = {"problem": id, "why": work.prepare(id), "shows": work.shows(id)}
            control.sendall(framed({**news, "left": len(waiting)}))
        _reap()


def _fork(control: socket.socket, work: Work, memory: int) -> None:
    """Answer one request for a worker; the end of requests is the end of everything."""
    data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    if not data:
        os._exit(0)
    gc.freeze()
    if os.fork() == 0:
        control.close()
        try:
            _serve(socket.socket(fileno=descriptors[0]), work, memory)
        finally:
            os._exit(0)
    os.close(descriptors[0])


def _reap() -> None:
    """Let the system forget the workers that have died."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _serve(channel: socket.socket, work: Work, memory: int) -> None:
    """A worker's life: one task after another, each with its own budget of processor time."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _limit(memory)
    channel.sendall(framed({"pid": os.getpid()}))
    with contextlib.suppress(EOFError, OSError):
        while True:
            asked = receive(channel)
            work.warm(asked["task"], asked["given"])
            alarm(asked["seconds"])
            said = _said(getattr(work, asked["task"]), asked["given"])
            alarm(0.0)
            channel.sendall(framed(said))


def _said(task: Callable[..., Any], given: list[Any]) -> dict[str, Any]:
    try:
        return {"said": task(*given)}
    except MemoryError:
        return {"memory": True}
    except Exception as error:  # noqa: BLE001 - whatever it is, the worker goes on
        return {"fault": f"{type(error).__name__}: {error}"[:300]}


def _limit(memory: int) -> None:
    """So many bytes beyond what is used now; no files, no core."""
    most = used() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


if __name__ == "__main__":
    main(int(sys.argv[1]))
