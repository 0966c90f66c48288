"""The workers of a Dask cluster, each with processes within limits for what it is given.

Whoever reaches a scheduler runs code on its machines, and on this one: what Dask sends is pickled.
Keep it on a network of your own, or give it certificates (`--tls`).
"""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from gradcheck.batch.workers import within
from gradcheck.errors import GradcheckError

PATIENCE = "8s"  # for a scheduler to answer
AHEAD = 4  # tasks for each thread of a cluster, which is a network away
OPEN = (
    "{}: without TLS, whoever reaches this scheduler can run code there and here - keep it on a"
    " network of your own, or give it certificates: --tls CA CERTIFICATE KEY"
)


class NoCluster(GradcheckError):
    """The cluster that was named cannot be used."""


class Cluster:
    """An executor like `Worker`. A task whose worker dies is given to another by Dask."""

    def __init__(self, address: str, tls: tuple[Path, Path, Path] | None = None) -> None:
        """Connect to a scheduler; NoCluster says what is missing."""
        try:
            from distributed import Client, Security  # noqa: PLC0415 - the extra `cluster`
        except ImportError:
            why = "--scheduler needs Dask: pip install 'gradcheck[cluster]'"
            raise NoCluster(why) from None
        security = None
        if tls:
            authority, certificate, key = map(str, tls)
            security = Security(
                tls_ca_file=authority,
                tls_client_cert=certificate,
                tls_client_key=key,
                require_encryption=True,
            )
        try:
            self.client = Client(address, timeout=PATIENCE, set_as_default=False, security=security)
        except (OSError, ValueError, TypeError, TimeoutError) as error:
            raise NoCluster(f"{address}: no Dask scheduler answers there: {error}") from None
        self.executor = self.client.get_executor(pure=False)  # the ledger remembers equal calls

    @property
    def room(self) -> int:
        """How many tasks it takes at a time; workers may come and go."""
        threads: int = sum(self.client.nthreads().values())
        return AHEAD * max(1, threads)

    def submit(self, task: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send it to whoever is free."""
        future: Future[Any] = self.executor.submit(within, task, *arguments)
        return future

    def close(self) -> None:
        """Give up what waits, and leave the cluster."""
        self.executor.shutdown(wait=False)
        self.client.close()
