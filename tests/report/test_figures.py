"""Prompts as HTML: Markdown and mathematics, and nothing of a page's own."""

import re
from html import unescape
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.report.figures import as_mathml, render_inline, render_prose

CASES = yaml.safe_load(Path(__file__).with_name("figures.yaml").read_text())
TAGS = """p ul ol li pre code strong em br span div math mrow mi mn mo mtext mspace mfrac msqrt
 mroot msub msup msubsup munder mover munderover mtable mtr mtd mstyle mpadded mphantom menclose"""
ATTRIBUTES = """class xmlns display stretchy fence form columnalign width height depth linethickness
 minsize maxsize displaystyle scriptlevel mathvariant separator largeop movablelimits accent lspace
 rspace symmetric rowspacing columnspacing columnlines rowlines voffset notation start mathsize"""


def harmful(page):
    tags = re.findall(r"<\s*/?\s*([a-zA-Z]+)((?:\s[^<>]*)?)", page)
    names = {name for _, rest in tags for name in re.findall(r"([\w:-]+)\s*=", rest)}
    return ({tag for tag, _ in tags} - {*TAGS.split()}) | (names - {*ATTRIBUTES.split()})


@pytest.mark.parametrize(("text", "part"), CASES["prompts"])
def test_prompts(text, part):
    assert part in render_prose(text)
    assert "<p>" not in render_inline(text)


@pytest.mark.parametrize("text", CASES["harmful"])
def test_no_mathematics_is_a_page(text):
    assert not harmful(render_prose(text))


PIECES = ["<", ">", "&", ";", '"', "'", "{", "}", "\\text", "\\color", "script", "onerror=1", "lt",
          "#60", " ", "x", "$", "\\href", "\\frac", "^", "_", "`", "*"]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_nothing_typed_is_a_page(text):
    assert not harmful(render_prose(f"${text}$"))
    assert not harmful(render_inline(text))


# -- formulas as MathML: nothing that is not escaped, and no exception -----------------------------


def test_cases_are_a_table():
    """Values beside their conditions, all else last; where no case holds there is nothing."""
    drawn = as_mathml("where(x > 0, 2*x, where(x < 0, -1, 0/0))")
    cells = re.findall(r"<mtd[^>]*>(.*?)</mtd>", drawn)
    shown = [unescape(re.sub(r"<[^>]+>", "", cell)).replace("\xa0", " ") for cell in cells]
    assert shown == ["2x", "if x>0", "−1", "if x<0"]
    assert "otherwise" in as_mathml("where(x > 0, 1, absolute(x))")


@pytest.mark.parametrize(
    "text",
    ["", "<b>", "x = 1", "'text'", "lambda: 1", "f.g(x)", "x if y else z", "(" * 500,
     "1+" * 600 + "1"],
)  # fmt: skip
def test_what_is_no_formula_is_left_to_text(text):
    assert as_mathml(text) == ""


def test_names_are_escaped():
    """A name is the only text of a stranger's that could reach the page."""
    assert "<" not in re.sub(r"</?m\w+( \w+=\"[^\"<>]+\")*( ?/)?>", "", as_mathml("a*b < c"))
