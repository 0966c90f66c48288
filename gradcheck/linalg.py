"""PyTorch's `torch.linalg`, which is NumPy's `np.linalg`: the ops, by their names."""

from gradcheck.ops import everything
from gradcheck.ops.pytorch import LINALG
from gradcheck.values import Value


def __dir__() -> list[str]:
    return sorted(everything())


def __getattr__(name: str) -> Value:
    found = everything().get(name)
    if found is None:
        raise AttributeError(f"gradcheck.linalg has no {name!r}: `gradcheck ops` lists the ops")
    return LINALG[name].wrap_around(found, name) if name in LINALG else found
