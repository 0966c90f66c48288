"""An answer as it was understood, in presentation MathML."""

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from gradcheck.report.notation import Notation, notated
from gradcheck.texts.notation import GREEK


@lru_cache(maxsize=256)
def _element(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text)}</{tag}>"


MATHML = Notation(
    name=lambda word: _element("mi", GREEK.get(word) or word),
    function=lambda word: f"<mi>{escape(word)}</mi>",
    number=lambda value: f"<mn>{value!r}</mn>",
    sign=lambda sign: _element("mo", sign),
    word=lambda word: f"<mtext>{escape(word)}</mtext>",
    group=lambda inner: f"<mrow>{inner}</mrow>",
    bracketed=lambda inner, left, right: f"<mrow><mo>{left}</mo>{inner}<mo>{right}</mo></mrow>",
    fraction=lambda above, below: f"<mfrac>{above}{below}</mfrac>",
    raised=lambda base, exponent: f"<msup>{base}{exponent}</msup>",
    below=lambda base, index: f"<msub>{base}{index}</msub>",
    root=lambda inner: f"<msqrt>{inner}</msqrt>",
    cases=lambda rows: _table([f"{value}{_if(condition)}" for value, condition in rows]),
    times="<mo>&#8290;</mo>",  # invisible
    apply="<mo>&#8289;</mo>",
)


def _if(condition: str) -> str:
    words = "<mtext>&#160;if&#160;</mtext>" if condition else "<mtext>&#160;otherwise</mtext>"
    return words + condition


def _table(cells: Sequence[str]) -> str:
    rows = "".join(f"<mtr><mtd>{cell}</mtd></mtr>" for cell in cells)
    return f"<mrow><mo>{{</mo><mtable>{rows}</mtable></mrow>"


def mathml(text: str) -> str:
    """A formula in NumPy's spelling as a `math` element; empty where it is none."""
    inner = notated(text, MATHML)
    return f'<math displaystyle="true">{inner}</math>' if inner else ""
