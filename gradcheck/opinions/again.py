"""A gradient as a value of the program: `grad(y, x, create_graph=True)`, for each kind of number.

Each kind differentiates in its own way, so that three opinions remain when the gradient is
differentiated again: the tape records its own walk, the closed form takes SymPy's slopes as steps
of the line, and balls take differences inside of differences.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb

from gradcheck.engine.autograd import grad, tensor
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.scalars import Scalars, wrap
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.differences import slope_at, stepped
from gradcheck.opinions.opinion import Case, Rows

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
    start = balls(x)

    def total(value: Any) -> arb:
        return arbs(np.sum(value * weights)).item()  # type: ignore[no-any-return]

    def along(index: tuple[int, ...]) -> Callable[[arb], arb]:
        def at(step: arb) -> arb:
            u = np.zeros(entries.shape)
            u[index] = 1.0
            return total(again(stepped(start, u, step)))

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


def twice(case: Case) -> Case:
    """The question about a function's second derivatives: its gradient, entry by entry.

    The gradient is formed by each kind of number in its own way. By several inputs it is one
    vector, their gradients one after another.
    """
    shapes = {name: np.shape(case.inputs[name]) for name in case.wrt}
    size = sum(int(np.prod(shape, dtype=int)) for shape in shapes.values())
    alone = len(shapes) == 1

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        if kind == "float":
            return np.asarray(bare(function("tensor", _leaves(case, inputs))))
        value = case.function(kind, inputs)
        found = [_first(case, kind, inputs, name, value) for name in case.wrt]
        return found[0] if alone else np.concatenate([np.reshape(g, -1) for g in found])

    rows = Rows(next(iter(shapes.values())) if alone else (size,), tuple(shapes.items()), case)
    return replace(case, function=function, rows=rows)


def _first(case: Case, kind: str, inputs: Mapping[str, Any], name: str, value: Any) -> Any:
    """The gradient by one input, on numbers of a kind; zeros where the value is without it."""

    def again(x: Any) -> Any:
        return case.function(kind, {**inputs, name: x})

    if kind != "tensor":
        return WAYS[kind](value, inputs[name], None, again, 0)
    tracked = isinstance(value, Tensor) and value.requires_grad
    (g,) = grad(value, inputs[name], create_graph=True, allow_unused=True) if tracked else (None,)
    return inputs[name] * 0.0 if g is None else g


def _leaves(case: Case, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    return {n: tensor(np.array(v, float), requires_grad=n in case.wrt) for n, v in inputs.items()}


def _flat(x: Any) -> Any:
    return np.asarray(x, dtype=object).ravel()


def _shaped(values: list[Any], x: Any) -> Scalars:
    """Numbers in the shape of x."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    shaped: Scalars = wrap(out.reshape(np.shape(x)))
    return shaped
