"""A run of a program on tensors: what every op was given and gave, and the passes back over it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.recording import watching
from gradcheck.engine.tape import RIGHT, Leaf, Node, Step, Verbs, walk
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.opinions.opinion import Case, NotScalar
from gradcheck.values import Array, Numbers

Leaves = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Tape:
    """Root and seed, the leaves, and for every node, oldest first, its value and its operands.

    Values and operands are copies: a later write into an array does not show in them.
    """

    case: Case
    root: Step
    seed: Numbers
    value: Numbers
    leaves: Leaves
    nodes: Sequence[Node]
    values: Mapping[Node, tuple[Numbers, tuple[Numbers, ...]]]

    @cached_property
    def uses(self) -> Counter[Step]:
        """How many edges lead to each step."""
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
        """The gradients of one right pass."""
        return self.gradients(self.back())

    def gradients(self, landed: Mapping[Step, Numbers]) -> dict[str, Array]:
        """The gradient of every wrt input from what landed at the leaves."""
        return gradients_at(self.leaves, landed, self.case.wrt)


def record(case: Case) -> Tape | None:
    """The tape of the program at the point; None where the value depends on no wrt input.

    Where every entry of the value is asked for, the pass back is that of their sum.
    """
    nodes: list[Node] = []
    values: dict[Node, tuple[Numbers, tuple[Numbers, ...]]] = {}

    def observe(node: Node, out: Tensor, operands: Numbers) -> None:
        node.span = case.where()
        nodes.append(node)
        values[node] = np.array(bare(out)), tuple(np.array(bare(v)) for v in operands)

    leaves = leaves_of(case, case.floats())
    with watching(observe=observe), np.errstate(all="ignore"):
        out = case.function("tensor", leaves)
    value = np.asarray(bare(out))
    ones = np.ones(value.shape) if case.rows is not None else case.cotangent
    seed = seed_of(value, ones)
    if not isinstance(out, Tensor) or not out.requires_grad:
        return None
    return Tape(case, out._step(), seed, value, leaves, nodes, values)


def leaves_of(case: Case, values: Mapping[str, Array]) -> dict[str, Tensor]:
    """The inputs as tensors; those that are differentiated require grad."""
    return {name: tensor(v, requires_grad=name in case.wrt) for name, v in values.items()}


def seed_of(value: Array, cotangent: Array | None) -> Numbers:
    """The cotangent to begin with, of the shape of the value; NotScalar where one is missing."""
    if cotangent is not None:
        return np.broadcast_to(np.asarray(cotangent, dtype=np.float64), value.shape)[()]
    if value.size != 1:
        raise NotScalar(value.shape)
    return np.ones(value.shape)[()]


def gradients_at(
    leaves: Leaves, landed: Mapping[Step, Numbers], wrt: tuple[str, ...]
) -> dict[str, Array]:
    """What landed at each leaf; zeros where no path leads to it."""
    found = {id(step.variable): g for step, g in landed.items() if isinstance(step, Leaf)}
    return {name: _landing(found.get(id(leaves[name])), leaves[name]) for name in wrt}


def _landing(g: Numbers, leaf: Tensor) -> Array:
    """What landed at a leaf, in memory of its own; zeros where nothing did."""
    return np.zeros(leaf.shape) if g is None else np.asarray(g, dtype=np.float64)
