"""The ledger of `.grad`: what each backward call added, what was cleared, and what was stepped.

Three verbs keep it. Said right, they are PyTorch's; a mistake of the training loop is one of them
said wrong.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.inplace import copy_, zero_
from gradcheck.engine.recording import no_grad
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language import executing
from gradcheck.mistakes.training import Clear, Deposit, Write
from gradcheck.training.forms import Form, Root, Span, Term, divisor

MOST_KEPT = 64

Array = np.ndarray[Any, Any]
Spend = Callable[..., None]


def unmetered(act: str, *values: Any) -> None:
    """What a run spends where nobody counts."""


class Holder:
    """What may hold a `.grad`: the tensor `t`, and the `term` by which it follows from leaves.

    One that does hold one has a `name` and a `number`, in the order in which they come.
    """

    __slots__ = ("name", "number", "t", "term")

    def __init__(self, t: Tensor, term: Term | None = None) -> None:
        """No name and no number yet."""
        self.t, self.term = t, term
        self.name, self.number = "", -1


@dataclass(frozen=True, eq=False)
class Entry:
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
class Verbs:
    """What is done when a gradient arrives, when `.grad` is cleared, when a leaf is written.

    `deposit` gives what `.grad` then holds, `clear` whether it is done, `write` the leaf's value.
    """

    deposit: Callable[[Deposit], Any] = lambda d: d.g if d.held is None else d.held + d.g
    clear: Callable[[Clear], bool] = lambda c: True
    write: Callable[[Write], Any] = lambda w: w.after


RIGHT = Verbs()


def totals(entries: Iterable[Entry], verb: str) -> list[Any]:
    """What was held after each line of a verb."""
    return [entry.total for entry in entries if entry.verb == verb]


@dataclass(eq=False)
class Ledger:
    """Who holds a `.grad`, and what was done to it.

    `together` is the number of gradients that the fullest window adds up, once that is known;
    `spend(act, *values)` hears what is done before it is done.
    """

    verbs: Verbs = RIGHT
    together: int = 1
    spend: Spend = unmetered
    leaves: list[Holder] = field(default_factory=list)
    keeping: list[Holder] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    windows: dict[Holder, int] = field(default_factory=dict)
    previous: dict[Holder, Array] = field(default_factory=dict)
    fullest: int = 0
    holders: int = 0
    idle_clears: int = 0

    # -- who holds a `.grad` ---------------------------------------------------------------------

    def becomes_leaf(self, holder: Holder) -> None:
        """Gradients are asked for from here on."""
        self.spend("leaf", len(self.leaves))
        if not self.is_leaf(holder):
            self.leaves.append(holder)
            holder.term = Root(holder, array(holder))
            self._numbered(holder)

    def keeps(self, holder: Holder) -> None:
        """An intermediate value keeps its gradient from here on."""
        if len(self.keeping) < MOST_KEPT and not any(each is holder for each in self.keeping):
            self.keeping.append(holder)
            self._numbered(holder)

    def _numbered(self, holder: Holder) -> None:
        holder.number, self.holders = self.holders, self.holders + 1

    def is_leaf(self, holder: Holder) -> bool:
        """Whether gradients are asked for, of a value that was not computed."""
        return any(leaf is holder for leaf in self.leaves)

    def no_leaf(self, holder: Holder) -> None:
        """Gradients are asked for no longer."""
        self.leaves = [leaf for leaf in self.leaves if leaf is not holder]
        holder.term = None

    # -- the three verbs -------------------------------------------------------------------------

    def deposit(self, leaf: Holder, g: Array, loss: Term | None, event: int) -> None:
        """A gradient arrives, from a loss that went back."""
        held, place = leaf.t.grad, loss.span if isinstance(loss, Form) else None
        before = None if held is None else np.array(bare(held))
        arriving = Deposit(leaf.number, before, g, divisor(loss), self.together, place)
        total = np.asarray(self.verbs.deposit(arriving))
        if held is None:
            leaf.t.grad = tensor(total)
        else:
            with no_grad():
                copy_(held, tensor(total))
        self.windows[leaf] = self.windows.get(leaf, 0) + 1
        self.fullest = max(self.fullest, self.windows[leaf])
        self._entered("add", leaf, g, total, event)

    def clear(self, leaf: Holder, to_zero: bool) -> None:
        """`.grad = None`, `.grad.zero_()`, `zero_grad()`."""
        held = leaf.t.grad
        if held is None:
            self.idle_clears += 1
            return
        if not self.verbs.clear(Clear(leaf.number, bare(held))):
            return
        if to_zero:
            zero_(held)
        else:
            leaf.t.grad = None
        self.windows[leaf] = 0
        self._entered("clear", leaf, None, np.zeros(leaf.t.shape) if to_zero else None)

    def stepped(self, leaf: Holder) -> None:
        """A leaf holds something else now: the ledger's step, and a new version of the leaf."""
        root = leaf.term
        if not isinstance(root, Root):
            return
        before, after = root.value, array(leaf)
        previous = self.previous.get(leaf, np.zeros(before.shape))
        window = self.windows.get(leaf, 0)
        step = Write(leaf.number, before, after, previous, window, self.together)
        value = self.verbs.write(step)
        self.previous[leaf] = after - before
        self.windows[leaf] = 0
        if value is not after:
            with no_grad():
                copy_(leaf.t, tensor(np.asarray(value)))
        leaf.term = Root(leaf, array(leaf), root.version + 1)
        self._entered("step", leaf, np.array(np.asarray(value) - before), array(leaf))

    def _entered(
        self,
        verb: str,
        leaf: Holder,
        amount: Array | None,
        total: Array | None,
        event: int | None = None,
    ) -> None:
        self.spend("entry", leaf.t)
        copy = None if total is None else np.array(total)
        self.entries.append(Entry(verb, leaf, amount, copy, executing(), event))


def array(holder: Holder) -> Array:
    """The numbers of a tensor, copied."""
    return np.array(bare(holder.t))
