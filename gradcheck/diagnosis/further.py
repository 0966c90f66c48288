"""The backprop family a second time, further afield: tried where nothing nearer gave an answer.

Several steps taken as one; any tensor of the run, and any input, in the place of another; slices
that were taken elsewhere. That is many more stories, so an answer must carry more evidence for them
(`explain`), and they are made when the first answer needs them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradcheck.diagnosis.backprop import (
    WrongVerb,
    can,
    edge_of,
    edges_of,
    made,
    of_block,
    ways,
)
from gradcheck.diagnosis.blocks import blocks
from gradcheck.diagnosis.nearby import Around, called, everywhere
from gradcheck.diagnosis.segments import segments
from gradcheck.diagnosis.sites import Site
from gradcheck.diagnosis.windows import Taken, back_through, taken
from gradcheck.engine.backward import RIGHT
from gradcheck.engine.tape import Node
from gradcheck.mistakes import Mistake
from gradcheck.opinions.tape import Tape

CHOOSING = frozenset({"where", "maximum", "minimum"})


def further(tape: Tape, rows: Sequence[Mistake]) -> Iterator[WrongVerb]:
    """Every act of the second search, with a key that is the same at every point."""
    pool = everywhere(tape)
    yield from _stretches(tape, [row for row in rows if row.verb == "segment"])
    yield from _slices(tape, [row for row in rows if row.verb == "window"])
    yield from _branches(tape, [row for row in rows if row.verb == "branch"])
    yield from _tensors(tape, [row for row in rows if row.far], pool)


def _stretches(tape: Tape, rows: Sequence[Mistake]) -> Iterator[WrongVerb]:
    """Several steps taken as one."""
    for k, block in enumerate(segments(tape) if rows else ()):
        key = ("segment", k)
        site = Site(block.y, -1, key, block.y.span, names={"u": called(tape, block.x)})
        for n, row in enumerate(rows):
            for one in ways(row, site, block.edge) if can(row, block.edge) else ():
                yield from of_block(tape, row, block, replace(one, key=(n, *one.key)))


def _branches(tape: Tape, rows: Sequence[Mistake]) -> Iterator[WrongVerb]:
    """One side of a choice between two tensors, as if it had been taken everywhere."""
    nodes = [n for n in tape.nodes if n.op.name in CHOOSING]
    for k, node in enumerate(nodes):
        sides = [i for i, edge in enumerate(node.edges) if edge is not None]
        for i in sides if len(sides) == 2 else ():
            for n, row in enumerate(rows):
                site = Site(node, i, ("branch", n, k, i), node.span)
                yield WrongVerb(
                    site.key, row, site, node.span, _one_side(tape, row, node, i), site.said
                )


def _one_side(tape: Tape, row: Mistake, chosen: Node, side: int) -> Mapping[str, Any]:
    def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        right = RIGHT.pull(node, i, g, y, operands)
        if node is not chosen:
            return right
        return row.wrong(edge_of(tape, node, i, g, right)) if i == side else 0 * right

    return tape.gradients(tape.back(replace(RIGHT, pull=pull)))


def _slices(tape: Tape, rows: Sequence[Mistake]) -> Iterator[WrongVerb]:
    """Slices of one tensor that were taken elsewhere."""
    for k, slices in enumerate(taken(tape) if rows else ()):
        last = slices.nodes[-1]
        names = {"u": called(tape, slices.step)}
        for n, row in enumerate(rows):
            for m, at in enumerate(row.choices(slices.windows) if row.choices else ()):
                site = Site(last, -1, ("window", n, k, m), last.span, at, names)
                yield from _elsewhere(tape, row, slices, site)


def _elsewhere(tape: Tape, row: Mistake, slices: Taken, site: Site) -> Iterator[WrongVerb]:
    """What comes of other slices, unless they have other lengths: such code would not have run."""
    try:
        found = list(back_through(tape, slices, row.wrong(slices.windows, site.choice)))
    except (ValueError, IndexError):
        return
    for how, gradients in enumerate(found):
        yield WrongVerb((*site.key, how), row, site, site.span, gradients, site.said)


def _tensors(tape: Tape, rows: Sequence[Mistake], around: Around) -> Iterator[WrongVerb]:
    """Any tensor of the run in the place of another."""
    edges = {"pull": edges_of(tape, around, further=True)["pull"]}
    every = next(iter(around.values()), ())
    whole = [replace(b, edge=replace(b.edge, around=every, further=True)) for b in blocks(tape)]
    for n, row in enumerate(rows):
        for site, edge in edges["pull"]:
            for one in ways(row, site, edge) if can(row, edge) else ():
                yield from made(tape, row, [one], ("far", n, *one.key))
        for k, block in enumerate(whole):
            site = Site(block.y, -1, ("far block", block.edge.op, k), block.y.span)
            for one in ways(row, site, block.edge) if can(row, block.edge) else ():
                yield from of_block(tape, row, block, replace(one, key=(n, *one.key)))
