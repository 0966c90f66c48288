"""Stretches of a run that all paths to the root leave by one door: several steps taken as one.

A step x is left by y if every path from x to the root goes through y. Then the way back from y to x
is one function of one cotangent, which somebody may pass over, take twice, or write down wrong.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gradcheck.diagnosis.blocks import LARGEST, LONGEST, Block, value_of
from gradcheck.engine.backward import RIGHT, walk
from gradcheck.engine.tape import Leaf, Node, Step
from gradcheck.mistakes import Edge
from gradcheck.opinions.tape import Tape

LAYOUT = frozenset({
    "reshape", "ravel", "transpose", "swapaxes", "matrix_transpose", "moveaxis", "expand_dims",
    "squeeze",
})  # fmt: skip


def segments(tape: Tape) -> Iterator[Block]:
    """Every stretch between tensors of one shape, of two steps and more; every change of layout.

    The edge's op is "segment", "slope" if each entry depends on its own entry alone, or "layout".
    """
    if len(tape.nodes) > LONGEST:
        return
    doors, made_of = _doors(tape), _made_of(tape)
    back = tape.back(only={*doors, tape.root})
    for x, ys in doors.items():
        for y in ys if x in back and np.size(value_of(tape, x)) <= LARGEST else ():
            inside = [n for n in tape.nodes if n in made_of[y] and x in made_of[n] and n is not x]
            kind = _kind(tape, x, y, inside)
            if kind:
                yield Block(y, x, _edge(tape, kind, (x, y), inside, (back[x], back[y])))


def _doors(tape: Tape) -> dict[Step, Sequence[Node]]:
    """For each step that goes into the root, the nodes that all its paths go through."""
    users: dict[Step, list[Node]] = defaultdict(list)
    for node in tape.nodes:
        for edge in node.edges:
            if edge is not None:
                users[edge].append(node)
    doors: dict[Step, list[Node]] = {tape.root: []}
    leaves = [s for s in users if isinstance(s, Leaf)]
    steps: list[Step] = [*reversed(tape.nodes), *leaves]
    for step in steps:
        through = [[u, *doors[u]] for u in users[step] if u in doors]
        if through and step is not tape.root:
            doors[step] = [n for n in through[0] if all(n in other for other in through[1:])]
    return {step: found for step, found in doors.items() if found}


def _made_of(tape: Tape) -> dict[Step, frozenset[Step]]:
    """For each step what it is made of, itself too."""
    below: dict[Step, frozenset[Step]] = {}
    for node in tape.nodes:
        made_of = (below.get(e, frozenset((e,))) for e in node.edges if e is not None)
        below[node] = frozenset((node,)).union(*made_of)
    return below


def _kind(tape: Tape, x: Step, y: Node, inside: Sequence[Node]) -> str:
    """What a stretch is; nothing where it is none that anybody takes as one."""
    shape = np.shape(value_of(tape, x))
    if all(n.op.name in LAYOUT for n in inside):
        return "layout"
    if len(inside) < 2 or np.shape(tape.values[y][0]) != shape or not shape:
        return ""
    own = all(n.op.elementwise and np.shape(tape.values[n][0]) == shape for n in inside)
    return "slope" if own else "segment"


def _edge(
    tape: Tape, kind: str, ends: tuple[Step, Node], inside: Sequence[Node], gs: tuple[Any, Any]
) -> Edge:
    """A stretch as one op, whose operand is what it begins with."""
    x, y = ends
    right, g = gs
    argument = value_of(tape, x)
    return Edge(
        op=kind, i=0, g=g, right=right, y=tape.values[y][0], operands=(argument,), params={},
        shape=np.shape(argument), elementwise=False, shared=False,
        rule=partial(_at, tape, ends, inside) if kind == "slope" else _no_rule,
        around=tuple(tape.values[n][0] for n in inside if n is not y),
    )  # fmt: skip


def _no_rule(g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
    raise ValueError("a stretch of several ops has no rule of its own")


def _at(
    tape: Tape, ends: tuple[Step, Node], inside: Sequence[Node], g: Any, _: Any, operands: Any
) -> Any:
    """What comes back to x where the stretch begins with another tensor."""
    x, y = ends
    other: dict[Step, Any] = {x: operands[0]}
    read: dict[Node, tuple[Any, ...]] = {}
    for n in inside:
        held = tape.values[n][1]
        read[n] = tuple(other.get(e, v) if e else v for e, v in zip(n.edges, held, strict=True))
        other[n] = n.op.forward(*read[n], **n.params)

    def pull(node: Node, i: int, g: Any, _: Any, __: tuple[Any, ...]) -> Any:
        return RIGHT.pull(node, i, g, other[node], read[node])

    found: Mapping[Step, Any] = walk(
        [(y, g)], verbs=replace(RIGHT, pull=pull), retain=True, only={x}
    )
    return found[x]
