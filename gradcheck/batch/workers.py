"""A process beside this one, within limits: what hangs, or eats memory, costs itself only.

    with Worker(Limits(seconds=2.0)) as worker:  # the process starts with the first task
        future = worker.submit(judged, chunk)    # a `concurrent.futures.Executor`: in order
        future.result()                          # or Lost: the process was killed, or died

The limits are those of one item of a task (`limits.item`); Lost tells during which one the process
ended, and whether its time was over. The next task starts another process, so a worker is never
used up.

A task and its result are pickled: functions of modules, texts and numbers. A process is asked from
one thread at a time (`Worker` has a thread for that); `Worker` may be given tasks from any.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from gradcheck.batch.limits import NOTHING, Limits, begin, end_task

WAITING, PATIENCE = 60.0, 6  # by the clock so many seconds, or times as long: a machine is busy
LOOK = 0.5  # seconds between looks at the clock
# By the server that processes come from: also what is loaded when it is used, by SymPy the last.
PRELOADED = ["gradcheck.batch.work", "gradcheck.problem.model", "sympy", "sympy.tensor.tensor"]


class Lost(RuntimeError):
    """A process ended in the midst of its task: `at` which item, and whether for its time."""

    def __init__(self, at: int, overtime: bool, why: str) -> None:
        """`at` is -1 outside of items."""
        super().__init__(why)
        self.at, self.overtime = at, overtime

    def __reduce__(self) -> tuple[type["Lost"], tuple[int, bool, str]]:
        """A cluster's worker hands it on."""
        return Lost, (self.at, self.overtime, str(self))


# -- in the process ------------------------------------------------------------------------------


def _work(pipe: Connection, place: Any, limits: Limits) -> None:
    """Do tasks until the pipe closes; Ctrl-C is the parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin(limits, place)
    while True:
        try:
            task, arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(_done(task, arguments))
        end_task()


def _done(task: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """Whether it went well, and what came of it: a fault by its name, which always travels."""
    try:
        return True, task(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent is told
        return False, f"{type(error).__name__}: {error}"


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# -- beside it -----------------------------------------------------------------------------------


class Beside:
    """One process within limits, started when it is asked and again when it was lost.

    It comes from a server that has imported everything, or is started afresh: a fork of this
    process would take its threads' locks along. `copy`: fork this process nevertheless, as long as
    it has a single thread (and is on Linux); then what is prepared here is prepared there.
    """

    def __init__(self, limits: Limits | None = None, *, copy: bool = False) -> None:
        """Nothing runs yet."""
        self.limits, self.copy = limits or Limits(), copy
        self.process: Any = None
        self.closed = False
        self.starting = threading.Lock()

    def ask(self, task: Callable[..., Any], /, *arguments: Any) -> Any:
        """Do a task there; raises Lost, or RuntimeError with what the task raised."""
        if self.process is None:
            self._start()
        in_time = True
        try:
            self.pipe.send((task, arguments))
            in_time = self._waited()
            well, found = self.pipe.recv()
        except (EOFError, OSError):
            raise self._lost(in_time) from None
        if not well:
            raise RuntimeError(found)
        return found

    def close(self) -> None:
        """End the process, whatever it does."""
        with self.starting:
            self.closed, process = True, self.process
        if process is not None:
            process.kill()
            process.join()

    def _start(self) -> None:
        with self.starting, _deaf():
            if self.closed:
                raise RuntimeError("a closed worker is asked")
            context = _context(self.copy)
            self.place = context.RawValue(ctypes.c_long, NOTHING)
            self.pipe, theirs = context.Pipe()
            arguments = (theirs, self.place, self.limits)
            process = context.Process(target=_work, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self.process = process

    def _waited(self) -> bool:
        """Wait for an answer; kill what works on one item too long, by looks and not by the clock.

        A machine that slept, or a process that was stopped, has not worked. Whether it was in time.
        """
        looks, last = 0, NOTHING
        most = max(WAITING, self.limits.seconds * PATIENCE) / LOOK
        while not self.pipe.poll(LOOK):
            now = self.place.value
            looks = looks + 1 if now == last != NOTHING else 0
            last = now
            if looks > most:
                self.process.kill()
                return False
        return True

    def _lost(self, in_time: bool) -> Lost:
        """What is to be said of a process that has ended."""
        self.process.join()
        self.pipe.close()
        code, at = self.process.exitcode, self.place.value
        self.process = None
        alarmed = hasattr(signal, "SIGPROF") and code == -signal.SIGPROF
        if not in_time or alarmed:
            return Lost(at, True, f"more than {self.limits.seconds:g} seconds of computing")
        return Lost(at, False, f"its process ended with the code {code}")


@contextmanager
def _deaf() -> Iterator[None]:
    """Start processes that never hear of Ctrl-C, not even while they import; this one does later.

    multiprocessing's own tracker is started before: where it starts, it opens the ears again.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def foreseen() -> None:
    """Let the server that processes come from import everything, while this process does, too."""
    if _context(copy=False).get_start_method() == "forkserver":
        from multiprocessing import forkserver  # noqa: PLC0415 - not everywhere

        with _deaf():
            forkserver.ensure_running()


def _context(copy: bool) -> Any:
    """How a process starts."""
    methods = multiprocessing.get_all_start_methods()
    if copy and sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(PRELOADED)
    return context


class Worker(Executor):
    """An executor of one process within limits: tasks are done one after the other."""

    def __init__(self, limits: Limits | None = None) -> None:
        """The process starts with the first task."""
        self.beside = Beside(limits)
        self.thread = ThreadPoolExecutor(1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Do it there, after what was asked before; the future raises as `Beside.ask` does."""
        assert not kwargs
        return self.thread.submit(self.beside.ask, fn, *args)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the process: at once if what waits is given up."""
        self.thread.shutdown(wait=wait and not cancel_futures, cancel_futures=cancel_futures)
        self.beside.close()
        self.thread.shutdown(wait=wait)


_OWN = threading.local()


def within(task: Callable[..., Any], /, *arguments: Any) -> Any:
    """Do a task within limits, by a process that belongs to this thread from now on.

    For a thread of a cluster's worker, which cannot be ended. The process ends with the worker.
    """
    if not hasattr(_OWN, "beside"):
        if multiprocessing.current_process().daemon:  # started by Dask's nanny, and may have none
            multiprocessing.current_process().daemon = False
        _OWN.beside = Beside()
    return _OWN.beside.ask(task, *arguments)
