"""The ledger of `.grad`: what each backward call added, what was cleared, and what was stepped.

Three verbs keep it. Said right, they are PyTorch's; a mistake of the training loop is one of them
said wrong. The engine hands over what it is about to do (`Mode.ledger`).
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gradcheck.documents.passage import where_is
from gradcheck.engine.tape import Leaf, Step
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language import Program, executing
from gradcheck.mistakes.training import Clear, Deposit, Write
from gradcheck.values import Array, Numbers
from gradcheck.verdict.passes import BackwardPass

MOST_KEPT = 64

Span = tuple[int, int] | None
Do = Callable[[], None]
Spend = Callable[[int], None]


def spend_nothing(count: int) -> None:
    """What a run spends where nobody counts."""


@dataclass(eq=False)
class Holder:
    """What holds a `.grad`: a tensor, and its number in the order in which they come."""

    tensor: Tensor
    number: int
    name: str = ""
    last: str = ""  # what was last done to its `.grad`, or was not: "held back"

    @property
    def value(self) -> Array:
        return np.array(bare(self.tensor))

    @property
    def held(self) -> Array | None:
        grad = self.tensor._grad
        return None if grad is None else np.array(bare(grad))


@dataclass(frozen=True, eq=False)
class BackwardCall(BackwardPass):
    """A pass back of a program: the value it began from, and the k of `loss / k`."""

    value: Array = field(default_factory=lambda: np.zeros(()))
    divisor: float = 1.0
    made: Span = None  # where the value it began from was computed

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
    span: Span = None
    event: int | None = None


@dataclass(frozen=True)
class LedgerVerbs:
    """What is done when a gradient arrives, when `.grad` is cleared, when a leaf is written.

    `deposit` gives what `.grad` then holds, `clear` whether it is done, `write` the leaf's value.
    """

    deposit: Callable[[Deposit], Numbers] = lambda d: d.g if d.held is None else d.held + d.g
    clear: Callable[[Clear], bool] = lambda c: True
    write: Callable[[Write], Numbers] = lambda w: w.after


RIGHT = LedgerVerbs()


def hear(
    verbs: LedgerVerbs, scope: "Scope", differ: Callable[[Numbers, Span], None]
) -> LedgerVerbs:
    """The verbs, at a scope; `differ` hears of what, and where, they come to something else."""

    def say(name: str) -> Callable[[Numbers], Numbers]:
        right, way, counter = getattr(RIGHT, name), getattr(verbs, name), Occasions()

        def said(argument: Numbers) -> Numbers:
            due, here = right(argument), counter.next(executing(), argument.leaf)
            if way is right or not scope.covers(here):
                return due
            came = way(argument)
            if not np.array_equal(came, due):
                differ(argument, here.place)
            return came

        return said

    return LedgerVerbs(say("deposit"), say("clear"), say("write"))


def totals(entries: Iterable[LedgerEntry], verb: str) -> list[Numbers]:
    return [entry.total for entry in entries if entry.verb == verb]


@dataclass(eq=False)
class GradientLedger:
    """Who holds a `.grad`, and what was done to it.

    `together` is the number of gradients that the fullest window adds up, once that is known;
    `calls` are the backward calls so far, the last of which now lands.
    """

    verbs: LedgerVerbs = RIGHT
    together: int = 1
    spend: Spend = spend_nothing
    calls: list[BackwardCall] = field(default_factory=list)
    holders: list[Holder] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)
    windows: dict[Holder, int] = field(default_factory=dict)
    previous: dict[Holder, Array] = field(default_factory=dict)
    pending: list[tuple[Holder, Array | None, Array]] = field(default_factory=list)
    fullest: int = 0
    idle_clears: int = 0
    deposits: int = 0
    _by_memory: dict[int, Holder] = field(default_factory=dict)
    _keeping: int = 0

    # -- who holds a `.grad` ---------------------------------------------------------------------

    def enter(self, t: Tensor) -> Holder:
        """The holder of a tensor; writes to its memory, through `.data` too, are known by it."""
        found = self._by_memory.get(id(t._cell))
        if found is None or found.tensor is not t:
            self.spend(1 + len(self.holders) // 20)  # a clearing looks at each
            found = Holder(t, len(self.holders))
            self.holders.append(found)
            self._by_memory[id(t._cell)] = found
        return found

    def leaf_at(self, t: Numbers) -> Holder | None:
        """The leaf in whose memory a tensor lies."""
        if t._tracked and t._node is None:
            return self.enter(t)
        found = self._by_memory.get(id(t._cell))
        leaf = found is not None and found.tensor._tracked and found.tensor._node is None
        return found if leaf else None

    def name_of(self, step: Step) -> str:
        """What a leaf is called, or a value that gradients are asked for."""
        if isinstance(step, Leaf):
            return self.enter(step.variable).name
        return next((h.name for h in self.holders if h.tensor._node is step), "a value")

    # -- the three verbs, as the engine is about to do them ---------------------------------------

    def arrivals(self, landed: Mapping[Step, Numbers]) -> dict[Step, Array]:
        """What has come to which step: leaves in their order, then what keeps its gradient."""
        last = len(self.holders)
        numbers: dict[Step, int] = {
            s: self.enter(s.variable).number for s in landed if isinstance(s, Leaf)
        }
        steps = sorted(landed, key=lambda step: numbers.get(step, last))
        found = {step: np.array(bare(landed[step]), dtype=np.float64) for step in steps}
        return found | {holder.tensor._step(): g for holder, _, g in self.pending}

    def ordered(self, landed: Mapping[Step, Numbers]) -> Iterator[tuple[Step, Numbers]]:
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
            self._add(holder, before, np.array(bare(g)))

    def kept(self, t: Numbers, g: Numbers, do: Do) -> None:
        """A gradient passes a value that keeps it, while the engine is still on its way."""
        known = id(t._cell) in self._by_memory
        self._keeping += not known
        if known or self._keeping <= MOST_KEPT:
            holder = self.enter(t)
            self.pending.append((holder, holder.held, np.array(bare(g))))
        do()

    def clear(self, t: Numbers, do: Do) -> None:
        """`.grad = None`, `zero_grad()`."""
        if t._grad is None:
            self.idle_clears += 1
            return
        holder = self.enter(t)
        if self._is_cleared(holder):
            do()
            self._enter("clear", holder, None, None)

    def zero(self, t: Numbers, do: Do) -> None:
        """`t.zero_()`: of a `.grad` a clearing, of anything else a write."""
        cell = t._cell
        grads = ((h, h.tensor._grad) for h in self.holders)
        holder = next((h for h, grad in grads if grad is not None and grad._cell is cell), None)
        if holder is None:
            self.write(t, do)
        elif self._is_cleared(holder):
            do()
            self._enter("clear", holder, None, np.zeros(holder.tensor.shape))

    def _is_cleared(self, holder: Holder) -> bool:
        cleared = self.verbs.clear(Clear(holder.number, holder.held, holder.last))
        holder.last = "clear" if cleared else "held back"
        if cleared:
            self.windows[holder] = 0
        return cleared

    def write(self, t: Numbers, do: Do) -> None:
        """A write in place: of a leaf, or of its `.data`, a step."""
        self.spend(1)
        holder = self.leaf_at(t)
        if holder is None:
            do()
            return
        before = holder.value
        do()
        self._step_leaf(holder, before)

    # -- the lines -------------------------------------------------------------------------------

    def _add(self, holder: Holder, before: Array | None, g: Array) -> None:
        call = self.calls[-1]
        total = np.asarray(
            self.verbs.deposit(
                Deposit(
                    holder.number,
                    before,
                    g,
                    call.divisor,
                    self.together,
                    call.made,
                    holder.last,
                    self.deposits,
                )
            )
        )
        holder.last, self.deposits = "add", self.deposits + 1
        if self.verbs is not RIGHT:
            _overwrite(holder.tensor._grad, total)
        self.windows[holder] = self.windows.get(holder, 0) + 1
        self.fullest = max(self.fullest, self.windows[holder])
        self._enter("add", holder, g, total, call.number)

    def _step_leaf(self, holder: Holder, before: Array) -> None:
        after = holder.value
        previous = self.previous.get(holder, np.zeros(before.shape))
        window = self.windows.get(holder, 0)
        step = Write(holder.number, before, after, previous, window, self.together)
        value = np.asarray(self.verbs.write(step))
        self.previous[holder] = after - before
        holder.last = holder.last if holder.last == "held back" else "step"
        self.windows[holder] = 0
        if self.verbs is not RIGHT:
            _overwrite(holder.tensor, value)
        self._enter("step", holder, np.array(value - before), holder.value)

    def _enter(
        self,
        verb: str,
        holder: Holder,
        amount: Array | None,
        total: Array | None,
        event: int | None = None,
    ) -> None:
        self.spend(1)
        copy = None if total is None else np.array(total)
        self.entries.append(LedgerEntry(verb, holder, amount, copy, executing(), event))


def _overwrite(t: Numbers, value: Array) -> None:
    """Other numbers in a tensor's memory, of which the tape hears nothing."""
    t._share()
    t._value[...] = value


# -- where a verb happens, and when ----------------------------------------------------------------

MOST_SCOPES = 12
ENTERED = {"deposit": "add", "clear": "clear", "write": "step"}


@dataclass(frozen=True)
class Scope:
    """All occasions of a verb at a place of the text, or one of them; None is any.

    An occasion is one place done to several leaves, once to each: `zero_grad` clears them all.
    """

    place: Span = None
    occasion: int | None = None

    def covers(self, one: "Scope") -> bool:
        """Whether a single occasion is one of these."""
        return self.place in (None, one.place) and self.occasion in (None, one.occasion)

    @property
    def cost(self) -> int:
        """How special it is: everywhere 0, at one place 1, only once 2."""
        return 2 if self.occasion is not None else int(self != EVERYWHERE)


EVERYWHERE = Scope()


@dataclass
class Occasions:
    """Counts the occasions while a program runs."""

    place: Span = None
    occasion: int = -1
    leaves: set[int] = field(default_factory=set)

    def next(self, place: Span, leaf: int) -> Scope:
        if self.occasion < 0 or place != self.place or leaf in self.leaves:
            self.place, self.occasion, self.leaves = place, self.occasion + 1, set()
        self.leaves.add(leaf)
        return Scope(place, self.occasion)


def occasions(verb: str, entries: Iterable[LedgerEntry]) -> tuple[Scope, ...]:
    counter = Occasions()
    wanted = (entry for entry in entries if entry.verb == ENTERED[verb])
    return tuple(counter.next(entry.span, entry.leaf.number) for entry in wanted)


def scopes(verb: str, entries: Iterable[LedgerEntry]) -> tuple[Scope, ...]:
    """Where a verb can go wrong: everywhere, at one of the places, or once."""
    each_time = occasions(verb, entries)
    places = list(dict.fromkeys(each.place for each in each_time))
    numbers = list(dict.fromkeys(each.occasion for each in each_time))
    found = [Scope(place=place) for place in places if place and 1 < len(places) <= MOST_SCOPES]
    found += [Scope(occasion=n) for n in numbers if len(places) < len(numbers) <= MOST_SCOPES]
    return (EVERYWHERE, *found)


def statement(program: Program, span: Span) -> Span:
    """The span of the statement that a place lies in."""
    if span is None:
        return None
    for node in ast.walk(program.tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            start, end = program.passage.span(where_is(node))
            if start <= span[0] and span[1] <= end:
                return start, end
    return span
