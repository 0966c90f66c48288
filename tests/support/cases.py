"""Cases for the opinions, made from plain Python functions of NumPy, and from checked programs."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Case
from gradcheck.problem import load_text
from gradcheck.problem.draw import draw_given_point
from gradcheck.verdict.consult import Verdict, consult


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


def solved(program: str, x: Any) -> Verdict:
    """The verdict on a program of the checked language, where decimals are what they say."""
    words = {"id": "t", "inputs": {"x": x}, "program": program}
    problem = load_text(json.dumps(words)).problems[0]
    return consult(problem.case(draw_given_point(problem)))
