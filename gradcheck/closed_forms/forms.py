"""The closed form of every gradient of a problem, as text in the program's own names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.closed_forms.definitions import define
from gradcheck.closed_forms.derive import gradients, inlined
from gradcheck.closed_forms.index import Named, Product, Sum
from gradcheck.closed_forms.printing import Printer
from gradcheck.closed_forms.steps import Step, read
from gradcheck.engine.tensor import Tensor
from gradcheck.language import executing
from gradcheck.language.running.run import Outcome
from gradcheck.opinions.tape import Tape, record
from gradcheck.problem.record import Point, Problem


def matrix_forms(problem: Problem, point: Point) -> dict[str, str]:
    """The gradient by each wrt input as NumPy text; NoText where an op has no index form."""
    outcomes: list[Outcome] = []

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        outcomes.append(problem.outcome_on(kind, inputs))
        return outcomes[-1].value

    case = replace(problem.case(point), function=function, where=executing)
    tape = record(replace(case, wrt=tuple(case.inputs)))
    if tape is None:
        return dict.fromkeys(problem.wrt, "0")
    steps = list(read(tape, _names(tape, outcomes[-1].names), define).values())
    return texts(problem, steps)


def texts(problem: Problem, steps: Sequence[Step]) -> dict[str, str]:
    """The texts of the gradients of the last step."""
    end = steps[-1]
    if any(n != 1 for n in end.shape):
        seed = Sum((Product(factors=(Named("cotangent", end.axes),)),), end.axes)
    else:
        seed = Sum((Product(),), end.axes)
    found = gradients(list(steps), seed)
    hidden = {step.name: step for step in steps if step.hidden}
    printer = Printer(_Sizes(steps).text)
    written = {}
    for step in steps:
        if step.name in problem.wrt:
            written[step.name] = printer.text(inlined(found[step.name], hidden), step.name)
    return written


def _names(tape: Tape, variables: Mapping[str, Any]) -> dict[Any, str]:
    """The program's names of nodes, and of arrays that are constants."""
    names: dict[Any, str] = {}
    for name, value in variables.items():
        if isinstance(value, Tensor) and value.requires_grad:
            names.setdefault(value._step(), name)
        elif isinstance(value, Tensor | np.ndarray) and np.ndim(value):
            names.setdefault(np.asarray(getattr(value, "_value", value)).tobytes(), name)
    return {node: name for node, name in names.items() if name not in tape.leaves}


class _Sizes:
    """Products of sizes as people write them: `Y.size` where one tensor has them all."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._wholes = {
            tuple(sorted(step.sizes)): step.name
            for step in reversed(steps)
            if not step.hidden and len(step.shape) > 1
        }

    def text(self, names: Sequence[str]) -> str:
        """The text of a product of sizes."""
        whole = self._wholes.get(tuple(sorted(names)))
        if whole is not None:
            return f"{whole}.size"
        if len(names) == 1:
            return names[0]
        return f"({'*'.join(names)})"
