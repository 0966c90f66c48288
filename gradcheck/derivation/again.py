"""Jacobians and second derivatives step by step: by every value that the program names."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.closed_forms.again import jacobians, with_gradient
from gradcheck.closed_forms.derive import inlined
from gradcheck.closed_forms.index import Sum
from gradcheck.closed_forms.indexed import Writer
from gradcheck.closed_forms.indexed import value as index_value
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Step
from gradcheck.derivation.arrays import Stage, Walked, walked
from gradcheck.derivation.forms import LONGEST, rows_in, value_of
from gradcheck.derivation.run import Derivation, derivation
from gradcheck.derivation.scalars import Steps, steps
from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import Array
from gradcheck.problem.record import Point, Problem


@dataclass(frozen=True)
class Twice:
    """The run up to what is differentiated entry by entry, then its derivatives.

    `entries` are those by every named value, from the end to the inputs: each a formula that gives
    its array. `axes` counts those of the names, `rows` are the sizes for which `n` is written.
    """

    first: Steps | Walked
    entries: tuple[Stage, ...]
    axes: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)


def twice(problem: Problem, point: Point) -> Twice:
    """The derivation of a Jacobian, or of second derivatives after that of the first."""
    first = _first(problem, point)
    try:
        found = derivation(problem, point)
        entries = tuple(_entries(problem, found))
    except (NoText, GradcheckError):
        return Twice(first, ())
    shapes = {name: np.shape(value) for name, value in found.values.items()}
    axes = {name: len(shape) for name, shape in shapes.items()}
    rows = rows_in([stage.text for stage in entries], shapes)
    return Twice(first, entries, axes, rows)


def _first(problem: Problem, point: Point) -> Steps | Walked:
    """The run, and how its first derivatives came about where second ones are asked."""
    once = replace(problem, order=1, jacobian=False)
    if problem.jacobian:
        floats = {name: np.array(value, dtype=np.float64) for name, value in point.items()}
        once = replace(once, cotangent=np.ones(np.shape(problem.value_on("float", floats))))
    if any(i.shape for i in problem.inputs.values()):
        found = walked(once, point)
        return replace(found, backward=(), chain=()) if problem.jacobian else found
    scalars = steps(once, point)
    return replace(scalars, backward=()) if problem.jacobian else scalars


def _entries(problem: Problem, found: Derivation) -> Iterator[Stage]:
    end = next((s.name for s in found.steps[-1:] if not s.hidden), "value")
    if problem.jacobian:
        yield from _of(found, list(found.steps), f"d{end}")
        return
    for name in problem.wrt:
        recorded = with_gradient(found.steps, name)
        later = problem.wrt[: problem.wrt.index(name)]
        yield from _of(found, recorded, f"d(d{end}/d{name})", later)


def _of(
    found: Derivation, recorded: Sequence[Step], top: str, left_out: Sequence[str] = ()
) -> Iterator[Stage]:
    """The derivatives of the last step by those that have a name."""
    hidden = {step.name: step for step in recorded if step.hidden}
    by_name = {name: g for name, g in jacobians(recorded).items() if g.products}
    constants = found.problem.inputs.keys() - set(found.problem.wrt)
    for name, g in by_name.items():
        if name in hidden or name == recorded[-1].name or name in constants or name in left_out:
            continue
        whole = found.known.said(inlined(g, hidden))
        for written in (_in_matrices, _in_indices):
            with suppress(GradcheckError, NoText, LookupError, ValueError, TypeError, SyntaxError):
                stage = written(found, f"{top}/d{name}", whole)
                if len(stage.text) <= LONGEST and _same(stage.value, found.number(whole)):
                    yield stage
                    break


def _in_matrices(found: Derivation, name: str, whole: Sum) -> Stage:
    """A formula in NumPy's text and what it comes to, read again."""
    text = found.printer.text(whole)
    value = value_of(text, found.values)
    if value is None:
        raise NoText("a text that does not run")
    return Stage(name, text, "", value)


def _in_indices(found: Derivation, name: str, whole: Sum) -> Stage:
    """The same in index notation."""
    taken = frozenset({*found.values, *(step.name for step in found.steps)})
    places, text = Writer(found.printer, taken).text(whole)
    return Stage(f"{name}[{places}]", text, "", index_value(text, places, found.values))


def _same(a: Array, b: Array) -> bool:
    room = 1e-9 * max(1.0, float(np.max(np.abs(b), initial=0.0)))
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= room))
