"""The pages in a real browser: wide and narrow, light and dark, by keyboard, without script."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.browser import axe, driven, opened, running
from tests.support.practising import COURSE, WRONG

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

WINDOWS = [(390, "dark"), (1280, "light")]
ASKED = "/free?f=x^3%2B2sin+x&answer=3x^2-2cos+x"
PAGES = ["/", "/p/cubic", "/p/vector", "/p/write", "/free", ASKED, "/mistakes"]
HINTS = ("What kind of mistake is it?", "Where is it?", "Say it in words")
TOLD = ("Sign error", "In your answer", "the wrong way round")


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    here: Path = tmp_path_factory.mktemp("browser")
    (here / "course.yaml").write_text(COURSE)
    with running(here / "course.yaml", here / "out") as (found, _):
        yield found


@pytest.fixture(scope="module")
def browser():
    with driven() as found:
        yield found


@pytest.fixture
def visit(browser, address):
    """A function that opens a page; whatever it complains of, or asks others for, is a failure."""
    faults = []
    with ExitStack() as open_pages:
        yield lambda path, **how: open_pages.enter_context(
            opened(browser, address, path, faults, **how)
        )
    assert faults == []


@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.sweep)])
def test_every_page_fits_and_axe_finds_nothing_serious(visit, first):
    """On every page, and where an answer is explained; without axe-core the widths alone.

    The pages take turns with the windows, and the other way round.
    """
    script = axe()
    page = visit("/")
    as_grace(page)
    found = []
    for k, path in enumerate(PAGES, first):
        page.goto(path)
        assert page.title().endswith("gradcheck")
        found += faults(page, script, path, WINDOWS[k % 2])
    page.goto("/p/cubic")
    page.fill("textarea", WRONG)
    for button, shown in zip(("Check", *HINTS), ("Not right", *TOLD), strict=True):
        press(page, button)
        page.wait_for_selector(f"text={shown}")
    found += faults(page, script, "a hint", WINDOWS[first])
    page.goto("/mistakes")
    found += faults(page, script, "a mistake", WINDOWS[1 - first])
    assert found == []
    if not script:
        pytest.skip("npm's registry is out of reach: axe-core was not asked")


def faults(page, script, where, window):
    """A width beyond the window's, and what axe-core finds that is serious or worse."""
    width, scheme = window
    page.set_viewport_size({"width": width, "height": 860})
    page.emulate_media(color_scheme=scheme)
    wide = page.evaluate("document.documentElement.scrollWidth")
    found = [(where, window, f"{wide} px wide")] if wide > width else []
    if not script:
        return found
    page.evaluate(script)
    result = page.evaluate("axe.run({resultTypes: ['violations']})")
    return found + [
        (where, window, each["id"], [node["html"][:120] for node in each["nodes"][:3]])
        for each in result["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def as_grace(page):
    page.fill("#name", "Grace")
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_the_echo_follows_what_is_typed(visit):
    page = visit("/p/cubic")
    page.fill("textarea", "2x cos(x^2)")
    page.wait_for_selector("#part-1-echo math")
    assert page.text_content("#part-1-echo math msup") == "x2"
    playwright.expect(page.locator("#said")).to_have_text("understood as 2*x*cos(x**2)")
    page.fill("textarea", "2x + foo(x)")
    page.wait_for_selector("#part-1-echo pre")
    typed, caret, why = page.inner_text("#part-1-echo pre").split("\n")
    assert typed[caret.index("^") : caret.rindex("^") + 1] == "foo"
    assert "foo" in why
    described = page.get_attribute("textarea", "aria-describedby")
    assert page.locator(f"#{described}").count() == 1


def test_with_the_keyboard_alone(visit):
    """From the top: the name, the first problem, an answer, its verdict, a hint."""
    page = visit("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.type("Ada")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "Ada" in page.inner_text("header")
    page.focus("text=A cubic and a sine")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    for _ in range(40):
        if page.evaluate("document.activeElement.tagName") == "TEXTAREA":
            break
        page.keyboard.press("Tab")
    page.keyboard.type(WRONG)
    page.keyboard.press("Enter")
    playwright.expect(page.locator("h3.verdict")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "What kind of mistake is it?"
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".mistakes")).to_contain_text("Sign error")


def test_a_grid_by_arrows(visit):
    page = visit("/p/vector")
    page.click("text=Fill in 2 entries instead")
    page.focus("[name=cell-0]")
    page.keyboard.type("6")
    page.keyboard.press("Tab")
    page.keyboard.type("16")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("h3.verdict")).to_have_text("Right")


def test_a_function_of_ones_own(visit):
    page = visit("/free")
    page.fill("#f", "x^3 + 2sin x")
    page.wait_for_selector("#f-echo math")
    page.fill("#answer", WRONG)
    page.wait_for_selector("#answer-echo math")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("h3.verdict")).to_have_text("Not right")
    assert page.locator("svg.plot path.yours").is_visible()
    assert "answer=3x" in page.url


def test_without_script(visit):
    page = visit("/", java_script_enabled=False)
    page.fill("#name", "Bob")
    press(page, "Keep my progress")
    page.click("text=A cubic and a sine")
    page.fill("textarea", WRONG)
    press(page, "Check")
    assert page.inner_text("h3.verdict") == "Not right"
    for hint in HINTS:
        press(page, hint)
    assert page.locator("mark").all_inner_texts() == ["2*sin(x)", "- 2cos x"]
    assert "the wrong way round" in page.inner_text(".mistakes")
    page.goto("/free")
    page.fill("#f", "x^2")
    page.fill("#answer", "2x")
    press(page, "Check")
    assert page.inner_text("h3.verdict") == "Right"
    assert page.locator("#answer-echo math").count() == 1
