"""Prompts: Markdown, mathematics between dollars; whatever else is typed stays text."""

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

RULES = ("list", "fence", "code", "backticks", "emphasis", "newline", "escape")
UNSAFE = re.compile(r'"|&[#\w]+;|\\(?:href|url|style|class|id|html|color|textcolor)')
LONGEST = 1_000  # characters of mathematics between two dollars


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
    """LaTeX as a `math` element; as it was typed where it cannot be written, or says more.

    The converter escapes nothing, so nothing comes to it that would have to be escaped.
    """
    from latex2mathml.converter import convert  # noqa: PLC0415

    typed = f"<code>{escape(source)}</code>"
    if len(source) > LONGEST or UNSAFE.search(source):
        return typed
    spelled = source.replace("<", r"\lt ").replace(">", r"\gt ")
    try:
        found = str(convert(spelled, display="block" if how["display_mode"] else "inline"))
    except Exception:  # noqa: BLE001 - somebody's LaTeX fails in any way
        return typed
    return typed if "\\" in found else found
