"""PyTorch's `torch.linalg`, which is NumPy's `np.linalg`: the ops, by their names."""

from typing import Any

from gradcheck.ops import everything


def __dir__() -> list[str]:
    """The ops."""
    return sorted(everything())


def _vander(x: Any, N: int | None = None) -> Any:  # noqa: N803 - PyTorch's word
    """The powers of each entry, from the lowest up."""
    return everything()["vander"](x, N, increasing=True)


def _diagonal(x: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of the last two axes."""
    return everything()["diagonal"](x, offset, dim1, dim2)


OWN = {"vander": _vander, "diagonal": _diagonal}
"""What means another thing than the op of that name."""


def __getattr__(name: str) -> Any:
    """The op of that name."""
    found = OWN.get(name) or everything().get(name)
    if found is None:
        raise AttributeError(f"gradcheck.linalg has no {name!r}: `gradcheck ops` lists the ops")
    return found
