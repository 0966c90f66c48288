"""Servers for the tests that leave nothing behind, or nothing that another looks at."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.practising import served


@pytest.fixture(scope="session")
def client() -> Iterator[TestClient]:
    with served(hosts=("practice.example.edu",)) as found:
        yield found


@pytest.fixture(scope="session")
def reticent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("reticent"), feedback="class") as found:
        yield found
