"""Answers as a class types them: none that is right is lost, none that is wrong is let through."""

from functools import cache

import pytest

from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.problem.question import question
from tests.support.typed_tables import fresh_answers


@cache
def keyed(expression, given, wrt):
    return key(question(expression, list(given), [wrt] if wrt else ()))


UNREAD = {"twelve? no idea, I think 12x + 5", "12x + 5, since the derivative of 5x is 5"}
"""Right, and not read: at most three in a hundred."""


@pytest.mark.parametrize("row", fresh_answers(), ids=str)
def test_it_is_judged_as_a_teacher_does(row):
    """In calculus, with matrices, in words."""
    ready = keyed(row.expression, row.given, row.wrt)
    judged = mark(ready, ready.problem.parts[0], row.typed)
    due = row.right and row.typed not in UNREAD
    assert (judged.verdict == "right") == due, judged.remarks


def test_three_in_a_hundred_may_be_unread():
    """Of those that are right."""
    assert len(UNREAD) <= 0.03 * sum(row.right for row in fresh_answers())


@pytest.mark.parametrize("function", ["60*x**2", "60*sum(x**2)"])
def test_a_flat_sum_is_flat(function):
    """A hundred and twenty terms are no levels of nesting; a strange name among them is told."""
    ready = keyed(function, ("x=[1, 2]",) if "sum" in function else (), "x")
    terms = " + ".join(["x"] * 120)
    assert mark(ready, ready.problem.parts[0], terms).verdict == "right"
    refused = mark(ready, ready.problem.parts[0], f"{terms} + q")
    assert "unknown name q" in str(refused)
