"""Which op is to blame: every op of the tape checked by itself, at its actual operands.

The forward value is compared with both exact kinds; each VJP, at the cotangent that really arrived,
with a ball difference of that one op along a random direction; then fitting and accumulation.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from flint import arb

from gradcheck.engine.context import Context
from gradcheck.engine.tape import Step
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import arbs, middle
from gradcheck.numbers.run import precision
from gradcheck.numbers.scalars import answer
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.floats.scan import scan
from gradcheck.opinions.opinion import Array, Case
from gradcheck.verdict.op_by_op import (
    Applied,
    Passes,
    directional,
    largest,
    numeric,
    on_balls,
    passes,
    probe,
    pulled,
    slopes_of,
    summed,
)

BITS = 384
TOLERANCE = 1e-7  # of a number: a wrong rule is off by far more, rounding by far less
ROUNDING = 1e-13  # of an op's operands and value: what float64 may lose inside of it
UNSUITED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
)
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
    users: bool = False  # a backward pass that the user wrote, not one of ours


def suspects(case: Case) -> tuple[Suspect, ...]:
    """The faults found op by op, last op first, one a cell; empty where none shows."""
    both = passes(case)
    if both is None:
        return ()
    first: dict[tuple[str, str], Suspect] = {}
    with precision(BITS), np.errstate(all="ignore"):
        for applied in reversed(both.applied):
            for check in (_custom,) if _is_users(applied) else (_forward, _pulls):
                for suspect in _safely(check, applied, both):
                    first.setdefault((suspect.op, suspect.cell), suspect)
        for suspect in _joins(both):
            first.setdefault((suspect.op, suspect.cell), suspect)
    return tuple(first.values())


def extremes(case: Case) -> tuple[str, ...]:
    """The ops at which float64 runs out of range, or loses digits, though the op is right."""
    both = passes(case)
    if both is None:
        return ()
    found: dict[str, None] = {}
    with precision(BITS), np.errstate(all="ignore"):
        for applied in both.applied:
            for words in _safely(_limits, applied, both):
                found[words] = None
    return tuple(found)


def _safely(check: Callable[..., Iterator[Any]], applied: Applied, both: Passes) -> list[Any]:
    """What one check finds; nothing where an op cannot be run by itself on exact numbers."""
    try:
        return list(check(applied, both))
    except UNSUITED:
        return []


# -- the value of one op -------------------------------------------------------------------------


def _forward(applied: Applied, both: Passes) -> Iterator[Suspect]:
    """Float, ball and closed form of one op's value."""
    row = applied.node.op
    if not _finite(*applied.operands) or _signed_zero(applied):
        return
    forms = {"forward": applied.y.ravel(), "ball": _floats(on_balls(applied, applied.operands))}
    if numeric(applied):
        leaves = tuple(map(line.constants, applied.operands))
        forms["symbolic"] = _floats(_values(answer(row, leaves, applied.node.params)))
    off = _odd({name: np.array(v, dtype=float) for name, v in forms.items()}, _size(applied))
    if off:
        yield Suspect(
            row.name, off, applied.node.span, f"the value of {row.name} differs in `{off}`"
        )


def _limits(applied: Applied, both: Passes) -> Iterator[str]:
    """What float64 makes of the exact value, or cotangent, of one op."""
    row = applied.node.op
    exact = arbs(on_balls(applied, applied.operands))
    if _signed_zero(applied) and not np.allclose(applied.y.ravel(), _floats(exact), equal_nan=True):
        yield f"{row.name} tells -0 from 0 in float64"
    for words in _lost(applied.y, exact, _size(applied)):
        yield f"{row.name} {words}"
    for i, raw, g in pulled(applied, both) if numeric(applied) else ():
        exact = slopes_of(applied, g)[i]
        if _finite(g) and not _finite(raw) and not all(ball.is_finite() for ball in exact.flat):
            yield f"{row.name} has no finite derivative here, and the chain rule goes through it"
        for words in _lost(summed(raw, exact.shape), exact, _size_of_pull(applied, raw, g)):
            yield f"the derivative of {row.name} {words}"


def _lost(floats: Array, exact: Array, size: float) -> Iterator[str]:
    """Zero or not finite where there is a number; or digits gone, by no more than rounding can."""
    for now, ball in zip(np.asarray(floats).flat, exact.flat, strict=True):
        if not ball.is_finite() or ball == arb(float(now)):
            continue
        off = abs(arb(float(now)) - ball)
        if np.isfinite(now) and off > ROUNDING * size:
            continue
        if ball != 0 and not SMALLEST <= abs(float(now)) < np.inf:
            yield "leaves the range of float64"
        elif off > DIGITS * abs(ball):
            yield "loses digits in float64"


def _size(applied: Applied) -> float:
    """The largest number that an op may meet inside, as far as can be told from outside."""
    return max(1.0, largest(applied.y), *map(largest, applied.operands))


def _size_of_pull(applied: Applied, raw: Any, g: Any) -> float:
    return max(largest(raw) * np.size(raw), largest(g) * max(1.0, largest(applied.y)))


# -- the VJPs of one op --------------------------------------------------------------------------


def _pulls(applied: Applied, both: Passes) -> Iterator[Suspect]:
    """Each VJP against a ball difference, and against the closed form's slopes."""
    row, span = applied.node.op, applied.node.span
    slopes: list[Array] | None = None  # of arbs
    for i, raw, g in pulled(applied, both):
        if not _finite(*applied.operands, applied.y, g):
            continue
        if slopes is None and numeric(applied):
            slopes = slopes_of(applied, g)
        right = summed(raw, np.shape(applied.operands[i]))
        if slopes is not None and _out_of_range(right, slopes[i]):
            continue
        u = probe(applied.operands[i])
        three = {"vjp": float(np.sum(right * u)), "ball": _float(directional(applied, g, i, u))}
        if slopes is not None:
            three["symbolic"] = _float(sum(np.ravel(slopes[i]) * arbs(u).ravel(), arb(0)))
        size = _size_of_pull(applied, raw, g)
        off = _odd({n: np.array([v]) for n, v in three.items()}, size * max(1.0, largest(u)))
        if off:
            yield Suspect(row.name, f"vjps[{i}]" if off == "vjp" else off, span, f"{three}")
        fitted = both.pieces[applied.node, i][1]
        if np.shape(fitted) != right.shape or not np.allclose(fitted, right, equal_nan=True):
            yield Suspect("engine", "fit", span, f"{np.shape(raw)} fitted to {right.shape}")


def _out_of_range(slopes: Array, exact: Array) -> bool:
    """Whether a slope is infinite because float64 holds no number so large: `_limits` says so."""
    each = zip(np.ravel(slopes), np.ravel(exact), strict=True)
    return any(not np.isfinite(now) and np.isnan(_float(ball)) for now, ball in each)


# -- functions of the user's own -----------------------------------------------------------------


def _is_users(applied: Applied) -> bool:
    """Whether the op is a `Function` with a backward of the user's own."""
    return isinstance(applied.node.y, Context)


def _custom(applied: Applied, both: Passes) -> Iterator[Suspect]:
    """The user's own backward against floats of the user's own forward."""
    row, operands = applied.node.op, applied.operands
    for i, raw, g in pulled(applied, both):
        u = probe(operands[i])

        def at(step: float, i: int = i, u: Any = u, g: Any = g) -> float:
            moved = [*operands[:i], operands[i] + step * u, *operands[i + 1 :]]
            return float(np.sum(np.asarray(row.function(*moved)) * g))

        seen = scan(at, 0.0, scale=1.0)
        claimed = float(np.sum(summed(raw, np.shape(operands[i])) * u))
        size = _size_of_pull(applied, raw, g) * max(1.0, largest(u))
        if seen.kind == "smooth" and abs(claimed - seen.value) > seen.error + TOLERANCE * size:
            words = (
                f"along a random direction of its argument {i} {row.name}.backward gives the slope "
                f"{claimed:.6g}, its forward has {seen.value:.6g}"
            )
            yield Suspect(row.name, "backward", applied.node.span, words, users=True)


# -- where paths meet ----------------------------------------------------------------------------


def _joins(both: Passes) -> Iterator[Suspect]:
    """What arrived at a step is the sum of what its users sent."""
    sent: dict[Step, Any] = {}
    for (node, i), (_, fitted) in both.pieces.items():
        edge = node.edges[i]
        if edge is not None:
            sent[edge] = sent.get(edge, 0) + np.asarray(fitted)
    for step, total in sent.items():
        if step in both.arrived and not np.allclose(total, both.arrived[step], equal_nan=True):
            span = getattr(step, "span", None)
            yield Suspect("engine", "accumulate", span, "paths that meet do not add up")


# -- numbers -------------------------------------------------------------------------------------


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


def _signed_zero(applied: Applied) -> bool:
    """Whether an operand holds -0.0, which only floats tell from 0 (arctan2 does)."""
    arrays = (np.asarray(v, dtype=float) for v in applied.operands)
    return any(bool(np.any((v == 0) & np.signbit(v))) for v in arrays)


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
