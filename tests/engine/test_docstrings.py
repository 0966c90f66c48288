"""The examples in the docstrings of what users import run as they stand."""

import doctest

import pytest

from gradcheck.engine import autograd, factories, function, recording


@pytest.mark.parametrize("module", [autograd, factories, function, recording])
def test_examples_run(module):
    """Each gives what it says."""
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed
