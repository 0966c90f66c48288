"""Typed texts that are refused: the column, and a phrase of the complaint or its cure."""

import pytest

from tests.support.typed import complaint
from tests.support.typed_tables import refused


@pytest.mark.parametrize(("names", "column", "typed", "phrase"), refused(), ids=lambda part: part)
def test_a_refusal_is_precise(names, column, typed, phrase):
    """A refused text has one complaint: line 1, the column of the fault, the reason and a cure."""
    fault = complaint(typed, names)
    assert phrase in f"{fault.message} - {fault.cure}"
    assert (fault.line, fault.column) == (1, column)
    assert fault.cure
    assert fault.source == typed


@pytest.mark.parametrize("typed", ["2e3", "2e-3 x", "1e+5"])
def test_scientific_notation_beside_an_input_called_e(typed):
    """With an input called e, 2e-3 could be 2*e - 3: refused, not guessed."""
    fault = complaint(typed, names=("e", "x"))
    assert "a number or a multiple of e" in fault.message
    assert "10^" in fault.cure


def test_a_function_hidden_by_a_name_is_refused():
    """With an input called log, ln x has no spelling that would mean the same: refused."""
    assert "two ways" in complaint("ln x", names=("log", "x")).message


def test_many_definitions_are_refused():
    assert complaint("; ".join(["a*a"] + ["b = 2"] * 9), names=("x",))
