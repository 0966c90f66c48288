"""Prompts: Markdown, mathematics between dollars; whatever else is typed stays text."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gradcheck.report.latex import latex

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

UNSAFE = re.compile(r'"|&[#\w]+;|\\(?:href|url|style|class|id|html|color|textcolor)')
LONGEST = 2_000


@lru_cache(maxsize=20_000)
def to_mathml(source: str, *, block: bool = False) -> str:
    """LaTeX as a `math` element; empty where it cannot be written, or says more.

    The converter escapes nothing, so nothing comes to it that would have to be escaped.
    """
    from latex2mathml.converter import convert  # noqa: PLC0415

    if not source or len(source) > LONGEST or UNSAFE.search(source):
        return ""
    spelled = source.replace("<", r"\lt ").replace(">", r"\gt ")
    try:
        found = str(convert(spelled, display="block" if block else "inline"))
    except Exception:  # noqa: BLE001 - somebody's LaTeX fails in any way
        return ""
    return "" if "\\" in found else found


def mathml(text: str) -> str:
    """A formula in NumPy's spelling as a `math` element; empty where it is none."""
    return to_mathml(latex(text))


RULES = ("list", "fence", "code", "backticks", "emphasis", "newline", "escape")


@cache
def _markdown() -> "MarkdownIt":
    """Paragraphs, lists, code, emphasis and mathematics: no links, no pictures, no HTML."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 50 ms
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
