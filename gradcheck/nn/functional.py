"""PyTorch's `torch.nn.functional`: the ops, by their names."""

from typing import Any

from gradcheck.ops import TABLE


def __dir__() -> list[str]:
    """The ops."""
    return sorted(TABLE)


def __getattr__(name: str) -> Any:
    """The op of that name."""
    if name in TABLE:
        return TABLE[name]
    raise AttributeError(f"gradcheck.nn.functional has no {name!r}: `gradcheck ops` lists the ops")
