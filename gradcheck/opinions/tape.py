"""A run of a program on tensors: what every op was given and gave, the passes back over it.

What was recorded can be evaluated again on numbers of another kind. The observer keeps what every
op was given, for an op's own node keeps no more than its VJPs read.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isinf, isqrt, prod
from weakref import WeakKeyDictionary

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.function import Context, Function
from gradcheck.engine.recording import enable_grad, watching
from gradcheck.engine.tape import OUTPUT, RIGHT, Leaf, Node, Step, Verbs, list_reachable, walk
from gradcheck.engine.tensor import Tensor, apply, unwrap
from gradcheck.errors import GradcheckError
from gradcheck.numbers.ball import arbs, balls, compute, each, middle
from gradcheck.numbers.symbolic import constants
from gradcheck.opinions.opinion import Case, NotScalar
from gradcheck.ops.row import Op
from gradcheck.values import Array, Numbers, Params

Leaves = Mapping[str, Tensor]
PRODUCTS = frozenset({"matmul", "outer", "einsum"})
LIFT: Mapping[str, Callable[[Numbers], Numbers]] = {"ball": balls, "symbolic": constants}


@dataclass(frozen=True, eq=False)
class Given:
    """What an op was given, and its value: copies, in which a later write does not show."""

    operands: tuple[Numbers, ...]
    params: Params
    value: Numbers

    @property
    def size(self) -> int:
        return int(np.size(self.value))


@dataclass(frozen=True, eq=False)
class Record:
    """The nodes below a value, oldest first, with what each was given; `root` made the value."""

    root: Step
    nodes: tuple[Node, ...]
    given: Mapping[Step, Given]
    versions: Mapping[tuple[Node, int], Step] = field(default_factory=dict)

    @cached_property
    def plan(self) -> list[tuple[Node, tuple[Step | None, ...], Given]]:
        """Each node, what made its operands (a version of what was written), what it was given."""
        find = self.versions.get
        edges = [tuple(find((n, k), e) for k, e in enumerate(n.edges)) for n in self.nodes]
        return [(n, made, self.given[n]) for n, made in zip(self.nodes, edges, strict=True)]

    def above(self, leaves: Iterable[Step]) -> "Record":
        """The part that depends on the leaves; GradcheckError where that was not observed."""
        known, nodes = set(leaves), []
        for node in self.nodes:
            if node not in known and any(edge in known for edge in node.edges):
                known.add(node)
                nodes.append(node)
                if node not in self.given:
                    raise GradcheckError(f"{node.name()} is not followed beyond reverse mode")
        return replace(self, nodes=tuple(nodes))

    @property
    def work(self) -> int:
        """About how many operations on numbers one evaluation takes."""
        return sum(_count_work(node, self.given[node]) for node in self.nodes if node in self.given)


class Observer:
    """Sees every op; for how long what an op was given is kept, the graph decides.

    `copied` counts entries, so that somebody can set `idle` where nobody asks for them.
    """

    def __init__(self, where: Callable[[], Numbers] = lambda: None) -> None:
        """Nothing seen yet; `where` says which part of a text is being evaluated."""
        self.where = where
        self.given: WeakKeyDictionary[Step, Given] = WeakKeyDictionary()
        self.copied, self.rounded, self.idle = 0, 0, False

    def count(self, row: Op, y: Numbers) -> Numbers:
        """Count every op that rounds, on the tape or not: `sinh(7)` is not."""
        self.rounded += row.rounds
        return y

    def observe(self, node: Node, out: Numbers, operands: Sequence[Numbers]) -> None:
        if self.idle:
            return
        node.span = self.where()
        copies = tuple(map(_copy, operands))
        self.given[node] = Given(copies, node.params, _copy(out))
        self.copied += sum(map(np.size, copies))

    def record(self, root: Step) -> Record:
        nodes = [step for step in reversed(list_reachable([root])) if isinstance(step, Node)]
        outputs = (node for node in nodes if node.op.name == OUTPUT)
        given: dict[Step, Given] = {n: Given((None,), n.params, 0.0) for n in outputs}
        given |= {node: self.given[node] for node in nodes if node in self.given}
        return Record(root, tuple(nodes), given)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tape(Record):
    """The record of a question, every node that was made in it; seed, leaves, passes back."""

    case: Case
    seed: Numbers
    value: Numbers
    leaves: Leaves

    @cached_property
    def uses(self) -> Counter[Step]:
        return Counter(edge for node in self.nodes for edge in node.edges if edge is not None)

    @cached_property
    def sums(self) -> frozenset[Node]:
        """The nodes at which zero is added, to be differentiated by: nobody sees an op there."""
        zeros = {id(self.leaves[name]) for name in self.case.zeros}
        below = ((n, e) for n in self.nodes for e in n.edges if isinstance(e, Leaf))
        return frozenset(node for node, leaf in below if id(leaf.variable) in zeros)

    def back(self, verbs: Verbs = RIGHT, only: set[Step] | None = None) -> dict[Step, Numbers]:
        """The cotangents of the leaves (or of `only`) from one pass back; it may be repeated."""
        return walk([(self.root, self.seed)], verbs=verbs, retain=True, only=only)

    @cached_property
    def right(self) -> dict[str, Array]:
        return self.gradients(self.back())

    def gradients(self, landed: Mapping[Step, Numbers]) -> dict[str, Array]:
        return collect_gradients(self.leaves, landed, self.case.wrt)


def record(case: Case) -> Tape | None:
    """The tape of the program at the point; None where the value depends on no wrt input.

    Where every entry of the value is asked for, the pass back is that of their sum.
    """
    nodes: list[Node] = []
    observer = Observer(case.where)

    def observe(node: Node, out: Tensor, operands: Sequence[Numbers]) -> None:
        nodes.append(node)
        observer.observe(node, out, operands)

    leaves = make_leaves(case, case.inputs)
    with watching(observe=observe), np.errstate(all="ignore"):
        out = case.function("tensor", leaves)
    value = np.asarray(unwrap(out))
    ones = np.ones(value.shape) if case.rows is not None else case.cotangent
    seed = make_seed(value, ones)
    if not isinstance(out, Tensor) or not out.requires_grad:
        return None
    given: dict[Step, Given] = {node: observer.given[node] for node in nodes}
    return Tape(out._step(), tuple(nodes), given, case=case, seed=seed, value=value, leaves=leaves)


def make_leaves(case: Case, values: Mapping[str, Array]) -> dict[str, Tensor]:
    floats = {name: np.asarray(v, dtype=np.float64) for name, v in values.items()}
    return {name: tensor(v, requires_grad=name in case.wrt) for name, v in floats.items()}


def make_seed(value: Array, cotangent: Array | None) -> Numbers:
    if cotangent is not None:
        return np.broadcast_to(np.asarray(cotangent, dtype=np.float64), value.shape)[()]
    if value.size != 1:
        raise NotScalar(value.shape)
    return np.ones(value.shape)[()]


def collect_gradients(
    leaves: Leaves, landed: Mapping[Step, Numbers], wrt: tuple[str, ...]
) -> dict[str, Array]:
    """What landed at each leaf; zeros where no path leads to it."""
    found = {id(step.variable): g for step, g in landed.items() if isinstance(step, Leaf)}
    return {
        name: np.asarray(found[key], np.float64) if key in found else np.zeros(leaves[name].shape)
        for name, key in ((name, id(leaves[name])) for name in wrt)
    }


# -- again, on numbers of another kind -------------------------------------------------------------


def replay(
    record: Record,
    known: Mapping[Step, Numbers],
    kind: str,
    at: Callable[[Numbers], None] = lambda place: None,
) -> Numbers:
    """The recorded value on numbers of a kind, its leaves given by step; `at` hears each place."""
    values = dict(known)
    for node, edges, given in record.plan:
        if node in values:
            continue
        at(node.span)
        pairs = zip(edges, given.operands, strict=True)
        operands = tuple([values[e] if e in values else lift(v, kind) for e, v in pairs])
        values[node] = apply_node(node, operands, given.params, kind)
    constant = record.root not in values  # nothing that is asked about leads there
    return lift(record.given[record.root].value, kind) if constant else values[record.root]


def apply_node(node: Node, operands: tuple[Numbers, ...], params: Params, kind: str) -> Numbers:
    """What a node makes of operands of a kind; of a user's function, what its forward does."""
    if node.op.name == OUTPUT:
        return operands[0][params["index"]]
    users = getattr(node.op.function, "__self__", None)
    if isinstance(users, type) and issubclass(users, Function):
        return users.apply(*operands) if kind == "tensor" else _run_inside(users, operands, kind)
    if kind == "tensor":
        return apply(node.op, operands, params)
    if kind == "float":
        return node.op.forward(*operands, **params)
    return compute(node.op, operands, params)


def _run_inside(function: type[Function], operands: tuple[Numbers, ...], kind: str) -> Numbers:
    """What the forward of a user's function does, op by op, on numbers of a kind.

    It is recorded on floats: for its own derivative no rule of the user's is asked.
    """
    tracked = [_track(value) for value in operands]
    observer, context = Observer(), Context((False,) * len(operands))
    with watching(observe=observer.observe), enable_grad(), redirect_stdout(io.StringIO()):
        result = function.run_forward(context, *tracked)
    leaves = {t._step(): v for t, v in zip(tracked, operands, strict=True) if isinstance(t, Tensor)}

    def output(out: Numbers) -> Numbers:
        if not isinstance(out, Tensor) or not out.requires_grad:
            constant = kind == "float" or any(out is each for each in context._constant)
            if isinstance(out, Tensor) and out.dtype.kind == "f" and not constant:
                raise GradcheckError(f"forward of {function.__name__} leaves what is recorded")
            return lift(unwrap(out), kind)
        return replay(observer.record(out._step()).above(leaves), leaves, kind)

    return tuple(map(output, result)) if isinstance(result, tuple) else output(result)


def _track(value: Numbers) -> Numbers:
    """Floats, or the floats of exact numbers, as a tensor; anything else as it is."""
    plain = unwrap(value)
    if isinstance(plain, np.ndarray) and plain.dtype == object:
        plain = np.asarray(each(middle, arbs(plain)), dtype=np.float64)
    return tensor(plain, requires_grad=True) if _is_float(plain) else plain


def _copy(value: Numbers) -> Numbers:
    plain = unwrap(value)
    return np.array(plain) if isinstance(plain, np.ndarray | np.generic) else plain


def _is_float(value: Numbers) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f"


def lift(value: Numbers, kind: str) -> Numbers:
    """A constant of the program as an exact number; places, truth and open bounds stay."""
    if kind not in LIFT or (isinstance(value, float) and isinf(value)):
        return value
    return LIFT[kind](value) if isinstance(value, float) or _is_float(value) else value


def _count_work(node: Node, given: Given) -> int:
    if node.op.name in PRODUCTS or node.op.name.startswith("conv"):
        sizes = [int(np.size(v)) for v in given.operands[:2]]
        return isqrt(prod(sizes) * given.size) + given.size
    return given.size + (0 if node.op.elementwise else sum(map(np.size, given.operands)))
