"""What people type is read as they mean it, or the reader says how else it was read."""

import math
from functools import cache
from typing import NamedTuple

import pytest

from gradcheck.answers import FUNCTIONS, Formula, NumberList, read_answer, read_formula
from gradcheck.answers.formula import rebracket
from gradcheck.errors import TextError
from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.problem.load import question
from tests.support.trees import FUNCTIONS as MEANT
from tests.support.trees import value
from tests.support.typed import fresh_answers, typed_answers

POINTS = (0.37, 0.71, 0.83, 0.59)


class Scalar(NamedTuple):
    shape: tuple[int, ...] = ()


def inputs(names):
    return dict.fromkeys(names, Scalar())


def meant(meaning, names, shift):
    """The value of a meaning, which is Python, at a point."""
    point = at(names, shift)
    return eval(meaning, {"abs": abs, **MEANT, "pi": math.pi, **point})


def at(names, shift):
    return {name: p + shift for name, p in zip(names, POINTS, strict=False)}


def values(typed, names):
    """The values of what was read, at two points, and the remarks."""
    answer = read_answer(typed, names=inputs(names), functions=FUNCTIONS, single=True)
    if isinstance(answer, NumberList):
        assert answer.shape == ()
        return [float(answer.values[0])] * 2, ()
    assert isinstance(answer, Formula)
    return [value(answer.tree, at(names, shift)) for shift in (0.0, 0.11)], answer.notes


def same(a, b):
    return all(x == pytest.approx(y, rel=1e-12, abs=1e-14) for x, y in zip(a, b, strict=True))


@cache
def outcome(names, meaning, typed):
    """`meant`, `invalid`, `noted` (something else, with a remark) or `wrong`."""
    due = [meant(meaning, names, shift) for shift in (0.0, 0.11)]
    try:
        got, notes = values(typed, names)
    except TextError:
        return "invalid"
    if same(got, due):
        return "meant"
    formula = read_formula(typed, names=inputs(names), functions=FUNCTIONS, single=True)
    others = rebracket(formula)
    kept = notes or any(
        same([value(other.tree, at(names, shift)) for shift in (0.0, 0.11)], due)
        for other in others
    )
    return "noted" if kept else "wrong"


def test_at_least_97_percent_are_read_as_meant():
    """The share of the table that is read as its writer meant it; nothing is misread in silence."""
    kinds = {row[2]: outcome(*row) for row in typed_answers()}
    misread = [typed for typed, kind in kinds.items() if kind == "wrong"]
    other = [f"{kind}: {typed}" for typed, kind in kinds.items() if kind != "meant"]
    assert len(kinds) >= 400
    assert len({row[:2] for row in typed_answers()}) >= 60
    assert misread == []
    assert len(other) <= 0.03 * len(kinds), other


# -- answers as a class types them: none that is right is lost, none that is wrong is let through


@cache
def keyed(expression, given, wrt):
    return key(question(expression, list(given), [wrt] if wrt else ()))


UNREAD = {"twelve? no idea, I think 12x + 5", "12x + 5, since the derivative of 5x is 5"}
"""Right, and not read: at most three in a hundred."""


@pytest.mark.parametrize("row", fresh_answers(), ids=str)
def test_it_is_judged_as_a_teacher_does(row):
    ready = keyed(row.expression, row.given, row.wrt)
    judged = mark(ready, ready.problem.parts[0], row.typed)
    due = row.right and row.typed not in UNREAD
    assert (judged.verdict == "right") == due, judged.remarks


def test_three_in_a_hundred_may_be_unread():
    assert len(UNREAD) <= 0.03 * sum(row.right for row in fresh_answers())


@pytest.mark.parametrize("function", ["60*x**2", "60*sum(x**2)"])
def test_a_flat_sum_is_flat(function):
    """A hundred and twenty terms are no levels of nesting; a strange name among them is told."""
    ready = keyed(function, ("x=[1, 2]",) if "sum" in function else (), "x")
    terms = " + ".join(["x"] * 120)
    assert mark(ready, ready.problem.parts[0], terms).verdict == "right"
    refused = mark(ready, ready.problem.parts[0], f"{terms} + q")
    assert "unknown name q" in str(refused)
