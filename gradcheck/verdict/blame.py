"""Which op is to blame: every op of the tape checked by itself, at its actual operands.

The value is compared with both exact kinds; each VJP, at the cotangent that really arrived, with a
ball difference of that one op along a random direction; then fitting and accumulation.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, isfinite, prod

import numpy as np
from flint import arb

from gradcheck.engine.function import Context
from gradcheck.engine.tape import RIGHT, Node, Step, pull
from gradcheck.numbers.ball import arbs, balls, middle, radius
from gradcheck.numbers.run import RUN, precision
from gradcheck.opinions import limits
from gradcheck.opinions.differences import measure_slope
from gradcheck.opinions.floats.scan import scan
from gradcheck.opinions.opinion import Case, measure_largest
from gradcheck.opinions.tape import apply_node, lift, record
from gradcheck.ops.row import ABSTAINS
from gradcheck.values import Array, Numbers
from gradcheck.verdict.entries import find_odd_ball

Pieces = dict[int, tuple[Numbers, Numbers]]  # pulled to each operand, as it came and as fitted
SIGNED_ZERO = "tells -0 from 0 in float64"  # which exact numbers have not


@dataclass(frozen=True)
class Suspect:
    """A cell of an op's row (or a verb of the engine) that is off, and where in the text."""

    op: str
    cell: str
    span: tuple[int, int] | None
    detail: str
    users: bool = False  # a backward pass that the user wrote, not one of ours


@dataclass(frozen=True)
class Blame:
    """Suspects, last op first, one a cell; and what float64 makes of ops that are right."""

    suspects: tuple[Suspect, ...] = ()
    excuses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Applied:
    """One op of the tape: what it was given and gave, the cotangent that arrived, each piece."""

    node: Node
    operands: tuple[Numbers, ...]
    y: Array
    arrived: Numbers
    pieces: Pieces

    @property
    def theirs(self) -> bool:
        return isinstance(self.node.y, Context)  # a `Function` with a backward of the user's own


def blame(case: Case) -> Blame:
    """The faults found op by op, and the ops at which float64 runs out of range or digits."""
    with precision(limits.BLAME_BITS), np.errstate(all="ignore"):
        applied, joins = _run_passes(case)
        found = [said for each in reversed(applied) for said in _look_at(each)]
    suspects: dict[tuple[str, str], Suspect] = {}
    for suspect in (*found, *joins):
        if isinstance(suspect, Suspect):
            suspects.setdefault((suspect.op, suspect.cell), suspect)
    excuses = dict.fromkeys(each for each in found if isinstance(each, str))
    return Blame(tuple(suspects.values()), tuple(reversed(excuses)))


def _run_passes(case: Case) -> tuple[list[Applied], list[Suspect]]:
    """Every op with what it met in both passes, and where paths meet wrongly."""
    arrived: dict[Step, Numbers] = {}
    pieces: dict[Step, Pieces] = {}
    sent: dict[Step | None, Numbers] = defaultdict(float)  # to each step, by all that use it

    def note_pull(node: Node, i: int, g: Numbers, *given: Numbers) -> Numbers:
        arrived[node] = g
        return pull(node, i, g, *given)

    def note_fit(node: Node, i: int, g: Numbers) -> Numbers:
        fitted = RIGHT.fit(node, i, g)
        pieces.setdefault(node, {})[i] = g, fitted
        sent[node.edges[i]] = sent[node.edges[i]] + np.asarray(fitted)
        return fitted

    try:
        tape = record(case)
        if tape is None:
            return [], []
        landed = tape.back(replace(RIGHT, pull=note_pull, fit=note_fit))
    except Exception:  # noqa: BLE001 - a wrong op may break the pass itself
        return [], []
    applied = [
        Applied(node, given.operands, given.value, arrived.get(node), pieces.get(node, {}))
        for node in tape.nodes
        for given in [tape.given[node]]
        if given.size + sum(map(np.size, given.operands)) <= limits.LARGE
    ]
    arrived |= landed
    joins = [
        Suspect(
            "engine", "accumulate", getattr(step, "span", None), "paths that meet do not add up"
        )
        for step, total in sent.items()
        if step in arrived and not np.allclose(total, arrived[step], equal_nan=True)
    ]
    return applied, joins


def _look_at(applied: Applied) -> list[Suspect | str]:
    """What is found at one op; of one whose value is another's nothing more is asked."""
    found: list[Suspect | str] = []
    for check in (_check_pulls,) if applied.theirs else (_check_value, _check_pulls):
        with suppress(Exception):  # an op that cannot be run by itself on exact numbers
            found += list(check(applied))
        if any(isinstance(each, Suspect) or each.endswith(SIGNED_ZERO) for each in found):
            break
    return found


# -- the value of one op -------------------------------------------------------------------------


def _check_value(applied: Applied) -> Iterator[Suspect | str]:
    """The value beside what the op makes of exact numbers, where float64 can hold that."""
    node, y, operands = applied.node, applied.y, [np.asarray(v) for v in applied.operands]
    if not all(map(_is_finite, operands)):
        return
    plain = node.op.symbolic is not ABSTAINS and all(v.dtype.kind in "fiu" for v in operands)
    kinds = ("ball", "symbolic") if plain else ("ball",)
    exact = [arbs(_run(node, applied.operands, kind)).flat for kind in kinds]
    size = max(1.0, *map(_find_largest, (y, *operands)))
    signed = any(np.any((v == 0) & np.signbit(v)) for v in operands if v.dtype.kind == "f")
    for now, *made in zip(y.ravel().tolist(), *exact, strict=True):
        room = limits.WRONG * abs(now) + limits.ROUNDED * size
        found = {"forward": arb(now, room) if isfinite(now) else arb(inf)}
        found |= zip(kinds, made, strict=True)
        held = all(ball == 0 or limits.SMALLEST <= abs(middle(ball)) < inf for ball in made)
        odd = find_odd_ball(found) if held else None
        if odd and signed:
            yield f"{node.op.name} {SIGNED_ZERO}"
        elif odd:
            cell = odd if odd in kinds else "forward"
            words = f"the value of {node.op.name} differs in `{cell}`"
            yield Suspect(node.op.name, cell, node.span, words)
        elif words := _is_lost(now, made[0], size):
            yield f"{node.op.name} {words}"


def _is_lost(now: float, ball: arb, size: float) -> str:
    """Zero or not finite where there is a number; or digits gone, by no more than rounding can."""
    if not ball.is_finite() or ball == arb(now):
        return ""
    off = abs(arb(now) - ball)
    if np.isfinite(now) and off > limits.ROUNDED * size:
        return ""
    if ball != 0 and not limits.SMALLEST <= abs(now) < np.inf:
        return "leaves the range of float64"
    return "loses digits in float64" if off > limits.LOST * abs(ball) else ""


# -- the VJPs of one op --------------------------------------------------------------------------


def _check_pulls(applied: Applied) -> Iterator[Suspect | str]:
    """Each VJP against the slope along a random direction; of an infinite entry against its own."""
    span, g = applied.node.span, applied.arrived
    if not all(map(_is_finite, (*applied.operands, applied.y, g))):
        return
    for i, (raw, fitted) in applied.pieces.items():
        right = sum_pulls(raw, np.shape(applied.operands[i]))
        own = np.abs(np.asarray(applied.operands[i], dtype=np.float64))
        u = np.random.default_rng(0).standard_normal(own.shape) * np.where(own > 0, own, 1.0)
        if not _is_finite(right):
            u = np.zeros(right.shape)
            u[np.unravel_index(int(np.argmax(~np.isfinite(right))), u.shape)] = 1.0
        slope, claimed = _measure_slope(applied, i, u), float(np.sum((right * u)[u != 0]))
        size = max(
            _find_largest(raw) * np.size(raw), _find_largest(g) * max(1.0, _find_largest(applied.y))
        )
        yield from _judge(applied, i, claimed, slope, size * max(1.0, _find_largest(u)))
        if np.shape(fitted) != right.shape or not np.allclose(fitted, right, equal_nan=True):
            yield Suspect("engine", "fit", span, f"{np.shape(raw)} fitted to {right.shape}")


def _judge(
    applied: Applied, i: int, claimed: float, slope: arb, size: float
) -> Iterator[Suspect | str]:
    row, span, due = applied.node.op, applied.node.span, middle(slope)
    bar = radius(slope) + limits.WRONG * abs(due) + limits.ROUNDED * size
    if not np.isfinite(claimed) and not slope.is_finite():
        yield f"{row.name} has no finite derivative here, and the chain rule goes through it"
    elif np.isfinite(due) and not abs(claimed - due) <= bar:
        words = (
            f"along a random direction of its argument {i} {row.name}.backward gives the slope "
            f"{claimed:.6g}, its forward has {due:.6g}"
        )
        cell = "backward" if applied.theirs else f"vjps[{i}]"
        yield Suspect(row.name, cell, span, words, users=applied.theirs)
    elif words := _is_lost(claimed, slope, size):
        yield f"the derivative of {row.name} {words}"


def _measure_slope(applied: Applied, i: int, u: Array) -> arb:
    """The slope of g . f along u, in balls; of floats where the user's f leaves what is recorded.

    No number at a kink or a tie.
    """
    node, given = applied.node, applied.operands

    def on_balls(step: arb) -> arb:
        moved = balls(arbs(balls(given[i])) + step * arbs(u))
        value = arbs(_run(node, (*given[:i], moved, *given[i + 1 :]), "ball"))
        weights = np.broadcast_to(applied.arrived, applied.y.shape)
        return sum((a * float(b) for a, b in zip(value.flat, weights.flat, strict=True)), arb(0))

    def on_floats(h: float) -> float:
        moved = (*given[:i], given[i] + h * u, *given[i + 1 :])
        return float(np.sum(_run(node, moved, "float") * applied.arrived))

    try:
        before = RUN.ties
        here = on_balls(arb(0))
        tied = RUN.ties > before
        slope, unusual = measure_slope(on_balls, here, arb(1), may_retry=False)
        return arb.nan() if tied or unusual else slope
    except Exception:
        if not applied.theirs:
            raise
    seen = scan(on_floats, 0.0, scale=1.0)
    return arb(seen.value, seen.error) if seen.kind == "smooth" else arb.nan()


def sum_pulls(g: Numbers, shape: tuple[int, ...]) -> Array:
    """A cotangent summed to a shape: the definition of un-broadcasting, entry by entry."""
    g, places = np.asarray(g), np.arange(prod(shape)).reshape(shape)
    if g.ndim < len(shape) or g.size < places.size:
        return np.broadcast_to(g, shape)
    landed = np.broadcast_to(places, g.shape).ravel()
    return np.bincount(landed, g.ravel(), places.size).reshape(shape)


# -- numbers -------------------------------------------------------------------------------------


def _run(node: Node, operands: tuple[Numbers, ...], kind: str) -> Numbers:
    """The op on numbers of a kind; several outputs are one line, as its node has them."""
    made = apply_node(node, tuple([lift(v, kind) for v in operands]), node.params, kind)
    return np.concatenate([*map(np.ravel, made)]) if isinstance(made, tuple) else made


def _is_finite(values: Numbers) -> bool:
    return bool(np.all(np.isfinite(np.asarray(values, dtype=float))))


def _find_largest(values: Numbers) -> float:
    return measure_largest(np.asarray(values, dtype=float))
