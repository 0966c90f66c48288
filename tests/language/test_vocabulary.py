"""The names of the checked language; and plain NumPy as a number kind, for the other tests."""

import pytest

from gradcheck.language.vocabulary import listing, nearest
from tests.support.checked import VOCABULARY


@pytest.mark.parametrize(
    ("spelled", "known"),
    [("log", "log"), ("ln", "log"), ("asin", "arcsin"), ("arcsin", "arcsin"), ("lgo", None)],
)
def test_an_alias_stands_for_the_function_that_the_kind_knows(
    spelled: str, known: str | None
) -> None:
    """School's spellings lead to NumPy's names, unknown ones nowhere."""
    assert VOCABULARY.function(spelled) == known


def test_the_nearest_name_is_offered_whatever_its_case() -> None:
    """A typing slip or a capital letter finds the name that was meant; nonsense finds none."""
    assert nearest("Sin", {"sin", "cos"}) == "did you mean `sin`?"
    assert nearest("qqqq", {"sin", "cos"}) == ""


def test_a_long_list_of_names_is_cut() -> None:
    """Names come in order, and end in dots where there are more than anybody reads."""
    assert listing({"b", "a"}) == "`a`, `b`"
    assert listing(map(str, range(9)), most=2) == "`0`, `1`, ..."
