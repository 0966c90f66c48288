"""Who judges: this process, processes beside it, or the workers of a Dask cluster."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from gradcheck.errors import GradcheckError

AHEAD = 2  # chunks a process has: one that it works on, one that waits so that it never does
AHEAD_FAR = 4  # for each thread of a cluster, which is a network away
PARENT_GONE = 1.0  # seconds between looks whether the parent lives


class NoCluster(GradcheckError):
    """The cluster that was named cannot be used."""


@dataclass
class Lane:
    """An executor with room for so many chunks at a time; made anew when its worker has died."""

    make: Callable[[], Executor]
    room: Callable[[], int]
    alone: bool = True  # one worker, which takes what it is given in order
    executor: Executor = field(init=False)

    def __post_init__(self) -> None:
        """Start the executor."""
        self.executor = self.make()

    def renew(self) -> None:
        """Replace an executor whose worker has died."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self.make()

    def close(self) -> None:
        """Let the worker go; what waits is given up."""
        self.executor.shutdown(wait=True, cancel_futures=True)


class Here(Executor):
    """An executor that works in this process, at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Do it, and keep what came."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as every executor, which hands it on
            future.set_exception(error)
        return future


def lanes(jobs: int, scheduler: str = "") -> Sequence[Lane]:
    """For one job this process, for more so many processes (0: one a core); or a cluster."""
    if scheduler:
        return [_cluster(scheduler)]
    jobs = jobs or cores()
    if jobs == 1:
        return [Lane(Here, lambda: 1)]
    return [Lane(_process, lambda: AHEAD) for _ in range(jobs)]


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# -- processes -------------------------------------------------------------------------------------


def _process() -> Executor:
    """One process of its own, so that its death is nobody else's.

    They are forked from a server that has imported everything, or started afresh: a fork of this
    process would take its threads' locks along.
    """
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(["gradcheck.batch.work"])
    return ProcessPoolExecutor(1, mp_context=context, initializer=_start)


def _start() -> None:
    """Leave Ctrl-C to the parent; end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# -- a cluster -------------------------------------------------------------------------------------


def _cluster(address: str) -> Lane:
    """The workers of a Dask scheduler, who may come and go; NoCluster says what is missing."""
    try:
        from distributed import Client  # noqa: PLC0415 - the extra `cluster`
    except ImportError:
        why = "--scheduler needs Dask: pip install 'gradcheck[cluster]'"
        raise NoCluster(why) from None
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise NoCluster(f"{address}: no Dask scheduler answers there: {error}") from None

    def room() -> int:
        threads: int = sum(client.nthreads().values())
        return AHEAD_FAR * max(1, threads)

    return Lane(lambda: Far(client), room, alone=False)


class Far(Executor):
    """The workers of a Dask cluster; a chunk whose worker dies is given to another by Dask."""

    def __init__(self, client: Any) -> None:
        """Use a connected client; equal calls are not remembered, the ledger does that."""
        self.client, self.inner = client, client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Send it to whoever is free."""
        future: Future[Any] = self.inner.submit(fn, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Give up what waits, and leave the cluster."""
        self.inner.shutdown(wait=wait and not cancel_futures)
        self.client.close()
