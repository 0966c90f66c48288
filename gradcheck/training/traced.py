"""A tensor that a program holds, with the form by which it follows from the leaves.

The tape is the tensor's own; the form remembers only what the program asked for, so that the
exact kinds of number can be asked the same.
"""

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.engine import inplace
from gradcheck.engine.methods import turned
from gradcheck.engine.tensor import Tensor
from gradcheck.numbers.scalars import Scalars
from gradcheck.training.forms import How, Term

if TYPE_CHECKING:
    from gradcheck.training.recorder import Recorder

BINARY = ("add", "sub", "mul", "truediv", "pow", "matmul", "mod")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
UNARY = ("neg", "abs", "pos")
WRITES = {"add_": "add", "sub_": "sub", "mul_": "mul", "div_": "truediv"}


class Shadow:
    """One tensor of a recorded run."""

    __slots__ = ("home", "name", "number", "of", "t", "term")
    __array_ufunc__ = None  # an array on the left asks us first

    def __init__(self, home: "Recorder", t: Tensor, term: Term | None = None) -> None:
        """`of` is whose `.grad` this is; what holds a `.grad` has a `name` and a `number`."""
        self.home, self.t, self.term = home, t, term
        self.of: Shadow | None = None
        self.name, self.number = "", -1

    # -- what is read ----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.t.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.t.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.t.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return self.t.dtype

    @property
    def is_leaf(self) -> bool:
        """Made by the user, or not tracked."""
        return self.t.is_leaf

    @property
    def grad_fn(self) -> Any:
        """The node that made it."""
        return self.t.grad_fn

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf keeps its gradient."""
        return self.t.retains_grad

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are asked for."""
        return self.t.requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    @property
    def grad(self) -> "Shadow | None":
        """What the ledger holds for this tensor."""
        held = self.t.grad
        if held is None:
            return None
        box = Shadow(self.home, held, self.home.untold(held))
        box.of = self
        return box

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            self.home.clear(self, to_zero=False)
        else:
            self.t.grad = value.t if isinstance(value, Shadow) else value

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The transpose."""
        return self.home.made(turned(self.t), lambda kind: operator.attrgetter("T"), (self,))

    # -- what is done ----------------------------------------------------------------------------

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """An event."""
        self.home.backward(self, gradient, retain_graph, create_graph, inputs)

    def detach(self) -> "Shadow":
        """The same memory without the memory of how it was made."""
        return Shadow(self.home, self.t.detach())

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
            self.home.keeps(self)

    def requires_grad_(self, flag: bool = True) -> "Shadow":
        """Ask for gradients, or no longer."""
        self.t.requires_grad_(flag)
        if self.t.is_leaf:
            self.home.becomes_leaf(self) if flag else self.home.no_leaf(self)
        return self

    def zero_(self) -> "Shadow":
        """Fill with zeros: of a `.grad`, a clearing."""
        if self.of is not None and self.of.t.grad is self.t:
            self.home.clear(self.of, to_zero=True)
            return self
        return self.home.written(self, lambda: inplace.zero_(self.t), _filler(0.0), ())

    def fill_(self, value: Any) -> "Shadow":
        """Fill with one number."""
        number = value.item() if isinstance(value, Shadow) else value
        return self.home.written(self, lambda: inplace.fill_(self.t, number), _filler(number), ())

    def copy_(self, source: Any) -> "Shadow":
        """Take over the entries of another tensor."""
        how: How = lambda kind: lambda x, y: y + x * 0.0
        return self.home.written(
            self, lambda: inplace.copy_(self.t, self.home.bare(source)), how, (source,)
        )

    def __getitem__(self, index: Any) -> Any:
        bare = self.home.bare(index)
        plain = self.home.plain(index)
        return self.home.made(self.t[bare], lambda kind: lambda x: x[plain], (self,))

    def __setitem__(self, index: Any, value: Any) -> None:
        bare, plain = self.home.bare(index), self.home.plain(index)

        def write() -> None:
            inplace.set_item(self.t, bare, self.home.bare(value))

        self.home.written(self, write, lambda kind: _assigning(kind, plain), (value,))

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self.shape[0]))

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


def _filler(number: float) -> How:
    return lambda kind: lambda x: x * 0.0 + number


def _assigning(kind: Any, index: Any) -> Callable[..., Any]:
    """A copy with entries put in the place of others."""

    def assigned(x: Any, value: Any) -> Any:
        changed = kind.function("copy")(x)
        if kind.name == "tensor" and not isinstance(changed, Tensor):
            changed = Tensor(np.array(changed))
        if isinstance(changed, Scalars):
            plain = np.asarray(value, dtype=object)
            np.asarray(changed)[index] = plain if plain.shape else plain.item()
        else:
            changed[index] = value
        return changed

    return assigned


def _binary(symbol: str, swapped: bool) -> Callable[[Shadow, Any], Any]:
    plain = getattr(operator, f"__{symbol}__")

    def method(self: Shadow, other: Any) -> Any:
        pair = (other, self) if swapped else (self, other)
        made = plain(*map(self.home.bare, pair))
        return self.home.made(made, lambda kind: plain, pair, name=symbol)

    return method


def _comparison(symbol: str) -> Callable[[Shadow, Any], Any]:
    plain = getattr(operator, f"__{symbol}__")
    return lambda self, other: plain(self.t, self.home.bare(other))


def _unary(symbol: str) -> Callable[[Shadow], Any]:
    plain = getattr(operator, f"__{symbol}__")
    return lambda self: self.home.made(plain(self.t), lambda kind: plain, (self,), name=symbol)


def _writing(symbol: str) -> Callable[[Shadow, Any], Shadow]:
    plain, moving = getattr(operator, f"__{symbol}__"), getattr(operator, f"__i{symbol}__")

    def method(self: Shadow, other: Any) -> Shadow:
        write = lambda: moving(self.t, self.home.bare(other))
        return self.home.written(self, write, lambda kind: plain, (other,))

    return method


def _equip() -> None:
    """Give a shadow the operators of a tensor."""
    for symbol in BINARY:
        setattr(Shadow, f"__{symbol}__", _binary(symbol, swapped=False))
        setattr(Shadow, f"__r{symbol}__", _binary(symbol, swapped=True))
        setattr(Shadow, f"__i{symbol}__", _writing(symbol))
    for symbol in COMPARISONS:
        setattr(Shadow, f"__{symbol}__", _comparison(symbol))
    for symbol in UNARY:
        setattr(Shadow, f"__{symbol}__", _unary(symbol))
    for name, symbol in WRITES.items():
        setattr(Shadow, name, _writing(symbol))


_equip()
