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
from gradcheck.engine.recording import enable_grad
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError
from gradcheck.language import executing
from gradcheck.language.kinds import KINDS
from gradcheck.training.forms import Array, Form, How, Lost, Root, Slope, Span, Term, picking
from gradcheck.training.ledger import Ledger, array
from gradcheck.training.traced import Shadow

NOT_FOLLOWED = (
    "what backward(create_graph=True) leaves is not followed beyond reverse mode: "
    "`grad(y, x, create_graph=True)` is"
)


@dataclass(frozen=True, eq=False)
class Within:
    """The gradient g of an intermediate value: `at` is its form, `root` the value as a variable."""

    root: Root
    at: Term
    g: Array


@dataclass(frozen=True, eq=False)
class Called:
    """One backward call: the value it started from, the cotangent, and what arrived where.

    `arrived` is what came to the leaves, `within` what came to intermediate values.
    """

    number: int
    term: Term
    value: Array
    cotangent: Array | None
    arrived: Mapping[Shadow, Array]
    span: Span
    why: str = ""
    within: tuple[Within, ...] = ()


@dataclass(eq=False)
class Recorder(Ledger):
    """What a run leaves behind, and the number kind that its program runs on."""

    calls: list[Called] = field(default_factory=list)
    recorded: dict[str, list[Any]] = field(default_factory=dict)

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
            picks = [picking(how, k) for k in range(len(value))]
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
            return array(value) if value.term is None else value.term
        if type(value) in (list, tuple):
            return type(value)(map(self.plain, value))
        return value

    # -- leaves ----------------------------------------------------------------------------------

    def leaf(self, values: Any, name: str = "") -> Shadow:
        """A new leaf."""
        found = Shadow(self, tensor(np.array(values, dtype=np.float64), requires_grad=True))
        found.name = name
        return self.becomes_leaf(found)

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
        held = {each: each.t.grad for each in (*self.leaves, *self.keeping)}
        for each in held:
            each.t.grad = None
        try:
            shadow.t.backward(self.bare(gradient), retain_graph, create_graph, self.bare(inputs))
            found = {each: each.t.grad for each in held}
        finally:
            for each, before in held.items():
                each.t.grad = before
        arrived = {each: np.array(bare(g)) for each, g in found.items() if g is not None}
        self._called(shadow, gradient, arrived, NOT_FOLLOWED if create_graph else "")
        for each, g in arrived.items():
            self.deposit(each, g, shadow.term, self.calls[-1].number)
        if not retain_graph:
            self.keeping = [each for each in self.keeping if each not in arrived]

    def grad(self, outputs: Any, inputs: Any, grad_outputs: Any = None, **kwargs: Any) -> Any:
        """`grad(outputs, inputs)`: an event that leaves the ledger alone."""
        found = engine_grad(
            self.bare(outputs), self.bare(inputs), self.bare(grad_outputs), **kwargs
        )
        wrt = list(inputs) if type(inputs) in (list, tuple) else [inputs]
        pairs = [(x, g) for x, g in zip(wrt, found, strict=True) if g is not None]
        arrived = {x: np.array(bare(g)) for x, g in pairs}
        several = type(outputs) in (list, tuple)
        top = self._together(outputs, grad_outputs) if several else outputs
        self._called(top, None if several else grad_outputs, arrived, "")
        cotangent = None if several or grad_outputs is None else self.plain(grad_outputs)
        return tuple(self._slope(top, x, g, cotangent) for x, g in zip(wrt, found, strict=True))

    def _slope(self, y: Shadow, x: Shadow, g: Tensor | None, cotangent: Any) -> Shadow | None:
        """A gradient that `grad` gave; of one that can be differentiated, how it came about."""
        if g is None:
            return None
        if not g.requires_grad or y.term is None or x.term is None:
            return Shadow(self, g, self.untold(g))
        return Shadow(
            self, g, Slope(_by_slope, (y.term, x.term, cotangent), {}, executing(), "grad")
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
        self, shadow: Shadow, gradient: Any, arrived: Mapping[Shadow, Array], why: str
    ) -> None:
        term = shadow.term if shadow.term is not None else Lost("not tracked")
        value = array(shadow)
        given = None if gradient is None else np.array(bare(self.bare(gradient)), dtype=np.float64)
        if given is not None:
            given = given.reshape(value.shape)
        leaves = {each: g for each, g in arrived.items() if self.is_leaf(each)}
        within = tuple(
            Within(Root(each, array(each)), each.term, g)
            for each, g in arrived.items()
            if each not in leaves and each.term is not None
        )
        number = len(self.calls)
        call = Called(number, term, value, given, leaves, executing(), why, within)
        self.calls.append(call)

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

    def record(self, **values: Any) -> None:
        """`record(norm=...)`: one entry of a trace a call."""
        for name, value in values.items():
            self.recorded.setdefault(name, []).append(snapshot(value))


def _by_slope(kind: Any) -> Any:
    raise GradcheckError("a slope is taken by the kind itself")


def snapshot(value: Any) -> Any:
    """A value as it is now."""
    if isinstance(value, Shadow | Tensor):
        return np.array(bare(value.t if isinstance(value, Shadow) else value))
    if type(value) is tuple:
        return tuple(snapshot(each) for each in value)
    if type(value) is list:
        return [snapshot(each) for each in value]
    return np.array(value) if isinstance(value, np.ndarray) else value
