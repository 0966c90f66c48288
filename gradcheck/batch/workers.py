"""Processes within limits: what hangs, or eats memory, costs itself only.

    with closing(Worker(Limits(seconds=2.0))) as worker:  # the process starts with the first task
        future = worker.submit(judged, chunk)             # tasks are done in order
        future.result()                                   # or Lost: the process was killed, or died

A task says `with item(k)` around each of its items, of which the limits are; what it does outside
of them has none: preparing a problem is the instructor's own work. Lost tells during which item the
process ended, and whether its time was over; the next task starts another process.

What comes back from a process is JSON, whatever a stranger's text may have made of it; it writes no
file and, where the system can forbid it, has no network.

A nursery is a worker that other workers are forked from: what it has prepared, they all know.
"""

import ctypes
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import reduction, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, local
from types import ModuleType
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
NOTHING = -1  # the item that is worked on, outside of items
WAITING, PATIENCE = 60.0, 6  # by the clock so many seconds, or times as long: a machine is busy
LOOK = 0.5  # seconds between looks at the clock
AHEAD = 2  # tasks that a process has: one that it works on, one that waits so that it never does
# By the server that processes come from: also what is loaded when it is used, by SymPy the last.
PRELOADED = ["gradcheck.batch.work", "gradcheck.problem.model", "sympy", "sympy.tensor.tensor"]

Task = Callable[..., Any]
_MAIN = Lock()


@dataclass(frozen=True)
class Limits:
    """What one item may take: seconds of computing, and bytes of memory (where Linux counts)."""

    seconds: float = SECONDS
    memory: int = MEMORY


class WorkerLost(RuntimeError):
    """A process ended in the midst of its task: `at` which item, and whether for its time."""

    def __init__(self, at: int, overtime: bool, why: str, seconds: float = 0.0) -> None:
        """`at` is -1 outside of items; `seconds` is what an item may take."""
        super().__init__(why)
        self.at, self.overtime, self.seconds = at, overtime, seconds

    def __reduce__(self) -> tuple[type["WorkerLost"], tuple[int, bool, str, float]]:
        """A cluster's worker hands it on."""
        return WorkerLost, (self.at, self.overtime, str(self), self.seconds)


# -- in the process ------------------------------------------------------------------------------


class _Inside:
    """The limits of this process, its pipe, and where it says what it works on.

    Unset outside of workers. `places` are those of the processes that may be forked from it.
    """

    limits: Limits | None = None
    pipe: Any = None
    place: Any = None
    places: Sequence[Any] = ()


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
    if _Inside.place.value == NOTHING:
        _set_memory(_bytes_used() + limits.memory if PAGES.exists() else -1)
    _Inside.place.value = k
    _alarm(limits.seconds)
    try:
        yield
    finally:
        _alarm(0.0)


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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    sys.dont_write_bytecode = True
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    with suppress(OSError, AttributeError):  # a network of its own, with nobody in it
        ctypes.CDLL(None).unshare(NEW_USER | NEW_NETWORK)


def _work(pipe: Connection, place: Any, limits: Limits, places: Sequence[Any] = ()) -> None:
    _confine()
    _Inside.places = places
    _do_tasks(pipe, place, limits)


def _do_tasks(pipe: Connection, place: Any, limits: Limits) -> None:
    """Do tasks until the pipe closes."""
    _Inside.limits, _Inside.pipe, _Inside.place = limits, pipe, place
    while True:
        try:
            task, arguments = pipe.recv()
        except EOFError:
            return
        done = _run_task(task, arguments)
        place.value = NOTHING
        _set_memory(-1)
        pipe.send_bytes(done)


def _run_task(task: Task, arguments: tuple[Any, ...]) -> bytes:
    """Whether it went well, and what came of it, as JSON; a fault by its name."""
    try:
        return json.dumps([True, task(*arguments)]).encode()
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent is told
        return json.dumps([False, f"{type(error).__name__}: {error}"]).encode()


def _fork(k: int, limits: Limits) -> int:
    """A copy of this process, which works for another pipe; the number of its process."""
    handle = reduction.recv_handle(_Inside.pipe)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks what it died of
    number = os.fork()
    if number:
        os.close(handle)
        return number
    try:
        _Inside.pipe.close()
        _do_tasks(Connection(handle), _Inside.places[k], limits)
    finally:
        os._exit(0)


# -- beside it -----------------------------------------------------------------------------------


class Worker:
    """One process within limits, started when it is asked and again when it was lost.

    It comes from a nursery, or from a server that has imported everything, or is started afresh: a
    fork of this process would take its threads' locks along.
    """

    room = AHEAD

    slots = 0  # processes that are forked from it

    def __init__(
        self, limits: Limits | None = None, nursery: "Nursery | None" = None, slot: int = 0
    ) -> None:
        """The process starts with the first task; in a nursery it has a slot of its own."""
        self.limits = limits or Limits()
        self.nursery, self.slot = nursery, slot
        self.process: Any = None
        self.closed = False
        self.starting = Lock()
        self.thread = ThreadPoolExecutor(1)

    def submit(self, task: Task, *arguments: Any) -> "Future[Any]":
        """Do it there, after what was asked before; the future raises as `ask` does."""
        return self.thread.submit(self.ask, task, *arguments)

    def ask(self, task: Task, *arguments: Any, handle: int | None = None) -> Any:
        """Do a task there, with a file that is open here.

        Raises Lost, or RuntimeError with what the task raised.
        """
        if self.process is None:
            self._start()
        in_time = True
        try:
            self.pipe.send((task, arguments))
            if handle is not None:
                reduction.send_handle(self.pipe, handle, self.process.pid)
            in_time = self._wait()
            well, found = json.loads(self.pipe.recv_bytes())
        except (EOFError, OSError):
            raise self._describe_end(in_time) from None
        if not well:
            raise RuntimeError(found)
        return found

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
        with self.starting, _deaf():
            if self.closed:
                raise RuntimeError("a closed worker is asked")
            self.pipe, theirs = _context().Pipe()
            try:
                self.process = self._spawn(theirs)
            finally:
                theirs.close()

    def _spawn(self, theirs: Connection) -> Any:
        if self.nursery is not None:
            process, self.place = self.nursery.fork(self.slot, self.limits, theirs)
            return process
        context = _context()
        places = [context.RawValue(ctypes.c_long, NOTHING) for _ in range(1 + self.slots)]
        self.place, *self.places = places
        arguments = (theirs, self.place, self.limits, self.places)
        process = context.Process(target=_work, args=arguments, daemon=True)
        with _without_main():
            process.start()
        return process

    def _wait(self) -> bool:
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

    def _describe_end(self, in_time: bool) -> WorkerLost:
        """What is to be said of a process that has ended."""
        self.process.join()
        self.pipe.close()
        code, at, seconds = self.process.exitcode, self.place.value, self.limits.seconds
        self.process = None
        alarmed = hasattr(signal, "SIGPROF") and code == -signal.SIGPROF
        if not in_time or alarmed:
            return WorkerLost(at, True, f"more than {seconds:g} seconds of computing", seconds)
        return WorkerLost(at, False, f"its process ended with the code {code}")


class _Forked:
    """A process that is a nursery's child; what it died of is not known here."""

    exitcode = None

    def __init__(self, number: int) -> None:
        self.pid = number

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def join(self) -> None:
        """Nothing to wait for: the system takes it away."""


class Nursery(Worker):
    """A worker that others are forked from, each with a slot: what it knows, they know."""

    def __init__(self, slots: int) -> None:
        """The process starts with the first task."""
        super().__init__()
        self.slots = slots

    def fork(self, slot: int, limits: Limits, theirs: Connection) -> tuple[_Forked, Any]:
        """A process that works for the other end of a pipe, and where it says what at."""
        number = self.thread.submit(self.ask, _fork, slot, limits, handle=theirs.fileno()).result()
        self.places[slot].value = NOTHING
        return _Forked(number), self.places[slot]


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


@contextmanager
def _without_main() -> Iterator[None]:
    """Start processes that do not run the program of this one again, whatever it is."""
    with _MAIN:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def foresee() -> None:
    """Let the server that processes come from import everything, while this process does, too."""
    if _context().get_start_method() == "forkserver":
        from multiprocessing import forkserver  # noqa: PLC0415 - not everywhere

        with _deaf():
            forkserver.ensure_running()


def _context() -> Any:
    """How a process starts: from a server where there is one, which Windows has not."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(PRELOADED)
    return context


def do_all(tasks: list[tuple[Any, ...]], jobs: int) -> None:
    """Do trusted tasks, which write files, in so many processes; raises what a task raised."""
    if jobs < 2:
        for task, *arguments in tasks:
            task(*arguments)
        return
    with ProcessPoolExecutor(jobs, mp_context=_context()) as pool:
        with _deaf(), _without_main():
            futures = [pool.submit(*each) for each in tasks]
        for future in futures:
            future.result()


_OWN = local()


def within(task: Task, /, *arguments: Any) -> Any:
    """Do a task within limits, by a process that belongs to this thread from now on.

    For a thread of a cluster's worker, which cannot be ended. The process ends with the worker.
    """
    if not hasattr(_OWN, "worker"):
        if multiprocessing.current_process().daemon:  # started by Dask's nanny, and may have none
            multiprocessing.current_process().daemon = False
        _OWN.worker = Worker()
    return _OWN.worker.ask(task, *arguments)
