"""PyTorch's `torch.linalg`, which is NumPy's `np.linalg`: the ops, by their names."""

from gradcheck.ops import everything
from gradcheck.values import Value

OWN = {
    "vander": lambda x, N=None: everything()["vander"](x, N, increasing=True),  # noqa: N803 - PyTorch's word
    "diagonal": lambda x, *, offset=0, dim1=-2, dim2=-1: everything()["diagonal"](
        x, offset, dim1, dim2
    ),
}
"""What means another thing than the op of that name."""


def __dir__() -> list[str]:
    return sorted(everything())


def __getattr__(name: str) -> Value:
    found = OWN.get(name) or everything().get(name)
    if found is None:
        raise AttributeError(f"gradcheck.linalg has no {name!r}: `gradcheck ops` lists the ops")
    return found
