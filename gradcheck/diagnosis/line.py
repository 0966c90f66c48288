"""The straight line of a program in floats, at several points at once, ready for wrong rules.

And where on it a wrong rule can stand, and what the line's root makes of it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial, reduce
from itertools import accumulate, count, pairwise
from math import prod
from operator import or_

import numpy as np

from gradcheck.errors import OutOfBudget
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.row import Operation
from gradcheck.numbers import symbolic as numbers
from gradcheck.numbers.ball import exact, middle
from gradcheck.numbers.run import change_settings, precision
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.opinion import Case, contract
from gradcheck.ops.row import Op, sympy
from gradcheck.values import Array, Params, Value

BITS = 64
NODES = 3000
READABLE = 30
Key = tuple[Value, ...]
Span = tuple[Value, ...] | None
Gradients = Mapping[str, Array]
Tangents = Sequence[Value]  # by node; None for a constant
Wrong = Callable[[Operation], Value]
Held = tuple[Array, Tangents]  # a letter's value, and the derivatives by it


def ask_once(case: Case) -> Case:
    """Of the gradient of a gradient the question that is asked first; else the question itself."""
    once = case.rows.once if case.rows is not None else None
    return case if once is None else replace(once, inputs=case.inputs)


def cover_spans(spans: Iterable[Span]) -> Span:
    """The smallest stretch of the text that all of some spans lie in; None without any."""
    known = [span for span in spans if span is not None]
    if not known:
        return None
    return (*known[0][:-2], min(s[-2] for s in known), max(s[-1] for s in known))


def measure_width(span: Span) -> int:
    """How much of the text a span covers; nothing counts least."""
    return span[-1] - span[-2] if span is not None else -1


@dataclass(frozen=True, eq=False)
class ScalarLine:
    """A program's path at P points: for node k its op, arguments, and floats.

    `args[k]` holds node numbers, None for a literal; `y[k]` the values (P,); `given[k]` those of
    the arguments and `f[k]` the slopes by them, (most arguments, P); `entry[k]` which
    differentiated entry a leaf is, else None; `x` the entries' values, (P, size). At `sums`
    (numbers of nodes) zero is added, to be differentiated by: nobody sees an op there.
    """

    nodes: tuple[Symbolic, ...]
    rows: tuple[Op | None, ...]
    spans: tuple[Span, ...]
    args: tuple[tuple[int | None, ...], ...]
    entry: tuple[int | None, ...]
    y: Array
    given: Array
    f: Array
    x: Array
    shapes: Mapping[str, tuple[int, ...]]
    sums: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """How many entries are differentiated."""
        return int(self.x.shape[1])

    @cached_property
    def write_derivative(self) -> Callable[[int], str]:
        """Of a node; each once: SymPy takes as long as all else, and many mistakes stand at one."""
        return cache(partial(_write_derivative, self))

    @cached_property
    def scalar(self) -> bool:
        """Whether every differentiated input is a single number."""
        return all(shape == () for shape in self.shapes.values())

    @cached_property
    def alone(self) -> "tuple[ScalarLine, ...]":
        """By each single number on its own, the others being constants: by x, w x is no product."""
        if not self.scalar or self.size == 1:
            return (self,)
        entries = [tuple(0 if k == e else None for k in self.entry) for e in range(self.size)]
        return tuple(
            replace(self, entry=entries[e], x=self.x[:, e : e + 1], shapes={name: ()})
            for e, name in enumerate(self.shapes)
        )

    @cached_property
    def held(self) -> "Mapping[str, Held]":
        """The letters that are held: the value of each (P,), and every node's derivative by it."""
        found: dict[str, Held] = {}
        for leaf, node in enumerate(self.nodes if self.size == 1 else ()):
            free = node.row is None and self.entry[leaf] is None and node.atom is not None
            if free and str(node.atom).isidentifier():
                own = tuple(0 if k == leaf else None for k in range(len(self.nodes)))
                found[str(node.atom)] = self.y[leaf], replace(self, entry=own).tangents
        return found

    @cached_property
    def above(self) -> tuple[int, ...]:
        """For each node, as bits, the nodes that it is made of."""
        found: list[int] = []
        for args in self.args:
            found.append(reduce(or_, (found[a] | 1 << a for a in args if a is not None), 0))
        return tuple(found)

    @cached_property
    def tangents(self) -> list[Value]:
        """The right derivative of every node by every entry, (P, size); None for a constant."""
        found: list[Value] = []
        for k in range(len(self.nodes)):
            found.append(self.chain(k, found))
        return found

    def chain(self, k: int, d: Tangents) -> Array | None:
        """The chain rule at node k."""
        entry = self.entry[k]
        if entry is not None:
            out = np.zeros(self.x.shape)
            out[:, entry] = 1.0
            return out
        pairs = zip(self.args[k], self.f[k], strict=False)
        parts = [f[:, None] * d[a] for a, f in pairs if a is not None and d[a] is not None]
        return sum(parts[1:], parts[0]) if parts else None

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
    def single(self) -> Array:
        """For each node 1 for the entries it is made of; nan where several are of one input."""
        ones = np.zeros((len(self.nodes), self.size))
        for leaf, e in enumerate(self.entry):
            if e is not None:
                ones[:, e] = [(bits | 1 << k) >> leaf & 1 for k, bits in enumerate(self.above)]
        for part in self.slices.values():
            ones[ones[:, part].sum(axis=1) > 1, part] = np.nan
        return ones

    @cached_property
    def slices(self) -> Mapping[str, slice]:
        """Where each input stands in a flat gradient."""
        ends = accumulate((prod(shape) for shape in self.shapes.values()), initial=0)
        return {name: slice(*span) for name, span in zip(self.shapes, pairwise(ends), strict=True)}

    def split(self, flat: Array) -> list[dict[str, Array]]:
        """Flat gradients (P, size) by point and input name."""
        slices = self.slices.items()
        return [{n: row[part].reshape(self.shapes[n]) for n, part in slices} for row in flat]


def _write_derivative(line: ScalarLine, k: int) -> str:
    whole = numbers.write_out(line.nodes[k], READABLE) if line.size == 1 else None
    symbols = [] if whole is None else sorted(whole.free_symbols, key=str)
    variables = [s for s in symbols if str(s) in line.shapes]
    if whole is None or len(variables) != 1:
        return ""
    form = sympy.diff(whole, variables[0])
    return str(form) if form.count_ops() <= READABLE else ""


def trace(case: Case) -> ScalarLine:
    """The line of the path taken at the one point.

    Raises OutOfBudget where it is longer than anybody would differentiate by hand.
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
    nodes = tuple(numbers.trace_line([np.asarray(root, dtype=object).item()]))
    for name in set(case.inputs) - set(case.wrt):  # in words a constant is called by its name
        if not leaves[name].shape:
            leaves[name].item().atom = sympy.Symbol(name, real=True)
    flat = [leaf for name in case.wrt for leaf in np.asarray(leaves[name]).flat]
    zeros = {id(leaf) for name in case.zeros for leaf in np.asarray(leaves[name]).flat}
    sums = {id(a): k for k, node in enumerate(nodes) for a in node.args if id(a) in zeros}
    at = [nodes[sums[id(leaf)]] if id(leaf) in sums else leaf for leaf in flat]
    for leaf, node in zip(flat, at, strict=True):
        node.atom = leaf.atom  # in words, the value that the program makes has its own name
    place = {id(node): k for k, node in enumerate(nodes)}
    entry = {id(leaf): k for k, leaf in enumerate(flat)}
    y, given, f = _find_floats(nodes)
    return ScalarLine(
        nodes=nodes,
        rows=tuple(node.row for node in nodes),
        spans=tuple(node.span if node.row is not None else None for node in nodes),
        args=tuple(tuple(place.get(id(a)) for a in node.args) for node in nodes),
        entry=tuple(entry.get(id(node)) for node in nodes),
        y=y,
        given=given,
        f=f,
        x=np.array([[middle(node.value) for node in at]]),
        shapes={name: leaves[name].shape for name in case.wrt},
        sums=frozenset(sums.values()),
    )


def _find_floats(nodes: Sequence[Symbolic]) -> tuple[Array, Array, Array]:
    """The nodes at one point: their values, arguments, and slopes by each argument."""
    width = max(2, *(len(node.args) for node in nodes))
    given, f = np.full((len(nodes), width, 1), np.nan), np.zeros((len(nodes), width, 1))
    for k, node in enumerate(nodes):
        args = [a.value if type(a) is Symbolic else exact(a) for a in node.args]
        slopes = node.local.slopes if node.local is not None else ()
        for i, (a, slope) in enumerate(zip(args, slopes, strict=True)):
            given[k, i], f[k, i] = middle(a), middle(slope(*args))
    return np.array([[middle(node.value)] for node in nodes]), given, f


def derive_lines(cases: Sequence[Case]) -> list[tuple[list[int], ScalarLine]]:
    """The lines of all cases, those on the same path together: (case numbers, line).

    There is none of a program that exact numbers cannot run, or that has a constant value.
    """
    groups: dict[Key, list[tuple[int, ScalarLine]]] = defaultdict(list)
    for k, case in enumerate(cases):
        try:
            run = trace(case)
        except Exception:  # noqa: BLE001 - a user's program may raise anything
            return []
        if len(run.nodes) < 2:
            return []
        groups[run.rows, run.spans, run.args, run.entry].append((k, run))
    along = {"y": 1, "given": 2, "f": 2, "x": 0}  # the axes of the points

    def join(runs: Sequence[ScalarLine]) -> ScalarLine:
        joined: Params = {
            name: np.concatenate([getattr(run, name) for run in runs], axis)
            for name, axis in along.items()
        }
        return replace(runs[0], **joined)

    return [([k for k, _ in some], join([run for _, run in some])) for some in groups.values()]


# -- wrong rules on it -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Place:
    """What a reader sees as one place: the nodes that one op at one spot of the text made.

    `summed` is a sum over an axis: only its outermost nodes are kept. `chained` says that some of
    the nodes are made of others (a loop), so that their mistakes compound.
    """

    line: ScalarLine
    key: Key
    ks: list[int]
    summed: bool
    chained: bool

    op = property(lambda place: place.key[1])
    span = property(lambda place: place.line.spans[place.ks[0]])

    def look(self, d: Tangents | None = None, held: Held | None = None) -> Operation:
        """What a rule sees there, where the nodes' derivatives are `d` (None: the right ones)."""
        return Operation(self.line, self.ks, d or self.line.tangents, self.summed, held)

    def shift(self, wrong: Wrong, seen: Operation) -> Array:
        """The root's derivative (P, size) with one wrong rule here, of what is `seen` here.

        What the rule adds at its node reaches the root times the root's derivative by the node.
        """
        if self.chained:
            made: Array = rerun(self.line, dict.fromkeys(self.ks, wrong))[-1]
            return made
        change = (wrong(seen) - seen.right)[:, 0] * self.line.adjoints[self.ks][:, :, None]
        return self.line.tangents[-1] + change.sum(axis=0)  # type: ignore[no-any-return]


def list_places(line: ScalarLine) -> list[Place]:
    """All places of the line, in the order in which they are evaluated."""
    groups: dict[Key, list[int]] = defaultdict(list)
    for k, (row, args, tangent) in enumerate(zip(line.rows, line.args, line.tangents, strict=True)):
        if row is not None and tangent is not None and k not in line.sums and len(args) <= 2:
            varies = tuple(a is not None and line.tangents[a] is not None for a in args)
            spot = line.spans[k] if line.spans[k] is not None or not line.scalar else k
            groups[spot, row.name, varies].append(k)
    found = []
    for key, ks in groups.items():
        above = reduce(or_, (line.above[k] for k in ks))
        chained = any(above >> k & 1 for k in ks)
        summed = chained and key[1] == "add"
        outer = [k for k in ks if not (summed and above >> k & 1)]
        found.append(Place(line, key, outer, summed, chained and not summed))
    return found


def rerun(line: ScalarLine, wrong: Mapping[int, Wrong]) -> list[Value]:
    """Every node's derivative (P, size) with wrong rules at some, one after the other."""
    bits = sum(1 << k for k in wrong)
    found = list(line.tangents)
    for k in range(len(line.nodes)):
        if k in wrong:
            made = wrong[k](Operation(line, [k], found))
            found[k] = np.broadcast_to(made[0, 0], line.x.shape)
        elif line.above[k] & bits:
            found[k] = line.chain(k, found)
    return found


# -- what comes of them ----------------------------------------------------------------------------


@dataclass(eq=False)
class Made:
    """One mistake made at one site (or everywhere): the gradients it gives, point by point.

    They are right at a point where the site does not occur; a part that the mistake gives no number
    for is nan. `say()` gives what its words may mention: spans of the program, or words that are
    ready. A wrong rule was made on a `line`, at a `place` (None: everywhere), and gives there the
    derivative `flat` (P, size).
    """

    mistake: Mistake
    span: Span
    at: list[Gradients] = field(default_factory=list)
    everywhere: bool = False
    say: Callable[[], Params] = dict
    place: Place | None = None
    flat: Array = field(default_factory=lambda: np.empty(0))

    @cached_property
    def texts(self) -> Params:
        """What its words may mention."""
        return self.say()

    def lies_within(self, other: "Made") -> bool:
        """Whether it was made in what the other one's place is made of."""
        if self.place is None or other.place is None:
            return False
        here = sum(1 << k for k in self.place.ks)
        return any(other.place.line.above[k] & here for k in other.place.ks)


# The key of an act, how it is made, at which points, and the gradients that come of it there.
Stream = Iterator[tuple[Key, Made, Sequence[int], Sequence[Gradients]]]
