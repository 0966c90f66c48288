"""Where on the line a wrong rule can stand, and what the line's root makes of it."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.diagnosis.line import Key, ScalarLine, Span, Tangents
from gradcheck.mistakes.operation import Operation
from gradcheck.ops.row import Op
from gradcheck.values import Array, Routine, Value

Wrong = Callable[[Operation], Value]
Held = tuple[Array, Tangents]  # a letter's value, and the derivatives by it


@dataclass(frozen=True, eq=False)
class Place:
    """What a reader sees as one place: the nodes that one op at one spot of the text made.

    `summed` is a sum over an axis: only its outermost nodes are kept. `chained` says that some of
    the nodes are made of others (a loop), so that their mistakes compound.
    """

    key: Key
    span: Span
    ks: tuple[int, ...]
    summed: bool
    chained: bool


def places(line: ScalarLine) -> list[Place]:
    """All places of the line, in the order in which they are evaluated."""
    groups: dict[Key, list[int]] = defaultdict(list)
    for k, row in enumerate(line.rows):
        shown = row is not None and k not in line.sums and len(line.args[k]) <= 2
        if row is not None and shown and line.tangents[k] is not None:
            varies = tuple(a is not None and line.tangents[a] is not None for a in line.args[k])
            spot = line.spans[k] if line.spans[k] is not None or not line.scalar else k
            groups[spot, row.name, varies].append(k)
    found = []
    for key, ks in groups.items():
        above = 0
        for k in ks:
            above |= line.above[k]
        chained = any(above >> k & 1 for k in ks)
        summed = chained and key[1] == "add"
        outer = tuple(k for k in ks if not (summed and above >> k & 1))
        found.append(Place(key, line.spans[outer[0]], outer, summed, chained and not summed))
    return found


def operation(
    line: ScalarLine,
    ks: Sequence[int],
    d: Tangents,
    summed: bool = False,
    held: Held | None = None,
) -> Operation:
    """The nodes of one place; `d[k]` may have leading axes for several hypotheses.

    `held` is a letter that is held.
    """
    row, at = line.rows[ks[0]], list(ks)
    assert row is not None
    args = [line.args[k] for k in at]
    u, v, dv = _widen(line.u[at]), _widen(line.v[at]), _stack(args, 1, d)
    slopes = [line.f[k] for k in at]
    by_v = [s[1] if len(s) > 1 else np.zeros_like(s[0]) for s in slopes]
    slope, apply = _again(row, len(args[0]), 0 if dv is None else 1, u, v)
    first, second = (
        len(args[0]) > i
        and all((a := each[i]) is not None and line.entry[a] is not None for each in args)
        for i in (0, 1)
    )
    return Operation(
        op=row.name,
        y=_widen(line.y[at]),
        u=u,
        v=v,
        fu=_widen(np.array([s[0] for s in slopes])),
        fv=_widen(np.array(by_v)),
        du=_stack(args, 0, d),
        dv=dv,
        x=line.x[None, None],
        dx=np.array([line.single[k] for k in at])[:, None, None, :],
        variable=(first, second),
        summed=summed,
        slope=slope,
        apply=apply,
        hu=None if held is None else _stack(args, 0, held[1]),
        hv=None if held is None else _stack(args, 1, held[1]),
        h=None if held is None else held[0][None, None, :, None],
        within=lambda i: _within(line, [each[i] for each in args], d),
    )


def _within(line: ScalarLine, ks: Sequence[int | None], d: Tangents) -> Operation | None:
    nodes = [k for k in ks if k is not None]
    ops = {row.name if (row := line.rows[k]) is not None else None for k in nodes}
    if len(nodes) < len(ks) or len(ops) > 1 or None in ops:
        return None
    return operation(line, nodes, d) if len(line.args[nodes[0]]) <= 2 else None


def _widen(numbers: Array) -> Array:
    """Axes (node, hypothesis, point, entry) for numbers by node and point."""
    return numbers[:, None, :, None]


def _again(row: Op, count: int, varying: int, u: Array, v: Array) -> tuple[Routine, Routine]:
    """The op's slope by its varying argument, and its value, at another value of that argument."""

    def arguments(z: Value) -> tuple[Value, ...]:
        return (z,) if count == 1 else ((z, v) if varying == 0 else (u, z))

    def slope(z: Value) -> Value:
        if not row.differentiates(varying) or row.params:
            return np.full_like(z, np.nan)
        y = row.forward(*arguments(z))
        return row.pull(varying, np.float64(1.0), y, arguments(z), {}) + 0 * z

    return slope, lambda z: row.forward(*arguments(z))


def _stack(args: Sequence[tuple[int | None, ...]], i: int, d: Tangents) -> Array | None:
    """The derivatives of the i-th arguments; None where one is a constant."""
    found = [None if len(each) <= i or (a := each[i]) is None else d[a] for each in args]
    if any(part is None for part in found):
        return None
    stacked = np.array(found)
    return stacked[:, None] if stacked.ndim == 3 else stacked


def rerun(line: ScalarLine, wrong: Mapping[int, Wrong]) -> Array:
    """The root's derivative (P, size) with wrong rules at some nodes, one after the other."""
    bits = sum(1 << k for k in wrong)
    found = list(line.tangents)
    for k in range(len(line.nodes)):
        if k in wrong:
            found[k] = np.broadcast_to(wrong[k](operation(line, [k], found))[0, 0], line.x.shape)
        elif line.above[k] & bits:
            found[k] = line.chain(k, found)
    end = found[-1]
    return end if end is not None else np.zeros(line.x.shape)


def shift(line: ScalarLine, place: Place, wrong: Wrong, held: Held | None = None) -> Array:
    """The root's derivative (P, size) with one wrong rule at one place.

    What the wrong rule adds at its node reaches the root times the root's derivative by the node.
    """
    if place.chained:
        return rerun(line, dict.fromkeys(place.ks, wrong))
    s = operation(line, place.ks, line.tangents, place.summed, held)
    change = (wrong(s) - s.right)[:, 0] * line.adjoints[list(place.ks)][:, :, None]
    root = line.tangents[-1]
    assert root is not None
    made: Array = root + change.sum(axis=0)
    return made
