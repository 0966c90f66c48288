"""The ledger of `.grad`: what each backward call added, what was cleared, and what was stepped.

One observer of a run keeps it by three verbs. Said right, they are PyTorch's; a mistake of the
training loop is one of them said wrong, everywhere or at a scope.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import inf

import numpy as np

from gradcheck.documents.document import locate_node
from gradcheck.engine.recording import MODE, watching
from gradcheck.engine.tape import Leaf, Step, list_reachable
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.language.budget import FEWER, make_refusal
from gradcheck.language.program import Program, locate_running
from gradcheck.mistakes.training import Clear, Deposit, Write
from gradcheck.opinions.tape import Observer, Record
from gradcheck.values import Array, Numbers, Routine
from gradcheck.verdict.passes import BackwardPass

CHUNK = 250  # numbers that are handled in the time of an operation on one number
MOST_KEPT = 64
MOST_SCOPES = 12

Span = tuple[int, int] | None
Do = Callable[[], None]


# -- the verbs, and where one of them is said ------------------------------------------------------

RIGHT: Mapping[str, Routine] = {
    "deposit": lambda d: d.g if d.held is None else d.held + d.g,
    "clear": lambda c: True,
    "write": lambda w: w.after,
}
"""What `.grad` holds after a gradient arrived, whether a clearing is done, what a leaf holds."""
ENTERED = {"deposit": "add", "clear": "clear", "write": "step"}


@dataclass(frozen=True)
class Scope:
    """All occasions of a verb at a place of the text, or one of them; None is any.

    An occasion is one place done to several leaves, once to each: `zero_grad` clears them all.
    """

    place: Span = None
    occasion: int | None = None

    @property
    def cost(self) -> int:
        """How special it is: everywhere 0, at one place 1, only once 2."""
        return 2 if self.occasion is not None else int(self != EVERYWHERE)


EVERYWHERE = Scope()


class LoopVerbs:
    """The verbs of one run: right, but for some `ways` at a scope.

    `here` is the occasion of what was said last; `differed` are what came to something else than is
    right, and the places.
    """

    def __init__(self, ways: Mapping[str, Routine] | None = None, scope: Scope = EVERYWHERE):
        self.ways, self.scope, self.here = ways or {}, scope, EVERYWHERE
        self.told = dict[str, tuple[Scope, set[int]]]()
        self.differed: list[tuple[Numbers, Span]] = []

    def find_occasion(self, verb: str, leaf: int) -> Scope:
        """The one at hand, or a new one: at another place, or where the leaf has had its turn."""
        place = locate_running()
        last, leaves = self.told.get(verb, (Scope(place, -1), {leaf}))
        if place != last.place or leaf in leaves:
            last, leaves = Scope(place, (last.occasion or 0) + 1), set()
        leaves.add(leaf)
        self.told[verb] = last, leaves
        return last

    def say(self, verb: str, given: Numbers) -> Numbers:
        self.here, due = self.find_occasion(verb, given.leaf), RIGHT[verb](given)
        place, occasion = self.scope.place, self.scope.occasion
        said = place in (None, self.here.place) and occasion in (None, self.here.occasion)
        if verb not in self.ways or not said:
            return due
        came = self.ways[verb](given)
        if not np.array_equal(came, due):
            self.differed.append((given, self.here.place))
        return came


# -- what is written down --------------------------------------------------------------------------


@dataclass(eq=False)
class Holder:
    """What holds a `.grad`: a tensor, and its number in the order in which they come.

    `last` is what was done to its `.grad`, or was not: "held back". `added` are the numbers of the
    gradients since the last clearing or step, `moved` is how far that went.
    """

    tensor: Tensor
    number: int
    name: str = ""
    last: str = ""
    added: list[int] = field(default_factory=list)
    moved: Array | None = None

    @property
    def held(self) -> Array | None:
        grad = self.tensor._grad
        return None if grad is None else np.array(unwrap(grad))


@dataclass(frozen=True, eq=False)
class BackwardCall(BackwardPass):
    """A pass back of a program: the value it began from, and the k of `loss / k`."""

    names: dict[Step, str] = field(default_factory=dict)
    value: Array = field(default_factory=lambda: np.zeros(()))
    divisor: float = 1.0

    @property
    def start(self) -> Step:
        return self.roots[0][0].root


@dataclass(frozen=True, eq=False)
class LedgerEntry:
    """One line: `verb` is "add", "clear" or "step"; `amount` what was added, `total` what is held.

    `event` is the number of the backward call that added, counted from 0.
    """

    verb: str
    leaf: Holder
    amount: Array | None
    total: Array | None
    scope: Scope = EVERYWHERE
    event: int | None = None


class GradLedger:
    """Follows a run on the engine: its passes back, who holds a `.grad`, what was done to that.

    `together` is the number of gradients that the fullest window adds up, once that is known; more
    operations than `limit` end in OutOfBudget. One that is not `watched` stays empty. `windows` are
    the numbers that are added up where a gradient is, by the gradient's number.
    """

    def __init__(
        self,
        verbs: LoopVerbs | None = None,
        together: int = 1,
        limit: float = inf,
        watched: bool = True,
    ) -> None:
        self.verbs, self.together, self.limit = verbs or LoopVerbs(), together, limit
        self.watched = watched
        self.observer = Observer(locate_running)
        self.calls, self.entries = list[BackwardCall](), list[LedgerEntry]()
        self.holders, self.by_memory = list[Holder](), dict[int, Holder]()
        self.pending: list[tuple[Holder, Array | None, Array]] = []
        self.spent = self.done = self.idle_clears = self.deposits = self.keeping = 0
        self.windows, self.fullest = dict[int, int](), 1

    def watching(self) -> AbstractContextManager[None]:
        """While a program runs; a disturbance of every forward value goes on."""
        own = watching(self.observe, MODE.disturb, self.note_walk, self)
        return own if self.watched else nullcontext()

    def spend(self, count: int) -> None:
        self.spent += count
        if self.spent > self.limit:
            raise make_refusal("operations on tensors, there and back", int(self.limit), FEWER)

    def enter(self, t: Tensor) -> Holder:
        """The holder of a tensor; writes to its memory, through `.data` too, are known by it."""
        found = self.by_memory.get(id(t._place))
        if found is None or found.tensor is not t:
            self.spend(1 + len(self.holders) // 20)  # a clearing looks at each
            found = self.by_memory[id(t._place)] = Holder(t, len(self.holders))
            self.holders.append(found)
        return found

    def name_holders(self, known: Mapping[int, str]) -> None:
        """After what is known by identities: a variable, a module's parameter."""
        for k, holder in enumerate(self.holders):
            nameless = f"leaf {k + 1}" if holder.tensor.is_leaf else "an intermediate value"
            holder.name = holder.name or known.get(id(holder.tensor), nameless)

    def name_of(self, step: Step) -> str:
        """What a leaf is called, or a value that gradients are asked for."""
        if isinstance(step, Leaf):
            return self.enter(step.variable).name
        return next((h.name for h in self.holders if h.tensor._node is step), "a value")

    # -- what the engine does: operations, and passes back

    def observe(self, node: Numbers, out: Numbers, operands: Sequence[Numbers]) -> None:
        self.spend(1 + sum(map(np.size, map(unwrap, operands))) // CHUNK)
        for each in operands:
            if isinstance(each, Tensor) and each._tracked and each._node is None:
                self.enter(each)
        self.observer.observe(node, out, operands)

    def note_walk(
        self, roots: Sequence[tuple[Step, Numbers]], landed: Mapping[Step, Numbers]
    ) -> None:
        """A pass back is over, and nothing has been added to a `.grad` of a leaf."""
        self.spend(len(list_reachable([step for step, _ in roots])))
        pieces = tuple((self.observer.record(step), np.array(unwrap(g))) for step, g in roots)
        arrived = self._collect_arrivals(landed)
        value, divisor = np.array(_replay_value(pieces[0][0])), _find_divisor(pieces[0][0])
        if len(pieces) > 1:  # each contracted with its cotangent
            summed = sum(np.sum(_replay_value(record) * g) for record, g in pieces)
            value, divisor = np.asarray(summed), 1.0
        place, number = locate_running(), len(self.calls)
        self.calls.append(BackwardCall(place, pieces, arrived, {}, number, False, value, divisor))

    def _collect_arrivals(self, landed: Mapping[Step, Numbers]) -> dict[Step, Array]:
        """What has come to which step: leaves in their order, then what keeps its gradient."""

        def find_turn(step: Step) -> float:
            return self.enter(step.variable).number if isinstance(step, Leaf) else inf

        steps = sorted(landed, key=find_turn)
        found = {step: np.array(unwrap(landed[step]), dtype=np.float64) for step in steps}
        return found | {holder.tensor._step(): g for holder, _, g in self.pending}

    # -- the three verbs, as the engine is about to do them

    def order(self, landed: Mapping[Step, Numbers]) -> Iterator[tuple[Step, Numbers]]:
        """What the engine is to add to the leaves; then what intermediate values kept."""
        yield from ((s, landed[s]) for s in self.calls[-1].landed if isinstance(s, Leaf))
        pending, self.pending = self.pending, []
        for holder, before, g in pending:
            self._add(holder, before, g)

    def deposit(self, t: Numbers, g: Numbers, do: Do) -> None:
        holder = self.enter(t)
        before = holder.held
        do()
        if t._tracked:
            self._add(holder, before, np.array(unwrap(g)))

    def keep(self, t: Numbers, g: Numbers, do: Do) -> None:
        """A gradient passes a value that keeps it, while the engine is still on its way."""
        known = id(t._place) in self.by_memory
        self.keeping += not known
        if known or self.keeping <= MOST_KEPT:
            holder = self.enter(t)
            self.pending.append((holder, holder.held, np.array(unwrap(g))))
        do()

    def clear(self, t: Numbers, do: Do) -> None:
        """`.grad = None`, `zero_grad()`."""
        if t._grad is None:
            self.idle_clears += 1
        else:
            self._clear(self.enter(t), None, do)

    def zero(self, t: Numbers, do: Do) -> None:
        """`t.zero_()`: of a `.grad` a clearing, of anything else a write."""
        for holder in self.holders:
            grad = holder.tensor._grad
            if grad is not None and grad._place is t._place:
                self._clear(holder, np.zeros(holder.tensor.shape), do)
                return
        self.write(t, do)

    def write(self, t: Numbers, do: Do) -> None:
        """A write in place: of a leaf, or through its memory (`.data`), a step."""
        self.spend(1)
        own = t._tracked and t._node is None
        holder = self.enter(t) if own else self.by_memory.get(id(t._place))
        if holder is None or not holder.tensor._tracked or holder.tensor._node is not None:
            do()
            return
        before = np.array(unwrap(holder.tensor))
        do()
        after = np.array(unwrap(holder.tensor))
        previous = np.zeros(before.shape) if holder.moved is None else holder.moved
        step = Write(holder.number, before, after, previous, len(holder.added), self.together)
        value = np.asarray(self._say("write", step, holder.tensor))
        holder.moved = after - before
        self._close(holder)
        holder.last = holder.last if holder.last == "held back" else "step"
        self._note("step", holder, np.array(value - before), np.array(unwrap(holder.tensor)))

    def _add(self, holder: Holder, before: Array | None, g: Array) -> None:
        call, self.deposits = self.calls[-1], self.deposits + 1
        made = getattr(call.start, "span", None)  # where the value it began from was computed
        arrived = (holder.number, before, g, call.divisor, self.together, made, holder.last)
        total = self._say("deposit", Deposit(*arrived, self.deposits - 1), holder.tensor._grad)
        holder.last = "add"
        holder.added.append(self.deposits - 1)
        self.fullest = max(self.fullest, len(holder.added))
        self._note("add", holder, g, np.array(total), call.number)

    def _say(self, verb: str, given: Numbers, target: Numbers) -> Numbers:
        """What a verb comes to; said wrong, its numbers stand in memory, unheard by the tape."""
        value = self.verbs.say(verb, given)
        if self.verbs.ways:
            target._share()
            target._value[...] = value
        return value

    def _clear(self, holder: Holder, left: Array | None, do: Do) -> None:
        cleared = self.verbs.say("clear", Clear(holder.number, holder.held, holder.last))
        holder.last = "clear" if cleared else "held back"
        if cleared:
            self._close(holder)
            do()
            self._note("clear", holder, None, left)

    def _close(self, holder: Holder) -> None:
        self.windows |= dict.fromkeys(holder.added, len(holder.added))
        holder.added.clear()

    def _note(
        self, verb: str, holder: Holder, amount: Numbers, total: Numbers, *event: int
    ) -> None:
        self.spend(1)
        self.entries.append(LedgerEntry(verb, holder, amount, total, self.verbs.here, *event))


def _replay_value(record: Record) -> Numbers:
    root = record.root
    return unwrap(root.variable) if isinstance(root, Leaf) else record.given[root].value


def _find_divisor(record: Record) -> float:
    """The k of `loss / k`, or of `loss * (1 / k)`; 1 where the loss is not divided."""
    root = record.root
    if isinstance(root, Leaf) or len(root.edges) != 2 or root not in record.given:
        return 1.0
    pairs = zip(root.edges, record.given[root].operands, strict=True)
    kinds = (int, float, np.ndarray, np.number)
    first, second = (
        float(v) if edge is None and isinstance(v, kinds) and np.ndim(v) == 0 else None
        for edge, v in pairs
    )
    if root.op.name == "divide" and second:
        return second
    factor = first or second
    return 1.0 / factor if root.op.name == "multiply" and factor else 1.0


# -- where a verb happens, and when ----------------------------------------------------------------


def list_occasions(verb: str, entries: Iterable[LedgerEntry]) -> list[Scope]:
    return [entry.scope for entry in entries if entry.verb == ENTERED[verb]]


def list_scopes(verb: str, entries: Iterable[LedgerEntry]) -> tuple[Scope, ...]:
    """Where a verb can go wrong: everywhere, at one of the places, or once."""
    each_time = list_occasions(verb, entries)
    places = dict.fromkeys(each.place for each in each_time)
    numbers = dict.fromkeys(each.occasion for each in each_time)
    found = [Scope(place=place) for place in places if place and 1 < len(places) <= MOST_SCOPES]
    found += [Scope(occasion=n) for n in numbers if len(places) < len(numbers) <= MOST_SCOPES]
    return (EVERYWHERE, *found)


def find_statement(program: Program, span: Span) -> Span:
    """The span of the statement that a place lies in."""
    if span is None:
        return None
    for node in ast.walk(program.tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            start, end = program.passage.span(locate_node(node))
            if start <= span[0] and span[1] <= end:
                return start, end
    return span
