"""What is drawn of a recorded series: the run as it is, and beside it the run with a mistake."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gradcheck.errors import GradcheckError
from gradcheck.training.outputs import Value
from gradcheck.training.series import Series

Floats = NDArray[np.float64]
ENTRIES = 6
"""Of arrays with more entries the 2-norm is drawn."""

AS_IT_IS = "the program as it is"
WITH = "with the mistake {}"
DOTTED = "(dotted: as it is)"
UNCHANGED = "no mistake of the training loop that gradcheck knows changes it"


class NothingToDraw(GradcheckError):
    """Why there is no picture."""


@dataclass(frozen=True, eq=False)
class Line:
    """One number a step; `label` tells the entries of an array apart."""

    label: str
    values: Floats


@dataclass(frozen=True, eq=False)
class Panel:
    """One run: its title and remarks, and its lines over the steps."""

    title: str
    remarks: tuple[str, ...]
    steps: Floats
    lines: tuple[Line, ...]


@dataclass(frozen=True, eq=False)
class Trace:
    """One picture: a panel, or two and the step from which they part."""

    heading: str
    across: str
    up: str
    panels: tuple[Panel, ...]
    parting: float | None = None


def trace_of(problem: str, series: Series) -> Trace:
    """The picture of a series; raises NothingToDraw where its entries are not alike numbers."""
    right = _panel(AS_IT_IS, (), series, series.right)
    named = f"{series.variable}, as the program counts"
    across = named if series.counter else "calls of record(), counted from 0"
    up = _up(series.name, np.asarray(series.right))
    heading = f"{problem}: the recorded series {series.name}"
    if series.mistake is None:
        return Trace(heading, across, up, (replace(right, remarks=(UNCHANGED,)),))
    parting = None if series.parting is None else float(right.steps[series.parting])
    at = "" if parting is None else f"parts at {series.variable or 'call'} = {parting:g} "
    wrong = _panel(WITH.format(series.mistake.id), (at + DOTTED,), series, series.wrong)
    return Trace(heading, across, up, (right, wrong), parting)


def _panel(title: str, remarks: tuple[str, ...], series: Series, value: Value) -> Panel:
    if not isinstance(value, np.ndarray) or not value.ndim or not value.size:
        raise NothingToDraw(f"{series.name} is not a number, or an array of one shape, each time")
    counter = series.counter if len(series.counter or ()) == len(value) else None
    steps = np.array(counter or range(len(value)), dtype=np.float64)
    return Panel(title, remarks, steps, _lines(series.name, value))


def _lines(name: str, value: Floats) -> tuple[Line, ...]:
    """The series itself, its entries, or its 2-norm: whatever is few enough to be told apart."""
    if value.ndim == 1:
        return (Line("", value),)
    flat = value.reshape(len(value), -1)
    if flat.shape[1] > ENTRIES:
        return (Line("", np.linalg.norm(flat, axis=1)),)
    indices = np.ndindex(value.shape[1:])
    labels = [f"{name}[{', '.join(map(str, index))}]" for index in indices]
    return tuple(Line(label, flat[:, k]) for k, label in enumerate(labels))


def _up(name: str, value: Floats) -> str:
    """What the upright axis says."""
    entries = value[0].size
    if entries > ENTRIES:
        return f"{name}: 2-norm of its {entries} entries"
    return name if value.ndim == 1 else f"entries of {name}"
