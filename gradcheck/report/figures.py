"""Numbers, formulas and prompts as people read them."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from gradcheck.texts.notation import write_latex

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from math_core import LatexToMathML

SHOWN_ENTRIES = 6  # of an array that is written entry by entry: they fit on a line

WRITTEN_ENTRIES = 24  # of an array that is written as one


def plain(value: float, digits: int = 10) -> str:
    """A number in at most so many significant digits."""
    return "nan" if math.isnan(value) else f"{value:.{digits}g}"


def format_value(value: Any) -> str:
    """A value as it stands in a page, in four digits; of a large array the shape."""
    array = np.asarray(value)
    if array.size > WRITTEN_ENTRIES:
        return f"an array of the shape {array.shape}"
    numbers = np.array([float(entry) for entry in array.flat]).reshape(array.shape)
    if not array.shape:
        return plain(float(numbers))
    return np.array2string(numbers, precision=4, separator=", ")


def format_bar(error: float) -> str:
    """An error bar in one digit; a number that is exactly so has none."""
    if error < 1e-300:
        return "exact"
    return f"±{error:.0e}" if math.isfinite(error) else "±inf"


def nest(array: Any, say: Callable[[Any], Any] | None = None) -> Any:
    """Nested lists for JSON of what is said of each entry; None stays so.

    Without `say` they are numbers, and null where they are not finite.
    """
    if array is None:
        return None
    array = np.asarray(array, dtype=object)
    if array.ndim:
        return [nest(entry, say) for entry in array]
    if say is not None:
        return say(array.item())
    number = float(array.item())
    return number if math.isfinite(number) else None


def nest_text(array: Any) -> Any:
    """Nested lists of strings (closed forms), a single string for a scalar."""
    from gradcheck.numbers.closed import spell  # noqa: PLC0415 - SymPy is slow to load

    return nest(array, spell)


def dump(line: Mapping[str, Any]) -> str:
    """A line of JSON."""
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def format_index(index: Sequence[int]) -> str:
    """`[0, 2]` behind the name of an array; nothing behind that of a number."""
    return f"[{', '.join(map(str, index))}]" if index else ""


def pluralize(number: int, noun: str) -> str:
    """`1 problem`, `1,200 problems`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def escape_controls(text: str) -> str:
    """A stranger's text without what a terminal would obey: escapes, and marks of direction."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


# -- formulas and prompts --------------------------------------------------------------------------


LONGEST = 2_000
KEPT = 2_000  # formulas that are remembered: a class gives the same answers
STYLE = re.compile(r' style="[^"]*"')  # the pages' own sheets say how a table is set
NAMED = re.compile("&(?:ApplyFunction|InvisibleTimes);")  # XML does not know these names


@cache
def _make_converter() -> "LatexToMathML":
    from math_core import LatexToMathML  # noqa: PLC0415

    return LatexToMathML(fancy_error=False)


@lru_cache(maxsize=KEPT)
def to_mathml(source: str, *, block: bool = False) -> str:
    """LaTeX as a `math` element; empty where it cannot be written."""
    from math_core import LatexError  # noqa: PLC0415

    if not source or len(source) > LONGEST:
        return ""
    try:
        found = _make_converter().convert_with_local_state(source, displaystyle=block)
    except LatexError:
        return ""
    return NAMED.sub(lambda name: unescape(name[0]), STYLE.sub("", found))


def as_mathml(text: str) -> str:
    """A formula in NumPy's spelling as a `math` element; empty where it is none."""
    return to_mathml(write_latex(text))


@lru_cache(maxsize=KEPT)
def render_formula(understood: str) -> Markup:
    """What was understood as mathematics, or as text where it is no formula."""
    return Markup(as_mathml(understood)) or Markup("<code>{}</code>").format(understood[:LONGEST])


RULES = ("list", "fence", "code", "backticks", "emphasis", "newline", "escape")


@cache
def _make_markdown() -> "MarkdownIt":
    """Paragraphs, lists, code, emphasis and mathematics: no links, no pictures, no HTML."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 50 ms
    from mdit_py_plugins.dollarmath import dollarmath_plugin  # noqa: PLC0415

    found = MarkdownIt("zero", {"html": False}).enable(list(RULES))
    dollarmath_plugin(found, allow_labels=False, double_inline=True, renderer=_render_mathematics)
    return found


def render_prose(text: str) -> Markup:
    """A prompt as HTML."""
    return Markup(_make_markdown().render(text))


def render_inline(text: str) -> Markup:
    """One line's worth: code, emphasis and mathematics."""
    return Markup(_make_markdown().renderInline(text))


def _render_mathematics(source: str, how: Mapping[str, Any]) -> str:
    return to_mathml(source, block=bool(how["display_mode"])) or f"<code>{escape(source)}</code>"
