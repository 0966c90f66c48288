"""Where a verb can be said wrong: sites of a tape, and those that belong together."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradcheck.engine.tape import Leaf, Step
from gradcheck.opinions.tape import Tape

USES = "uses"  # of one weight

Key = tuple[Any, ...]
Span = tuple[Any, ...] | None


@dataclass(frozen=True, eq=False)
class Site:
    """Where a verb is said: an edge (node, i), a meeting (step, -1), or the start (root, -1).

    `key` finds the same site on the tape of another point; `choice` is what the mistake is made
    with there, where there is a choice; `names` is what its words may mention.
    """

    step: Step
    i: int
    key: Key
    span: Span
    choice: Any = None
    names: Mapping[str, Any] = field(default_factory=dict)

    @property
    def said(self) -> Mapping[str, Any]:
        """What a meeting of paths is called that has no place in the text: the input's name."""
        named = self.key[1] if isinstance(self.step, Leaf) and len(self.key) > 1 else ""
        return {**self.names, **({"text": named} if named else {})}


def by_way(sites: Sequence[Site]) -> dict[Key, list[Site]]:
    """The sites at which a mistake is made in the same way, as far as ways can be told alike."""
    found: dict[Key, list[Site]] = defaultdict(list)
    for site in sites:
        found[site.key[-2:] if "way" in site.key else ()].append(site)
    return found


def repeated(tape: Tape, sites: Sequence[Site]) -> Iterator[tuple[Key, Sequence[Site]]]:
    """The sites of one line in a loop, or at one weight that is used again, all together."""
    names = {id(leaf): name for name, leaf in tape.leaves.items()}
    groups: dict[Key, list[Site]] = defaultdict(list)
    for site in sites:
        if site.span is not None and site.i >= 0:
            step, op, way = site.step, site.key[1], site.key[4:]
            groups["line", "loop", site.span, op, site.i, *way].append(site)
            other = step.edges[1 - site.i] if len(step.edges) == 2 else None
            if isinstance(other, Leaf):
                groups[USES, "weight", names.get(id(other.variable)), op, site.i, *way].append(site)
    for key, group in groups.items():
        if 1 < len(group) < len(sites) + (key[0] == USES):
            yield key, group


def accumulations(tape: Tape) -> Iterator[Site]:
    """Steps that more than one edge leads to."""
    again: Counter[Key] = Counter()
    names = {id(leaf): name for name, leaf in tape.leaves.items()}
    for step, count in tape.uses.items():
        if count > 1:
            span = getattr(step, "span", None)
            label = names.get(id(step.variable)) if isinstance(step, Leaf) else step.op.name
            again[span, label] += 1
            yield Site(step, -1, (span, label, again[span, label]), span)


def meetings(tape: Tape) -> Iterator[Site]:
    """Steps that more than two edges lead to, once for each edge that might be left."""
    for site in accumulations(tape):
        if tape.uses[site.step] > 2:
            edges = [
                (node, i) for node in tape.nodes for i, e in enumerate(node.edges) if e is site.step
            ]
            for n, edge in enumerate(edges):
                lost = {other: True for other in edges if other != edge}
                yield replace(site, key=(*site.key, n), choice=lost)
