# cython: binding=False
# With binding, `Node.release(3)` would take the 3 for a Node and crash.
"""The tape, what a tensor holds of it, and the way back along it: reverse mode in four verbs.

A node is one op: its row, the edges to its operands' nodes, and what its VJPs will read. **seed**
starts the cotangent at a root, **pull** takes it through one op to one argument, **fit** sums away
what broadcasting had stretched, **accumulate** adds where paths meet. The right verbs are the
functions below; a mistake is one of them said wrong at one site.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import Any, Self
from weakref import ref

import numpy as np
from numpy import float64, ndarray

from gradcheck.engine import advice, native
from gradcheck.engine.recording import MODE, UNUSUAL
from gradcheck.ops.row import Op, pass_on
from gradcheck.values import Params, Value

Hook = Callable[[Value], Value]
Shape = tuple[int, ...]
Form = tuple[Shape, np.dtype[Any]] | None
Position = int  # by a name: Cython would take `int` for an object

MOVES = {
    "getitem", "reshape", "ravel", "transpose", "swapaxes", "matrix_transpose", "moveaxis",
    "squeeze", "expand_dims", "broadcast_to", "diagonal", "atleast_1d", "atleast_2d", "atleast_3d",
    "as_strided", "einsum",
}  # fmt: skip
"""The rows of one operand that may give a view; where NumPy gives one for another row (flip),
PyTorch copies."""

NUMBER: Form = ((), np.dtype(np.float64))
RECENT: list[Value] = [None] * native.SPOTS
"""What stood in for the arrays seen last, each at its shape's spot."""


class Node:
    """One op on the tape: its row, the edges to its operands' nodes, and what its VJPs will read.

    `forms[i]` is the (shape, dtype) of operand i, None for a plain number; `edges[i]` is None for
    a constant; `watch` has the operand (-1: the value), its memory and the version that was saved,
    one operand behind the other, and is None where nothing was saved.
    """

    op: Op
    edges: tuple["Step | None", ...]
    forms: tuple[Form, ...]
    operands: tuple[Value, ...] | None
    params: Params
    y: Value
    watch: tuple[Value, ...] | None
    hooks: list[Hook] | None
    keeper: Callable[[], Value] | None
    span: tuple[int, int] | None
    order: int

    def name(self) -> str:
        """PyTorch's name of the node, `MulBackward0`."""
        known = self.operands or tuple(
            None if form is None else _make_blank(*form) for form in self.forms
        )
        return advice.name_node(self.op, known, self.params)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple["Step | None", int], ...]:
        """The nodes that backward visits next, one pair an operand; (None, 0) for a constant.

        Of a sum or a product with a plain number PyTorch has the tensor first: `2 * x` is `x * 2`.
        """
        found = [(None, 0) if e is None else find_outer(e) for e in self.edges]
        turned = self.op.name in ("add", "multiply") and self.forms[0] is None
        return tuple(found[::-1] if turned else found)

    def release(self) -> None:
        """Forget the saved values (not the edges): they were wanted once."""
        if self.watch is not None:
            self.operands = self.y = None
            self.watch = ()


class Leaf:
    """PyTorch's AccumulateGrad: the end of a path, where a gradient lands in `.grad`."""

    edges: tuple["Step | None", ...] = ()
    next_functions: tuple[Value, ...] = ()
    variable: Value
    hooks: list[Hook] | None
    order: int

    def name(self) -> str:
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


Step = Node | Leaf

OUTPUT = "output"
"""The row of one output of an op that has several; outside, only the op itself is seen."""


def find_outer(step: Step) -> tuple[Step, int]:
    """The op that made a value, and which of its outputs the value is."""
    if type(step) is Node and step.op.name == OUTPUT and step.edges[0] is not None:
        return step.edges[0], step.params["index"]
    return step, 0


class Memory:
    """What tensors look at together: how often it was written, and the last recorded writer.

    `.data` counts for itself, so that no saved value hears of it; `source` is what it looks at.
    """

    version: int
    writer: str
    source: "Memory | None"


class State:
    """What a tensor holds: its value, its place on the tape, its gradient, a count of writes.

    `_memory` is shared by all tensors that look at the same one, and is made when it is first asked
    for; `_view` says of a view whose memory it looks at; `_leaf()` is the end of the edges that
    lead here, if there are any.
    """

    __slots__ = (
        "__weakref__", "_grad", "_leaf", "_node", "_parameter", "_tracked", "_value", "_view",
        "_writes",
    )  # fmt: skip

    def __init__(
        self, value: Value, tracked: bool = False, node: Node | None = None, parameter: bool = False
    ) -> None:
        """Wrap a NumPy value; users call `tensor(...)`, and of lists `Tensor` makes floats."""
        self._value: Value = value if type(value) is not list else np.array(value, np.float64)
        self._tracked = tracked
        self._node = node
        self._parameter = parameter
        self._writes: Memory | None = None
        self._grad: Self | None = None
        self._leaf: Callable[[], Leaf | None] | None = None
        self._view: Value = None

    def _settle(self) -> None:
        if self._view is not None:
            self._view.settle(self)

    @property
    def _memory(self) -> Memory:
        return find_memory(self)

    @property
    def _place(self) -> Memory:
        """What tells memory from memory, through `.data` too."""
        memory = find_memory(self)
        return memory if memory.source is None else memory.source

    def _step(self) -> Step:
        return step_of(self)

    def _share(self) -> None:
        """Give a number an address, so that two tensors can look at one memory."""
        if type(self._value) is not ndarray:
            self._value = np.asarray(self._value)


def wrap(kind: type[Value], value: Value, tracked: bool, node: Node | None) -> Value:
    """A tensor of that kind; `kind(value, tracked, node)` without the detour of a call."""
    t: State = native.make(kind, ("_grad", "_leaf", "_view", "_writes"))
    t._value = value
    t._tracked = tracked
    t._node = node
    t._parameter = False
    return t


def find_memory(t: State) -> Memory:
    if t._writes is None:
        memory: Memory = Memory.__new__(Memory)
        memory.version, memory.writer, memory.source = 0, "", None
        t._writes = memory
    return t._writes


def count_write(t: State) -> None:
    memory = find_memory(t)
    memory.version += 1


def step_of(t: State) -> Step:
    """The end of the edge that leads to a tensor: its node, or the leaf's accumulator."""
    if t._view is not None:
        t._view.settle(t)
    if t._node is not None:
        return t._node
    leaf: Leaf | None = None if t._leaf is None else t._leaf()
    if leaf is None:
        leaf = native.make(Leaf, ("hooks",))
        leaf.variable, leaf.order = t, native.tick()
        t._leaf = ref(leaf)
    return leaf


def unwrap(value: Value) -> Value:
    """The NumPy value inside, for comparisons, masks and indices; sequences are looked into."""
    if isinstance(value, State):
        return value._value
    if type(value) in (list, tuple):
        return type(value)(map(unwrap, value))
    return value


def track(value: Value) -> bool:
    if not isinstance(value, State):
        return False
    value._settle()
    return value._tracked


def read_saved(node: Node) -> tuple[Value, tuple[Value, ...]]:
    """The value and the operands that the node kept.

    Raises RuntimeError, in PyTorch's words, where they are gone or changed.
    """
    check_saved(node)
    return node.y, node.operands or ()


def check_saved(node: Node) -> None:
    """Raises RuntimeError, in PyTorch's words, where saved values are gone or changed."""
    if node.operands is None:
        raise RuntimeError(advice.FREED)
    watch = node.watch
    if watch is None:
        return
    for k in range(0, len(watch), 3):
        memory: Memory = watch[k + 1]
        if memory.version != watch[k + 2]:
            raise RuntimeError(_describe_change(node, watch[k], memory, watch[k + 2]))


def _describe_change(node: Node, i: Value, memory: Memory, version: int) -> str:
    """PyTorch's words for a saved tensor (operand i, or the value: -1) that was overwritten."""
    value = node.y if i < 0 else (node.operands or ())[i]
    maker = node if i < 0 else node.edges[i]
    origin = maker.name() if isinstance(maker, Node) else ""
    if i >= 0 and memory.writer:  # the write has given the operand another node
        moved = isinstance(maker, Node) and maker.op.name in MOVES
        origin = "AsStrided" if moved else memory.writer
    return advice.explain_change(value, origin, memory.version, version)


# -- recording -----------------------------------------------------------------------------------


def make_node(
    op: Op,
    edges: tuple[Step | None, ...],
    forms: tuple[Form, ...],
    operands: tuple[Value, ...],
    params: Params,
) -> Node:
    node: Node = native.make(Node, ("y", "watch", "hooks", "keeper", "span"))
    node.op = op
    node.edges = edges
    node.forms = forms
    node.operands = operands
    node.params = params
    node.order = native.tick()
    return node


def stand_in(value: Value) -> tuple[Form, Value]:
    """The form of an operand, and what no VJP reads of it: an array without its memory.

    Raises TypeError for complex numbers.
    """
    if type(value) is ndarray and value.dtype.kind != "c":
        spot = native.spot(value)
        known: tuple[Value, Value] | None = RECENT[spot]
        if known is None or not native.has_form(value, known[0]):
            known = RECENT[spot] = (value.shape, value.dtype), _make_blank(value.shape, value.dtype)
        return known
    if type(value) is float64:
        return NUMBER, value
    if type(value) is float or type(value) is int:
        return None, value
    if np.iscomplexobj(value):
        raise TypeError(advice.COMPLEX)
    return (value.shape, value.dtype) if hasattr(value, "dtype") else None, value


def _make_blank(shape: Shape, dtype: np.dtype[Any]) -> Value:
    return np.broadcast_to(np.zeros((), dtype), shape)


def record(  # noqa: PLR0917 - by position: it is called for every op
    row: Op,
    operands: tuple[Value, ...],
    params: Params,
    values: list[Value],
    wanted: tuple[bool, ...],
    out: State,
) -> None:
    """Put the node of `out` on the tape, with just the values that its VJPs will read."""
    keep, keep_y = row.keeps(wanted)
    edges: list[Step | None] = [t._step() if wanted[i] else None for i, t in enumerate(operands)]
    forms: list[Form] = []
    watch: list[Value] = []
    for i, t in enumerate(operands):
        form, blank = stand_in(values[i])
        forms.append(form)
        if not keep[i]:
            values[i] = blank
        elif isinstance(t, State):
            watch += i, t._memory, t._memory.version
    if keep_y:
        watch += -1, out._memory, out._memory.version
    out._node = node = make_node(row, tuple(edges), tuple(forms), tuple(values), params)
    out._tracked = True
    if keep_y or True in keep:
        node.y, node.watch = out._value if keep_y else None, tuple(watch)
    if MODE.observe is not None:
        MODE.observe(node, out, operands)


# -- the four verbs -------------------------------------------------------------------------------

SUM = np.add.reduce


def seed(root: Step, g: Value) -> Value:
    """The cotangent at the root: 1 for a scalar, or what the caller gives."""
    return g


def pull(node: Node, i: int, g: Value, y: Value, operands: tuple[Value, ...]) -> Value:
    """G . dy/dx_i: the cotangent of operand i, before it is fitted."""
    return node.op.pull(i, g, y, operands, node.params)


def fit(node: Node, i: int, g: Value) -> Value:
    """The cotangent in the operand's own shape and dtype: what was broadcast is summed."""
    form: Value = node.forms[i]
    if not native.has_shape(g, form[0]):
        g = unbroadcast(g, form[0])
    return g if native.has_form(g, form) or g.dtype == form[1] else g.astype(form[1])


def accumulate(node: Step, held: Value, g: Value) -> Value:
    return held + g


def unbroadcast(g: Value, shape: Shape) -> Value:
    """Sum g over the axes that broadcasting added or stretched; the adjoint of broadcast_to."""
    extra = g.ndim - len(shape)
    if extra > 0:
        axes = tuple(range(extra)) if extra > 1 else 0
        g = SUM(g, axes) if type(g) is ndarray else g.sum(axis=axes)
    if native.has_shape(g, shape):
        return g
    if extra < 0:
        g = np.reshape(g, (1,) * -extra + g.shape)
    stretched = tuple([k for k, n in enumerate(shape) if n == 1 != g.shape[k]])
    if stretched:
        g = g.sum(axis=stretched, keepdims=True)
    return g if native.has_shape(g, shape) else np.broadcast_to(g, shape)


@dataclass(frozen=True)
class Verbs:
    """The four verbs as they are to be said in one backward pass."""

    seed: Callable[[Step, Value], Value] = seed
    pull: Callable[[Node, int, Value, Value, tuple[Value, ...]], Value] = pull
    fit: Callable[[Node, int, Value], Value] = fit
    accumulate: Callable[[Step, Value, Value], Value] = accumulate


RIGHT = Verbs()
Read = Callable[[Node], tuple[Value, tuple[Value, ...]]] | None


class Waiting:
    """Steps at which cotangents have arrived, until it is their turn: the latest goes first.

    One node may stand ahead, with what has arrived at it: a chain needs no more. Of the others
    `arrived` has it, and nodes are in a heap.
    """

    def __init__(self, accumulate: Value) -> None:
        self.ahead: Node | None = None
        self.g: Value = None
        self.heap: list[tuple[int, Node]] = []
        self.arrived: dict[Step, Value] = {}
        self.accumulate = accumulate

    def add(self, step: Step, g: Value) -> None:
        """A cotangent comes to a step: the first waits there, others are accumulated."""
        if step is self.ahead:
            self.g = self.accumulate(step, self.g, g)
            return
        held = self.arrived.get(step)
        if held is not None:
            g = self.accumulate(step, held, g)
        elif type(step) is Node:
            node: Node = step
            if self.ahead is None:
                self.ahead, self.g = node, g
                return
            heappush(self.heap, (-node.order, node))
        self.arrived[step] = g

    def take(self) -> Node | None:
        """The node whose turn it is; what has arrived there is `g`."""
        node, self.ahead = self.ahead, None
        if self.heap and (node is None or node.order < -self.heap[0][0]):
            if node is not None:
                self.arrived[node] = self.g
                heappush(self.heap, (-node.order, node))
            node = heappop(self.heap)[1]
            self.g = self.arrived.pop(node)
        return node


def walk(
    roots: list[tuple[Step, Value]],
    *,
    verbs: Verbs = RIGHT,
    retain: bool = False,
    read: Read = None,
    only: set[Step] | None = None,
) -> dict[Step, Value]:
    """Cotangents of the leaves (or of the steps in `only`), from seeded roots.

    The latest node goes first: operands are older than their op, so everything has arrived at a
    node when its turn comes. What lands is in memory of its own. `read(node)` gives the value and
    the operands where they are not to be as they were saved. Raises RuntimeError, in PyTorch's
    words, where saved values are gone or changed.
    """
    landed: dict[Step, Value] = {}
    waiting = Waiting(verbs.accumulate)
    for root, g in roots:
        waiting.add(root, verbs.seed(root, g))
    above = set() if only is None else _find_above(only, {root for root, _ in roots})
    wanted = None if only is None else above | only
    while (taken := waiting.take()) is not None:
        node: Node = taken
        g, waiting.g = waiting.g, None
        if node.hooks or node.keeper is not None:
            g = apply_hooks(node, g)
        if only is not None and node in only:
            landed[node] = g
        if only is not None and node not in above:
            continue
        _send_on(node, g, read, wanted, waiting, verbs)
        if not retain:
            node.release()
    landed |= {leaf: apply_hooks(leaf, g) for leaf, g in waiting.arrived.items()}
    waiting.arrived.clear()
    g = None  # what is known here too would be copied
    _copy_known(landed)
    return landed


def _send_on(  # noqa: PLR0917 - by position: it is called for every node
    node: Node, g: Value, read: Read, wanted: Value, waiting: Waiting, verbs: Value
) -> None:
    """What arrived at a node, pulled through its op, comes to the steps of its operands."""
    if read is None or node.watch is None:
        check_saved(node)
        y, operands = node.y, node.operands
    else:
        y, operands = read(node)
    rules: Value = node.op.vjps  # one an operand, or one for all, made for this value
    if verbs is RIGHT and type(rules) is not tuple:
        rules = rules(y, *operands, **node.params)  # type: ignore[misc]
    for i, edge in enumerate(node.edges):
        if edge is None or not (wanted is None or edge in wanted):
            continue
        if verbs is RIGHT:
            piece = _pull_and_fit(node, i, g, y, operands, rules)  # type: ignore[arg-type]
        else:
            piece = verbs.pull(node, i, g, y, operands)
            piece = piece if piece is None else verbs.fit(node, i, piece)
        if piece is not None:
            waiting.add(edge, piece)


def _copy_known(landed: dict[Step, Value]) -> None:
    """Bring what somebody else may know, as views and seeds, into memory of its own."""
    for step, g in landed.items():
        if type(g) is ndarray and not native.is_alone(g):
            landed[step] = g.copy()


def _pull_and_fit(  # noqa: PLR0917 - by position: it is called for every edge
    node: Node, i: Position, g: Value, y: Value, operands: tuple[Value, ...], rules: Value
) -> Value:
    """`pull` and `fit` for operand i, without detours."""
    if type(rules) is not tuple:
        piece = rules(i, g)
    elif rules[i] is pass_on:
        piece = g
    elif rules[i] is None or node.params:
        piece = pull(node, i, g, y, operands)
    elif len(operands) == 2:
        piece = rules[i](y, operands[0], operands[1])(g)
    else:
        piece = rules[i](y, *operands)(g)
    form = node.forms[i]
    if (type(piece) is float64 and form is NUMBER) or piece is None:
        return piece
    return piece if native.has_form(piece, form) else fit(node, i, piece)


def apply_hooks(step: Step, g: Value) -> Value:
    """The cotangent after the hooks that hang on a step; who retains it has it then."""
    for hook in step.hooks or ():
        g = hook(g)
    t = step.keeper() if type(step) is Node and step.keeper is not None else None
    if t is not None:
        by_ledger("keep", t, partial(_keep, t, g), g)
    return g


def list_reachable(roots: Iterable[Step]) -> list[Step]:
    """Every step below the roots, latest made first."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return sorted(seen, key=lambda step: step.order, reverse=True)


def _find_above(targets: set[Step], roots: Iterable[Step]) -> set[Step]:
    found: set[Step] = set()
    for step in reversed(list_reachable(roots)):
        if any(edge in found or edge in targets for edge in step.edges):
            found.add(step)
    return found


# -- `.grad` and unrecorded writes: by the ledger, where one is kept -------------------------------


def by_ledger(verb: str, t: State, do: Callable[[], None], *more: Value) -> None:
    if UNUSUAL and MODE.ledger is not None:
        getattr(MODE.ledger, verb)(t, *more, do)
    else:
        do()


def land(landed: Mapping[Step, Value], create_graph: bool) -> None:
    """Add what a walk brought to the `.grad` of the leaves; others keep theirs by themselves."""
    ledger = MODE.ledger if UNUSUAL else None
    for step, g in landed.items() if ledger is None else ledger.order(landed):
        if type(step) is Leaf:
            leaf: Leaf = step
            target, own = leaf.variable, not leaf.hooks
            if ledger is None:
                _deposit(target, g, create_graph, own)
            else:
                ledger.deposit(target, g, partial(_deposit, target, g, create_graph, own))


def _deposit(target: State, g: Value, create_graph: bool, own: bool) -> None:
    """Add g to `.grad`: into the same tensor object, as PyTorch does; `own` memory is kept."""
    held: Value = target._grad
    if not target._tracked:  # it was asked for when the graph was made, and is no longer
        return
    if create_graph:
        live: Value = g if isinstance(g, State) else type(target)(g)
        target._grad = live.clone() if held is None else held + g
    elif held is None:
        mine = type(g) is float64 or (own and type(g) is ndarray)
        target._grad = wrap(type(target), g if mine else np.array(unwrap(g)), False, None)
    else:
        held._share()
        np.add(held._value, unwrap(g), out=held._value, casting="same_kind")
        count_write(held)


def _keep(t: State, g: Value) -> None:
    held: Value = t._grad
    if isinstance(g, State):
        t._grad = g if held is None else held + g
    else:  # unrecorded, and in memory that is nobody else's
        total = np.array(g) if held is None else np.asarray(held._value + g)
        t._grad = wrap(type(t), total[()], False, None)


def move(t: State, by: Value) -> None:
    """An unrecorded write into the tensor's memory: it loses `by`."""
    by_ledger("write", t, partial(_move, t, by))


def _move(t: State, by: Value) -> None:
    t._share()
    t._value -= by
    count_write(t)


def clear(parameters: Iterable[State], set_to_none: bool) -> None:
    for p in parameters:
        held: Value = p._grad
        if held is not None and not set_to_none:
            held.detach().zero_()
            p._grad = held.detach() if held.requires_grad else held
        elif UNUSUAL:
            del p.grad  # type: ignore[attr-defined]
        else:
            p._grad = None
