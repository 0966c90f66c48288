"""YAML 1.2's core schema: which value a scalar without quotes has."""

import re
from collections.abc import Callable
from typing import NoReturn

from gradcheck.documents.decimals import WrittenFloat, check_digits
from gradcheck.documents.document import Value


def plain_value(text: str) -> Value:
    """The value of a scalar without quotes; ValueError says why a number is refused."""
    if text and text[0] not in STARTS:
        return text
    for pattern, value in CORE:
        if pattern.fullmatch(text):
            return value(text)
    return text


def _integer(text: str) -> int:
    """An integer in any of the core schema's bases."""
    check_digits(text.lstrip("+-"))
    return int(text, 0)


def _float(text: str) -> float:
    """The float64 that keeps what was written."""
    return WrittenFloat(text)


def _not_finite(text: str) -> NoReturn:
    """There is nothing to differentiate at infinity, or at NaN."""
    raise ValueError(f"`{text}` is not a finite number")


# First match first. Leading zeros make a text: 0123 is somebody's number, not a quantity.
CORE: tuple[tuple[re.Pattern[str], Callable[[str], Value]], ...] = (
    (re.compile(r"|~|null|Null|NULL"), lambda text: None),
    (re.compile(r"true|True|TRUE"), lambda text: True),
    (re.compile(r"false|False|FALSE"), lambda text: False),
    (re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+"), _integer),
    (re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), _float),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), _not_finite),
)
STARTS = frozenset("0123456789+-.~nNtTfF")
