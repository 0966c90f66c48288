"""One server for the tests that leave nothing behind."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.practising import served


@pytest.fixture(scope="session")
def client() -> Iterator[TestClient]:
    """A client without a name, of a server that keeps nothing."""
    with served() as found:
        yield found
