"""PyTorch's `torch.linalg`, which is NumPy's `np.linalg`: the ops, by their names."""

from typing import Any

from gradcheck.ops import everything


def __dir__() -> list[str]:
    """The ops."""
    return sorted(everything())


def _diagonal(x: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of the last two axes."""
    return everything()["diagonal"](x, offset, dim1, dim2)


OWN = {"diagonal": _diagonal}
"""What means another thing than the op of that name."""


def __getattr__(name: str) -> Any:
    """The op of that name."""
    found = OWN.get(name) or everything().get(name)
    if found is None:
        raise AttributeError(f"gradcheck.linalg has no {name!r}: `gradcheck ops` lists the ops")
    return found
