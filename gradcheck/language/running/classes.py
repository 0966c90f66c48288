"""What the classes of a program are when it runs: records that only the guards look into.

No class of Python is made, and no attribute of Python is read by a name that a program chose.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradcheck.engine.modules import is_parameter
from gradcheck.language.rules.vocabulary import FUNCTION

Function = Callable[..., Any]
INIT = "__init__"
MANY = 1_000  # parameters of one module, and modules inside it


@dataclass(frozen=True, eq=False)
class Blueprint:
    """A class of a program: its kind, its methods, and how a method is called within the budget.

    `apply` is what a function with its own derivative does to its arguments.
    """

    name: str
    kind: str
    methods: Mapping[str, Function]
    call: Function
    apply: Function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`Net(3)` makes an instance; `Square.apply(x)` applies the function."""
        if self.kind == FUNCTION:
            return self.apply(self, *args, **kwargs)
        made = Instance(self)
        if INIT in self.methods:
            self.call(self.methods[INIT], made, *args, **kwargs)
        elif args or kwargs:
            raise TypeError(f"{self.name}() takes no arguments - write `def __init__` for them")
        return made

    def run(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A method, with its first argument given."""
        if name not in self.methods:
            raise NotImplementedError(f"`{self.name}` has no `{name}` - write one")
        return self.call(self.methods[name], *args, **kwargs)


@dataclass(eq=False, slots=True)
class Instance:
    """An instance of a module of a program: what `self.name = ...` kept."""

    blueprint: Blueprint
    fields: dict[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`net(x)`."""
        return self.blueprint.run("forward", self, *args, **kwargs)

    def read(self, name: str) -> Any:
        """`self.width`."""
        if name not in self.fields:
            raise AttributeError(f"`{self.blueprint.name}` has no `{name}` - give it a value first")
        return self.fields[name]

    def method(self, name: str) -> Function:
        """`self.first`: a method of the class, a layer that is kept, or what every module has."""
        if name in self.blueprint.methods:
            return lambda *args, **kwargs: self.blueprint.run(name, self, *args, **kwargs)
        if name in self.fields:
            return self.fields[name]  # type: ignore[no-any-return]
        if name in GIVEN:
            return GIVEN[name].__get__(self)  # type: ignore[no-any-return]
        raise AttributeError(f"`{self.blueprint.name}` has no `{name}` - define it in the class")

    def parameters(self) -> list[Any]:
        """The parameters of this module and of those that it keeps, each once."""
        return [value for _, value in self.named_parameters()]

    def named_parameters(self) -> list[tuple[str, Any]]:
        """The same with the path of names that leads to each."""
        found: dict[int, tuple[str, Any]] = {}
        for path, value in _members(self, "", set()):
            found.setdefault(id(value), (path, value))
        return list(found.values())[:MANY]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for each in self.parameters():
            if set_to_none:
                each.grad = None
            elif each.grad is not None:
                each.grad.zero_()

    def train(self, mode: bool = True) -> "Instance":
        """`net.train()`: itself, and what it keeps is told."""
        for each in self.fields.values():
            if hasattr(each, "train"):
                each.train(mode)
        return self

    def eval(self) -> "Instance":
        """`net.eval()`."""
        return self.train(False)


GIVEN: Mapping[str, Function] = {
    "parameters": Instance.parameters,
    "named_parameters": Instance.named_parameters,
    "zero_grad": Instance.zero_grad,
    "train": Instance.train,
    "eval": Instance.eval,
}


def _members(value: Any, path: str, inside: set[int]) -> Iterator[tuple[str, Any]]:
    """The parameters in an instance, in the order in which they were kept."""
    if id(value) in inside or len(inside) > MANY:
        return
    inside.add(id(value))
    if isinstance(value, Instance):
        for name, each in value.fields.items():
            yield from _members(each, f"{path}.{name}" if path else name, inside)
    elif is_parameter(value):
        yield path, value
    elif hasattr(value, "named_parameters"):
        for name, each in value.named_parameters():
            yield f"{path}.{name}", each


class Remembered:
    """The `ctx` of a function of a program: what forward keeps for backward.

    `inner` is the engine's context; `wrap` and `unwrap` lead from its tensors to the program's.
    """

    __slots__ = ("fields", "inner", "unwrap", "wrap")

    def __init__(self, inner: Any, wrap: Function, unwrap: Function) -> None:
        """Nothing is kept yet."""
        self.inner, self.wrap, self.unwrap = inner, wrap, unwrap
        self.fields: dict[str, Any] = {}

    def read(self, name: str) -> Any:
        """`ctx.saved_tensors`, `ctx.needs_input_grad`, `ctx.slope`."""
        if name == "saved_tensors":
            return tuple(map(self.wrap, self.inner.saved_tensors))
        if name == "needs_input_grad":
            return self.inner.needs_input_grad
        if name not in self.fields:
            raise AttributeError(f"`ctx` has no `{name}` - keep it in forward")
        return self.fields[name]

    def method(self, name: str) -> Function:
        """`ctx.save_for_backward(x)`."""
        if name not in ("save_for_backward", "mark_non_differentiable"):
            raise AttributeError(f"`ctx` has no `{name}` - `ctx.save_for_backward(...)` is there")
        call = getattr(self.inner, name)
        return lambda *tensors: call(*map(self.unwrap, tensors))


Record = Instance | Remembered
"""What a program keeps values in under names of its own."""
