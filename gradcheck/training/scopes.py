"""Where a verb of the ledger happens: at which statement, to which leaf, on which occasion."""

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gradcheck.documents.passage import where_is
from gradcheck.language import Program
from gradcheck.training.ledger import LedgerEntry, Span

MOST = 12
ENTERED = {"deposit": "add", "clear": "clear", "write": "step"}


@dataclass(frozen=True)
class Scope:
    """All occasions of a verb at a place of the text, to a leaf, on an occasion; None is any.

    An occasion is one place done to several leaves, once to each: `zero_grad` clears them all.
    """

    place: Span = None
    leaf: int | None = None
    occasion: int | None = None

    def covers(self, one: "Scope") -> bool:
        """Whether a single occasion is one of these."""
        return (
            self.place in (None, one.place)
            and self.leaf in (None, one.leaf)
            and self.occasion in (None, one.occasion)
        )

    @property
    def cost(self) -> int:
        """How special it is: everywhere 0, at one place or with one leaf 1, only once 2."""
        return 2 if self.occasion is not None else int(self != EVERYWHERE)


EVERYWHERE = Scope()


@dataclass
class Occasions:
    """Counts the occasions while a program runs."""

    place: Span = None
    occasion: int = -1
    leaves: set[int] = field(default_factory=set)

    def next(self, place: Span, leaf: int) -> Scope:
        """The occasion that comes now."""
        if self.occasion < 0 or place != self.place or leaf in self.leaves:
            self.place, self.occasion, self.leaves = place, self.occasion + 1, set()
        self.leaves.add(leaf)
        return Scope(place, leaf, self.occasion)


def occasions(verb: str, entries: Iterable[LedgerEntry]) -> tuple[Scope, ...]:
    """Each occasion of a verb in a ledger."""
    counter = Occasions()
    wanted = (entry for entry in entries if entry.verb == ENTERED[verb])
    return tuple(counter.next(entry.span, entry.leaf.number) for entry in wanted)


def scopes(verb: str, entries: Iterable[LedgerEntry]) -> tuple[Scope, ...]:
    """Where a verb can go wrong: everywhere, at one of the places, to one leaf, or once."""
    each_time = occasions(verb, entries)
    places = list(dict.fromkeys(each.place for each in each_time))
    leaves = [leaf for leaf, count in Counter(each.leaf for each in each_time).items() if count > 1]
    numbers = list(dict.fromkeys(each.occasion for each in each_time))
    found = [Scope(place=place) for place in places if place and 1 < len(places) <= MOST]
    found += [Scope(leaf=leaf) for leaf in leaves if 1 < len(leaves) <= MOST]
    found += [Scope(occasion=n) for n in numbers if len(places) < len(numbers) <= MOST]
    return (EVERYWHERE, *found)


def statement(program: Program, span: Span) -> Span:
    """The span of the statement that a place lies in."""
    if span is None:
        return None
    for node in ast.walk(program.tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            start, end = program.passage.span(where_is(node))
            if start <= span[0] and span[1] <= end:
                return start, end
    return span
