"""Where a verb of the ledger is said: at which statement, to which leaf, on which occasion."""

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gradcheck.documents.passage import where_is
from gradcheck.language import Program
from gradcheck.training.forms import Span
from gradcheck.training.ledger import Entry

MOST = 12
ENTERED = {"deposit": "add", "clear": "clear", "write": "step"}


@dataclass(frozen=True)
class Site:
    """All sayings of a verb at a place of the text, to a leaf, on an occasion; None is any.

    An occasion is one place done to several leaves, once to each: `zero_grad` clears them all.
    """

    place: Span = None
    leaf: int | None = None
    occasion: int | None = None

    def covers(self, said: "Site") -> bool:
        """Whether a saying is one of these."""
        return (
            self.place in (None, said.place)
            and self.leaf in (None, said.leaf)
            and self.occasion in (None, said.occasion)
        )

    @property
    def cost(self) -> int:
        """How special it is: everywhere 0, at one place or with one leaf 1, only once 2."""
        return 2 if self.occasion is not None else int(self != EVERYWHERE)


EVERYWHERE = Site()


@dataclass
class Sayings:
    """Counts the occasions while a program runs."""

    place: Span = None
    occasion: int = -1
    leaves: set[int] = field(default_factory=set)

    def next(self, place: Span, leaf: int) -> Site:
        """The saying that comes now."""
        if self.occasion < 0 or place != self.place or leaf in self.leaves:
            self.place, self.occasion, self.leaves = place, self.occasion + 1, set()
        self.leaves.add(leaf)
        return Site(place, leaf, self.occasion)


def sayings(verb: str, entries: Iterable[Entry]) -> tuple[Site, ...]:
    """Each saying of a verb in a ledger."""
    counter = Sayings()
    wanted = (entry for entry in entries if entry.verb == ENTERED[verb])
    return tuple(counter.next(entry.span, entry.leaf.number) for entry in wanted)


def sites(verb: str, entries: Iterable[Entry]) -> tuple[Site, ...]:
    """Where a verb can be said wrong: everywhere, at one of the places, to one leaf, or once."""
    said = sayings(verb, entries)
    places = list(dict.fromkeys(each.place for each in said))
    leaves = [leaf for leaf, count in Counter(each.leaf for each in said).items() if count > 1]
    occasions = list(dict.fromkeys(each.occasion for each in said))
    found = [Site(place=place) for place in places if place and 1 < len(places) <= MOST]
    found += [Site(leaf=leaf) for leaf in leaves if 1 < len(leaves) <= MOST]
    found += [Site(occasion=n) for n in occasions if len(places) < len(occasions) <= MOST]
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
