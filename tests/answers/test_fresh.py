"""Answers as a class types them: none that is right is lost, none that is wrong is let through."""

from functools import cache

import pytest

from gradcheck.grading.key import Key, key
from gradcheck.grading.marking import mark
from gradcheck.problem.question import question
from tests.support.typed_tables import Fresh, fresh_answers


@cache
def keyed(expression: str, given: tuple[str, ...], wrt: str) -> Key:
    """The key to a question."""
    return key(question(expression, list(given), [wrt] if wrt else ()))


@pytest.mark.parametrize("row", fresh_answers(), ids=str)
def test_it_is_judged_as_a_teacher_does(row: Fresh) -> None:
    """In calculus, with matrices, in words."""
    ready = keyed(row.expression, row.given, row.wrt)
    judged = mark(ready, ready.problem.parts[0], row.typed)
    assert (judged.verdict == "right") == row.right, judged.remarks
