"""What a diagnosis says: hypotheses in order, and how certain it is of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradcheck.diagnosis.acts import Made
from gradcheck.diagnosis.line import Span
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.row import COVERING, TELLING

PREFERRED = {True: ("calculus", "whole"), False: ("backprop", "whole")}
HABIT = 0.5  # of those who make a mistake once, so many make it every time


@dataclass(frozen=True)
class Hypothesis:
    """One mistake that would give just this answer, and where in the program it was made.

    `span` is the largest stretch of the text on which it makes no difference where; None for the
    whole answer, and for a mistake made `everywhere`. `with_` is a second mistake, made together
    with this one. `texts` is what the words may mention (see `words`). `nodes` are those of the
    straight line at which a rule of calculus was made, `below` all that they are made of, as bits.
    """

    mistake: Mistake
    span: Span
    everywhere: bool = False
    texts: Mapping[str, Any] = field(default_factory=dict)
    with_: "Hypothesis | None" = None
    nodes: int = 0
    below: int = 0

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the mistakes, one or two."""
        return (self.mistake.id, *(self.with_.ids if self.with_ else ()))

    @property
    def rank(self) -> int:
        """How little it tells: of two mistakes that of the vaguer one."""
        return max(self.mistake.rank, self.with_.rank if self.with_ else 0)

    @property
    def common(self) -> float:
        """How often this is seen: at every site less often, of two mistakes both together."""
        here = self.mistake.common * (HABIT if self.everywhere else 1.0)
        return here * (self.with_.common if self.with_ else 1.0)


def hypothesis_of(made: Made, with_: Hypothesis | None = None) -> Hypothesis:
    """That a mistake was made, perhaps with a second one."""
    nodes = below = 0
    if made.line is not None and made.rule is not None and made.rule.place is not None:
        for k in made.rule.place.ks:
            nodes |= 1 << k
            below |= made.line.above[k]
    return Hypothesis(
        made.mistake, made.span, made.everywhere, made.texts, with_, nodes=nodes, below=below
    )


@dataclass(frozen=True)
class Diagnosis:
    """`unique` (one mistake fits), `torn` (several: all are said), or `unnamed`.

    `hypotheses` are in the words that suit the problem: calculus for numbers, backprop for
    tensors. `beneath` fit as well, in the other family's words; nobody needs to be told both.
    """

    certainty: str
    hypotheses: tuple[Hypothesis, ...] = ()
    remarks: tuple[str, ...] = ()
    beneath: tuple[Hypothesis, ...] = ()


def ranked(
    found: Sequence[Hypothesis], scalar: bool
) -> tuple[tuple[Hypothesis, ...], tuple[Hypothesis, ...]]:
    """One hypothesis an id, the commonest first: those that are told, then those beneath.

    Told are those of the preferred family that tell most, but for what lies within a place that
    another one covers.
    """
    best: dict[tuple[str, ...], Hypothesis] = {}
    for each in sorted(found, key=lambda h: _order(h, scalar)):
        best.setdefault(each.ids, each)
    ordered = sorted(best.values(), key=lambda h: -h.common)
    own = [h for h in ordered if _preferred(h, scalar)] or ordered
    least = max(min((h.rank for h in own), default=0), TELLING)
    told = [h for h in own if h.rank <= least]
    told = [h for h in told if not any(_covered(h, other) for other in told)]
    return tuple(told), tuple(h for h in ordered if h not in told)


def _covered(h: Hypothesis, other: Hypothesis) -> bool:
    """Whether a mistake was made in what the other one's place is made of, and that one covers."""
    covers = other.mistake.rank == COVERING < h.mistake.rank
    return covers and bool(h.nodes & other.below) and h.ids[1:] == other.ids[1:]


def _preferred(h: Hypothesis, scalar: bool) -> bool:
    own = h.mistake.family in PREFERRED[scalar]
    return own and (h.with_ is None or _preferred(h.with_, scalar))


def _order(h: Hypothesis, scalar: bool) -> tuple[Any, ...]:
    """Of one id: the preferred family, at a site, at the largest site, the commonest."""
    width = h.span[-1] - h.span[-2] if h.span is not None else -1
    return (not _preferred(h, scalar), h.rank, h.everywhere, -width, -h.mistake.common)
