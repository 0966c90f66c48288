"""The straight line of a program at one point, in floats, ready for wrong rules."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from gradcheck.mistakes.row import Mistake, Step
from gradcheck.numbers import symbolic as numbers
from gradcheck.numbers.ball import exact, middle, precision
from gradcheck.numbers.symbolic import OBSERVER, Symbolic
from gradcheck.opinions.opinion import Array, Case, contracted

BITS = 64
Span = tuple[int, int] | None
Place = tuple[Span, str]


@dataclass(frozen=True)
class Line:
    """Nodes oldest first, ending in the scalar that is differentiated; entries of all wrt inputs.

    `steps[k]` is the node's `Step` without derivatives; `places` groups nodes by what the reader
    sees: the same op at the same place of the text.
    """

    nodes: tuple[Symbolic, ...]
    index: Mapping[int, int]
    entries: Mapping[int, int]
    places: Mapping[Place, tuple[int, ...]]
    shapes: Mapping[str, tuple[int, ...]]
    floats: tuple[tuple[float, float, float, float, float], ...]

    @property
    def size(self) -> int:
        """How many entries are differentiated."""
        return len(self.entries)


def trace(case: Case) -> Line | None:
    """The line of the path taken at the case's point; None where the value does not depend on it."""
    OBSERVER[0] = lambda node: setattr(node, "span", case.where())
    try:
        with precision(BITS):
            leaves = {
                name: numbers.leaves(name, v) if name in case.wrt else numbers.constants(v)
                for name, v in case.inputs.items()
            }
            root = contracted(case.function("symbolic", leaves), case.cotangent)
            end = np.asarray(root, dtype=object).item()
            if not isinstance(end, Symbolic):
                return None
            nodes = tuple(numbers.line([end]))
            floats = tuple(map(_floats, nodes))
    finally:
        OBSERVER[0] = None
    flat = [leaf for name in case.wrt for leaf in np.asarray(leaves[name]).flat]
    places: dict[Place, list[int]] = defaultdict(list)
    for k, node in enumerate(nodes):
        if node.row is not None:
            places[node.span, node.row.name].append(k)
    return Line(
        nodes,
        {id(node): k for k, node in enumerate(nodes)},
        {id(leaf): k for k, leaf in enumerate(flat)},
        {place: tuple(found) for place, found in places.items()},
        {name: leaves[name].shape for name in case.wrt},
        floats,
    )


def _floats(node: Symbolic) -> tuple[float, float, float, float, float]:
    """y, u, v, dy/du, dy/dv of a node as floats."""
    if node.local is None:
        return middle(node.value), np.nan, np.nan, 0.0, 0.0
    args = [a.value if type(a) is Symbolic else exact(a) for a in node.args]
    slopes = [middle(slope(*args)) for slope in node.local.slopes] + [0.0]
    values = [middle(a) for a in args] + [np.nan]
    return middle(node.value), values[0], values[1], slopes[0], slopes[1]


Wrong = Callable[[Step], Any]


def tangents(line: Line, wrong: Mapping[int, Wrong]) -> Array | None:
    """d(root)/d(entries) by the forward chain rule, with wrong rules at some nodes.

    None where a wrong rule gives no number (a logarithm of a negative, say).
    """
    size = line.size
    basis = np.eye(size)
    found: list[Array | None] = []
    for k, node in enumerate(line.nodes):
        entry = line.entries.get(id(node))
        if node.local is None:
            found.append(basis[entry] if entry is not None else None)
            continue
        d = [found[line.index[id(a)]] if type(a) is Symbolic else None for a in node.args]
        if k not in wrong and all(part is None for part in d):
            found.append(None)
            continue
        step = _step(line, k, d, basis)
        with np.errstate(all="ignore"):
            found.append(wrong[k](step) if k in wrong else step.right)
    end = found[-1]
    if end is None:
        return np.zeros(size)
    end = np.asarray(end, dtype=float)
    return end if end.shape == (size,) and bool(np.all(np.isfinite(end))) else None


def _step(line: Line, k: int, d: list[Array | None], basis: Array) -> Step:
    node = line.nodes[k]
    y, u, v, fu, fv = line.floats[k]
    du, dv = d[0], d[1] if len(d) > 1 else None
    single = line.size == 1
    leaf = next(n for n in line.nodes if id(n) in line.entries) if single else None
    return Step(
        op=node.row.name if node.row is not None else "",
        y=y,
        u=u,
        v=v,
        du=du,
        dv=dv,
        fu=fu,
        fv=fv,
        x=middle(leaf.value) if leaf is not None else None,
        dx=_ones(du if du is not None else dv, basis),
        u_is_variable=id(node.args[0]) in line.entries,
        slope_at=lambda z: _at(node, node.local.slopes[0], z),  # type: ignore[union-attr]
        apply=lambda z: _at(node, node.local.value, z),  # type: ignore[union-attr]
    )


def _ones(d: Array | None, basis: Array) -> Array:
    """1 for every entry that the argument depends on: the derivative of a bare variable."""
    return np.ones(len(basis)) if d is None else (d != 0).astype(float)


def _at(node: Symbolic, function: Callable[..., arb], z: float) -> float:
    rest = [a.value if type(a) is Symbolic else exact(a) for a in node.args[1:]]
    return middle(function(arb(z), *rest))


def applies(line: Line, row: Mistake, k: int, d: list[Array | None]) -> bool:
    """Whether the mistake can happen at node k."""
    return bool(row.where(_step(line, k, d, np.eye(line.size))))


def right_tangents(line: Line) -> list[Array | None]:
    """The right derivative of every node."""
    found: list[Array | None] = []
    basis = np.eye(line.size)
    for k, node in enumerate(line.nodes):
        entry = line.entries.get(id(node))
        if node.local is None:
            found.append(basis[entry] if entry is not None else None)
            continue
        d = [found[line.index[id(a)]] if type(a) is Symbolic else None for a in node.args]
        found.append(None if all(p is None for p in d) else _step(line, k, d, basis).right)
    return found


def split(line: Line, flat: Array) -> dict[str, Array]:
    """The entries of one flat gradient by input name."""
    out, start = {}, 0
    for name, shape in line.shapes.items():
        count = int(np.prod(shape, dtype=int))
        out[name] = flat[start : start + count].reshape(shape)
        start += count
    return out
