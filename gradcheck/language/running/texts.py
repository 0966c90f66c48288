"""Texts in a running program: compared, joined, written out, and never long."""

from collections.abc import Callable
from typing import Any

from gradcheck.language.rules.vocabulary import WORDS
from gradcheck.language.running.budget import Meter
from gradcheck.language.running.shapes import shape_of

Shown = Callable[[Any], str]
AS_IT_IS = -1  # the conversion of a value in an f-string that has none
MOST = 1_000  # entries of a list that are written out


def operate(meter: Meter, name: str, a: Any, b: Any) -> Any:
    """`branch == "sine"`, `"a" + "b"`, `"-" * 20`; nothing else can be done to texts."""
    if name in ("equal", "not_equal"):
        same = isinstance(a, str) and isinstance(b, str) and a == b
        return same if name == "equal" else not same
    if name == "add" and isinstance(a, str) and isinstance(b, str):
        return meter.text(len(a) + len(b), lambda: a + b)
    if name == "multiply" and (isinstance(a, int) or isinstance(b, int)):
        text, times = (b, a) if isinstance(a, int) else (a, b)
        return meter.text(len(text) * max(times, 0), lambda: text * times)
    raise TypeError(f"a text cannot take part in `{name}` - write an f-string, or leave it out")


def refuse_texts(function: str, values: Any) -> None:
    """Refuse texts where numbers are expected: but for words that say how, and subscripts."""
    for each in values:
        if isinstance(each, str) and each not in WORDS and function != "einsum":
            raise TypeError(f"a text is no argument of `{function}` - give it numbers")
        if isinstance(each, list | tuple) and any_text(each):
            raise TypeError(
                f"a text among the numbers of `{function}`, or a type - give it numbers"
            )


def any_text(values: Any) -> bool:
    """Whether a text, a dict or a type stands in lists in lists; each is looked into once.

    A type in a tuple is a dtype whose every entry is an array: `(int, (1000, 1000))`.
    """
    left, seen = [values], {id(values)}
    while left:
        for each in left.pop():
            if isinstance(each, str | dict | type):
                return True
            if isinstance(each, list | tuple) and id(each) not in seen:
                seen.add(id(each))
                left.append(each)
    return False


def written(meter: Meter, value: Any, conversion: int, form: str, shown: Shown) -> str:
    """A value in an f-string, as `form` says or as it is printed."""
    if not form and conversion == AS_IT_IS and hasattr(value, "item") and not shape_of(value):
        return outside(meter, value.item(), shown)  # as PyTorch formats a tensor of one number
    if not form:
        return inside(value, shown) if conversion == ord("r") else outside(meter, value, shown)
    number = value if isinstance(value, str | int | float) else _item(value)
    return meter.text(len(made := format(number, form)), lambda: made)


def _item(value: Any) -> Any:
    """The Python number of one entry."""
    if not hasattr(value, "item") or shape_of(value):
        kind = type(value).__name__
        raise TypeError(f"a {kind} cannot be written like this - take its entries by `.item()`")
    return value.item()


def outside(meter: Meter, value: Any, shown: Shown) -> str:
    """A value as `print` shows it."""
    meter.measure(value)
    text = value if isinstance(value, str) else inside(value, shown)
    return meter.text(min(len(text), meter.budget.letters), lambda: text[: meter.budget.letters])


def inside(value: Any, shown: Shown) -> str:
    """A value as it is shown inside a list; long lists are cut."""
    if isinstance(value, dict):
        pairs = [f"{key!r}: {inside(each, shown)}" for key, each in list(value.items())[:MOST]]
        return "{" + ", ".join(pairs) + "}"
    if type(value) is list or type(value) is tuple:
        parts = [inside(each, shown) for each in value[:MOST]]
        parts += ["..."] if len(value) > MOST else []
        if type(value) is list:
            return f"[{', '.join(parts)}]"
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if isinstance(value, float):
        return repr(float(value))
    return repr(value) if value is None or isinstance(value, str | int) else shown(value)


def plainly(value: Any) -> str:
    """How a value is shown where nobody asked for it: by its kind."""
    return f"<{type(value).__name__}>"
