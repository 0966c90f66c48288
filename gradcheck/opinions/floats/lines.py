"""Lines through a point of a program: along a direction, along one entry, in plain floats."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Array, Case, NotScalar, contracted
from gradcheck.opinions.runs import Runs

Along = Mapping[str, Array]


def value_of(case: Case, inputs: Mapping[str, Array]) -> Any:
    """The value on floats, without warnings."""
    with np.errstate(all="ignore"):
        return case.function("float", inputs)


class Moving:
    """The value as a function of a step along a direction.

    The moved inputs lie in the same memory at every step, or large ones would cost time. Values
    along a line that has a name are shared with other questions about the point.
    """

    def __init__(self, case: Case, along: Along, named: Any = None) -> None:
        """Nothing is run yet."""
        self.case, self.named, self.runs = case, named, case.shared
        self.ready: dict[float, Any] = {}
        self.moves = {
            name: (np.asarray(case.inputs[name], dtype=np.float64), u, np.empty(u.shape))
            for name, u in along.items()
        }
        self.inputs = {
            name: self.moves[name][-1] if name in along else np.array(values, dtype=np.float64)
            for name, values in case.inputs.items()
        }

    def __call__(self, step: float) -> Any:
        """The value at one step."""
        known = self.ready.get(step)
        if known is None and self.named is not None and self.runs is not None:
            known = self.runs.values.get(self.named, {}).get(step)
        if known is not None:
            return known
        for still, u, moved in self.moves.values():
            np.multiply(u, step, out=moved, dtype=np.float64)
            np.add(moved, still, out=moved)
        value = value_of(self.case, self.inputs)
        if self.named is not None and self.runs is not None:
            self.runs.keep(self.named, step, value)
        return value

    def ahead(self, steps: Sequence[float]) -> None:
        """Run a program that takes stacks of points at several steps at once."""
        runs = self.runs
        known = {} if runs is None else runs.values.get(self.named, {})
        todo = [step for step in steps if step not in self.ready and step not in known]
        if runs is None or runs.stacked is None or len(todo) < 2 or runs.rows() < 2:
            return
        for start in range(0, len(todo), runs.rows()):
            some = todo[start : start + runs.rows()]
            inputs = stacked(self.case, len(some))
            for name, (_, u, _) in self.moves.items():
                inputs[name] += np.multiply.outer(some, np.asarray(u, dtype=np.float64))
            self.ready.update(zip(some, run_stack(runs, inputs), strict=False))
        if self.named is not None:
            for step in todo:
                if step in self.ready:
                    runs.keep(self.named, step, self.ready[step])


def stacked(case: Case, count: int) -> dict[str, Array]:
    """So many copies of every wrt input, one behind the other; the others as they are."""
    return {
        name: np.array(np.broadcast_to(np.asarray(v, float), (count, *np.shape(v))))
        if name in case.wrt
        else np.array(v, float)
        for name, v in case.inputs.items()
    }


def run_stack(runs: Runs, inputs: Mapping[str, Array]) -> Sequence[Any]:
    """The values of a stack of points; none where one of them is outside, which one alone tells."""
    assert runs.stacked is not None
    try:
        with np.errstate(all="ignore"):
            return list(runs.stacked(inputs))
    except Exception:  # noqa: BLE001 - a user's program may raise anything
        return []


class Line:
    """The contracted value as a function of a step along a direction, or of the entry it moves."""

    def __init__(self, case: Case, along: Along, named: Any = None, origin: float = 0.0) -> None:
        """`origin` is where the entry stands."""
        self.value = Moving(case, along, named)
        self.cotangent, self.origin = case.cotangent, origin

    def __call__(self, at: float) -> float:
        """The number at one place."""
        out = contracted(self.value(at - self.origin), self.cotangent)
        if np.size(out) != 1:
            raise NotScalar(f"the value has the shape {np.shape(out)}; a cotangent is needed")
        return float(np.asarray(out).item())

    def ahead(self, places: Sequence[float]) -> None:
        """Get the values at several places ready."""
        self.value.ahead([at - self.origin for at in places])


def line(case: Case, along: Along) -> Line:
    """The contracted value as a function of a step along a direction."""
    return Line(case, along)


def of_entry(case: Case, name: str, index: tuple[int, ...]) -> tuple[Line, float]:
    """The contracted value as a function of one entry of an input, and where that entry stands."""
    at = float(np.asarray(case.inputs[name])[index])
    return Line(case, {name: unit(case, name, index)}, (name, index), at), at


def unit(case: Case, name: str, index: tuple[int, ...]) -> Array:
    """The direction of one entry of an input."""
    found = np.zeros(np.shape(case.inputs[name]))
    found[index] = 1.0
    return found


def entries_ahead(case: Case, places: Sequence[tuple[Any, Sequence[float]]]) -> None:
    """Run a program that takes stacks with many entries moved, each by several steps.

    `places` are the entries (input, index) and their steps. Nothing where there is no room.
    """
    runs = case.shared
    if runs is None or runs.stacked is None or runs.rows() < 2:
        return
    every = [(place, step) for place, steps in places for step in steps]
    for start in range(0, len(every), runs.rows()):
        some = every[start : start + runs.rows()]
        inputs = stacked(case, len(some))
        for k, ((name, index), step) in enumerate(some):
            inputs[name][(k, *index)] += step
        for (place, step), value in zip(some, run_stack(runs, inputs), strict=False):
            runs.keep(place, step, value)
