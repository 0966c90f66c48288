"""Make every mistake on purpose, at every site and at every diagnostic point."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.diagnosis.straight import Line, applies, right_tangents, split, tangents, trace
from gradcheck.engine import backward
from gradcheck.engine.backward import RIGHT, Leaf, Node, Step, Verbs, walk
from gradcheck.engine.recording import watched
from gradcheck.mistakes import CATALOGUE, Mistake
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.opinion import Array, Case
from gradcheck.opinions.reverse import once, recorded

NODES = 3000
Gradients = Mapping[str, Array]


@dataclass(frozen=True)
class Made:
    """One mistake made at one site (or everywhere): the gradients it gives at each point."""

    mistake: Mistake
    span: tuple[int, int] | None
    at: tuple[Gradients, ...]
    everywhere: bool = False


@dataclass(frozen=True)
class Prepared:
    """The right gradients and every mistaken one, at the same points."""

    right: tuple[Gradients, ...]
    made: tuple[Made, ...]


def prepare(cases: Sequence[Case], catalogue: Sequence[Mistake] = CATALOGUE) -> Prepared:
    """The right gradients at each case's point and those of every single mistake.

    Mistakes that give the right gradient at every point are dropped: nobody can see them.
    """
    right = tuple(once(case)[1] for case in cases)
    per_case = [dict(_all(case, truth, catalogue)) for case, truth in zip(cases, right, strict=True)]
    made = []
    for key, first in per_case[0].items():
        if all(key in found for found in per_case):
            at = tuple(found[key][2] for found in per_case)
            if not all(same(a, r) for a, r in zip(at, right, strict=True)):
                made.append(Made(first[0], first[1], at, everywhere=key[-1] == "everywhere"))
    return Prepared(right, tuple(made))


Key = tuple[Any, ...]
Found = tuple[Mistake, tuple[int, int] | None, Gradients]


def _all(case: Case, right: Gradients, catalogue: Sequence[Mistake]) -> Iterator[tuple[Key, Found]]:
    by_family: dict[str, list[Mistake]] = {"calculus": [], "backprop": [], "whole": []}
    for row in catalogue:
        by_family.setdefault(row.family, []).append(row)
    with np.errstate(all="ignore"):
        for row in by_family["whole"]:
            answer = row.wrong(case, right)
            if answer is not None:
                yield (row.id, "answer"), (row, None, answer)
        yield from _calculus(case, by_family["calculus"])
        yield from _backprop(case, by_family["backprop"])


# -- calculus ----------------------------------------------------------------------------------


def _calculus(case: Case, rows: Sequence[Mistake]) -> Iterator[tuple[Key, Found]]:
    try:
        line = trace(case)
    except Exception:  # noqa: BLE001 - a program that exact numbers cannot run has no line
        return
    if line is None or len(line.nodes) > NODES:
        return
    d = right_tangents(line)
    for row in rows:
        can = {place: _where(line, row, ks, d) for place, ks in line.places.items()}
        can = {place: ks for place, ks in can.items() if ks}
        sites = sorted(can.items(), key=lambda item: item[1][0])
        for n, ((span, op), ks) in enumerate(sites):
            yield from _one(line, row, (row.id, "derivative", id(row), n, op), span, ks)
        if len(sites) > 1:
            every = tuple(k for _, ks in sites for k in ks)
            yield from _one(line, row, (row.id, "derivative", id(row), "everywhere"), None, every)


def _where(
    line: Line, row: Mistake, ks: tuple[int, ...], d: list[Array | None]
) -> tuple[int, ...]:
    found = []
    for k in ks:
        parts = [d[line.index[id(a)]] if type(a) is Symbolic else None for a in line.nodes[k].args]
        if any(p is not None for p in parts) and applies(line, row, k, parts):
            found.append(k)
    return tuple(found)


def _one(
    line: Line, row: Mistake, key: Key, span: Any, ks: tuple[int, ...]
) -> Iterator[tuple[Key, Found]]:
    flat = tangents(line, dict.fromkeys(ks, row.wrong))
    if flat is not None:
        yield key, (row, span, split(line, flat))


# -- backprop ----------------------------------------------------------------------------------


def _backprop(case: Case, rows: Sequence[Mistake]) -> Iterator[tuple[Key, Found]]:
    nodes: list[Node] = []

    def observe(node: Node, out: Any, operands: Any) -> None:
        node.span = case.where()
        nodes.append(node)

    try:
        with watched(observe=observe):
            out, seed, leaves = recorded(case)
    except Exception:  # noqa: BLE001 - a program that tensors cannot run has no tape
        return
    if out is None:
        return
    tape = _Tape(case, out._step(), seed, leaves, nodes)
    for row in rows:
        sites = list(tape.sites(row))
        for n, (site, span) in enumerate(sites):
            yield from tape.made(row, {site}, (row.id, row.verb, id(row), n), span)
        if len(sites) > 1:
            every = {site for site, _ in sites}
            yield from tape.made(row, every, (row.id, row.verb, id(row), "everywhere"), None)


Site = tuple[Any, int]


@dataclass(frozen=True)
class _Tape:
    case: Case
    root: Step
    seed: Any
    leaves: Mapping[str, Any]
    nodes: Sequence[Node]

    def sites(self, row: Mistake) -> Iterator[tuple[Site, tuple[int, int] | None]]:
        """Edges (node, i) for pull and fit, joints (step, -1) for accumulate, the root for seed."""
        if row.verb == "seed":
            yield (self.root, -1), getattr(self.root, "span", None)
        elif row.verb == "accumulate":
            yield from self._joints()
        else:
            yield from self._edges(row)

    def _joints(self) -> Iterator[tuple[Site, tuple[int, int] | None]]:
        uses: dict[Step, int] = {}
        for node in self.nodes:
            for edge in node.edges:
                if edge is not None:
                    uses[edge] = uses.get(edge, 0) + 1
        for step, count in uses.items():
            if count > 1:
                yield (step, -1), getattr(step, "span", None)

    def _edges(self, row: Mistake) -> Iterator[tuple[Site, tuple[int, int] | None]]:
        """The edges at which the row's `where` holds, with the cotangent that really passes."""
        seen: list[tuple[Site, tuple[int, int] | None]] = []

        def look(node: Node, i: int, g: Any) -> None:
            if row.where(node, i, g):
                seen.append(((node, i), node.span))

        walk([(self.root, self.seed)], verbs=_looking(row.verb, look), retain=True)
        yield from reversed(seen)

    def made(
        self, row: Mistake, sites: set[Site], key: Key, span: tuple[int, int] | None
    ) -> Iterator[tuple[Key, Found]]:
        try:
            landed = walk([(self.root, self.seed)], verbs=_said_wrong(row, sites), retain=True)
        except (ValueError, TypeError, IndexError):
            return  # the wrong cotangent no longer fits anywhere: such code would not have run
        found = {id(s.variable): g for s, g in landed.items() if isinstance(s, Leaf)}
        answer = {
            name: np.array(found.get(id(self.leaves[name]), np.zeros(self.leaves[name].shape)))
            for name in self.case.wrt
        }
        yield key, (row, span, answer)


def _looking(verb: str, look: Any) -> Verbs:
    def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        if verb == "pull":
            look(node, i, g)
        return RIGHT.pull(node, i, g, y, operands)

    def fit(node: Node, i: int, g: Any) -> Any:
        if verb == "fit":
            look(node, i, g)
        return RIGHT.fit(node, i, g)

    return replace(RIGHT, pull=pull, fit=fit)


def _said_wrong(row: Mistake, sites: set[Site]) -> Verbs:
    """The four verbs, one of them said wrong at the given sites."""

    def seed(step: Step, g: Any) -> Any:
        return row.wrong(g) if (step, -1) in sites else g

    def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        right = RIGHT.pull(node, i, g, y, operands)
        return row.wrong(right, node, i, g) if (node, i) in sites else right

    def fit(node: Node, i: int, g: Any) -> Any:
        return row.wrong(node, i, g) if (node, i) in sites else RIGHT.fit(node, i, g)

    def accumulate(step: Step, held: Any, g: Any) -> Any:
        return row.wrong(held, g) if (step, -1) in sites else backward.accumulate(step, held, g)

    said = {"seed": seed, "pull": pull, "fit": fit, "accumulate": accumulate}[row.verb]
    return replace(RIGHT, **{row.verb: said})  # type: ignore[arg-type]


def same(a: Gradients, b: Gradients) -> bool:
    """Whether two sets of gradients are equal to rounding."""
    return all(close(a[name], b[name]) for name in b)


def close(a: Array, b: Array) -> bool:
    """Equal shapes, and entries equal to rounding (relative to the largest)."""
    if np.shape(a) != np.shape(b):
        return False
    scale = float(np.max(np.abs(b), initial=0.0))
    return bool(np.all(np.abs(np.asarray(a) - b) <= 1e-8 * np.abs(b) + 1e-11 * scale))



