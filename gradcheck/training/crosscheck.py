"""The same program on the bare engine, without forms and ledger: both must say the same."""

import warnings
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcheck.engine import modules, optimizers
from gradcheck.engine.autograd import grad, tensor
from gradcheck.engine.recording import enable_grad, no_grad
from gradcheck.errors import GradcheckError
from gradcheck.language import Budget
from gradcheck.language.kinds import KINDS
from gradcheck.language.running.run import run
from gradcheck.problem.record import Point, Problem
from gradcheck.training.outputs import Value, as_value, same
from gradcheck.training.recorder import snapshot
from gradcheck.training.trace import Trace

BARE: Mapping[str, Callable[..., Any]] = {
    "no_grad": no_grad,
    "enable_grad": enable_grad,
    "grad": grad,
    "tensor": tensor,
    "Linear": modules.Linear,
    "MSELoss": modules.MSELoss,
    "CrossEntropyLoss": modules.CrossEntropyLoss,
    "SGD": optimizers.SGD,
    "Adam": optimizers.Adam,
}


def values_on_engine(problem: Problem, point: Point) -> dict[str, Value]:
    """What is asked, from the engine alone."""
    recorded: dict[str, list[Any]] = {}

    def record(**values: Any) -> None:
        for name, value in values.items():
            recorded.setdefault(name, []).append(snapshot(value))

    kind, context = KINDS["tensor"], {**BARE, "record": record}
    inputs = {
        name: tensor(np.array(point[name], dtype=np.float64), requires_grad=entry.requires_grad)
        for name, entry in problem.inputs.items()
    }
    outcome = run(problem.program, inputs, kind, Budget(), context=context)
    names = {**outcome.names, "recorded": SimpleNamespace(**recorded)}
    found: dict[str, Value] = {}
    for part in problem.parts:
        if part.ask is None:
            found[part.name] = as_value(names[part.name].grad)
        else:
            found[part.name] = as_value(run(part.ask, names, kind, Budget(), context=context).value)
    return found


def check_on_engine(problem: Problem, point: Point, right: Trace) -> None:
    """Raise GradcheckError where the recorded run and the engine say different things."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = values_on_engine(problem, point)
    for name, value in found.items():
        if not same(value, right.values[name]):
            raise GradcheckError(
                f"{problem.id}: the recorded run and the engine differ on {name}; this program "
                "cannot be judged"
            )
