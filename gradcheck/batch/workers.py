"""Processes within limits: what hangs, or eats memory, costs itself only.

    with closing(Nursery()) as nursery, closing(Worker(nursery, Limits(seconds=2.0))) as worker:
        future = worker.submit(judge_chunk, chunk)  # tasks are done in order
        future.result()                             # or WorkerLost: the process was killed, or died

A task says `with item():` around each piece of a stranger's work, of which the limits are; what it
does outside of them has none: preparing a problem is the instructor's own work. A task that is a
generator sends each result as it comes. WorkerLost has those that came before the process ended,
and tells whether it was within an item, and whether for its time; the next task starts another.

What comes back from a process is JSON, whatever a stranger's text may have made of it; it writes no
file and, where the system can forbid it, has no network.

Workers are forked from a nursery: what it has imported and prepared, they all know. Where nothing
can be forked (Windows), each is started afresh.
"""

import ctypes
import gc
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from multiprocessing import reduction, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, local
from types import GeneratorType, ModuleType
from typing import Any

try:
    import resource
except ImportError:  # Windows, where time is watched from outside and memory is not
    resource = None  # type: ignore[assignment]

SECONDS = 10.0  # of computing for one answer; the slowest shipped one takes a fiftieth of it
MEMORY = 1 << 30  # bytes for one answer, beside what the process has before
PAGES = Path("/proc/self/statm")  # first the pages of address space, of which RLIMIT_AS is a bound
FILES = 64  # that a process may have open: modules are loaded when they are used
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000  # CLONE_NEWUSER and CLONE_NEWNET of <sched.h>
WAITING, PATIENCE = 60.0, 6  # by the clock so many seconds, or times as long: a machine is busy
LOOK = 0.5  # seconds for what was stopped with us, and goes on
AHEAD = 2  # tasks that a process has: one that it works on, one that waits so that it never does
# By the process that others are forked from: also what is loaded when it is used.
PRELOADED = ("gradcheck.batch.work", "gradcheck.problem.model", "sympy.tensor.tensor")
FORKS = hasattr(os, "fork")

Task = Callable[..., Any]
_MAIN = Lock()


@dataclass(frozen=True)
class Limits:
    """What one item may take: seconds of computing, and bytes of memory (where Linux counts)."""

    seconds: float = SECONDS
    memory: int = MEMORY


class WorkerLost(RuntimeError):
    """A process ended in the midst of its task.

    `done` is what had come of it, `inside` whether it worked on an item, `overtime` whether longer
    than the `seconds` that one may take.
    """

    def __init__(
        self, why: str, done: list[Any], *, inside: bool, overtime: bool, seconds: float
    ) -> None:
        super().__init__(why)
        self.done, self.inside, self.overtime, self.seconds = done, inside, overtime, seconds

    def __reduce__(self) -> tuple[Any, ...]:
        """A cluster's worker hands it on."""
        return Exception.__new__, (WorkerLost, str(self)), self.__dict__


# -- in the process ------------------------------------------------------------------------------


class _Inside:
    """The limits of this process, its pipe, and whether its memory is bounded now; of workers."""

    limits: Limits | None = None
    pipe: Any = None
    bounded = False


@contextmanager
def item() -> Iterator[None]:
    """Work on an item within the limits; in a process that is no worker there are none.

    The system ends the process when the time is over: nothing in Python could, while it computes
    with big numbers in C. Only computing counts, however busy the machine is.
    """
    limits = _Inside.limits
    if limits is None:
        yield
        return
    if not _Inside.bounded:
        _set_memory(_bytes_used() + limits.memory if PAGES.exists() else -1)
        _Inside.bounded = True
    _say("begun", None)
    _alarm(limits.seconds)
    try:
        yield
    finally:
        _alarm(0.0)


def _say(kind: str, what: Any) -> None:
    _Inside.pipe.send_bytes(json.dumps([kind, what]).encode())


def _alarm(seconds: float) -> None:
    """The end of this process after so many seconds of computing; 0: none."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _bytes_used() -> int:
    """The bytes that this process has asked for so far, on Linux."""
    return int(PAGES.read_text().split()[0]) * resource.getpagesize()


def _set_memory(most: int) -> None:
    """So many bytes, or as many as the system allows; -1: no bound."""
    if resource is not None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        over = hard != resource.RLIM_INFINITY and not 0 <= most <= hard
        resource.setrlimit(resource.RLIMIT_AS, (hard if over else most, hard))


def _confine() -> None:
    """No files are written, no core is left, and no network is reached, as far as can be."""
    sys.dont_write_bytecode = True
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    with suppress(OSError, AttributeError):  # a network of its own, with nobody in it
        ctypes.CDLL(None).unshare(NEW_USER | NEW_NETWORK)


def _work(pipe: Connection, limits: Limits | None) -> None:
    """Do tasks until the pipe closes; without limits they are our own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    if limits is None:
        for name in PRELOADED:
            import_module(name)
    else:
        _confine()
    _Inside.limits, _Inside.pipe = limits, pipe
    while True:
        try:
            task, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            found = task(*arguments)
            if isinstance(found, GeneratorType):
                for each in found:
                    _say("item", each)
                found = None
            _say("end", found)
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent is told
            _say("fault", f"{type(error).__name__}: {error}")
        _set_memory(-1)
        _Inside.bounded = False


def _fork(limits: Limits | None) -> int:
    """A copy of this process, which works for the pipe that comes; the number of its process."""
    handle = reduction.recv_handle(_Inside.pipe)
    gc.freeze()  # what is known stays in memory that all share: no collector looks through it
    number = os.fork()
    if number:
        os.close(handle)
        return number
    try:
        _Inside.pipe.close()
        _work(Connection(handle), limits)
    finally:
        os._exit(0)


def _reap(number: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


# -- beside it -----------------------------------------------------------------------------------


class Worker:
    """One process, started when it is asked and again when it was lost.

    It is forked from the nursery: a fork of this process would take its threads' locks along.
    Without limits it does what may write files.
    """

    room = AHEAD

    def __init__(self, nursery: "Nursery | None", limits: Limits | None = None) -> None:
        """The process starts with the first task."""
        self.nursery, self.limits = nursery if FORKS else None, limits
        self.process: Any = None
        self.closed = False
        self.starting = Lock()
        self.thread = ThreadPoolExecutor(1)

    def submit(self, task: Task, *arguments: Any) -> "Future[Any]":
        """Do it there, after what was asked before; of a generator all that it gives.

        The future raises WorkerLost, or RuntimeError with what the task raised.
        """
        return self.thread.submit(self._ask, task, *arguments)

    def ask(self, task: Task, *arguments: Any) -> Any:
        """Do it there, and wait for it."""
        return self.submit(task, *arguments).result()

    def _ask(self, task: Task, *arguments: Any, handle: int | None = None) -> Any:
        """Do a task there, with a file that is open here."""
        if self.process is None:
            self._start()
        done: list[Any] = []
        kind, in_time = "", True
        try:
            self.pipe.send((task, arguments))
            if handle is not None:
                reduction.send_handle(self.pipe, handle, self.process.pid)
            while kind != "end":
                in_time = self._wait(inside=kind == "begun")
                kind, found = json.loads(self.pipe.recv_bytes())
                if kind == "fault":
                    raise RuntimeError(found)
                if kind == "item":
                    done.append(found)
        except (EOFError, OSError):
            raise self._describe_end(done, inside=kind == "begun", in_time=in_time) from None
        return done or found

    def close(self) -> None:
        """End the process, whatever it does; what waits is given up."""
        self.thread.shutdown(wait=False, cancel_futures=True)
        with self.starting:
            self.closed, process = True, self.process
        if process is not None:
            process.kill()
            process.join()
        self.thread.shutdown()

    def _start(self) -> None:
        with self.starting:
            if self.closed:
                raise RuntimeError("a closed worker is asked")
            self.pipe, theirs = multiprocessing.Pipe()
            with closing(theirs):
                if self.nursery is None:
                    self.process = _spawn(theirs, self.limits)
                else:
                    self.process = self.nursery.fork(theirs, self.limits)

    def _wait(self, *, inside: bool) -> bool:
        """Wait for an answer; kill what works on one item too long. Whether it was in time.

        After the time there is another look: a process that was stopped has not worked.
        """
        if not inside or self.limits is None:
            return bool(self.pipe.poll(None))
        most = max(WAITING, self.limits.seconds * PATIENCE)
        in_time = bool(self.pipe.poll(most) or self.pipe.poll(LOOK))
        if not in_time:
            self.process.kill()
        return in_time

    def _describe_end(self, done: list[Any], *, inside: bool, in_time: bool) -> WorkerLost:
        """What is to be said of a process that has ended."""
        self.process.join()
        self.pipe.close()
        code, seconds = self.process.exitcode, self.limits.seconds if self.limits else 0.0
        self.process = None
        overtime = not in_time or (hasattr(signal, "SIGPROF") and code == -signal.SIGPROF)
        late, dead = f"more than {seconds:g} seconds of computing", f"its process ended with {code}"
        why = late if overtime else dead
        return WorkerLost(why, done, inside=inside, overtime=overtime, seconds=seconds)


class Nursery(Worker):
    """A process that others are forked from: what it has imported and prepared, they know."""

    def __init__(self) -> None:
        """It begins to import at once."""
        super().__init__(None)
        if FORKS:
            self.submit(os.getpid)

    def fork(self, theirs: Connection, limits: Limits | None) -> "_Forked":
        """A process that works for the other end of a pipe."""
        asked = self.thread.submit(self._ask, _fork, limits, handle=theirs.fileno())
        return _Forked(asked.result(), self)


@dataclass
class _Forked:
    """A process that is a nursery's child, and tells it alone what it died of."""

    pid: int
    nursery: Nursery
    exitcode: int | None = None
    ended: bool = False

    def kill(self) -> None:
        if not self.ended:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def join(self) -> None:
        if not self.ended:
            with suppress(RuntimeError):  # a nursery that was closed, or lost, or another one since
                self.exitcode = self.nursery.submit(_reap, self.pid).result()
            self.ended = True


def _spawn(theirs: Connection, limits: Limits | None) -> Any:
    """A new process, which never hears of Ctrl-C, and does not run the program of this one again.

    multiprocessing's own tracker is started before: where it starts, it opens the ears again.
    """
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_work, args=(theirs, limits), daemon=True)
    with _MAIN:
        main, before = sys.modules["__main__"], None
        if hasattr(signal, "pthread_sigmask"):
            resource_tracker.ensure_running()
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            process.start()
        finally:
            sys.modules["__main__"] = main
            if before is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


_OWN = local()


@cache
def _own_nursery() -> Nursery:
    if multiprocessing.current_process().daemon:  # started by Dask's nanny, and may have no child
        multiprocessing.current_process().daemon = False
    return Nursery()


def within(task: Task, /, *arguments: Any) -> Any:
    """Do a task within limits, by a process that belongs to this thread from now on.

    For a thread of a cluster's worker, which cannot be ended. The process ends with the worker.
    """
    if not hasattr(_OWN, "worker"):
        _OWN.worker = Worker(_own_nursery(), Limits())
    return _OWN.worker.ask(task, *arguments)
