"""Formulas as MathML: brackets where they are needed, and nothing that is not escaped."""

import re
from html import unescape

import pytest

from gradcheck.report.prose import mathml


def bare(text: str) -> str:
    """What is drawn, without the elements that only group: powers and fractions as in LaTeX."""
    found = mathml(text)
    for name, sign in (("msup", "^"), ("mfrac", "/"), ("msqrt", "√"), ("msub", "_")):
        found = found.replace(f"<{name}>", f"{sign}{{").replace(f"</{name}>", "}")
    return unescape(re.sub(r"<[^>]*>", "", found)).replace("\u2061", "")


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("-2*x*cos(x**2)", "−2xcos(^{x2})"),
        ("a - (b - c)", "a−(b−c)"),
        ("a - (-2)*x", "a−(−2x)"),
        ("a*(-x)", "a(−x)"),
        ("(a + b)*c", "(a+b)c"),
        ("2*3*x", "2·3x"),
        ("a*2**x", "a·^{2x}"),
        ("a/b/c", "/{/{ab}c}"),
        ("(a/b)**2", "^{(/{ab})2}"),
        ("(-x)**2", "^{(−x)2}"),
        ("-x**2", "−^{x2}"),
        ("sqrt(1 + x**2)", "√{1+^{x2}}"),
        ("exp(-x)", "^{e−x}"),
        ("abs(x)", "|x|"),
        ("x.T @ (X @ W + b)", "^{xT}·(X·W+b)"),
        ("theta_1", "_{θ1}"),
        ("sum(x, axis=0)", "sum(x,axis=0)"),
        ("[1, 2]", "[1,2]"),
    ],
)
def test_formulas(text, drawn):
    """As it would be written on a board."""
    assert bare(text) == drawn


def test_cases_are_a_table():
    """Values beside their conditions, all else last; where no case holds there is nothing."""
    drawn = mathml("where(x > 0, 2*x, where(x < 0, -1, 0/0))")
    cells = re.findall(r"<mtd[^>]*>(.*?)</mtd>", drawn)
    shown = [unescape(re.sub(r"<[^>]+>", "", cell)).replace("\xa0", " ") for cell in cells]
    assert shown == ["2x", "if x>0", "−1", "if x<0"]
    assert "otherwise" in mathml("where(x > 0, 1, absolute(x))")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<b>",
        "x = 1",
        "'text'",
        "lambda: 1",
        "f.g(x)",
        "x if y else z",
        "(" * 500,
        "1+" * 600 + "1",
    ],
)
def test_what_is_no_formula_is_left_to_text(text):
    """An empty text, and no exception."""
    assert mathml(text) == ""


def test_names_are_escaped():
    """A name is the only text of a stranger's that could reach the page."""
    assert "<" not in re.sub(r"</?m\w+( \w+=\"[^\"<>]+\")*( /)?>", "", mathml("a*b < c"))
