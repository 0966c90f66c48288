"""Closed forms of arrays as they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Branches:
    """The derivative of a number by a number, wherever it has one.

    `pieces` are formulas and where each holds (empty: wherever it has a value); `undefined` are the
    places in the domain without a derivative.
    """

    pieces: tuple[tuple[str, str], ...]
    undefined: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shown:
    """Closed forms of arrays as they are shown; each of them, typed as an answer, is right.

    `texts` are NumPy's, `signs` for a terminal, `latex`; `indexed` has those that come to no
    product of matrices in index notation, which is checked, but not read in answers. `axes` counts
    the axes of every name, `rows` are the sizes for which `n` is written; `branches` has the
    derivatives by single numbers.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    signs: Mapping[str, str] = field(default_factory=dict)
    latex: Mapping[str, str] = field(default_factory=dict)
    indexed: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    branches: Mapping[str, Branches] = field(default_factory=dict)
