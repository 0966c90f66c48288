"""A program run once more op by op: each op's operands, value, cotangents, and itself in balls."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb

from gradcheck.engine.backward import RIGHT, pull
from gradcheck.engine.tape import Node, Step
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.run import RUN
from gradcheck.numbers.scalars import answer
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.opinion import Array, Case, size_of_largest
from gradcheck.opinions.tape import record
from gradcheck.ops.row import ABSTAINS

STEP = arb(2) ** -100  # in 384 bits: truncation and rounding both below 1e-29
STRAIGHT = 1e-12  # a kink bends f by a part of its step, a curve by a part of its square
LARGE = 2000


@dataclass(frozen=True)
class Applied:
    """One op of the tape with everything it was given and gave."""

    node: Node
    operands: tuple[Any, ...]
    y: Array


@dataclass(frozen=True)
class Passes:
    """A forward and a backward pass: ops in order, what arrived where, and each fitted piece."""

    applied: tuple[Applied, ...]
    arrived: Mapping[Step, Any]
    pieces: Mapping[tuple[Step, int], tuple[Any, Any]]


def passes(case: Case) -> Passes | None:
    """Both passes with all operands and cotangents; None where there is no tape."""
    arrived: dict[Step, Any] = {}
    pieces: dict[tuple[Step, int], tuple[Any, Any]] = {}

    def noted_pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        arrived[node] = g
        return pull(node, i, g, y, operands)

    def noted_fit(node: Node, i: int, g: Any) -> Any:
        pieces[node, i] = (g, RIGHT.fit(node, i, g))
        return pieces[node, i][1]

    try:
        tape = record(case)
        if tape is None:
            return None
        with np.errstate(all="ignore"):
            landed = tape.back(replace(RIGHT, pull=noted_pull, fit=noted_fit))
    except Exception:  # noqa: BLE001 - a wrong op may break the pass itself
        return None
    every = (Applied(node, operands, y) for node, (y, operands) in tape.values.items())
    small = tuple(a for a in every if a.y.size + sum(map(np.size, a.operands)) <= LARGE)
    return Passes(small, {**landed, **arrived}, pieces)


def pulled(applied: Applied, both: Passes) -> Iterator[tuple[int, Any, Any]]:
    """Each operand that was pulled to: its position, the raw piece, and the cotangent there."""
    for i in range(len(applied.node.edges)):
        if (applied.node, i) in both.pieces:
            yield i, both.pieces[applied.node, i][0], both.arrived[applied.node]


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


def directional(applied: Applied, g: Any, i: int, u: Array) -> arb:
    """The product g . (f(x + hu) - f(x - hu)) / 2h of this op, in balls; nan at a kink or a tie."""
    weights = arbs(np.broadcast_to(g, applied.y.shape))

    def at(step: arb) -> arb:
        moved = list(applied.operands)
        moved[i] = balls(arbs(balls(moved[i])) + step * arbs(u))
        value = arbs(on_balls(applied, tuple(moved)))
        return sum((a * b for a, b in zip(value.flat, weights.flat, strict=True)), arb(0))

    before = RUN.ties
    here = at(arb(0))
    tied = RUN.ties > before
    left, right = at(-STEP), at(STEP)
    size = largest(g) * max(1.0, largest(applied.y))
    sharp = abs(right + left - 2 * here) > STRAIGHT * (abs(right - left) + STEP * size)
    return arb.nan() if sharp or tied else (right - left) / (2 * STEP)


def slopes_of(applied: Applied, g: Any) -> list[Array]:
    """The closed form's cotangents of this one op."""
    leaves = [line.leaves(f"x{i}", v) for i, v in enumerate(applied.operands)]
    values = np.asarray(answer(applied.node.op, tuple(leaves), applied.node.params), dtype=object)
    seeds: dict[Symbolic, arb] = {}
    for entry, weight in zip(values.ravel(), np.broadcast_to(g, values.shape).ravel(), strict=True):
        if isinstance(entry, Symbolic):
            seeds[entry] = seeds.get(entry, arb(0)) + arb(float(weight))
    adjoint = line.gradient(seeds)
    return [
        arbs(np.array([adjoint.get(leaf, arb(0)) for leaf in np.asarray(x).flat]).reshape(x.shape))
        for x in leaves
    ]


def numeric(applied: Applied) -> bool:
    """Whether the op has a closed form here: of numbers alone, and it does not abstain."""
    return applied.node.op.symbolic is not ABSTAINS and all(
        np.asarray(v).dtype.kind in "fiu" for v in applied.operands
    )


def on_balls(applied: Applied, operands: tuple[Any, ...]) -> Any:
    """The op on balls; conditions stay what they are."""
    lifted = tuple(_lifted(v) for v in operands)
    return answer(applied.node.op, lifted, applied.node.params)


def _lifted(value: Any) -> Any:
    kind = np.asarray(value).dtype.kind
    return value if kind == "b" or (kind == "O" and isinstance(value, np.ndarray)) else balls(value)


def largest(values: Any) -> float:
    """The largest finite size, which rounding inside an op is measured against."""
    return size_of_largest(np.asarray(values, dtype=float))
