"""Servers for the tests that leave nothing behind, or nothing that another looks at."""

import pytest

from tests.support.practising import served


@pytest.fixture(scope="session")
def client():
    with served(hosts=("practice.example.edu",)) as found:
        yield found


@pytest.fixture(scope="session")
def reticent(tmp_path_factory):
    with served(tmp_path_factory.mktemp("reticent"), feedback="class") as found:
        yield found
