"""LaTeX, and answers as they were understood, in presentation MathML."""

import re
from functools import lru_cache

from gradcheck.report.latex import latex

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
