"""Prompts: Markdown, mathematics between dollars; whatever else is typed stays text."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gradcheck.texts.notation import latex

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from math_core import LatexToMathML

LONGEST = 2_000
STYLE = re.compile(r' style="[^"]*"')  # the pages' own sheets say how a table is set
NAMED = re.compile("&(?:ApplyFunction|InvisibleTimes);")  # XML does not know these names


@cache
def _converter() -> "LatexToMathML":
    from math_core import LatexToMathML  # noqa: PLC0415

    return LatexToMathML(fancy_error=False)


@lru_cache(maxsize=20_000)
def to_mathml(source: str, *, block: bool = False) -> str:
    """LaTeX as a `math` element; empty where it cannot be written."""
    from math_core import LatexError  # noqa: PLC0415

    if not source or len(source) > LONGEST:
        return ""
    try:
        found = _converter().convert_with_local_state(source, displaystyle=block)
    except LatexError:
        return ""
    return NAMED.sub(lambda name: unescape(name[0]), STYLE.sub("", found))


def mathml(text: str) -> str:
    """A formula in NumPy's spelling as a `math` element; empty where it is none."""
    return to_mathml(latex(text))


@lru_cache(maxsize=20_000)
def formula(understood: str) -> Markup:
    """What was understood as mathematics, or as text where it is no formula."""
    return Markup(mathml(understood)) or Markup("<code>{}</code>").format(understood[:LONGEST])


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
