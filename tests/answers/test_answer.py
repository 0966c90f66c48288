"""Answers as they come out of YAML, JSON or a form, and what people type in them."""

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
import yaml

from gradcheck.answers import (
    FUNCTIONS,
    Entries,
    Formula,
    NumberList,
    Plain,
    read_answer,
    read_formula,
)
from gradcheck.answers.formula import rebracket
from gradcheck.documents.document import WrittenFloat
from gradcheck.errors import TextError
from gradcheck.grading.key import make_key
from gradcheck.grading.marking import mark
from gradcheck.problem.load import make_question
from tests.support.trees import FUNCTIONS as MEANT
from tests.support.trees import value
from tests.support.typed import NAMES, Sized, fresh_answers, read, typed_answers


def answer(value):
    return read_answer(value, names=NAMES, functions=FUNCTIONS)


def refused(value):
    with pytest.raises(TextError) as caught:
        answer(value)
    (fault,) = caught.value.complaints
    return f"{fault.message} - {fault.cure}"


@pytest.mark.parametrize("value", [True, False, None])
def test_plain_values_stay(value):
    """Truth values and None are questions about the graph."""
    assert answer(value) == Plain(value)


PLAIN = yaml.safe_load(Path(__file__).with_name("plain.yaml").read_text())


@pytest.mark.parametrize(("text", "value"), PLAIN)
def test_plain_words_of_a_form(text, value):
    assert answer(text) == Plain(value)


def test_a_declared_name_is_no_plain_word():
    assert isinstance(read_answer("none", names=["none"], functions=FUNCTIONS), Formula)


def test_a_number():
    """A whole number is exact; a decimal is known to within half a unit of its last digit."""
    assert answer(16) == NumberList((), (Fraction(16),), (None,))
    assert answer(0.1) == NumberList((), (Fraction(1, 10),), (Fraction(1, 20),))
    assert answer(-2.25) == NumberList((), (Fraction(-9, 4),), (Fraction(1, 200),))
    assert answer(1e22) == NumberList((), (Fraction(10**22),), (Fraction(10**22, 2),))


def test_a_float_that_remembers_its_decimal():
    """`exact` is the value, whatever the float is."""
    third = "0.333333333333333333333"
    assert answer([WrittenFloat(third)]).values == (Fraction(third),)


def test_nested_lists_are_numbers_row_by_row():
    numbers = answer([[1, 2.5], [3, -4], [0, 1e-3]])
    assert numbers.shape == (3, 2)
    assert numbers.values == tuple(map(Fraction, ["1", "2.5", "3", "-4", "0", "0.001"]))
    assert numbers.half_units[:3] == (None, Fraction(1, 20), None)
    assert answer([]) == NumberList((0,), (), ())


@pytest.mark.parametrize(
    "typed", ["[[1, 2.50], [-3, 4]]", "tensor([[1, 2.50], [-3, 4]])", " [[1,2.50],[-3,4]]"]
)
def test_a_typed_list_of_numbers(typed):
    numbers = answer(typed)
    assert numbers.shape == (2, 2)
    assert numbers.values == tuple(map(Fraction, ["1", "2.5", "-3", "4"]))
    assert numbers.half_units == (None, Fraction(1, 200), None, None)


def test_what_is_left_out_beside_numbers_is_noted():
    """Words before a list, and what PyTorch prints behind it."""
    said = answer("the gradient is tensor([1, 2], dtype=torch.float64)").notes
    assert said == ("`the gradient` is left out", "`, dtype=torch.float64` is left out")


@pytest.mark.parametrize("value", [["2x", 1, 0.5], "[2x, 1, 0.5]"])
def test_formulas_entry_by_entry(value):
    entries = answer(value)
    assert isinstance(entries, Entries)
    assert entries.shape == (3,)
    assert [formula.understood for formula in entries.formulas] == ["2*x", "1", "0.5"]


def test_text_is_a_formula():
    """A string is a formula, and numbers in strings keep their half unit."""
    assert isinstance(answer("3x^2"), Formula)
    assert answer("0.25").half_unit == Fraction(1, 200)


@pytest.mark.parametrize(
    ("typed", "half"),
    [
        ("0.25", Fraction(1, 200)),
        ("-0.50", Fraction(1, 200)),
        ("2.", Fraction(1, 2)),
        ("1e-3", Fraction(1, 2000)),
        ("1.5e3", Fraction(50)),
        ("2.5*10^-3", Fraction(1, 20000)),
        ("2×10^3", Fraction(500)),
        ("12", None),
        ("1,234.5", Fraction(1, 20)),
        ("1/2", None),
        ("11.167...", Fraction(1, 2000)),
    ],
)
def test_half_a_unit_of_the_last_digit(typed, half):
    """Only a bare decimal has a half unit: that of its last typed digit."""
    assert read(typed).half_unit == half


@pytest.mark.parametrize(
    ("value", "phrase"),
    [
        ([[1, 2], [3]], "entry [1]: a list of 2 is due, a list of 1 came"),
        ([[1, 2], 3], "entry [1]: a list of 2 is due, a single value came"),
        ([1, [2]], "entry [1]: a number is due, a list came"),
        ([1, True], "entry [1]: a number or a formula is due, a truth value came"),
        ([1, None], "nothing came"),
        ({"x": 1}, "a mapping came"),
        ([float("nan")], "entry [0]: nan is no finite number"),
        (float("inf"), "inf is no finite number"),
        (10**5000, "hundreds of digits"),
        ([[[[[[[[[1]]]]]]]]], "nested more than 8 deep"),
        ([["x", "2y"], ["q", 1]], "entry [1][0]: unknown name q"),
        (["x"] * 1001, "more than 1000 formulas"),
        ("", "nothing was typed"),
        ("  \n", "nothing was typed"),
        (object(), "object came"),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_a_refused_value_says_where(value, phrase):
    assert phrase in refused(value)


def test_shared_lists_are_not_walked_at_length():
    value = [[]]
    for _ in range(7):
        value = [value] * 10
    assert "numbers" in refused(value)


def test_a_list_inside_itself_is_refused():
    value = []
    value.append(value)
    assert "deep" in refused(value)


# -- what people type is read as they mean it, or the reader says how else it was read -------------

POINTS = (0.37, 0.71, 0.83, 0.59)


def inputs(names):
    return dict.fromkeys(names, Sized(()))


def meant(meaning, names, shift):
    """The value of a meaning, which is Python, at a point."""
    point = at(names, shift)
    return eval(meaning, {"abs": abs, **MEANT, "pi": math.pi, **point})


def at(names, shift):
    return {name: p + shift for name, p in zip(names, POINTS, strict=False)}


def values(typed, names):
    """The values of what was read, at two points, and the remarks."""
    answer = read_answer(typed, names=inputs(names), functions=FUNCTIONS, due=())
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
    formula = read_formula(typed, names=inputs(names), functions=FUNCTIONS, due=())
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
    return make_key(make_question(expression, list(given), [wrt] if wrt else ()))


UNREAD = {"twelve? no idea, I think 12x + 5"}
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
