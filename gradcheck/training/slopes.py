"""A gradient as a value of the program: `grad(y, x, create_graph=True)`, for each kind of number.

Each kind differentiates in its own way, so that three opinions remain when the gradient is
differentiated again: the tape records its own walk, the closed form takes SymPy's slopes as steps
of the line, and balls take differences inside of differences.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from flint import arb

from gradcheck.engine.autograd import grad
from gradcheck.errors import GradcheckError
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.scalars import Scalars, wrap
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.differences import slope_at

INSIDE = 200
"""Powers of two by which the steps inside are smaller than those outside, and not felt there."""
DEEPEST = 2

Again = Callable[[Any], Any]  # the value y once more, for another x


def by_tape(y: Any, x: Any, g: Any, again: Again, outer: int) -> Any:
    """Reverse mode, recorded."""
    return grad(y, x, g, create_graph=True)[0]


def by_line(y: Any, x: Any, g: Any, again: Again, outer: int) -> Any:
    """The chain rule along the line, its slopes being numbers of the line themselves."""
    entries = np.asarray(y, dtype=object).ravel()
    weights = np.ones(len(entries), dtype=int) if g is None else np.asarray(g, dtype=object).ravel()
    seeds: dict[Symbolic, Any] = {}
    for entry, weight in zip(entries, weights, strict=True):
        if isinstance(entry, Symbolic):
            seeds[entry] = seeds[entry] + weight if entry in seeds else Symbolic.exactly(weight)
    adjoint = line.slopes(seeds)
    return _shaped([adjoint.get(each, Symbolic.exactly(0)) for each in _flat(x)], x)


def by_steps(y: Any, x: Any, g: Any, again: Again, outer: int) -> Any:
    """Differences of each entry, with a bar; `outer` counts the differences around these."""
    if outer > DEEPEST:
        raise GradcheckError("gradients of gradients of gradients are not followed any further")
    steps = (INSIDE * (outer + 1), INSIDE * (outer + 1) + 8, INSIDE * (outer + 1) + 16)
    weights = 1 if g is None else g
    entries: Any = arbs(x)

    def total(value: Any) -> arb:
        return arbs(np.sum(value * weights)).item()  # type: ignore[no-any-return]

    def along(index: tuple[int, ...]) -> Callable[[arb], arb]:
        def at(step: arb) -> arb:
            moved = entries.copy()
            moved[index] = moved[index] + step
            return total(again(balls(moved)))

        return at

    found = [
        slope_at(along(index), total(y), entries[index], True, steps)[0]
        for index in np.ndindex(entries.shape)
    ]
    return balls(np.asarray(_shaped(found, x)))


def not_in_floats(y: Any, x: Any, g: Any, again: Again, outer: int) -> Any:
    """Differences of differences lose their digits in floats."""
    raise GradcheckError("a gradient of a gradient is not taken in floats")


WAYS: Mapping[str, Callable[[Any, Any, Any, Again, int], Any]] = {
    "tensor": by_tape,
    "symbolic": by_line,
    "ball": by_steps,
    "float": not_in_floats,
}


def _flat(x: Any) -> Any:
    return np.asarray(x, dtype=object).ravel()


def _shaped(values: list[Any], x: Any) -> Scalars:
    """Numbers in the shape of x."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    shaped: Scalars = wrap(out.reshape(np.shape(x)))
    return shaped
