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
MOST_SCOPES = 12

Span = tuple[int, int] | None
Do = Callable[[], None]


@dataclass(eq=False)
class Holder:
    """What holds a `.grad`: a tensor, and its number in the order in which they come.

    `window` counts the gradients since the last clearing or step, `moved` is how far that went.
    """

    tensor: Tensor
    number: int
    name: str = ""
    last: str = ""  # what was last done to its `.grad`, or was not: "held back"
    window: int = 0
    moved: Array | None = None

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


@dataclass(eq=False)
class GradientLedger:
    """Who holds a `.grad`, and what was done to it.

    `together` is the number of gradients that the fullest window adds up, once that is known;
    `calls` are the backward calls so far, the last of which now lands.
    """

    verbs: LedgerVerbs = RIGHT
    together: int = 1
    spend: Callable[[int], None] = lambda count: None
    calls: list[BackwardCall] = field(default_factory=list)
    holders: list[Holder] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)
    pending: list[tuple[Holder, Array | None, Array]] = field(default_factory=list)
    fullest: int = 0
    idle_clears: int = 0
    deposits: int = 0
    _by_memory: dict[int, Holder] = field(default_factory=dict)
    _keeping: int = 0

    def enter(self, t: Tensor) -> Holder:
        """The holder of a tensor; writes to its memory, through `.data` too, are known by it."""
        found = self._by_memory.get(id(t._cell))
        if found is None or found.tensor is not t:
            self.spend(1 + len(self.holders) // 20)  # a clearing looks at each
            found = self._by_memory[id(t._cell)] = Holder(t, len(self.holders))
            self.holders.append(found)
        return found

    def name_of(self, step: Step) -> str:
        """What a leaf is called, or a value that gradients are asked for."""
        if isinstance(step, Leaf):
            return self.enter(step.variable).name
        return next((h.name for h in self.holders if h.tensor._node is step), "a value")

    def arrivals(self, landed: Mapping[Step, Numbers]) -> dict[Step, Array]:
        """What has come to which step: leaves in their order, then what keeps its gradient."""
        last = len(self.holders)
        numbers: dict[Step, int] = {
            s: self.enter(s.variable).number for s in landed if isinstance(s, Leaf)
        }
        steps = sorted(landed, key=lambda step: numbers.get(step, last))
        found = {step: np.array(bare(landed[step]), dtype=np.float64) for step in steps}
        return found | {holder.tensor._step(): g for holder, _, g in self.pending}

    # -- the three verbs, as the engine is about to do them ---------------------------------------

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
        else:
            self._clear(self.enter(t), None, do)

    def zero(self, t: Numbers, do: Do) -> None:
        """`t.zero_()`: of a `.grad` a clearing, of anything else a write."""
        for holder in self.holders:
            grad = holder.tensor._grad
            if grad is not None and grad._cell is t._cell:
                self._clear(holder, np.zeros(holder.tensor.shape), do)
                return
        self.write(t, do)

    def write(self, t: Numbers, do: Do) -> None:
        """A write in place: of a leaf, or through its memory (`.data`), a step."""
        self.spend(1)
        own = t._tracked and t._node is None
        holder = self.enter(t) if own else self._by_memory.get(id(t._cell))
        if holder is None or not holder.tensor._tracked or holder.tensor._node is not None:
            do()
            return
        before = np.array(bare(holder.tensor))
        do()
        after = np.array(bare(holder.tensor))
        previous = np.zeros(before.shape) if holder.moved is None else holder.moved
        step = Write(holder.number, before, after, previous, holder.window, self.together)
        value = np.asarray(self.verbs.write(step))
        holder.moved, holder.window = after - before, 0
        holder.last = holder.last if holder.last == "held back" else "step"
        if self.verbs is not RIGHT:
            _overwrite(holder.tensor, value)
        self._note("step", holder, np.array(value - before), np.array(bare(holder.tensor)))

    def _add(self, holder: Holder, before: Array | None, g: Array) -> None:
        call, number = self.calls[-1], self.deposits
        arrived = (holder.number, before, g, call.divisor, self.together, call.made, holder.last)
        total = np.asarray(self.verbs.deposit(Deposit(*arrived, number)))
        holder.last, self.deposits = "add", number + 1
        if self.verbs is not RIGHT:
            _overwrite(holder.tensor._grad, total)
        holder.window += 1
        self.fullest = max(self.fullest, holder.window)
        self._note("add", holder, g, np.array(total), call.number)

    def _clear(self, holder: Holder, left: Array | None, do: Do) -> None:
        cleared = self.verbs.clear(Clear(holder.number, holder.held, holder.last))
        holder.last = "clear" if cleared else "held back"
        if cleared:
            holder.window = 0
            do()
            self._note("clear", holder, None, left)

    def _note(
        self,
        verb: str,
        holder: Holder,
        amount: Array | None,
        total: Array | None,
        event: int | None = None,
    ) -> None:
        self.spend(1)
        self.entries.append(LedgerEntry(verb, holder, amount, total, executing(), event))


def _overwrite(t: Numbers, value: Array) -> None:
    """Other numbers in a tensor's memory, of which the tape hears nothing."""
    t._share()
    t._value[...] = value


# -- where a verb happens, and when ----------------------------------------------------------------

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


def _count_occasions() -> Callable[[Span, int], Scope]:
    """Told of each place and leaf while a program runs, it says which occasion that is."""
    place, occasion, leaves = None, -1, set[int]()

    def tell(here: Span, leaf: int) -> Scope:
        nonlocal place, occasion
        if occasion < 0 or here != place or leaf in leaves:
            place, occasion = here, occasion + 1
            leaves.clear()
        leaves.add(leaf)
        return Scope(here, occasion)

    return tell


def hear(verbs: LedgerVerbs, scope: Scope, differ: Callable[[Numbers, Span], None]) -> LedgerVerbs:
    """The verbs, at a scope; `differ` hears of what, and where, they come to something else."""

    def say(name: str) -> Callable[[Numbers], Numbers]:
        right, way, count = getattr(RIGHT, name), getattr(verbs, name), _count_occasions()

        def said(argument: Numbers) -> Numbers:
            due, here = right(argument), count(executing(), argument.leaf)
            if way is right or not scope.covers(here):
                return due
            came = way(argument)
            if not np.array_equal(came, due):
                differ(argument, here.place)
            return came

        return said

    return LedgerVerbs(say("deposit"), say("clear"), say("write"))


def occasions(verb: str, entries: Iterable[LedgerEntry]) -> list[Scope]:
    count = _count_occasions()
    return [count(e.span, e.leaf.number) for e in entries if e.verb == ENTERED[verb]]


def scopes(verb: str, entries: Iterable[LedgerEntry]) -> tuple[Scope, ...]:
    """Where a verb can go wrong: everywhere, at one of the places, or once."""
    each_time = occasions(verb, entries)
    places = dict.fromkeys(each.place for each in each_time)
    numbers = dict.fromkeys(each.occasion for each in each_time)
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
