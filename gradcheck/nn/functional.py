"""PyTorch's `torch.nn.functional`: the ops, by their names."""

from typing import Any

from gradcheck.ops import everything
from gradcheck.ops.methods import pytorchs


def __dir__() -> list[str]:
    """The ops."""
    return sorted(everything())


def __getattr__(name: str) -> Any:
    """The op of that name."""
    found = pytorchs(name)
    if found is None:
        raise AttributeError(
            f"gradcheck.nn.functional has no {name!r}: `gradcheck ops` lists the ops"
        )
    return found
