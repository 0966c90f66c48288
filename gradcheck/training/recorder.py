"""A recorded run: tensors with their forms, the events, and the ledger."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from gradcheck.engine.autograd import grad as engine_grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import Generator
from gradcheck.engine.recording import enable_grad
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError
from gradcheck.language import executing
from gradcheck.language.kinds import KINDS
from gradcheck.training.forms import Array, GradForm, Lost, Root, Span, Term
from gradcheck.training.ledger import Holder, array
from gradcheck.training.traced import NOT_FOLLOWED, Recording, Traced


@dataclass(frozen=True, eq=False)
class AtIntermediate:
    """The gradient g of an intermediate value: `at` is its form, `root` the value as a variable."""

    root: Root
    at: Term
    g: Array


@dataclass(frozen=True, eq=False)
class BackwardCall:
    """One backward call: the value it started from, the cotangent, and what arrived where.

    `arrived` is what came to the leaves, `within` what came to intermediate values.
    """

    number: int
    term: Term
    value: Array
    cotangent: Array | None
    arrived: Mapping[Holder, Array]
    span: Span
    why: str = ""
    within: tuple[AtIntermediate, ...] = ()


@dataclass(eq=False)
class Recorder(Recording):
    """What a run leaves behind, and the number kind that its program runs on.

    `taken` are the gradients that `grad(...)` gave, each with its call and what it is a gradient
    by; `made_of_numbers` the leaves that the text makes out of numbers, `numbers` those, `moved`
    others in their place.
    """

    calls: list[BackwardCall] = field(default_factory=list)
    recorded: dict[str, list[Any]] = field(default_factory=dict)
    taken: list[tuple[Any, BackwardCall, Traced]] = field(default_factory=list)
    made_of_numbers: list[Traced] = field(default_factory=list)
    numbers: list[Array] = field(default_factory=list)
    moved: Mapping[int | None, Array] = field(default_factory=dict)
    generator: Generator = field(default_factory=Generator)

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
            self.ledger.spend("call", name, args, kwargs)
            named = {key: self.bare(value) for key, value in kwargs.items()}
            made = plain(*map(self.bare, args), **named)
            return self.made(made, lambda kind: kind.function(name), args, kwargs, name)

        return call

    # -- leaves ----------------------------------------------------------------------------------

    def leaf(self, values: Any, name: str = "") -> Traced:
        """A new leaf; of those without a name, which the text writes, some may be `moved`."""
        if not name:
            values = self.moved.get(len(self.made_of_numbers), values)
            self.numbers.append(np.array(values, dtype=np.float64))
        found = Traced(self, tensor(np.array(values, dtype=np.float64), requires_grad=True))
        found.name = name
        self.ledger.becomes_leaf(found)
        if not name:
            self.made_of_numbers.append(found)
        return found

    # -- the verbs -------------------------------------------------------------------------------

    def backward(
        self,
        traced: Traced,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Let the engine go back with empty `.grad`s; then deposit what arrived."""
        ledger = self.ledger
        ledger.spend("walk", [traced], create_graph, len(ledger.leaves))
        held = {each: each.t.grad for each in (*ledger.leaves, *ledger.keeping)}
        for each in held:
            each.t.grad = None
        try:
            traced.t.backward(self.bare(gradient), retain_graph, create_graph, self.bare(inputs))
            found = {each: each.t.grad for each in held}
        finally:
            for each, before in held.items():
                each.t.grad = before
        arrived = {each: np.array(bare(g)) for each, g in found.items() if g is not None}
        self._called(traced, gradient, arrived, NOT_FOLLOWED if create_graph else "")
        for each, g in arrived.items():
            ledger.deposit(each, g, traced.term, self.calls[-1].number)
        if not retain_graph:
            ledger.keeping = [each for each in ledger.keeping if each not in arrived]

    def grad(self, outputs: Any, inputs: Any, grad_outputs: Any = None, **kwargs: Any) -> Any:
        """`grad(outputs, inputs)`: an event that leaves the ledger alone."""
        starts = outputs if type(outputs) in (list, tuple) else [outputs]
        again = bool(kwargs.get("create_graph"))
        self.ledger.spend("walk", starts, again, len(self.ledger.leaves))
        found = engine_grad(
            self.bare(outputs), self.bare(inputs), self.bare(grad_outputs), **kwargs
        )
        wrt = list(inputs) if type(inputs) in (list, tuple) else [inputs]
        pairs = [(x, g) for x, g in zip(wrt, found, strict=True) if g is not None]
        arrived = {x: np.array(bare(g)) for x, g in pairs}
        several = type(outputs) in (list, tuple)
        top = self._together(outputs, grad_outputs) if several else outputs
        self._called(top, None if several else grad_outputs, arrived, "")
        cotangent = None if several or grad_outputs is None else self.terms(grad_outputs)
        made = [self._slope(top, x, g, cotangent) for x, g in zip(wrt, found, strict=True)]
        self.taken += [(g, self.calls[-1], x) for x, g in zip(wrt, made, strict=True)]
        return tuple(made)

    def _slope(self, y: Traced, x: Traced, g: Tensor | None, cotangent: Any) -> Traced | None:
        """A gradient that `grad` gave; of one that can be differentiated, how it came about."""
        if g is None:
            return None
        if not g.requires_grad or y.term is None or x.term is None:
            return Traced(self, g, self.untold(g))
        return Traced(
            self, g, GradForm(_by_slope, (y.term, x.term, cotangent), {}, executing(), "grad")
        )

    def _together(self, outputs: Any, gradients: Any) -> Any:
        """Several outputs as one number: the sum of all, each contracted with its gradient."""
        listed = type(gradients) in (list, tuple)
        given = gradients if listed else [gradients] * len(outputs)
        with enable_grad():
            pairs = zip(outputs, given, strict=True)
            pieces = [y if g is None else self.function("sum")(y * g) for y, g in pairs]
            return reduce(operator.add, pieces)

    def _called(
        self, traced: Traced, gradient: Any, arrived: Mapping[Holder, Array], why: str
    ) -> None:
        term = traced.term if traced.term is not None else Lost("not tracked")
        value = array(traced)
        given = None if gradient is None else np.array(bare(self.bare(gradient)), dtype=np.float64)
        if given is not None:
            given = given.reshape(value.shape)
        leaves = {each: g for each, g in arrived.items() if self.ledger.is_leaf(each)}
        within = tuple(
            AtIntermediate(Root(each, array(each)), each.term, g)
            for each, g in arrived.items()
            if each not in leaves and each.term is not None
        )
        number = len(self.calls)
        call = BackwardCall(number, term, value, given, leaves, executing(), why, within)
        self.calls.append(call)

    def record(self, **values: Any) -> None:
        """`record(norm=...)`: one entry of a trace a call."""
        self.ledger.spend("record", tuple(values.values()))
        for name, value in values.items():
            self.recorded.setdefault(name, []).append(snapshot(value))


def _by_slope(kind: Any) -> Any:
    raise GradcheckError("a slope is taken by the kind itself")


def snapshot(value: Any) -> Any:
    """A value as it is now."""
    if isinstance(value, Traced | Tensor):
        return np.array(bare(value.t if isinstance(value, Traced) else value))
    if type(value) is tuple:
        return tuple(snapshot(each) for each in value)
    if type(value) is list:
        return [snapshot(each) for each in value]
    return np.array(value) if isinstance(value, np.ndarray) else value
