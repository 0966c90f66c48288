"""A tensor that a program holds, with the form by which it follows from the leaves.

The tape is the tensor's own; the form remembers only what the program asked for, so that the
exact kinds of number can be asked the same.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.engine import inplace
from gradcheck.engine.printing import TorchSize
from gradcheck.engine.tensor import Tensor
from gradcheck.language import executing
from gradcheck.training.forms import Form, How, Lost, Root, Term, assigning, filler, picking
from gradcheck.training.ledger import Holder, Ledger, array

NOT_FOLLOWED = (
    "what backward(create_graph=True) leaves is not followed beyond reverse mode: "
    "`grad(y, x, create_graph=True)` is"
)
READ = ("ndim", "size", "dtype", "is_leaf", "grad_fn", "retains_grad")
BINARY = ("add", "sub", "mul", "truediv", "pow", "matmul", "mod")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
UNARY = ("neg", "abs", "pos")
WRITES = {"add_": "add", "sub_": "sub", "mul_": "mul", "div_": "truediv"}


@dataclass(eq=False)
class Recording:
    """A run in progress: its ledger, and what makes the forms of its tensors."""

    ledger: Ledger = field(default_factory=Ledger)

    def backward(self, traced: "Traced", *args: Any, **kwargs: Any) -> None:
        """An event."""
        raise NotImplementedError

    def made(
        self,
        value: Any,
        how: How,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        name: str = "",
    ) -> Any:
        """A result with its form, if it is a tensor."""
        self.ledger.spend("result", value, args)
        if isinstance(value, Tensor):
            term: Term | None = None
            if value.requires_grad:
                named = {key: self.terms(each) for key, each in (kwargs or {}).items()}
                term = Form(how, tuple(map(self.terms, args)), named, executing(), name)
            return Traced(self, value, term)
        if isinstance(value, list | tuple):
            picks = [picking(how, k) for k in range(len(value))]
            parts = [
                self.made(v, pick, args, kwargs, name) for v, pick in zip(value, picks, strict=True)
            ]
            make: Callable[..., Any] = getattr(value, "_make", type(value))  # of named parts
            return make(parts)
        return value

    def bare(self, value: Any) -> Any:
        """The engine's tensors in the place of traced ones."""
        if isinstance(value, Traced):
            return value.t
        if type(value) in (list, tuple):
            return type(value)(map(self.bare, value))
        return value

    def terms(self, value: Any) -> Any:
        """Terms in the place of tracked tensors, arrays in the place of others."""
        if isinstance(value, Traced):
            return array(value) if value.term is None else value.term
        if type(value) in (list, tuple):
            return type(value)(map(self.terms, value))
        return value

    def untold(self, t: Tensor) -> Term | None:
        """The term of a tensor that the engine made by itself."""
        return Lost(NOT_FOLLOWED) if t.requires_grad else None

    def written(
        self, traced: "Traced", write: Callable[[], Any], how: How, others: tuple[Any, ...]
    ) -> "Traced":
        """A write in place: of a leaf a step, of what follows from leaves a new form."""
        self.ledger.spend("write", traced.t)
        old = self.terms(traced)
        write()
        if isinstance(traced.term, Root):
            self.ledger.stepped(traced)
        elif traced.t.requires_grad:
            traced.term = Form(how, (old, *map(self.terms, others)), {}, executing())
        elif traced.behind is not None:
            self.ledger.stepped(traced.behind)
        return traced


class Traced(Holder):
    """One tensor of a recorded run; `of` is whose `.grad` it is, `behind` whose `.data`."""

    __slots__ = ("behind", "of", "recorder")
    __array_ufunc__ = None  # an array on the left asks us first

    def __init__(self, recorder: Recording, t: Tensor, term: Term | None = None) -> None:
        """Nobody's `.grad`."""
        super().__init__(t, term)
        self.recorder = recorder
        self.of: Traced | None = None
        self.behind: Traced | None = None

    # -- what is read ----------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are asked for."""
        return self.t.requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    @property
    def grad(self) -> "Traced | None":
        """What the ledger holds for this tensor."""
        held = self.t.grad
        if held is None:
            return None
        box = Traced(self.recorder, held, self.recorder.untold(held))
        box.of = self
        return box

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            self.recorder.ledger.clear(self, to_zero=False)
        else:
            self.t.grad = value.t if isinstance(value, Traced) else value

    @property
    def shape(self) -> TorchSize:
        """The sizes of the axes."""
        return TorchSize(self.t.shape)

    @property
    def data(self) -> "Traced":
        """The same numbers without the memory of how they were made; of a `.grad`, itself."""
        if self.of is not None:
            return self
        box = self.detach()
        box.behind = self
        return box

    @data.setter
    def data(self, value: Any) -> None:
        if value is not self and getattr(value, "behind", None) is not self:
            self.data.copy_(value)

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The transpose."""
        return self.recorder.made(self.t.T, lambda kind: operator.attrgetter("T"), (self,))

    # -- what is done ----------------------------------------------------------------------------

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """An event."""
        self.recorder.backward(self, *args, **kwargs)

    def detach(self) -> "Traced":
        """The same memory without the memory of how it was made."""
        return Traced(self.recorder, self.t.detach())

    def item(self) -> Any:
        """The Python number."""
        return self.t.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self.t.tolist()

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf."""
        self.t.retain_grad()
        if not self.t.is_leaf:
            self.recorder.ledger.keeps(self)

    def requires_grad_(self, flag: bool = True) -> "Traced":
        """Ask for gradients, or no longer."""
        self.t.requires_grad_(flag)
        if self.t.is_leaf:
            self.recorder.ledger.becomes_leaf(self) if flag else self.recorder.ledger.no_leaf(self)
        return self

    def zero_(self) -> "Traced":
        """Fill with zeros: of a `.grad`, a clearing."""
        if self.of is not None and self.of.t.grad is self.t:
            self.recorder.ledger.clear(self.of, to_zero=True)
            return self
        return self.recorder.written(self, lambda: inplace.zero_(self.t), filler(0.0), ())

    def fill_(self, value: Any) -> "Traced":
        """Fill with one number."""
        number = value.item() if isinstance(value, Traced) else value
        return self.recorder.written(
            self, lambda: inplace.fill_(self.t, number), filler(number), ()
        )

    def copy_(self, source: Any) -> "Traced":
        """Take over the entries of another tensor."""
        how: How = lambda kind: lambda x, y: y + x * 0.0
        given = self.recorder.bare(source)
        if isinstance(given, np.ndarray):  # whole numbers that a maker gave
            given = Tensor(given.astype(np.float64))
        return self.recorder.written(self, lambda: inplace.copy_(self.t, given), how, (source,))

    def __getitem__(self, index: Any) -> Any:
        bare = self.recorder.bare(index)
        plain = self.recorder.terms(index)
        return self.recorder.made(self.t[bare], lambda kind: lambda x: x[plain], (self,))

    def __setitem__(self, index: Any, value: Any) -> None:
        bare, plain = self.recorder.bare(index), self.recorder.terms(index)

        def write() -> None:
            inplace.set_item(self.t, bare, self.recorder.bare(value))

        self.recorder.written(self, write, lambda kind: assigning(kind, plain), (value,))

    def __iter__(self) -> Iterator[Any]:
        if not self.t.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self.t.shape[0]))

    def __len__(self) -> int:
        return len(self.t)

    def __bool__(self) -> bool:
        return bool(self.t)

    def __float__(self) -> float:
        return float(self.t)

    def __int__(self) -> int:
        return int(self.t)

    def __index__(self) -> int:
        return self.t.__index__()

    __hash__ = object.__hash__


def _binary(symbol: str, swapped: bool) -> Callable[[Traced, Any], Any]:
    plain = getattr(operator, f"__{symbol}__")

    def method(self: Traced, other: Any) -> Any:
        pair = (other, self) if swapped else (self, other)
        made = plain(*map(self.recorder.bare, pair))
        return self.recorder.made(made, lambda kind: plain, pair, name=symbol)

    return method


def _comparison(symbol: str) -> Callable[[Traced, Any], Any]:
    plain = getattr(operator, f"__{symbol}__")
    return lambda self, other: plain(self.t, self.recorder.bare(other))


def _unary(symbol: str) -> Callable[[Traced], Any]:
    plain = getattr(operator, f"__{symbol}__")
    return lambda self: self.recorder.made(plain(self.t), lambda kind: plain, (self,), name=symbol)


def _writing(symbol: str) -> Callable[[Traced, Any], Traced]:
    plain, moving = getattr(operator, f"__{symbol}__"), getattr(operator, f"__i{symbol}__")

    def method(self: Traced, other: Any) -> Traced:
        write = lambda: moving(self.t, self.recorder.bare(other))
        return self.recorder.written(self, write, lambda kind: plain, (other,))

    return method


def _equip() -> None:
    """Give a traced tensor the attributes and operators of its tensor."""
    for name in READ:
        setattr(Traced, name, property(operator.attrgetter(f"t.{name}")))
    for symbol in BINARY:
        setattr(Traced, f"__{symbol}__", _binary(symbol, swapped=False))
        setattr(Traced, f"__r{symbol}__", _binary(symbol, swapped=True))
        setattr(Traced, f"__i{symbol}__", _writing(symbol))
    for symbol in COMPARISONS:
        setattr(Traced, f"__{symbol}__", _comparison(symbol))
    for symbol in UNARY:
        setattr(Traced, f"__{symbol}__", _unary(symbol))
    for name, symbol in WRITES.items():
        setattr(Traced, name, _writing(symbol))


_equip()
