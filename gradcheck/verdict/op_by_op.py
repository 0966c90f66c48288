"""A program run once more op by op: each op's operands, value, cotangents, and itself in balls."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb

from gradcheck.engine.backward import RIGHT, pull, walk
from gradcheck.engine.recording import watched
from gradcheck.engine.tape import Node, Step
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import TIES, arbs, balls
from gradcheck.numbers.scalars import answer
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.opinion import Array, Case
from gradcheck.opinions.reverse import recorded

STEP = arb(2) ** -100
STRAIGHT = 1e-12  # a kink bends f by a part of its step, a curve by a part of its square
LARGE = 2000


@dataclass(frozen=True)
class Site:
    """One op of the tape with everything it was given and gave."""

    node: Node
    operands: tuple[Any, ...]
    y: Array


@dataclass(frozen=True)
class Replay:
    """A forward and a backward pass: sites in order, what arrived where, and each fitted piece."""

    sites: tuple[Site, ...]
    arrived: Mapping[Step, Any]
    pieces: Mapping[tuple[Step, int], tuple[Any, Any]]


def replayed(case: Case) -> Replay | None:
    """The tape of the case, with all its operands and cotangents; None where there is none."""
    sites: list[Site] = []
    arrived: dict[Step, Any] = {}
    pieces: dict[tuple[Step, int], tuple[Any, Any]] = {}

    def observe(node: Node, out: Tensor, operands: Any) -> None:
        node.span = case.where()
        site = Site(node, tuple(map(bare, operands)), np.asarray(bare(out)))
        if site.y.size + sum(map(np.size, site.operands)) <= LARGE:
            sites.append(site)

    def noted_pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        arrived[node] = g
        return pull(node, i, g, y, operands)

    def noted_fit(node: Node, i: int, g: Any) -> Any:
        pieces[node, i] = (g, RIGHT.fit(node, i, g))
        return pieces[node, i][1]

    try:
        with watched(observe=observe), np.errstate(all="ignore"):
            out, seed, _ = recorded(case)
            if out is None:
                return None
            verbs = replace(RIGHT, pull=noted_pull, fit=noted_fit)
            landed = walk([(out._step(), seed)], verbs=verbs)
    except Exception:  # noqa: BLE001 - a wrong op may break the pass itself
        return None
    return Replay(tuple(sites), {**landed, **arrived}, pieces)


def pulled(site: Site, replay: Replay) -> Iterator[tuple[int, Any, Any]]:
    """Each operand that was pulled to: its position, the raw piece, and the cotangent there."""
    for i in range(len(site.node.edges)):
        if (site.node, i) in replay.pieces:
            yield i, replay.pieces[site.node, i][0], replay.arrived[site.node]


def probe(operand: Any) -> Array:
    """A signed random direction, entry by entry of the operand's own size."""
    size = np.abs(np.asarray(operand, dtype=np.float64))
    draws = np.random.default_rng(0).standard_normal(size.shape)
    return np.asarray(draws * np.where(size > 0, size, 1.0))


def summed(g: Any, shape: tuple[int, ...]) -> Array:
    """A cotangent summed to a shape: the definition of un-broadcasting, entry by entry."""
    out = np.zeros(shape)
    g = np.asarray(g)
    if g.ndim < len(shape) or g.size < out.size:
        return np.broadcast_to(g, shape)
    for index in np.ndindex(g.shape):
        tail = index[g.ndim - len(shape) :]
        out[tuple(0 if n == 1 else k for k, n in zip(tail, shape, strict=True))] += g[index]
    return out


def directional(site: Site, g: Any, i: int, u: Array) -> arb:
    """The product g . (f(x + hu) - f(x - hu)) / 2h of this op, in balls; nan at a kink or a tie."""
    weights = arbs(np.broadcast_to(g, site.y.shape))

    def at(step: arb) -> arb:
        moved = list(site.operands)
        moved[i] = balls(arbs(balls(moved[i])) + step * arbs(u))
        value = arbs(on_balls(site, tuple(moved)))
        return sum((a * b for a, b in zip(value.flat, weights.flat, strict=True)), arb(0))

    TIES.count = 0
    here, tied = at(arb(0)), TIES.count
    left, right = at(-STEP), at(STEP)
    size = largest(g) * max(1.0, largest(site.y))
    sharp = abs(right + left - 2 * here) > STRAIGHT * (abs(right - left) + STEP * size)
    return arb.nan() if sharp or tied else (right - left) / (2 * STEP)


def slopes_of(site: Site, g: Any) -> list[Array]:
    """The closed form's cotangents of this one op."""
    leaves = [line.leaves(f"x{i}", v) for i, v in enumerate(site.operands)]
    values = np.asarray(answer(site.node.op, tuple(leaves), site.node.params), dtype=object)
    seeds: dict[Symbolic, arb] = {}
    for entry, weight in zip(values.ravel(), np.broadcast_to(g, values.shape).ravel(), strict=True):
        if isinstance(entry, Symbolic):
            seeds[entry] = seeds.get(entry, arb(0)) + arb(float(weight))
    adjoint = line.gradient(seeds)
    return [
        arbs(np.array([adjoint.get(leaf, arb(0)) for leaf in np.asarray(x).flat]).reshape(x.shape))
        for x in leaves
    ]


def numeric(site: Site) -> bool:
    return all(np.asarray(v).dtype.kind in "fiu" for v in site.operands)


def on_balls(site: Site, operands: tuple[Any, ...]) -> Any:
    """The op on balls; conditions stay what they are."""
    lifted = tuple(_lifted(v) for v in operands)
    return answer(site.node.op, lifted, site.node.params)


def _lifted(value: Any) -> Any:
    kind = np.asarray(value).dtype.kind
    return value if kind == "b" or (kind == "O" and isinstance(value, np.ndarray)) else balls(value)


def largest(values: Any) -> float:
    """The largest finite size, which rounding inside an op is measured against."""
    sizes = np.abs(np.asarray(values, dtype=float))
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
