"""The same program on the bare engine, without forms and ledger: both must say the same."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from gradcheck.engine import optimizers
from gradcheck.engine.autograd import grad, tensor
from gradcheck.engine.factories import Generator
from gradcheck.engine.layers import LAYERS, LOSSES
from gradcheck.engine.recording import enable_grad, no_grad
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Budget
from gradcheck.language.kinds import KINDS
from gradcheck.language.run import run
from gradcheck.problem.record import Point, Problem
from gradcheck.training.outputs import Value, as_value, same
from gradcheck.training.recorder import snapshot
from gradcheck.training.scripts import plain_words, seeded
from gradcheck.training.trace import Trace, asks_error, readable

BARE: Mapping[str, Callable[..., Any]] = {
    "no_grad": no_grad,
    "enable_grad": enable_grad,
    "grad": grad,
    "tensor": tensor,
    **LOSSES,
    "SGD": optimizers.SGD,
    "Adam": optimizers.Adam,
}


def values_on_engine(problem: Problem, point: Point) -> dict[str, Value]:
    """What is asked, from the engine alone."""
    recorded: dict[str, list[Any]] = {}

    def record(**values: Any) -> None:
        for name, value in values.items():
            recorded.setdefault(name, []).append(snapshot(value))

    kind, generator = KINDS["tensor"], Generator()
    context: dict[str, Callable[..., Any]] = {
        **BARE,
        **plain_words(generator),
        "record": record,
        **{name: _drawn(generator, make) for name, make in LAYERS.items()},
    }
    ends = asks_error(problem)
    inputs = {
        name: tensor(problem.in_numpy(name, point[name]), requires_grad=entry.requires_grad)
        for name, entry in problem.inputs.items()
    }
    outcome = run(problem.program, inputs, kind, Budget(), context=context, keep_error=ends)
    names = readable(outcome, recorded)
    found: dict[str, Value] = {}
    for part in problem.parts:
        if part.ask is None:
            found[part.name] = as_value(names[part.name].grad)
            continue
        try:
            found[part.name] = as_value(run(part.ask, names, kind, Budget(), context=context).value)
        except TextError:
            if outcome.error is None:
                raise
            found[part.name] = None
    return found


def _drawn(generator: Generator, make: Callable[..., Any]) -> Callable[..., Any]:
    """A layer whose weights are drawn as those of the recorded run."""
    return lambda *args, **kwargs: make(*args, **seeded(generator, make, kwargs))


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
