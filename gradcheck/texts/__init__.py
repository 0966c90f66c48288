"""Formulas as people read them: what is shown of a gradient."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PathForm:
    """A derivative by a number, and the conditions under which it is that."""

    text: str
    where: str = ""


@dataclass(frozen=True)
class Formulas:
    """Closed forms as they are shown; each of them, typed as an answer, is right.

    `texts` are NumPy's, `signs` for a terminal, `latex`; `sizes` are those for which `n` is
    written; `paths` has the derivatives by single numbers.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    signs: Mapping[str, str] = field(default_factory=dict)
    latex: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, PathForm] = field(default_factory=dict)
