"""Places in a text, counted in bytes by Python and in characters by people."""

import pytest

from gradcheck.documents.passage import Passage

GREEK = Passage("α = 1\nβ + γ", file="set.yaml", line=7, column=5)


@pytest.mark.parametrize(
    ("where", "text"),
    [((2, 2, 5, 7), "γ"), ((1, 1, 5, 6), "1"), ((1, 2, 3, 2), "= 1\nβ"), ((2, 2, 0, 2), "β")],
)
def test_a_place_is_found_behind_letters_of_two_bytes(where, text):
    """On the first line and a later one, and over the end of a line."""
    assert GREEK.text(where) == text


def test_a_complaint_stands_where_the_text_stands_in_its_file():
    """Line and column count from the file's beginning, and the line shown is as far right."""
    found = GREEK.complaint("no such name", where=(2, 2, 5, 7))
    assert (found.file, found.line, found.column, found.width) == ("set.yaml", 8, 9, 1)
    assert found.source == "    β + γ"
