"""The workers of a Dask cluster, each with processes within limits for what it is given.

Whoever reaches a scheduler runs code on its machines, and on this one: what Dask sends is pickled.
Keep it on a network of your own, or give it certificates (`--tls`).
"""

import multiprocessing
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from threading import get_ident
from typing import Any

from gradcheck.batch.pool import Limits, Nursery, Pool
from gradcheck.errors import GradcheckError

PATIENCE = "8s"  # for a scheduler to answer
AHEAD = 4  # tasks for each thread of a cluster, which is a network away
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
            self.client = Client(address, timeout=PATIENCE, set_as_default=False, security=security)
        except (OSError, ValueError, TypeError, TimeoutError) as error:
            raise GradcheckError(f"{address}: no Dask scheduler answers there: {error}") from None
        self.executor = self.client.get_executor(pure=False)  # the ledger remembers equal calls

    @property
    def room(self) -> int:
        """How many tasks it takes at a time; workers may come and go."""
        threads: int = sum(self.client.nthreads().values())
        return AHEAD * max(1, threads)

    def submit(self, task: Callable[..., Any], *given: Any, turn: Hashable = None) -> "Future[Any]":
        """Send it to whoever is free."""
        future: Future[Any] = self.executor.submit(_do_within, task, *given)
        return future

    def close(self) -> None:
        """Give up what waits, and leave the cluster."""
        self.executor.shutdown(wait=False)
        self.client.close()


def _do_within(task: Callable[..., Any], *given: Any) -> Any:
    """A task done within limits, by a process of this thread, which itself cannot be ended."""
    return _own_pool(get_ident()).submit(task, *given).result()


@cache
def _own_pool(_: int) -> Pool:
    return Pool(1, Limits(), _own_nursery())


@cache
def _own_nursery() -> Nursery:
    if multiprocessing.current_process().daemon:  # started by Dask's nanny, and may have no child
        multiprocessing.current_process().daemon = False
    return Nursery()
