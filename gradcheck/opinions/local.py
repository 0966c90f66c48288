"""Which op is to blame: every op of the tape checked by itself, at its actual operands.

The forward value is compared with both exact kinds; each VJP, at the cotangent that really arrived,
with a ball difference of that one op along a random direction; then fitting and accumulation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb

from gradcheck.engine.backward import RIGHT, Node, Step, pull, walk
from gradcheck.engine.recording import watched
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import arbs, balls, middle, precision
from gradcheck.numbers.scalars import answer
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.opinion import Array, Case
from gradcheck.opinions.reverse import recorded

BITS = 256
STEP = arb(2) ** -60
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Suspect:
    """A cell of an op's row (or a verb of the engine) that is off, and where in the text."""

    op: str
    cell: str
    span: tuple[int, int] | None
    detail: str


@dataclass(frozen=True)
class _Site:
    node: Node
    operands: tuple[Any, ...]
    y: Array


def suspects(case: Case) -> tuple[Suspect, ...]:
    """The faults found op by op, first in reverse order first; empty where none shows."""
    try:
        sites, arrived, pieces = _replayed(case)
        found = list(_checked(sites, arrived, pieces))
    except Exception:  # noqa: BLE001 - a program that is already in dissent may break anywhere
        return ()
    unique = {(s.op, s.cell): s for s in reversed(found)}
    return tuple(s for s in found if unique.get((s.op, s.cell)) is s)


def _replayed(case: Case) -> tuple[list[_Site], dict[Step, Any], dict[tuple[Step, int], Any]]:
    """The tape with all operands, the cotangent at every node, and every fitted piece."""
    sites: list[_Site] = []

    def observe(node: Node, out: Tensor, operands: Any) -> None:
        sites.append(_Site(node, tuple(map(bare, operands)), np.asarray(out._value)))

    arrived: dict[Step, Any] = {}
    pieces: dict[tuple[Step, int], Any] = {}

    def noted_pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        arrived[node] = g
        return pull(node, i, g, y, operands)

    def noted_fit(node: Node, i: int, g: Any) -> Any:
        pieces[node, i] = (g, RIGHT.fit(node, i, g))
        return pieces[node, i][1]

    with watched(observe=observe), np.errstate(all="ignore"):
        out, seed, _ = recorded(case)
        if out is None:
            return [], {}, {}
        walk([(out._step(), seed)], verbs=replace(RIGHT, pull=noted_pull, fit=noted_fit))
    return sites, arrived, pieces


def _checked(
    sites: list[_Site], arrived: Mapping[Step, Any], pieces: Mapping[tuple[Step, int], Any]
) -> Iterator[Suspect]:
    with precision(BITS):
        for site in reversed(sites):
            yield from _forward(site)
            if site.node in arrived:
                yield from _pulls(site, arrived[site.node], pieces)
        yield from _joins(sites, arrived, pieces)


def _forward(site: _Site) -> Iterator[Suspect]:
    """Float, ball and closed form of one op's value."""
    row, params = site.node.op, site.node.params
    exact = [middle(b) for b in arbs(_on_balls(site, site.operands)).flat]
    leaves = [line.constants(v) for v in site.operands] if _numeric(site) else None
    forms = {"forward": site.y.ravel().tolist(), "ball": exact}
    if leaves is not None:
        values = np.asarray(answer(row, tuple(leaves), params), dtype=object).ravel()
        forms["symbolic"] = [
            middle(v.value) if isinstance(v, Symbolic) else float(v) for v in values
        ]
    off = _lonely({name: np.array(v, dtype=float) for name, v in forms.items()})
    if off:
        yield Suspect(row.name, off, site.node.span, f"the value of {row.name} differs in `{off}`")


def _pulls(site: _Site, g: Any, pieces: Mapping[tuple[Step, int], Any]) -> Iterator[Suspect]:
    """Each VJP against a ball difference, and against the closed form's slopes."""
    rng = np.random.default_rng(0)
    row = site.node.op
    slopes = _slopes(site, g)
    for i, edge in enumerate(site.node.edges):
        if edge is None or (site.node, i) not in pieces:
            continue
        raw, fitted = pieces[site.node, i]
        shape = np.shape(site.operands[i])
        right = _sized(raw, shape)
        u = rng.standard_normal(shape)
        three = {"vjp": float(np.sum(right * u)), "ball": _directional(site, g, i, u)}
        if slopes is not None:
            three["symbolic"] = float(np.sum(slopes[i] * u))
        off = _lonely({name: np.array([v]) for name, v in three.items()})
        if off:
            cell = f"vjps[{i}]" if off == "vjp" else off
            yield Suspect(row.name, cell, site.node.span, f"{three}")
        elif np.shape(fitted) != shape or not np.allclose(fitted, right, rtol=1e-9, atol=0):
            yield Suspect("engine", "fit", site.node.span, f"{np.shape(raw)} fitted to {shape}")


def _sized(g: Any, shape: tuple[int, ...]) -> Array:
    """g summed to a shape: the definition of un-broadcasting, entry by entry."""
    out = np.zeros(shape)
    g = np.asarray(g)
    if g.ndim < len(shape):
        return np.broadcast_to(g, shape)
    for index in np.ndindex(g.shape):
        tail = index[g.ndim - len(shape) :]
        out[tuple(0 if n == 1 else k for k, n in zip(tail, shape, strict=True))] += g[index]
    return out


def _joins(
    sites: list[_Site], arrived: Mapping[Step, Any], pieces: Mapping[tuple[Step, int], Any]
) -> Iterator[Suspect]:
    """What arrived at a node is the sum of what its users sent."""
    sent: dict[Step, Any] = {}
    for (node, i), (_, fitted) in pieces.items():
        edge = node.edges[i]
        if edge is not None:
            sent[edge] = sent.get(edge, 0) + np.asarray(fitted)
    for site in sites:
        node = site.node
        if node in sent and node in arrived and not np.allclose(sent[node], arrived[node]):
            yield Suspect("engine", "accumulate", node.span, "paths that meet do not add up")


def _numeric(site: _Site) -> bool:
    return all(np.asarray(v).dtype.kind in "fiub" for v in site.operands)


def _on_balls(site: _Site, operands: tuple[Any, ...]) -> Any:
    lifted = tuple(
        v
        if np.asarray(v).dtype.kind == "b"
        else balls(v)
        if not isinstance(v, np.ndarray) or v.dtype != object
        else v
        for v in operands
    )
    return answer(site.node.op, lifted, site.node.params)


def _directional(site: _Site, g: Any, i: int, u: Array) -> float:
    """g . (f(x + hu) - f(x - hu)) / 2h of this one op, in balls."""
    weights = np.broadcast_to(g, site.y.shape)

    def at(step: arb) -> arb:
        moved = list(site.operands)
        start = arbs(balls(moved[i]))
        moved[i] = balls(start + step * arbs(u))
        value = arbs(_on_balls(site, tuple(moved)))
        return sum((a * b for a, b in zip(value.flat, arbs(weights).flat, strict=True)), arb(0))

    return middle((at(STEP) - at(-STEP)) / (2 * STEP))


def _slopes(site: _Site, g: Any) -> list[Array] | None:
    """The closed form's cotangents of this one op."""
    if not _numeric(site):
        return None
    leaves = [line.leaves(f"x{i}", v) for i, v in enumerate(site.operands)]
    values = np.asarray(answer(site.node.op, tuple(leaves), site.node.params), dtype=object)
    seeds: dict[Symbolic, arb] = {}
    for entry, weight in zip(values.ravel(), np.broadcast_to(g, values.shape).ravel(), strict=True):
        if isinstance(entry, Symbolic):
            seeds[entry] = seeds.get(entry, arb(0)) + arb(float(weight))
    adjoint = line.gradient(seeds)
    return [
        np.array([middle(adjoint.get(leaf, arb(0))) for leaf in np.asarray(x).flat]).reshape(
            x.shape
        )
        for x in leaves
    ]


def _lonely(values: Mapping[str, Array]) -> str:
    """The one of three that differs from the two others; of two, the first that is named."""
    names = list(values)
    close = {
        (a, b): np.allclose(values[a], values[b], rtol=TOLERANCE, atol=1e-12, equal_nan=True)
        for a in names
        for b in names
        if a < b
    }
    if all(close.values()):
        return ""
    blamed = [n for n in names if not any(ok for pair, ok in close.items() if n in pair)]
    return blamed[0] if blamed else ""
