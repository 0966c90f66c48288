"""PyTorch's `torch.nn.functional`: the ops, by their names."""

from functools import cache, partial

from gradcheck.engine.factories import one_hot
from gradcheck.engine.layers import IN_PLACE
from gradcheck.engine.tensor import Tensor
from gradcheck.ops import everything
from gradcheck.ops.pytorch import FUNCTIONALS, find_pytorchs
from gradcheck.values import Value

__all__ = ["one_hot"]


def __dir__() -> list[str]:
    return sorted({*everything(), "one_hot"})


@cache
def __getattr__(name: str) -> Value:
    found = find_pytorchs(FUNCTIONALS.get(name, name))
    if found is None:
        raise AttributeError(
            f"gradcheck.nn.functional has no {name!r}: `gradcheck ops` lists the ops"
        )
    return partial(_in_place, name, found) if name in IN_PLACE else found


def _in_place(
    name: str, function: Value, x: Value, *args: Value, inplace: bool = False, **named: Value
) -> Value:
    if inplace and isinstance(x, Tensor):
        return getattr(x, f"{name}_")(*args, **named)
    return function(x, *args, **named)
