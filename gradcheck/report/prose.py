"""Prompts: Markdown, mathematics between dollars; whatever else is typed stays text."""

from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from gradcheck.report.mathml import to_mathml

RULES = ("list", "fence", "code", "backticks", "emphasis", "newline", "escape")


@cache
def _markdown() -> MarkdownIt:
    """Paragraphs, lists, code, emphasis and mathematics: no links, no pictures, no HTML."""
    from mdit_py_plugins.dollarmath import dollarmath_plugin  # noqa: PLC0415

    found = MarkdownIt("zero", {"html": False}).enable(list(RULES))
    dollarmath_plugin(found, allow_labels=False, double_inline=True, renderer=_mathematics)
    return found


def prose(text: str) -> Markup:
    """A prompt as HTML."""
    return Markup(_markdown().render(text))


def inline(text: str) -> Markup:
    """One line's worth: code, emphasis and mathematics."""
    return Markup(_markdown().renderInline(text))


def _mathematics(source: str, how: Mapping[str, Any]) -> str:
    """LaTeX as a `math` element, or as it was typed."""
    return to_mathml(source, block=bool(how["display_mode"])) or f"<code>{escape(source)}</code>"
