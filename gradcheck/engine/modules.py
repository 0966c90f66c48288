"""What layers are made of, the user's own too: `Parameter`, `Module` and modules of modules."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from textwrap import indent

from gradcheck.engine.autograd import tensor
from gradcheck.engine.tape import clear
from gradcheck.engine.tensor import Tensor
from gradcheck.engine.writing import copy_
from gradcheck.values import Value


def Parameter(data: Value, requires_grad: bool = True) -> Tensor:  # noqa: N802 - PyTorch's name
    """A leaf with these numbers that the module which holds it counts among its parameters."""
    numbers = data.detach() if isinstance(data, Tensor) else data
    return mark(tensor(numbers, requires_grad=requires_grad))


def mark(t: Tensor) -> Tensor:
    """The tensor itself, from now on a parameter."""
    t._parameter = True
    return t


def is_parameter(value: Value) -> bool:
    return isinstance(value, Tensor) and value._parameter


class Module:
    """Subclass it with `__init__` and `forward`; parameters and modules are found as attributes."""

    training = True
    """What `train()` and `eval()` say; a normalisation of batches looks at it."""

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Value, **kwargs: Value) -> Value:
        """The value; a subclass says how."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def _walk(self, prefix: str, seen: set[int]) -> Iterator[tuple[str, Value]]:
        """The parameters and modules inside, each once, with the attributes that lead there."""
        for name, value in vars(self).items():
            inner = isinstance(value, Module)
            if (inner or is_parameter(value)) and id(value) not in seen:
                seen.add(id(value))
                path = f"{prefix}.{name}" if prefix else name
                yield path, value
                if inner:
                    yield from value._walk(path, seen)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every parameter once, with the path of attributes that leads to it."""
        return ((p, t) for p, t in self._walk(prefix, {id(self)}) if isinstance(t, Tensor))

    def parameters(self) -> list[Tensor]:
        return [value for _, value in self.named_parameters()]

    def children(self) -> list["Module"]:
        return [value for value in vars(self).values() if isinstance(value, Module)]

    def modules(self) -> list["Module"]:
        return [self, *(m for _, m in self._walk("", {id(self)}) if isinstance(m, Module))]

    def requires_grad_(self, requires_grad: bool = True) -> "Module":
        """Itself, its parameters learning from now on or no longer."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """The parameters by their paths, in the memory in which they are."""
        return {path: value.detach() for path, value in self.named_parameters()}

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> None:
        """Copy the numbers of a `state_dict`; raises KeyError where the paths are others."""
        held = self.state_dict()
        if held.keys() != state_dict.keys():
            raise KeyError(
                f"the parameters here are {', '.join(held)}; {', '.join(state_dict)} came"
            )
        for path, value in held.items():
            copy_(value, state_dict[path])

    def zero_grad(self, set_to_none: bool = True) -> None:
        clear(self.parameters(), set_to_none)

    def train(self, mode: bool = True) -> "Module":
        """Itself, from now on in training or not, with all that it holds."""
        self.training = mode
        for child in self.children():  # who keeps its statistics frozen has a `train` of its own
            child.train(mode)
        return self

    def eval(self) -> "Module":
        return self.train(False)

    def _print_members(self) -> list[str]:
        inner = ((name, v) for name, v in vars(self).items() if isinstance(v, Module))
        return [f"({name}): {value!r}\n" for name, value in inner]

    def __repr__(self) -> str:
        lines = self._print_members()
        return f"{type(self).__name__}({chr(10) * bool(lines)}{indent(''.join(lines), '  ')})"


class Sequential(Module):
    """Modules one after the other; `net[0]` is the first."""

    def __init__(self, *modules: Value) -> None:
        """The modules, in the order in which they are applied; or a dict of them by name."""
        one = modules[0] if len(modules) == 1 else None
        for name, module in one.items() if isinstance(one, dict) else enumerate(modules):
            setattr(self, str(name), module)

    def forward(self, x: Value) -> Value:
        for module in self:
            x = module(x)
        return x

    def __iter__(self) -> Iterator[Value]:
        own = vars(self).items()
        return (each for name, each in own if name.isdigit() or isinstance(each, Module))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, k: int) -> Value:
        return list(self)[k]


class ModuleList(Sequential):
    """Modules in a list, whose parameters count; what they do is up to the module around."""

    forward = Module.forward  # refused, as PyTorch's is

    def __init__(self, modules: Iterable[Value] = ()) -> None:
        super().__init__(*modules)

    def _print_members(self) -> list[str]:
        lines, k = [], 0
        for text, same in groupby(map(repr, self)):
            n = len(list(same))
            lines.append(f"({k}): {text}\n" if n == 1 else f"({k}-{k + n - 1}): {n} x {text}\n")
            k += n
        return lines

    def append(self, module: Value) -> "ModuleList":
        setattr(self, str(len(self)), module)
        return self
