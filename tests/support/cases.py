"""Cases for the opinions, made from plain Python functions of NumPy."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Case


def case(
    f: Callable[..., Any],
    *,
    cotangent: Any = None,
    wrt: tuple[str, ...] | None = None,
    seed: int = 0,
    **inputs: Any,
) -> Case:
    """The question about f at its inputs, in order; all are differentiated by default."""

    def function(kind: str, given: Mapping[str, Any]) -> Any:
        return f(*(given[n][()] if kind == "float" else given[n] for n in inputs))

    arrays = {name: np.array(v, dtype=np.float64) for name, v in inputs.items()}
    weights = None if cotangent is None else np.asarray(cotangent, dtype=np.float64)
    return Case(function, arrays, wrt or tuple(arrays), weights, seed)
