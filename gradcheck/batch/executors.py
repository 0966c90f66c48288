"""Who judges: this process, processes beside it, or the workers of a Dask cluster."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from gradcheck.batch.workers import Beside, Worker, foreseen, within
from gradcheck.errors import GradcheckError

AHEAD = 2  # chunks a process has: one that it works on, one that waits so that it never does
PATIENCE = "8s"  # for a scheduler to answer
AHEAD_FAR = 4  # for each thread of a cluster, which is a network away


class NoCluster(GradcheckError):
    """The cluster that was named cannot be used."""


@dataclass(frozen=True)
class Lane:
    """An executor with room for so many chunks at a time, and where its work is done."""

    executor: Executor
    room: Callable[[], int]
    far: bool = False  # on other machines
    copied: bool = False  # in a copy of this process: what is prepared here is prepared there


def _here(task: Callable[..., Any], *arguments: Any) -> Any:
    return task(*arguments)


class Here(Executor):
    """An executor that does what it is given at once, in this process or by asking another."""

    def __init__(self, ask: Callable[..., Any] = _here, close: Callable[[], None] | None = None):
        """`ask` does a task with its arguments."""
        self.ask, self.close = ask, close

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Do it, and keep what came."""
        assert not kwargs
        future: Future[Any] = Future()
        try:
            future.set_result(self.ask(fn, *args))
        except Exception as error:  # noqa: BLE001 - as every executor, which hands it on
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the other process go."""
        if self.close is not None:
            self.close()


def processes(jobs: int | None, scheduler: str, *, kept: bool) -> int:
    """How many processes judge; None: one a core for a batch that is kept, else this one.

    Where there are several, the server that they come from begins to import now.
    """
    found = (jobs if jobs is not None else 0 if kept else 1) or cores()
    if found > 1 and not scheduler:
        foreseen()
    return found


def lanes(jobs: int, scheduler: str = "") -> Sequence[Lane]:
    """So many processes (0: one a core), of which this one waits for a single one; or a cluster."""
    if scheduler:
        return [_cluster(scheduler)]
    jobs = jobs or cores()
    if jobs == 1:
        one = Beside(copy=True)
        return [Lane(Here(one.ask, one.close), lambda: 1, copied=True)]
    return [Lane(Worker(), lambda: AHEAD) for _ in range(jobs)]


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# -- a cluster -------------------------------------------------------------------------------------


def _cluster(address: str) -> Lane:
    """The workers of a Dask scheduler, who may come and go; NoCluster says what is missing."""
    try:
        from distributed import Client  # noqa: PLC0415 - the extra `cluster`
    except ImportError:
        why = "--scheduler needs Dask: pip install 'gradcheck[cluster]'"
        raise NoCluster(why) from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise NoCluster(f"{address}: no Dask scheduler answers there: {error}") from None

    def room() -> int:
        threads: int = sum(client.nthreads().values())
        return AHEAD_FAR * max(1, threads)

    return Lane(Far(client), room, far=True)


class Far(Executor):
    """The workers of a Dask cluster, each with processes within limits for what it is given.

    A chunk whose worker dies is given to another by Dask.
    """

    def __init__(self, client: Any) -> None:
        """Use a connected client; equal calls are not remembered, the ledger does that."""
        self.client, self.inner = client, client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Send it to whoever is free."""
        assert not kwargs
        future: Future[Any] = self.inner.submit(within, fn, *args)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Give up what waits, and leave the cluster."""
        self.inner.shutdown(wait=wait and not cancel_futures)
        self.client.close()
