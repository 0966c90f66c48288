"""Which op is to blame: every op of the tape checked by itself, at its actual operands.

The forward value is compared with both exact kinds; each VJP, at the cotangent that really arrived,
with a ball difference of that one op along a random direction; then fitting and accumulation.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
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

BITS = 384
STEP = arb(2) ** -100
TOLERANCE = 1e-7
ROUNDING = 1e-13  # of an op's operands and value: what float64 may lose inside of it
EXACT = ("ball", "symbolic")
DIGITS = 2.0**-49  # of the result itself: a basic operation loses a sixteenth of this
SMALLEST = float(np.finfo(np.float64).smallest_normal)


@dataclass(frozen=True)
class Suspect:
    """A cell of an op's row (or a verb of the engine) that is off, and where in the text."""

    op: str
    cell: str
    span: tuple[int, int] | None
    detail: str


@dataclass(frozen=True)
class _Site:
    """One op of the tape with everything it was given and gave."""

    node: Node
    operands: tuple[Any, ...]
    y: Array


@dataclass(frozen=True)
class _Replay:
    """A forward and a backward pass: sites in order, what arrived where, and each fitted piece."""

    sites: tuple[_Site, ...]
    arrived: Mapping[Step, Any]
    pieces: Mapping[tuple[Step, int], tuple[Any, Any]]


def suspects(case: Case) -> tuple[Suspect, ...]:
    """The faults found op by op, last op first, one a cell; empty where none shows."""
    replay = _replayed(case)
    if replay is None:
        return ()
    first: dict[tuple[str, str], Suspect] = {}
    with precision(BITS), np.errstate(all="ignore"):
        for site in reversed(replay.sites):
            for check in (_forward, _pulls):
                for suspect in _safely(check, site, replay):
                    first.setdefault((suspect.op, suspect.cell), suspect)
        for suspect in _joins(replay):
            first.setdefault((suspect.op, suspect.cell), suspect)
    return tuple(first.values())


def extremes(case: Case) -> tuple[str, ...]:
    """The ops at which float64 runs out of range, or loses digits, though the op is right."""
    replay = _replayed(case)
    if replay is None:
        return ()
    found: dict[str, None] = {}
    with precision(BITS), np.errstate(all="ignore"):
        for site in replay.sites:
            for words in _safely(_limits, site, replay):
                found[words] = None
    return tuple(found)


def _safely(check: Callable[..., Iterator[Any]], site: _Site, replay: _Replay) -> list[Any]:
    """What one check finds; nothing where an op cannot be run by itself on exact numbers."""
    try:
        return list(check(site, replay))
    except Exception:  # noqa: BLE001 - the program is in dissent already, and may break anywhere
        return []


def _replayed(case: Case) -> _Replay | None:
    """The tape of the case, with all its operands and cotangents; None where there is none."""
    sites: list[_Site] = []
    arrived: dict[Step, Any] = {}
    pieces: dict[tuple[Step, int], tuple[Any, Any]] = {}

    def observe(node: Node, out: Tensor, operands: Any) -> None:
        node.span = case.where()
        sites.append(_Site(node, tuple(map(bare, operands)), np.asarray(bare(out))))

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
    return _Replay(tuple(sites), {**landed, **arrived}, pieces)


# -- the value of one op -------------------------------------------------------------------------


def _forward(site: _Site, replay: _Replay) -> Iterator[Suspect]:
    """Float, ball and closed form of one op's value."""
    row = site.node.op
    if not _finite(*site.operands):
        return
    forms = {"forward": site.y.ravel(), "ball": _floats(_on_balls(site, site.operands))}
    if _numeric(site):
        leaves = tuple(map(line.constants, site.operands))
        forms["symbolic"] = _floats(_values(answer(row, leaves, site.node.params)))
    size = max(1.0, _largest(site.y), *map(_largest, site.operands))
    off = _odd({name: np.array(v, dtype=float) for name, v in forms.items()}, size)
    if off:
        yield Suspect(row.name, off, site.node.span, f"the value of {row.name} differs in `{off}`")


def _limits(site: _Site, replay: _Replay) -> Iterator[str]:
    """What float64 makes of the exact value, or cotangent, of one op."""
    row = site.node.op
    for words in _lost(site.y, arbs(_on_balls(site, site.operands))):
        yield f"{row.name} {words}"
    for i, raw, g in _pulled(site, replay) if _numeric(site) else ():
        exact = _slopes(site, g)[i]
        for words in _lost(_summed(raw, exact.shape), exact):
            yield f"the derivative of {row.name} {words}"


def _lost(floats: Array, exact: Array) -> Iterator[str]:
    """Zero or not finite where there is a number; or its digits gone."""
    for now, ball in zip(np.asarray(floats).flat, exact.flat, strict=True):
        if not ball.is_finite() or ball == 0:
            continue
        if not SMALLEST <= abs(float(now)) < np.inf:
            yield "leaves the range of float64"
        elif abs(arb(float(now)) - ball) > DIGITS * abs(ball):
            yield "loses digits in float64"


# -- the VJPs of one op --------------------------------------------------------------------------


def _pulls(site: _Site, replay: _Replay) -> Iterator[Suspect]:
    """Each VJP against a ball difference, and against the closed form's slopes."""
    row, span = site.node.op, site.node.span
    slopes: list[Array] | None = None  # of arbs
    for i, raw, g in _pulled(site, replay):
        if not _finite(*site.operands, site.y, g):
            continue
        if slopes is None and _numeric(site):
            slopes = _slopes(site, g)
        right = _summed(raw, np.shape(site.operands[i]))
        u = _probe(site.operands[i])
        three = {"vjp": float(np.sum(right * u)), "ball": _float(_directional(site, g, i, u))}
        if slopes is not None:
            three["symbolic"] = _float(sum((slopes[i] * arbs(u)).flat, arb(0)))
        size = max(_largest(raw) * np.size(raw), _largest(g) * max(1.0, _largest(site.y)))
        off = _odd({n: np.array([v]) for n, v in three.items()}, size * max(1.0, _largest(u)))
        if off:
            yield Suspect(row.name, f"vjps[{i}]" if off == "vjp" else off, span, f"{three}")
        fitted = replay.pieces[site.node, i][1]
        if np.shape(fitted) != right.shape or not np.allclose(fitted, right, equal_nan=True):
            yield Suspect("engine", "fit", span, f"{np.shape(raw)} fitted to {right.shape}")


def _pulled(site: _Site, replay: _Replay) -> Iterator[tuple[int, Any, Any]]:
    """Each operand that was pulled to: its position, the raw piece, and the cotangent there."""
    for i in range(len(site.node.edges)):
        if (site.node, i) in replay.pieces:
            yield i, replay.pieces[site.node, i][0], replay.arrived[site.node]


def _probe(operand: Any) -> Array:
    """A signed random direction, entry by entry of the operand's own size."""
    size = np.abs(np.asarray(operand, dtype=np.float64))
    draws = np.random.default_rng(0).standard_normal(size.shape)
    return np.asarray(draws * np.where(size > 0, size, 1.0))


def _summed(g: Any, shape: tuple[int, ...]) -> Array:
    """A cotangent summed to a shape: the definition of un-broadcasting, entry by entry."""
    out = np.zeros(shape)
    g = np.asarray(g)
    if g.ndim < len(shape) or g.size < out.size:
        return np.broadcast_to(g, shape)
    for index in np.ndindex(g.shape):
        tail = index[g.ndim - len(shape) :]
        out[tuple(0 if n == 1 else k for k, n in zip(tail, shape, strict=True))] += g[index]
    return out


def _directional(site: _Site, g: Any, i: int, u: Array) -> arb:
    """The product g . (f(x + hu) - f(x - hu)) / 2h of this op, in balls; nan at a kink of it."""
    weights = arbs(np.broadcast_to(g, site.y.shape))

    def at(step: arb) -> arb:
        moved = list(site.operands)
        moved[i] = balls(arbs(balls(moved[i])) + step * arbs(u))
        value = arbs(_on_balls(site, tuple(moved)))
        return sum((a * b for a, b in zip(value.flat, weights.flat, strict=True)), arb(0))

    left, here, right = at(-STEP), at(arb(0)), at(STEP)
    sharp = abs(right + left - 2 * here) > STEP * TOLERANCE * (abs(right - left) + STEP)
    return arb.nan() if sharp else (right - left) / (2 * STEP)


def _slopes(site: _Site, g: Any) -> list[Array]:
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


# -- where paths meet ----------------------------------------------------------------------------


def _joins(replay: _Replay) -> Iterator[Suspect]:
    """What arrived at a step is the sum of what its users sent."""
    sent: dict[Step, Any] = {}
    for (node, i), (_, fitted) in replay.pieces.items():
        edge = node.edges[i]
        if edge is not None:
            sent[edge] = sent.get(edge, 0) + np.asarray(fitted)
    for step, total in sent.items():
        if step in replay.arrived and not np.allclose(total, replay.arrived[step], equal_nan=True):
            span = getattr(step, "span", None)
            yield Suspect("engine", "accumulate", span, "paths that meet do not add up")


# -- numbers -------------------------------------------------------------------------------------


def _numeric(site: _Site) -> bool:
    return all(np.asarray(v).dtype.kind in "fiu" for v in site.operands)


def _on_balls(site: _Site, operands: tuple[Any, ...]) -> Any:
    """The op on balls; conditions stay what they are."""
    lifted = tuple(_lifted(v) for v in operands)
    return answer(site.node.op, lifted, site.node.params)


def _lifted(value: Any) -> Any:
    kind = np.asarray(value).dtype.kind
    return value if kind == "b" or (kind == "O" and isinstance(value, np.ndarray)) else balls(value)


def _values(values: Any) -> Array:
    out = np.asarray(values, dtype=object)
    plain = np.empty(out.shape, dtype=object)
    for index in np.ndindex(out.shape):
        entry = out[index]
        plain[index] = entry.value if isinstance(entry, Symbolic) else entry
    return plain


def _floats(values: Any) -> list[float]:
    return [_float(ball) for ball in arbs(values).flat]


def _float(ball: arb) -> float:
    """The midpoint; nan where there is no number, or none that float64 can hold."""
    size = abs(middle(ball))
    return middle(ball) if SMALLEST <= size < np.inf or ball == 0 else np.nan


def _finite(*values: Any) -> bool:
    return all(np.all(np.isfinite(np.asarray(v, dtype=float))) for v in values)


def _largest(values: Any) -> float:
    """The largest finite size, which cancellation inside an op is measured against."""
    sizes = np.abs(np.asarray(values, dtype=float))
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def _odd(values: Mapping[str, Array], size: float) -> str:
    """The one of three that differs from the two others; of two, the first that is named.

    Entries without an exact number are not judged.
    """
    known = np.all([np.isfinite(v) for n, v in values.items() if n in EXACT], axis=0)
    near = ROUNDING * size
    close = {
        pair: np.allclose(values[pair[0]][known], values[pair[1]][known], TOLERANCE, near)
        for pair in combinations(values, 2)
    }
    if all(close.values()):
        return ""
    blamed = [n for n in values if not any(ok for pair, ok in close.items() if n in pair)]
    return blamed[0] if blamed else ""
