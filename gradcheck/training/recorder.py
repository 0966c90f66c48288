"""A recorded run: tensors with their forms, the events, and the ledger."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.engine.autograd import grad as engine_grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.inplace import copy_, zero_
from gradcheck.engine.recording import no_grad
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.kinds import KINDS
from gradcheck.mistakes.training import Clear, Deposit, Write
from gradcheck.problem.record import executing
from gradcheck.training.forms import Array, Form, How, Lost, Root, Span, Term
from gradcheck.training.ledger import RIGHT, Entry, Verbs
from gradcheck.training.shadow import Shadow

NOT_FOLLOWED = "a gradient of a gradient (create_graph) is not followed beyond reverse mode"


@dataclass(frozen=True, eq=False)
class Called:
    """One backward call: the value it started from, the cotangent, and what arrived where."""

    number: int
    term: Term
    value: Array
    cotangent: Array | None
    arrived: Mapping[Shadow, Array]
    span: Span
    why: str = ""


@dataclass(eq=False)
class Recorder:
    """What a run leaves behind, and the number kind that its program runs on.

    `together` is the number of gradients that the fullest window adds up, once that is known.
    """

    verbs: Verbs = RIGHT
    together: int = 1
    leaves: list[Shadow] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    recorded: dict[str, list[Any]] = field(default_factory=dict)
    windows: dict[Shadow, int] = field(default_factory=dict)
    previous: dict[Shadow, Array] = field(default_factory=dict)
    fullest: int = 0

    # -- the number kind -------------------------------------------------------------------------

    def literal(self, value: Fraction) -> Any:
        """A decimal number."""
        return KINDS["tensor"].literal(value)

    def constant(self, name: str) -> Any:
        """The constants pi and e."""
        return KINDS["tensor"].constant(name)

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the vocabulary, done to the tensors and noted as a form."""
        plain = KINDS["tensor"].function(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            named = {key: self.bare(value) for key, value in kwargs.items()}
            made = plain(*map(self.bare, args), **named)
            return self.made(made, lambda kind: kind.function(name), args, kwargs, name)

        return call

    def made(
        self,
        value: Any,
        how: How,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        name: str = "",
    ) -> Any:
        """A result with its form, if it is a tensor."""
        if isinstance(value, Tensor):
            term: Term | None = None
            if value.requires_grad:
                named = {key: self.plain(each) for key, each in (kwargs or {}).items()}
                term = Form(how, tuple(map(self.plain, args)), named, executing(), name)
            return Shadow(self, value, term)
        if type(value) in (list, tuple):
            picks = [_picking(how, k) for k in range(len(value))]
            return type(value)(
                self.made(v, pick, args, kwargs, name) for v, pick in zip(value, picks, strict=True)
            )
        return value

    def bare(self, value: Any) -> Any:
        """Tensors in the place of their shadows."""
        if isinstance(value, Shadow):
            return value.t
        if type(value) in (list, tuple):
            return type(value)(map(self.bare, value))
        return value

    def plain(self, value: Any) -> Any:
        """Terms in the place of tracked shadows, arrays in the place of others."""
        if isinstance(value, Shadow):
            return _array(value) if value.term is None else value.term
        if type(value) in (list, tuple):
            return type(value)(map(self.plain, value))
        return value

    # -- leaves ----------------------------------------------------------------------------------

    def leaf(self, values: Any, name: str = "") -> Shadow:
        """A new leaf."""
        found = Shadow(self, tensor(np.array(values, dtype=np.float64), requires_grad=True))
        found.name = name
        return self.becomes_leaf(found)

    def becomes_leaf(self, shadow: Shadow) -> Shadow:
        """Gradients are asked for from here on."""
        if not self._is_leaf(shadow):
            self.leaves.append(shadow)
            shadow.term = Root(shadow, _array(shadow))
        return shadow

    def _is_leaf(self, shadow: Shadow) -> bool:
        return any(leaf is shadow for leaf in self.leaves)

    def no_leaf(self, shadow: Shadow) -> None:
        """Gradients are asked for no longer."""
        self.leaves = [leaf for leaf in self.leaves if leaf is not shadow]
        shadow.term = None

    def untold(self, t: Tensor) -> Term | None:
        """The term of a tensor that the engine made by itself."""
        return Lost(NOT_FOLLOWED) if t.requires_grad else None

    # -- the verbs -------------------------------------------------------------------------------

    def backward(
        self,
        shadow: Shadow,
        gradient: Any,
        retain_graph: bool | None,
        create_graph: bool,
        inputs: Any,
    ) -> None:
        """Let the engine go back with empty `.grad`s; then deposit what arrived."""
        held = {leaf: leaf.t.grad for leaf in self.leaves}
        for leaf in held:
            leaf.t.grad = None
        try:
            shadow.t.backward(self.bare(gradient), retain_graph, create_graph, self.bare(inputs))
            found = {leaf: leaf.t.grad for leaf in held}
        finally:
            for leaf, before in held.items():
                leaf.t.grad = before
        arrived = {leaf: np.array(bare(g)) for leaf, g in found.items() if g is not None}
        self._called(shadow, gradient, arrived, NOT_FOLLOWED if create_graph else "")
        divisor = _divisor(shadow.term)
        for leaf, g in arrived.items():
            self._deposit(leaf, g, divisor)

    def grad(self, outputs: Any, inputs: Any, grad_outputs: Any = None, **kwargs: Any) -> Any:
        """`grad(outputs, inputs)`: an event that leaves the ledger alone."""
        found = engine_grad(
            self.bare(outputs), self.bare(inputs), self.bare(grad_outputs), **kwargs
        )
        wrt = list(inputs) if type(inputs) in (list, tuple) else [inputs]
        pairs = [(x, g) for x, g in zip(wrt, found, strict=True) if g is not None]
        arrived = {x: np.array(bare(g)) for x, g in pairs if self._is_leaf(x)}
        why = "" if len(arrived) == len(pairs) else "the gradient by an intermediate value"
        if isinstance(outputs, Shadow):
            self._called(outputs, grad_outputs, arrived, why)
        return tuple(None if g is None else Shadow(self, g, self.untold(g)) for g in found)

    def _called(
        self, shadow: Shadow, gradient: Any, arrived: Mapping[Shadow, Array], why: str
    ) -> None:
        term = shadow.term if shadow.term is not None else Lost("not tracked")
        value = _array(shadow)
        given = None if gradient is None else np.array(bare(self.bare(gradient)), dtype=np.float64)
        if given is not None:
            given = given.reshape(value.shape)
        number = len(self.calls)
        self.calls.append(Called(number, term, value, given, arrived, executing(), why))

    def _deposit(self, leaf: Shadow, g: Array, divisor: float) -> None:
        held = leaf.t.grad
        before = None if held is None else np.array(bare(held))
        total = self.verbs.deposit(Deposit(before, g, divisor, self.together))
        total = g if total is None else np.asarray(total)
        if held is None:
            leaf.t.grad = tensor(total)
        else:
            with no_grad():
                copy_(held, tensor(total))
        self.windows[leaf] = self.windows.get(leaf, 0) + 1
        self.fullest = max(self.fullest, self.windows[leaf])
        self._entered("add", leaf, g, total, len(self.calls) - 1)

    def clear(self, leaf: Shadow, to_zero: bool) -> None:
        """`.grad = None`, `.grad.zero_()`, `zero_grad()`."""
        held = leaf.t.grad
        if held is not None and not self.verbs.clear(Clear(bare(held))):
            return
        if held is not None and to_zero:
            zero_(held)
        else:
            leaf.t.grad = None
        self.windows[leaf] = 0
        if held is not None:
            self._entered("clear", leaf, None, None if not to_zero else np.zeros(leaf.shape))

    def written(
        self, shadow: Shadow, write: Callable[[], Any], how: How, others: tuple[Any, ...]
    ) -> Shadow:
        """A write in place: of a leaf a step, of what follows from leaves a new form."""
        old = self.plain(shadow)
        write()
        if isinstance(shadow.term, Root):
            self.stepped(shadow)
        elif shadow.t.requires_grad:
            form = Form(how, (old, *map(self.plain, others)), {}, executing())
            shadow.term = form
        return shadow

    def stepped(self, leaf: Shadow) -> None:
        """A leaf holds something else now: the ledger's step, and a new version of the leaf."""
        root = leaf.term
        if not isinstance(root, Root):
            return
        before, after = root.value, _array(leaf)
        previous = self.previous.get(leaf, np.zeros(before.shape))
        window = self.windows.get(leaf, 0)
        value = self.verbs.write(Write(before, after, previous, window, self.together))
        self.previous[leaf] = after - before
        self.windows[leaf] = 0
        if value is not after:
            with no_grad():
                copy_(leaf.t, tensor(np.asarray(value)))
        leaf.term = Root(leaf, _array(leaf), root.version + 1)
        self._entered("step", leaf, np.array(np.asarray(value) - before), _array(leaf))

    def _entered(
        self,
        verb: str,
        leaf: Shadow,
        amount: Array | None,
        total: Array | None,
        event: int | None = None,
    ) -> None:
        copy = None if total is None else np.array(total)
        self.entries.append(Entry(verb, leaf, amount, copy, executing(), event))

    def record(self, **values: Any) -> None:
        """`record(norm=...)`: one entry of a trace a call."""
        for name, value in values.items():
            self.recorded.setdefault(name, []).append(snapshot(value))


def snapshot(value: Any) -> Any:
    """A value as it is now."""
    if isinstance(value, Shadow | Tensor):
        return np.array(bare(value.t if isinstance(value, Shadow) else value))
    if type(value) is tuple:
        return tuple(snapshot(each) for each in value)
    if type(value) is list:
        return [snapshot(each) for each in value]
    return np.array(value) if isinstance(value, np.ndarray) else value


def _array(shadow: Shadow) -> Array:
    return np.array(bare(shadow.t))


def _picking(how: How, k: int) -> How:
    """One of several results."""
    return lambda kind: lambda *args, **kwargs: how(kind)(*args, **kwargs)[k]


def _divisor(term: Term | None) -> float:
    """The k of `loss / k`, or of `loss * (1 / k)`; 1 where the loss is not divided."""
    if not isinstance(term, Form) or len(term.args) != 2 or np.ndim(term.args[1]) != 0:
        return 1.0
    if isinstance(term.args[1], int | float | np.ndarray):
        number = float(term.args[1])
        if term.name in ("truediv", "divide") and number:
            return number
        if term.name in ("mul", "multiply") and number:
            return 1.0 / number
    return 1.0
