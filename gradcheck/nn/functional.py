"""PyTorch's `torch.nn.functional`: the ops, by their names."""

from typing import Any

from gradcheck.engine.factories import one_hot
from gradcheck.ops import everything
from gradcheck.ops.differing import FUNCTIONALS
from gradcheck.ops.methods import pytorchs

__all__ = ["one_hot"]


def __dir__() -> list[str]:
    """The ops."""
    return sorted({*everything(), "one_hot"})


def __getattr__(name: str) -> Any:
    """The op of that name."""
    found = pytorchs(FUNCTIONALS.get(name, name))
    if found is None:
        raise AttributeError(
            f"gradcheck.nn.functional has no {name!r}: `gradcheck ops` lists the ops"
        )
    return found
