"""n killable processes: what hangs, or eats memory, costs itself only.

    with closing(Nursery()) as nursery, closing(Pool(2, Limits(seconds=2.0), nursery)) as pool:
        future = pool.submit(judge_chunk, chunk)  # a process takes one task after another
        future.result()                           # or WorkerLost: it was killed, or died

A task says `with item():` around each piece of a stranger's work, of which the limits are; what it
does outside of them has none: preparing a problem is the instructor's own work. A task that is a
generator sends each result as it comes. WorkerLost has those that came before the process ended.
A task of which nothing had begun goes to the next process, once.

What comes back from a process is lines of JSON, whatever a stranger's text may have made of it; it
writes no file and, where the system can forbid it, has no network.

Processes are forked from a nursery: what it has imported and learned, they all know. Where nothing
can be forked (Windows), each is started afresh.
"""

import ctypes
import gc
import json
import multiprocessing
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from multiprocessing import reduction, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Condition, Lock, Thread, get_ident
from types import GeneratorType, ModuleType
from typing import Any

from gradcheck.errors import GradcheckError

try:
    import resource
except ImportError:  # Windows, where time is watched from outside and memory is not
    resource = None  # type: ignore[assignment]

PAGES = Path("/proc/self/statm")  # first the pages of address space, of which RLIMIT_AS is a bound
FILES = 64  # that a process may have open: modules are loaded when they are used
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000  # CLONE_NEWUSER and CLONE_NEWNET of <sched.h>
WAITING, BUSIER = 60.0, 6  # by the clock so many seconds, or times as long: a machine is busy
LOOK = 0.5  # seconds for what was stopped with us, and goes on
NAP, BULK = 0.001, 1 << 18  # seconds, while messages gather; bytes of them that are read at once
AHEAD = 3  # tasks for each process: one that it works on, others that wait so that it never does
TASKS = 20_000  # that a process does before another takes its place: what it remembers is let go
COLLECT_EVERY = 10_000  # objects: with Python's 700 they take an eighth of judging
# By the process that others are forked from: also what is loaded when it is used.
PRELOADED = ("gradcheck.batch.work", "gradcheck.problem.model", "sympy.tensor.tensor")
FORKS = hasattr(os, "fork")

SPELL = json.JSONEncoder(check_circular=False).encode  # what is said is our own
BEGUN = b'["begun",null]\n'  # before every item: it is not spelled again
Task = Callable[..., Any]
_MAIN = Lock()


@dataclass(frozen=True)
class Limits:
    """What one item may take: seconds of computing, and bytes of memory (where Linux counts).

    The slowest shipped answer takes a fiftieth of the seconds; the bytes are those beside what the
    process has before.
    """

    seconds: float = 10.0
    memory: int = 1 << 30


class WorkerLost(RuntimeError):
    """A process ended in the midst of its task.

    `done` is what had come of it, `inside` whether it worked on an item, and `overtime` the seconds
    that this may take, where it took more.
    """

    def __init__(self, why: str, done: list[Any], inside: bool, overtime: float) -> None:
        super().__init__(why, done, inside, overtime)  # as a cluster's worker hands it on
        self.why, self.done, self.inside, self.overtime = why, done, inside, overtime

    def __str__(self) -> str:
        return self.why


# -- in the process ------------------------------------------------------------------------------


class _Inside:
    """The limits of this process, its pipe, what sends lines through it; of workers.

    And whether its memory is bounded now.
    """

    limits: Limits | None = None
    pipe: Any = None
    send: Callable[[bytes], object]
    bounded = False


@contextmanager
def work_on_item() -> Iterator[None]:
    """Work on an item within the limits; in a process that is no worker there are none.

    The system ends the process when the time is over: nothing in Python could, while it computes
    with big numbers in C. Only computing counts, however busy the machine is.
    """
    limits = _Inside.limits
    if limits is None:
        yield
        return
    if not _Inside.bounded:
        used = int(PAGES.read_text().split()[0]) * resource.getpagesize() if PAGES.exists() else 0
        _set_memory(used + limits.memory if used else -1)
        _Inside.bounded = True
    _Inside.send(BEGUN)
    _set_alarm(limits.seconds)
    try:
        yield
    finally:
        _set_alarm(0.0)


def _say(kind: str, what: Any = None) -> None:
    _Inside.send(f"{SPELL((kind, what))}\n".encode())


def _set_alarm(seconds: float) -> None:
    """The end of this process after so many seconds of computing; 0: none."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


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
        bounds = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: FILES}
        for which, most in bounds.items():
            resource.setrlimit(which, (most, most))
    with suppress(OSError, AttributeError):  # a network of its own, with nobody in it
        ctypes.CDLL(None).unshare(NEW_USER | NEW_NETWORK)


def _do_tasks(pipe: Connection, limits: Limits | None) -> None:
    """Do tasks until the pipe closes; without limits they are our own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    gc.set_threshold(COLLECT_EVERY)
    if limits is None:
        for name in PRELOADED:
            import_module(name)
    else:
        _confine()
    _Inside.limits, _Inside.pipe = limits, pipe
    # A pipe is a pair of sockets; on Windows it is none, and its messages are kept apart.
    _Inside.send = socket.socket(fileno=os.dup(pipe.fileno())).sendall if FORKS else pipe.send_bytes
    while True:
        try:
            task, given = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            found = task(*given)
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
        _do_tasks(Connection(handle), limits)
    finally:
        os._exit(0)


def _reap(number: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


# -- beside it -----------------------------------------------------------------------------------


@dataclass(eq=False)
class _Waiting:
    """A task that waits, and the lesson without which no process should do it.

    With the handle of a file that goes along.
    """

    task: Task
    given: tuple[Any, ...]
    lesson: Hashable = None
    handle: int | None = None
    future: "Future[Any]" = field(default_factory=Future)


@dataclass(eq=False)
class _Process:
    """A child at the other end of a pipe, and the lessons of its nursery that it knows."""

    child: Any
    pipe: Connection
    limits: Limits | None
    known: frozenset[Hashable]
    left: int = TASKS
    ended: bool = False
    heard: deque[tuple[str, Any]] = field(default_factory=deque)
    rest: bytes = b""  # of a message that has not come to its end

    def ask(self, asked: _Waiting) -> Any:
        """Do a task there; of a generator all that it gives.

        Raises WorkerLost, or RuntimeError with what the task raised.
        """
        done: list[Any] = []
        kind = ""
        self.left -= 1
        try:
            self.pipe.send((asked.task, asked.given))
            if asked.handle is not None:
                reduction.send_handle(self.pipe, asked.handle, self.child.pid)
            while kind != "end":
                kind, found = self._hear(kind)
                if kind == "fault":
                    raise RuntimeError(found)
                if kind == "item":
                    done.append(found)
        except (EOFError, OSError) as error:
            self.end()
            code, most = self.child.exitcode, self.limits.seconds if self.limits else 0.0
            why, late = f"its process ended with {code}", isinstance(error, TimeoutError)
            if late or (hasattr(signal, "SIGPROF") and code == -signal.SIGPROF):
                why, late = f"more than {most:g} seconds of computing", True
            raise WorkerLost(why, done, kind == "begun", most if late else 0.0) from None
        return done or found

    def _hear(self, before: str) -> tuple[str, Any]:
        """The next message; those that came with it are kept."""
        while not self.heard:
            if before:
                time.sleep(NAP)
            if before == "begun" and self.limits:
                most = max(WAITING, self.limits.seconds * BUSIER)
                if not (self._comes(most) or self._comes(LOOK)):  # what was stopped has not worked
                    raise TimeoutError
            came = os.read(self.pipe.fileno(), BULK) if FORKS else self.pipe.recv_bytes()
            if not came:
                raise EOFError
            *lines, self.rest = (self.rest + came).split(b"\n")
            self.heard.extend(json.loads(f"[{b','.join(lines).decode()}]"))
        return self.heard.popleft()

    def _comes(self, seconds: float) -> bool:
        """Whether there is a message, or the end, in so many seconds."""
        if not FORKS:
            return self.pipe.poll(seconds)
        look = select.poll()  # a tenth of what the pipe's own look takes
        look.register(self.pipe, select.POLLIN)
        return bool(look.poll(seconds * 1e3))

    def end(self) -> None:
        if not self.ended:
            self.ended = True
            self.child.kill()
            self.child.join()
            self.pipe.close()


class Pool:
    """An executor: processes, each with a thread that asks it one task after another.

    Tasks wait turn by turn, whosever they are. Of a `sticky` pool a process prefers the turns that
    it has had before, and then those that nobody had. Without limits it does what may write files.
    """

    def __init__(
        self,
        processes: int,
        limits: Limits | None,
        nursery: "Nursery | None",
        *,
        sticky: bool = False,
    ) -> None:
        """Processes are forked from a nursery: a fork of this one would take its locks along."""
        self.limits, self.nursery, self.sticky = limits, nursery if FORKS else None, sticky
        self.room = AHEAD * processes  # tasks that it takes at a time
        self.waiting: dict[Hashable, deque[_Waiting]] = {}
        self.taken: set[Hashable] = set()
        self.closed, self.news = False, Condition()
        self.processes: list[_Process | None] = [None] * processes
        self.threads = [Thread(None, self._keep, args=(k,), daemon=True) for k in range(processes)]
        for thread in self.threads:
            thread.start()

    def submit(
        self, task: Task, *given: Any, turn: Hashable = None, lesson: Hashable = None
    ) -> "Future[Any]":
        """Do it when it has its turn, by a process that knows a lesson of the nursery."""
        return self._line_up(_Waiting(task, given, lesson), turn)

    def _line_up(self, asked: _Waiting, turn: Hashable = None) -> "Future[Any]":
        with self.news:
            if self.closed:
                raise RuntimeError("a closed pool is asked")
            self.waiting.setdefault(turn, deque()).append(asked)
            self.news.notify()
        return asked.future

    def close(self) -> None:
        """End all processes, whatever they do; what waits is given up."""
        with self.news:
            self.closed = True
            for asked in (each for line in self.waiting.values() for each in line):
                asked.future.cancel()
            for process in self.processes:
                if process and not process.ended:
                    process.child.kill()
            self.news.notify_all()
        for thread in self.threads:
            thread.join()

    def _keep(self, k: int) -> None:
        """Ask a process one task after another; where it was lost, the next one starts at once."""
        had: set[Hashable] = set()
        while asked := self._take(had):
            if asked.future.set_running_or_notify_cancel():
                try:
                    asked.future.set_result(self._ask(k, asked))
                except BaseException as error:  # noqa: BLE001 - whoever asked is told
                    asked.future.set_exception(error)
            with suppress(RuntimeError, OSError, CancelledError):  # the next task will tell
                self._start(k)
        if process := self.processes[k]:
            process.end()

    def _take(self, had: set[Hashable]) -> _Waiting | None:
        """The oldest task of whose turn it is, awaited; None when all is over."""
        with self.news:
            self.news.wait_for(lambda: self.waiting or self.closed)
            if self.closed:
                return None
            turn = next(iter(self.waiting))
            if self.sticky:
                turn = min(self.waiting, key=lambda each: (each not in had, each in self.taken))
                had.add(turn)
                self.taken.add(turn)
            own = self.waiting.pop(turn)
            asked = own.popleft()
            if own:
                self.waiting[turn] = own  # behind the others
            return asked

    def _ask(self, k: int, asked: _Waiting) -> Any:
        """Have a task done; once more where its process was lost before anything had begun."""
        try:
            return self._start(k, asked.lesson).ask(asked)
        except WorkerLost as lost:
            if lost.inside or lost.done:
                raise
        return self._start(k, asked.lesson).ask(asked)

    def _start(self, k: int, lesson: Hashable = None) -> _Process:
        """The process of a thread: another one where it has ended, is old, or lacks a lesson."""
        process, taught = self.processes[k], self.nursery.known if self.nursery else frozenset()
        if process and not process.ended:
            if (process.left > 0 or not self.limits) and (
                lesson in process.known or lesson not in taught
            ):
                return process
            process.end()
        if self.closed:
            raise RuntimeError("the pool was closed")
        pipe, theirs = multiprocessing.Pipe()
        with closing(theirs):
            child = (self.nursery.fork if self.nursery else _spawn)(theirs, self.limits)
        process = _Process(child, pipe, self.limits, taught)
        with self.news:
            self.processes[k] = process
            closed = self.closed
        if closed:
            process.end()
            raise RuntimeError("the pool was closed")
        return process


class Nursery(Pool):
    """A process that others are forked from: what it has imported and learned, they know.

    The one in the place of one that was lost learns all of it again; others are forked in between.
    """

    def __init__(self) -> None:
        """It begins to import at once."""
        self.lessons: dict[Hashable, tuple[Future[Any], tuple[Any, ...]]] = {}
        super().__init__(1, None, None)
        if FORKS:
            self.submit(os.getpid)

    def learn(self, lesson: Hashable, task: Task, *given: Any) -> "Future[Any]":
        """Do a task there; whoever is forked afterwards knows what has come of it."""
        asked = self.submit(task, *given, turn="lessons")
        self.lessons[lesson] = asked, (task, *given)
        return asked

    @property
    def known(self) -> frozenset[Hashable]:
        """The lessons that have been learned."""
        done = [(each, asked) for each, (asked, _) in [*self.lessons.items()] if asked.done()]
        return frozenset(e for e, asked in done if not (asked.cancelled() or asked.exception()))

    def fork(self, theirs: Connection, limits: Limits | None) -> "_Forked":
        """A process that works for the other end of a pipe."""
        asked = self._line_up(_Waiting(_fork, (limits,), handle=theirs.fileno()))
        return _Forked(asked.result(), self)

    def _start(self, k: int, lesson: Hashable = None) -> _Process:
        before, process = self.processes[k], super()._start(k, lesson)
        for each in self.known if process is not before else ():
            self.learn(each, *self.lessons[each][1])
        return process


@dataclass
class _Forked:
    """A process that is a nursery's child, and tells it alone what it died of."""

    pid: int
    nursery: Nursery
    exitcode: int | None = None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def join(self) -> None:
        """Not by a nursery that was closed, or lost, or another one since."""
        with suppress(RuntimeError, CancelledError):
            self.exitcode = self.nursery.submit(_reap, self.pid).result()


def _spawn(theirs: Connection, limits: Limits | None) -> Any:
    """A new process, which never hears of Ctrl-C, and does not run the program of this one again.

    multiprocessing's own tracker is started before: where it starts, it opens the ears again.
    """
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_do_tasks, args=(theirs, limits), daemon=True)
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


# -- the workers of a Dask cluster -----------------------------------------------------------------


REPLY = "8s"  # for a scheduler to answer
FAR_AHEAD = 4  # tasks for each thread of a cluster, which is a network away
OPEN = (
    "{}: without TLS, whoever reaches this scheduler can run code there and here - keep it on a"
    " network of your own, or give it certificates: --tls CA CERTIFICATE KEY"
)


class Cluster:
    """An executor like `Pool`. A task whose worker dies is given to another by Dask."""

    def __init__(self, address: str, tls: tuple[Path, Path, Path] | None = None) -> None:
        """Connect to a scheduler; GradcheckError says what is missing."""
        try:
            from distributed import Client, Security  # noqa: PLC0415 - the extra `cluster`
        except ImportError:
            why = "--scheduler needs Dask: pip install 'gradcheck[cluster]'"
            raise GradcheckError(why) from None
        names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
        given = dict(zip(names, map(str, tls or ()), strict=False))
        security = Security(**given, require_encryption=True) if tls else None
        try:
            self.client = Client(address, timeout=REPLY, set_as_default=False, security=security)
        except (OSError, ValueError, TypeError, TimeoutError) as error:
            raise GradcheckError(f"{address}: no Dask scheduler answers there: {error}") from None
        self.executor = self.client.get_executor(pure=False)  # the ledger remembers equal calls

    @property
    def room(self) -> int:
        """How many tasks it takes at a time; workers may come and go."""
        threads: int = sum(self.client.nthreads().values())
        return FAR_AHEAD * max(1, threads)

    def submit(self, task: Callable[..., Any], *given: Any, turn: Hashable = None) -> "Future[Any]":
        future: Future[Any] = self.executor.submit(_do_within, task, *given)
        return future

    def close(self) -> None:
        """Give up what waits, and leave the cluster."""
        self.executor.shutdown(wait=False)
        self.client.close()


def _do_within(task: Callable[..., Any], *given: Any) -> Any:
    """A task done within limits, by a process of this thread, which itself cannot be ended."""
    return _get_pool(get_ident()).submit(task, *given).result()


@cache
def _get_pool(_: int) -> Pool:
    return Pool(1, Limits(), _get_nursery())


@cache
def _get_nursery() -> Nursery:
    if multiprocessing.current_process().daemon:  # started by Dask's nanny, and may have no child
        multiprocessing.current_process().daemon = False
    return Nursery()
