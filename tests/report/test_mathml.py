"""Formulas as MathML: nothing that is not escaped, and no exception."""

import re
from html import unescape

import pytest

from gradcheck.report.prose import mathml


def test_cases_are_a_table():
    """Values beside their conditions, all else last; where no case holds there is nothing."""
    drawn = mathml("where(x > 0, 2*x, where(x < 0, -1, 0/0))")
    cells = re.findall(r"<mtd[^>]*>(.*?)</mtd>", drawn)
    shown = [unescape(re.sub(r"<[^>]+>", "", cell)).replace("\xa0", " ") for cell in cells]
    assert shown == ["2x", "if x>0", "−1", "if x<0"]
    assert "otherwise" in mathml("where(x > 0, 1, absolute(x))")


@pytest.mark.parametrize(
    "text",
    ["", "<b>", "x = 1", "'text'", "lambda: 1", "f.g(x)", "x if y else z", "(" * 500,
     "1+" * 600 + "1"],
)  # fmt: skip
def test_what_is_no_formula_is_left_to_text(text):
    assert mathml(text) == ""


def test_names_are_escaped():
    """A name is the only text of a stranger's that could reach the page."""
    assert "<" not in re.sub(r"</?m\w+( \w+=\"[^\"<>]+\")*( ?/)?>", "", mathml("a*b < c"))
