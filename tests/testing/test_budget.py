"""Seconds for explaining: what takes longer is ended, wherever it is."""

import time

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_vjp
from gradcheck.testing.budget import TimeBudget


def forever():
    """What no `except Exception` ends."""
    while True:
        try:
            time.sleep(0)
        except Exception:  # noqa: BLE001 - as users' code has it
            continue


def test_what_takes_longer_is_ended():
    """An endless loop; what is quick gives its value, before and after."""
    budget = TimeBudget(0.3)
    assert budget.run(lambda: 3) == 3
    assert budget.run(forever) is None
    assert (budget.over, budget.run(lambda: 3)) == (True, None)
    assert TimeBudget(0.0).run(lambda: 3) is None


def test_an_end_that_was_swallowed_is_told_again(monkeypatch):
    """What is raised in a finalizer or a callback is lost: the loop would run for ever."""
    monkeypatch.setattr("gradcheck.testing.budget.AGAIN", 0.1)
    swallowed = []

    def stubborn():
        while not swallowed:
            try:
                forever()
            except BaseException as error:  # noqa: BLE001 - as the interpreter does in a finalizer
                swallowed.append(error)
        forever()

    assert TimeBudget(0.1).run(stubborn) is None
    assert len(swallowed) == 1


def test_a_part_may_end_and_the_whole_go_on():
    """Of each edit of a repair no more than a share is spent."""
    budget = TimeBudget(5.0)
    assert budget.run(lambda: [budget.run(forever, 0.1), budget.run(lambda: 4)]) == [None, 4]
    assert not budget.over


def test_no_seconds_explain_nothing():
    """What was not looked through is said where there were too few."""
    wrong, x = lambda g, x: -g * np.cos(x), np.array([0.3, -1.2])
    for seconds, name in ((0, False), (3.0, True)):
        with pytest.raises(GradientError) as caught:
            assert_vjp(np.sin, wrong, x, explain=seconds)
        assert ("sign-error" in str(caught.value)) is name
