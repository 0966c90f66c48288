"""How much of a slow sample is taken: all of it, or as much as GRADCHECK_SWEEP says."""

import os

LIMIT = int(os.environ.get("GRADCHECK_SWEEP", "0"))
"""Samples of a sweep; 0 where it is not bounded."""
CASES_EACH = 50
"""A test with parameters runs one of its cases for so many samples."""


def at_most(full: int) -> int:
    """The size of a sample that is `full` where nothing bounds it."""
    return min(full, LIMIT) if LIMIT else full


def cases(count: int) -> range:
    """Which of so many cases of one test are run: all, or a few that lie evenly among them."""
    few = max(LIMIT // CASES_EACH, 1) if LIMIT else count
    return range(0, count, max(-(-count // few), 1))
