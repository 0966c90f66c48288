"""A sheet for print, word by word: `sheet.md` is what is made of `sheet.yaml`."""

from pathlib import Path

from gradcheck.problem import load_text
from gradcheck.report.pages import Sheet, render_sheets, write_sheet

SET = Path(__file__).with_name("sheet.yaml")


def test_a_sheet_says_what_is_asked_of_whom():
    """A formula where there is one, else the program; each part by the name it is handed in."""
    found = load_text(SET.read_text())
    sheet = Sheet("ada", "Ada L.", found.problems)
    assert write_sheet(found.title, sheet) == SET.with_suffix(".md").read_text()
    page = render_sheets(found.title, [sheet])
    assert page.count("the second derivative by x and y") == 1
    assert page.count("<math") == 10  # f(x) and what it is, five times
