"""The straight line of a program in floats, at several points at once, ready for wrong rules.

And where on it a wrong rule can stand, and what the line's root makes of it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, count, pairwise
from math import prod

import numpy as np

from gradcheck.errors import OutOfBudget
from gradcheck.mistakes.operation import Operation
from gradcheck.numbers import symbolic as numbers
from gradcheck.numbers.ball import exact, middle
from gradcheck.numbers.run import change_settings, precision
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.opinion import Case, contract
from gradcheck.ops.row import Op, sympy
from gradcheck.values import Array, Routine, Value

BITS = 64
NODES = 3000
Key = tuple[Value, ...]
Span = tuple[Value, ...] | None
Gradients = Mapping[str, Array]
Tangents = Sequence[Array | None] | Mapping[int, Array | None]
Wrong = Callable[[Operation], Value]
Held = tuple[Array, Tangents]  # a letter's value, and the derivatives by it


def cover_spans(spans: Iterable[Span]) -> Span:
    """The smallest stretch of the text that all of some spans lie in; None without any."""
    known = [span for span in spans if span is not None]
    if not known:
        return None
    return (*known[0][:-2], min(s[-2] for s in known), max(s[-1] for s in known))


@dataclass(frozen=True, eq=False)
class ScalarLine:
    """A program's path at P points: for node k its op, arguments, and floats of shape (P,).

    `args[k]` holds node numbers, None for a literal; `f[k]` the slopes by each argument; `u`, `v`
    the first two arguments; `entry[k]` which differentiated entry a leaf is, else None; `x` the
    entries' values, (P, size). At `sums` (numbers of nodes) zero is added, to be differentiated by:
    nobody sees an op there.
    """

    nodes: tuple[Symbolic, ...]
    rows: tuple[Op | None, ...]
    spans: tuple[Span, ...]
    args: tuple[tuple[int | None, ...], ...]
    entry: tuple[int | None, ...]
    y: Array
    u: Array
    v: Array
    f: tuple[tuple[Array, ...], ...]
    x: Array
    shapes: Mapping[str, tuple[int, ...]]
    sums: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """How many entries are differentiated."""
        return int(self.x.shape[1])

    @cached_property
    def scalar(self) -> bool:
        """Whether every differentiated input is a single number."""
        return all(shape == () for shape in self.shapes.values())

    @cached_property
    def alone(self) -> "tuple[ScalarLine, ...]":
        """By each input on its own, where all are single numbers: to it the others are constants.

        By x, w x is no product.
        """
        if not self.scalar or self.size == 1:
            return (self,)
        entries = [tuple(0 if k == e else None for k in self.entry) for e in range(self.size)]
        return tuple(
            replace(self, entry=entries[e], x=self.x[:, e : e + 1], shapes={name: ()})
            for e, name in enumerate(self.shapes)
        )

    @cached_property
    def held(self) -> "Mapping[str, tuple[Array, Tangents]]":
        """The letters that are held: the value of each (P,), and every node's derivative by it."""
        leaves = {
            str(node.atom): k
            for k, node in enumerate(self.nodes)
            if self.rows[k] is None and self.entry[k] is None and node.atom is not None
        }
        own = {
            name: tuple(0 if k == leaf else None for k in range(len(self.nodes)))
            for name, leaf in leaves.items()
            if name.isidentifier() and self.size == 1
        }
        return {n: (self.y[leaves[n]], replace(self, entry=own[n]).tangents) for n in own}

    @cached_property
    def above(self) -> tuple[int, ...]:
        """For each node, as bits, the nodes that it is made of."""
        found: list[int] = []
        for args in self.args:
            bits = 0
            for a in args:
                bits |= 0 if a is None else found[a] | 1 << a
            found.append(bits)
        return tuple(found)

    @cached_property
    def tangents(self) -> list[Array | None]:
        """The right derivative of every node by every entry, (P, size); None for a constant."""
        found: list[Array | None] = []
        for k in range(len(self.nodes)):
            found.append(self.chain(k, found))
        return found

    def chain(self, k: int, d: Sequence[Array | None]) -> Array | None:
        """The chain rule at node k."""
        entry = self.entry[k]
        if entry is not None:
            out = np.zeros(self.x.shape)
            out[:, entry] = 1.0
            return out
        total: Array | None = None
        for a, f in zip(self.args[k], self.f[k], strict=False):
            part = d[a] if a is not None else None
            if part is not None:
                total = f[:, None] * part if total is None else total + f[:, None] * part
        return total

    @cached_property
    def adjoints(self) -> Array:
        """The root's derivative by every node, (N, P)."""
        found = np.zeros(self.y.shape)
        found[-1] = 1.0
        for k in range(len(self.nodes) - 1, -1, -1):
            for a, f in zip(self.args[k], self.f[k], strict=False):
                if a is not None:
                    found[a] += found[k] * f
        return found

    @cached_property
    def single(self) -> tuple[Array, ...]:
        """For each node 1 for the entries it is made of; nan where several are of one input."""
        inside: list[int] = []
        for args, entry in zip(self.args, self.entry, strict=True):
            inside.append(0 if entry is None else 1 << entry)
            for a in args:
                inside[-1] |= inside[a] if a is not None else 0
        ones: dict[int, Array] = {}
        for bits in set(inside):
            out = ones[bits] = np.array([float(bits >> e & 1) for e in range(self.size)])
            for part in self.slices.values():
                if out[part].sum() > 1:
                    out[part] = np.nan
        return tuple(ones[bits] for bits in inside)

    @cached_property
    def slices(self) -> Mapping[str, slice]:
        """Where each input stands in a flat gradient."""
        ends = accumulate((prod(shape) for shape in self.shapes.values()), initial=0)
        return {name: slice(*span) for name, span in zip(self.shapes, pairwise(ends), strict=True)}

    def split(self, flat: Array) -> list[dict[str, Array]]:
        """Flat gradients (P, size) by point and input name."""
        slices = self.slices.items()
        return [{n: row[part].reshape(self.shapes[n]) for n, part in slices} for row in flat]


def trace(case: Case) -> ScalarLine | None:
    """The line of the path taken at the one point; None where the value is a constant."""
    leaves, end = _run_exactly(case)
    if not isinstance(end, Symbolic):
        return None
    nodes = tuple(numbers.trace_line([end]))
    floats = list(map(_find_floats, nodes))
    for name in set(case.inputs) - set(case.wrt):  # in words a constant is called by its name
        if not leaves[name].shape:
            leaves[name].item().atom = sympy.Symbol(name, real=True)
    flat = [leaf for name in case.wrt for leaf in np.asarray(leaves[name]).flat]
    zeros = {id(leaf) for name in case.zeros for leaf in np.asarray(leaves[name]).flat}
    sums = {id(a): k for k, node in enumerate(nodes) for a in node.args if id(a) in zeros}
    for leaf in flat:
        if id(leaf) in sums:  # in words, the value that the program makes has its own name
            nodes[sums[id(leaf)]].atom = leaf.atom
    values = [nodes[sums[id(leaf)]].value if id(leaf) in sums else leaf.value for leaf in flat]
    place = {id(node): k for k, node in enumerate(nodes)}
    entry = {id(leaf): k for k, leaf in enumerate(flat)}
    return ScalarLine(
        nodes=nodes,
        rows=tuple(node.row for node in nodes),
        spans=tuple(node.span if node.row is not None else None for node in nodes),
        args=tuple(tuple(place.get(id(a)) for a in node.args) for node in nodes),
        entry=tuple(entry.get(id(node)) for node in nodes),
        y=np.array([[here[0]] for here in floats]),
        u=np.array([[here[1]] for here in floats]),
        v=np.array([[here[2]] for here in floats]),
        f=tuple(tuple(np.array([slope]) for slope in here[3]) for here in floats),
        x=np.array([list(map(middle, values))]),
        shapes={name: leaves[name].shape for name in case.wrt},
        sums=frozenset(sums.values()),
    )


def _run_exactly(case: Case) -> tuple[Mapping[str, Value], Value]:
    """The inputs, by name, and the value that the program makes of them.

    Raises OutOfBudget where the line is longer than anybody would differentiate by hand.
    """
    made = count(1)

    def observe(node: Symbolic) -> None:
        node.span = case.where()
        if next(made) > NODES:
            raise OutOfBudget(f"the line has more than {NODES} steps here")

    with change_settings(observer=observe), precision(BITS):
        # in one order, so that the nodes are numbered alike however the inputs are declared
        leaves = numbers.inputs(dict(sorted(case.inputs.items())), case.wrt)
        root = contract(case.function("symbolic", leaves), case.cotangent)
        return leaves, np.asarray(root, dtype=object).item()


def _find_floats(node: Symbolic) -> tuple[float, float, float, tuple[float, ...]]:
    """A node at one point: its value, first two arguments, and slopes by each argument."""
    if node.local is None:
        return middle(node.value), np.nan, np.nan, ()
    args = [a.value if type(a) is Symbolic else exact(a) for a in node.args]
    u, v, *_ = (*(middle(a) for a in args), np.nan, np.nan)
    slopes = tuple(middle(slope(*args)) for slope in node.local.slopes)
    return middle(node.value), u, v, slopes


def derive_lines(cases: Sequence[Case]) -> list[tuple[list[int], ScalarLine]]:
    """The lines of all cases, those on the same path together: (case numbers, line)."""
    groups: dict[Key, list[tuple[int, ScalarLine]]] = defaultdict(list)
    for k, case in enumerate(cases):
        try:
            run = trace(case)
        except Exception:  # noqa: BLE001 - a program that exact numbers cannot run has no line
            return []
        if run is None or len(run.nodes) < 2:
            return []
        groups[run.rows, run.spans, run.args, run.entry].append((k, run))
    return [([k for k, _ in some], _join([run for _, run in some])) for some in groups.values()]


def _join(runs: Sequence[ScalarLine]) -> ScalarLine:
    """Runs that took the same path, as one line over their points."""
    return replace(
        runs[0],
        y=np.hstack([run.y for run in runs]),
        u=np.hstack([run.u for run in runs]),
        v=np.hstack([run.v for run in runs]),
        f=tuple(
            tuple(map(np.concatenate, zip(*slopes, strict=True)))
            for slopes in zip(*(run.f for run in runs), strict=True)
        ),
        x=np.vstack([run.x for run in runs]),
    )


# -- wrong rules on it -----------------------------------------------------------------------------


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


def list_places(line: ScalarLine) -> list[Place]:
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


def select(
    line: ScalarLine, ks: Sequence[int], d: Tangents, summed: bool = False, held: Held | None = None
) -> Operation:
    """The nodes of one place; `d[k]` may have leading axes for several hypotheses.

    `held` is a letter that is held.
    """
    row, at = line.rows[ks[0]], list(ks)
    assert row is not None
    args = [line.args[k] for k in at]
    u, v, dv = _widen(line.u[at]), _widen(line.v[at]), _stack(args, 1, d)
    slopes = [(*line.f[k], np.zeros_like(line.f[k][0])) for k in at]  # of one argument 0 by v
    slope, apply = _apply_again(row, len(args[0]), 0 if dv is None else 1, u, v)
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
        fv=_widen(np.array([s[1] for s in slopes])),
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
        within=lambda i: _look_within(line, [each[i] for each in args], d),
    )


def _look_within(line: ScalarLine, ks: Sequence[int | None], d: Tangents) -> Operation | None:
    nodes = [k for k in ks if k is not None]
    ops = {row.name if (row := line.rows[k]) is not None else None for k in nodes}
    if len(nodes) < len(ks) or len(ops) > 1 or None in ops:
        return None
    return select(line, nodes, d) if len(line.args[nodes[0]]) <= 2 else None


def _widen(numbers: Array) -> Array:
    """Axes (node, hypothesis, point, entry) for numbers by node and point."""
    return numbers[:, None, :, None]


def _apply_again(row: Op, count: int, varying: int, u: Array, v: Array) -> tuple[Routine, Routine]:
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
            found[k] = np.broadcast_to(wrong[k](select(line, [k], found))[0, 0], line.x.shape)
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
    s = select(line, place.ks, line.tangents, place.summed, held)
    change = (wrong(s) - s.right)[:, 0] * line.adjoints[list(place.ks)][:, :, None]
    root = line.tangents[-1]
    assert root is not None
    made: Array = root + change.sum(axis=0)
    return made
