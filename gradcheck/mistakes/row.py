"""One row a mistake: what it does wrong, where it can happen, its words, and an example of both.

Three families, because mistakes live in three places. In the *calculus* family a mistake is a wrong
rule at one node of the expression, in tangent form: it maps a `Step` (values and derivatives of the
arguments) to the wrong derivative. In the *backprop* family it is one of reverse mode's four verbs
said wrong at one site. A mistake of the *whole* answer maps the right answer to a wrong one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """One node of the straight line at one point: y = op(u, v), with derivatives du and dv.

    Derivatives are arrays over the differentiated entries; a constant argument has None instead.
    `slope_at(z)` is the op's derivative by its first argument at another argument z; `apply(z)` its
    value there; `x` is the variable itself where the line has only one.
    """

    op: str
    y: float
    u: float
    v: float
    du: Array | None
    dv: Array | None
    fu: float
    fv: float
    x: float | None
    dx: Array
    u_is_variable: bool
    slope_at: Callable[[float], float]
    apply: Callable[[float], float]

    @property
    def both(self) -> bool:
        """Whether both arguments vary."""
        return self.du is not None and self.dv is not None

    @property
    def right(self) -> Array:
        """The chain rule: fu du + fv dv."""
        total = np.zeros_like(self.dx)
        if self.du is not None:
            total = total + self.fu * self.du
        if self.dv is not None:
            total = total + self.fv * self.dv
        return total


@dataclass(frozen=True)
class Example:
    """A problem in one line and the answer that somebody who makes the mistake would give."""

    program: str
    answer: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Mistake:
    """A mistake is an act: `wrong` commits it, `says` tells the student, `example` proves both.

    `verb` is "derivative" (calculus), "seed", "pull", "fit", "accumulate" (backprop) or "answer"
    (the whole answer). `common` orders hypotheses that fit alike: how often it is seen, 0 to 1.
    """

    id: str
    verb: str
    wrong: Callable[..., Any]
    says: str
    example: Example
    where: Callable[..., bool] = lambda *site: True
    common: float = 0.5

    @property
    def family(self) -> str:
        """The place where the mistake lives."""
        if self.verb in ("seed", "pull", "fit", "accumulate"):
            return "backprop"
        return "whole" if self.verb == "answer" else "calculus"


CATALOGUE: list[Mistake] = []


def mistake(
    id: str,  # noqa: A002 - the word users see
    *,
    verb: str,
    wrong: Callable[..., Any],
    says: str,
    example: tuple[str, Mapping[str, str]],
    **further: Any,
) -> Mistake:
    """Enter a row into the catalogue."""
    row = Mistake(id, verb, wrong, says, Example(*example), **further)
    CATALOGUE.append(row)
    return row
