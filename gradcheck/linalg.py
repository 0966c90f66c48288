"""PyTorch's `torch.linalg`, which is NumPy's `np.linalg`: the ops, by their names."""

from gradcheck.ops import everything
from gradcheck.values import Value


def __dir__() -> list[str]:
    """The ops."""
    return sorted(everything())


def _vander(x: Value, N: int | None = None) -> Value:  # noqa: N803 - PyTorch's word
    """The powers of each entry, from the lowest up."""
    return everything()["vander"](x, N, increasing=True)


def _diagonal(x: Value, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """The diagonals of the last two axes."""
    return everything()["diagonal"](x, offset, dim1, dim2)


OWN = {"vander": _vander, "diagonal": _diagonal}
"""What means another thing than the op of that name."""


def __getattr__(name: str) -> Value:
    """The op of that name."""
    found = OWN.get(name) or everything().get(name)
    if found is None:
        raise AttributeError(f"gradcheck.linalg has no {name!r}: `gradcheck ops` lists the ops")
    return found
