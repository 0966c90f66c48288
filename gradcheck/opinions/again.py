"""The gradient of a gradient, for each kind of number.

Each kind differentiates in its own way, so that three opinions remain when the gradient is
differentiated again: the tape records its own walk, the closed form takes SymPy's slopes as steps
of the line, and balls take differences inside of differences.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gradcheck.engine.autograd import grad
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import Scalars, arbs, balls, each
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.differences import measure_slope, step_from
from gradcheck.opinions.limits import STEPS_INSIDE
from gradcheck.opinions.opinion import Case, Rows, unit
from gradcheck.opinions.tape import make_leaves
from gradcheck.values import Array, Numbers, Params


def by_line(y: Numbers, x: Numbers) -> Numbers:
    """The chain rule along the line, its slopes being numbers of the line themselves."""
    times = Counter(e for e in np.asarray(y, dtype=object).flat if isinstance(e, Symbolic))
    seeds = {entry: Symbolic.exactly(n) for entry, n in times.items()}
    adjoint = line.sum_gradients(seeds, line.take_slope)
    return each(lambda leaf: adjoint.get(leaf, Symbolic.exactly(0)), x).view(Scalars)


def by_steps(y: Numbers, x: Numbers, again: Callable[[Numbers], Numbers]) -> Numbers:
    """Differences of each entry, with a bar; `again` gives the value y once more, for another x."""
    entries: Numbers = arbs(x)
    start, here = balls(x), arbs(np.sum(y)).item()
    found = np.empty(entries.shape, dtype=object)
    for index in np.ndindex(entries.shape):
        u: Array = unit(entries, index)
        along = lambda step, u=u: arbs(np.sum(again(step_from(start, u, step)))).item()
        found[index], _ = measure_slope(along, here, entries[index], True, STEPS_INSIDE)
    return balls(found)


def twice(case: Case) -> Case:
    """The question about a function's second derivatives: its gradient, entry by entry.

    The gradient is formed by each kind of number in its own way. By several inputs it is one
    vector, their gradients one after another.
    """
    shapes = {name: np.shape(case.inputs[name]) for name in case.wrt}
    size = sum(int(np.prod(shape, dtype=int)) for shape in shapes.values())
    alone = len(shapes) == 1

    def function(kind: str, inputs: Params) -> Numbers:
        if kind == "float":
            return np.asarray(unwrap(function("tensor", make_leaves(case, inputs))))
        value = case.function(kind, inputs)
        found = [_differentiate(case, kind, inputs, name, value) for name in case.wrt]
        return found[0] if alone else np.concatenate([np.reshape(g, -1) for g in found])

    rows = Rows(next(iter(shapes.values())) if alone else (size,), tuple(shapes.items()), case)
    return replace(case, function=function, rows=rows)


def _differentiate(case: Case, kind: str, inputs: Params, name: str, value: Numbers) -> Numbers:
    x = inputs[name]
    if kind == "symbolic":
        return by_line(value, x)
    if kind == "ball":
        return by_steps(value, x, lambda moved: case.function(kind, {**inputs, name: moved}))
    tracked = isinstance(value, Tensor) and value.requires_grad
    (g,) = grad(value, x, create_graph=True, allow_unused=True) if tracked else (None,)
    return x * 0.0 if g is None else g
