"""The guards of what lessons have beside arithmetic: texts, dicts, asserts, classes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from gradcheck.engine.printing import Size
from gradcheck.engine.tensor import bare
from gradcheck.language.running import texts
from gradcheck.language.running.budget import Meter
from gradcheck.language.running.classes import Blueprint, Record
from gradcheck.language.running.shapes import shape_of

Function = Callable[..., Any]
# What may be assigned on a tensor; which of them a program may is for its vocabulary to say.
ASSIGNABLE = frozenset({"grad", "requires_grad", "data"})
LARGEST_KEY = 2**60  # the hashes of smaller integers are all different


@dataclass(frozen=True)
class Scripted:
    """What the guards of one run know: its budget, its decimal numbers, its own functions."""

    meter: Meter
    literal: Callable[[Fraction], Any]
    context: Mapping[str, Function] = field(default_factory=dict)

    @property
    def shown(self) -> Function:
        """How this run writes out a value that is no plain number."""
        return self.context.get("shown", texts.plainly)

    def call(self, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call within the budget."""
        raise NotImplementedError

    def text(self, *parts: str) -> str:
        """An f-string."""
        return self.meter.text(sum(map(len, parts)), lambda: "".join(parts))

    def written(self, value: Any, conversion: int, form: str) -> str:
        """A value in an f-string."""
        return texts.written(self.meter, value, conversion, form, self.shown)

    def pairs(self, pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
        """A dict."""
        self.meter.listed(len(pairs))
        return {good_key(key): value for key, value in pairs}

    def holds(self, test: Any, words: Any) -> None:
        """`assert test, words`; a run that goes wrong on purpose is not held to it."""
        if not bool(test) and self.context.get("holds", lambda: True)():
            said = texts.outside(self.meter, words, self.shown)
            raise AssertionError(said or "the assertion does not hold")

    def lengths(self, value: Any, dim: int | None = None) -> Any:
        """`x.size()`, `x.size(0)`."""
        return Size(shape_of(value)) if dim is None else shape_of(value)[dim]

    def count(self, value: Any) -> int:
        """`x.numel()`."""
        return prod(shape_of(value))

    def rank(self, value: Any) -> int:
        """`x.dim()`."""
        return len(shape_of(value))

    def numbers(self, value: Any) -> Any:
        """`x.detach().numpy()`: a NumPy array; what is still differentiated is refused."""
        if getattr(value, "requires_grad", False):
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. "
                "Use tensor.detach().numpy() instead."
            )
        return np.array(value.tolist())

    def floats(self, value: Any) -> Any:
        """`(y == label).float()`: truth values and integers as decimal numbers, others as is."""
        if np.asarray(bare(value)).dtype.kind not in "biu":
            return value
        numbers = np.asarray(bare(value), dtype=np.float64)
        return self.context.get("Tensor", np.asarray)(numbers)

    def blueprint(self, name: str, kind: str, names: tuple[str, ...], *methods: Function) -> Any:
        """A class of the program."""
        apply = self.context.get("apply", no_function)
        return Blueprint(name, kind, dict(zip(names, methods, strict=True)), self.call, apply)

    def member(self, owner: Any, name: str, of_tensors: bool) -> Any:
        """`self.width`; or what tensors have by the same name."""
        if isinstance(owner, Record):
            return owner.read(name)
        if not of_tensors:
            raise AttributeError(f"a {type(owner).__name__} has no `{name}`")
        return getattr(owner, name)

    def keep(self, owner: Any, name: str, value: Any) -> None:
        """`self.width = 3`; or `w.grad = None` where a class has a `grad` too."""
        if isinstance(owner, Record):
            self.meter.listed(1)
            owner.fields[name] = value
        elif name in ASSIGNABLE:
            setattr(owner, name, value)
        else:
            raise AttributeError(f"`.{name}` cannot be assigned here")


SCRIPTED: Mapping[str, Function] = {
    "text": Scripted.text,
    "written": Scripted.written,
    "pairs": Scripted.pairs,
    "holds": Scripted.holds,
    "lengths": Scripted.lengths,
    "count": Scripted.count,
    "rank": Scripted.rank,
    "numbers": Scripted.numbers,
    "floats": Scripted.floats,
    "blueprint": Scripted.blueprint,
    "member": Scripted.member,
    "keep": Scripted.keep,
}


def no_function(*args: Any, **kwargs: Any) -> Any:
    """A function with its own derivative, where no derivative is recorded."""
    raise TypeError("a `Function` needs a program that calls `backward` - call it, or leave it")


def good_key(key: Any) -> Any:
    """A key of a dict: a text or a small integer, for others may be made to collide."""
    if isinstance(key, str) or (isinstance(key, int) and abs(key) < LARGEST_KEY):
        return key
    raise TypeError(f"a {type(key).__name__} as the key of a dict - use texts or small integers")
