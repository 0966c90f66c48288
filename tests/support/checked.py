"""Programs in the checked language, run on two plain kinds of number."""

from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.language.budget import Budget
from gradcheck.language.program import RunOutcome, check_program, run
from gradcheck.language.vocabulary import Vocabulary, words
from gradcheck.ops.pytorch import OF_METHODS, OWN

VOCABULARY = Vocabulary(
    functions=words(
        "sin cos exp log sqrt sum mean max min abs maximum minimum where clip prod cumsum zeros "
        "ones full eye arange linspace array stack concatenate reshape transpose einsum matmul "
        "dot inner outer kron tensordot norm inv det solve tile repeat pad diag meshgrid take "
        "convolve broadcast_to vander diff split matrix_power arcsin power multiply divide add "
        "record argmax round"
    ),
    constants=frozenset({"pi", "e"}),
    attributes=frozenset({"T", "shape", "ndim", "size", "grad"}),
    assignable=frozenset({"grad"}),
    methods=frozenset({"item", "append", "extend"}),
    contexts=frozenset({"no_grad"}),
    aliases={"ln": "log", "asin": "arcsin"},
)


CONTEXT: dict[str, Callable[..., Any]] = {"no_grad": nullcontext, "record": lambda **entries: None}


class PlainNumPy:
    def literal(self, value: Fraction) -> np.float64:
        return np.float64(float(value))

    def constant(self, name: str) -> float:
        return float(getattr(np, name))

    def function(self, name: str) -> Callable[..., Any]:
        if name.startswith(OF_METHODS):
            return OWN[name.removeprefix(OF_METHODS)]
        found: Callable[..., Any] = getattr(np, name, None) or getattr(np.linalg, name)
        return found


class Exact(PlainNumPy):
    """Numbers that are fractions, to see that nothing went through a float."""

    def literal(self, value: Fraction) -> Any:
        return value


def outcome(
    text: str, budget: Budget | None = None, kind: PlainNumPy | None = None, **inputs: Any
) -> RunOutcome:
    program = check_program(text, declared=inputs, vocabulary=VOCABULARY)
    return run(program, inputs, kind or PlainNumPy(), budget or Budget(), context=CONTEXT)


def value(text: str, budget: Budget | None = None, **inputs: Any) -> Any:
    return outcome(text, budget, **inputs).value
