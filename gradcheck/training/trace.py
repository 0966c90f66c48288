"""A program with backward calls, run once on the engine: events, ledger, and what is asked."""

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from types import SimpleNamespace

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.modules import Module
from gradcheck.engine.recording import watching
from gradcheck.engine.tensor import Tensor
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Budget, RunOutcome
from gradcheck.language.kinds import KINDS
from gradcheck.language.run import run
from gradcheck.ops.row import Op
from gradcheck.problem.draw import SCALES, decimals
from gradcheck.problem.record import Part, Point, Problem
from gradcheck.problem.section import ERROR
from gradcheck.training.ledger import (
    RIGHT,
    BackwardCall,
    GradientLedger,
    Holder,
    LedgerEntry,
    LedgerVerbs,
)
from gradcheck.training.outputs import Output, as_value, finite
from gradcheck.training.recorder import Recorder, context
from gradcheck.values import Numbers, Params

ROOMY = Budget()
TRIES = 8
SAMPLES = 4
UNITS = 8.0
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Trace:
    """What one run left: its events, its ledger, the answers to what is asked.

    `together` is the number of gradients that the fullest window added up; `notes` are PyTorch's
    warnings; `idle_clears` counts the clearings that found nothing; `error` is what the program
    ended in, where that is asked; `drawn` says whether it drew; `recorded` has its series.
    """

    calls: tuple[BackwardCall, ...]
    entries: tuple[LedgerEntry, ...]
    values: Mapping[str, Output]
    together: int = 1
    notes: tuple[str, ...] = ()
    idle_clears: int = 0
    error: TextError | None = None
    drawn: bool = False
    recorded: Mapping[str, Output] = field(default_factory=dict)


def asks_error(problem: Problem) -> bool:
    """Whether it is asked what the program ends in: then it may end in an error."""
    asked = (part.ask.tree for part in problem.parts if part.ask is not None)
    return any(isinstance(n, ast.Name) and n.id == ERROR for tree in asked for n in ast.walk(tree))


def point_of(problem: Problem) -> Point:
    """The given point; inputs given by shape are drawn until everything asked is finite."""
    fixed = {name: i.value for name, i in problem.inputs.items() if i.value is not None}
    drawn = [i for i in problem.inputs.values() if i.value is None]
    if not drawn:
        return fixed
    rng = np.random.default_rng(problem.seed)
    for scale in SCALES[:TRIES]:
        point = {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in drawn}}
        if all(map(finite, trace(problem, point).values.values())):
            return point
    raise GradcheckError(f"{problem.id}: no point was found at which everything asked is finite")


def trace(
    problem: Problem, point: Point, verbs: LedgerVerbs = RIGHT, *, together: int = 1
) -> Trace:
    """Run the program on the engine; raises TextError or OutOfBudget, as any program does."""
    recorder = Recorder(GradientLedger(verbs, together))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        names, error = names_after(problem, point, recorder)
        values = {p.name: read_part(p, names, recorder, failed=error) for p in problem.parts}
    notes = tuple(dict.fromkeys(str(w.message) for w in caught))
    ledger = recorder.ledger
    return Trace(
        calls_named(recorder),
        tuple(ledger.entries),
        values,
        max(ledger.fullest, 1),
        notes,
        ledger.idle_clears,
        error,
        recorder.generator.used,
        {name: as_value(value) for name, value in recorder.recorded.items()},
    )


def calls_named(recorder: Recorder) -> tuple[BackwardCall, ...]:
    """The backward calls with the names of what they are differentiated by."""
    name = recorder.ledger.name_of
    return tuple(replace(c, names={step: name(step) for step in c.landed}) for c in recorder.calls)


def names_after(
    problem: Problem,
    point: Point,
    recorder: Recorder,
    budget: Budget = ROOMY,
    *,
    watched: bool = True,
) -> tuple[dict[str, Numbers], TextError | None]:
    """All variables after the run, and the error it ended in; leaves get their names from them.

    A run that is not `watched` leaves no ledger.
    """
    given = [name for name, entry in problem.inputs.items() if entry.written is None]
    inputs = {name: _input(problem, name, point[name], recorder) for name in given}
    written = [entry for entry in problem.inputs.values() if entry.written is not None]
    recorder.moved = {entry.written: point[entry.name] for entry in written}
    words, ends = context(recorder), asks_error(problem)
    with recorder.watching() if watched else nullcontext():
        outcome = run(
            problem.program, inputs, KINDS["tensor"], budget, context=words, keep_error=ends
        )
    holders = {id(holder.tensor): holder for holder in recorder.ledger.holders}
    for name, value in outcome.names.items():
        _name_holders(holders, name, value)
    for k, holder in enumerate(recorder.ledger.holders):
        nameless = f"leaf {k + 1}" if holder.tensor.is_leaf else "an intermediate value"
        holder.name = holder.name or nameless
    return readable(outcome, recorder.recorded), outcome.error


def readable(outcome: RunOutcome, recorded: Params) -> dict[str, Numbers]:
    """What `ask` can read: all variables, what was recorded, and the error."""
    error = None if outcome.error is None else outcome.error.complaints[0].message
    return {ERROR: error, **outcome.names, "recorded": SimpleNamespace(**recorded)}


def _input(problem: Problem, name: str, value: Numbers, recorder: Recorder) -> Tensor:
    if problem.inputs[name].requires_grad:
        return recorder.leaf(value, name)
    return tensor(problem.in_numpy(name, value))


def _name_holders(holders: Mapping[int, Holder], name: str, value: Numbers, depth: int = 2) -> None:
    """Name them after the variables that hold them, or the lists; those may hold themselves."""
    if isinstance(value, Tensor) and id(value) in holders:
        holder = holders[id(value)]
        holder.name = holder.name or name
    elif isinstance(value, Module):
        for path, parameter in value.named_parameters():
            _name_holders(holders, f"{name}.{path}", parameter)
    elif isinstance(value, list | tuple) and depth:
        for k, each in enumerate(value):
            _name_holders(holders, f"{name}[{k}]", each, depth - 1)


def read_part(
    part: Part,
    names: Params,
    recorder: Recorder,
    budget: Budget = ROOMY,
    *,
    failed: TextError | None = None,
) -> Output:
    """What a part reads: its expression, or the `.grad` of the input it is named after.

    Of a program that `failed`, what does not exist is None.
    """
    if part.ask is None:
        return as_value(names[part.name].grad)
    try:
        with recorder.watching():
            found = run(part.ask, names, KINDS["tensor"], budget, context=context(recorder))
    except TextError:
        if failed is None:
            raise
        return None
    return as_value(found.value)


# -- how exact the answers are ---------------------------------------------------------------------


def disturbed_runs(problem: Problem, point: Point, units: float) -> Iterator[Mapping[str, Output]]:
    """What is asked of runs of which every operation is off by a few units of its last digit."""
    rng = np.random.default_rng(problem.seed)

    def disturb(row: Op, y: Numbers) -> Numbers:
        if not row.rounds or np.asarray(y).dtype.kind != "f":
            return y
        return y * (1 + units * EPSILON * rng.uniform(-1, 1, np.shape(y)))

    while True:
        with watching(disturb=disturb):
            found = trace(problem, point).values
        yield found


def noise(problem: Problem, point: Point, right: Trace) -> dict[str, Numbers]:
    """What float64 loses on each number asked: the run is repeated, slightly disturbed."""
    runs = [*islice(disturbed_runs(problem, point, UNITS), SAMPLES)]
    return {name: _spread(value, [r[name] for r in runs]) for name, value in right.values.items()}


def _spread(value: Output, runs: Sequence[Output]) -> Numbers:
    """The largest deviation, entry by entry; lists of lists as they are."""
    if isinstance(value, list):
        columns = zip(*[r if isinstance(r, list) else value for r in runs], strict=False)
        return [_spread(v, list(c)) for v, c in zip(value, columns, strict=False)]
    if not isinstance(value, np.ndarray):
        return 0.0
    alike = [r for r in runs if isinstance(r, np.ndarray) and r.shape == value.shape]
    off = np.max([np.abs(r - value) for r in alike], axis=0, initial=0.0)
    return off + 4 * EPSILON * np.abs(value)
