"""Mistakes of the whole answer: what their rows are made of, and the answers they give."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.diagnosis.line import ScalarLine
from gradcheck.mistakes import Mistake, Whole
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.reverse import once, twice
from gradcheck.values import Array, Value


def answers(
    case: Case, right: Mapping[str, Array], rows: Sequence[Mistake]
) -> Iterator[tuple[tuple[Value, ...], Mistake, dict[str, Array], Mapping[str, str]]]:
    """Every answer that a mistake of the whole gives; a part it says nothing of is nan.

    With a key, the row, and what its words may mention.
    """
    whole = _whole(case, right)
    for n, row in enumerate(rows):
        for k, found in enumerate(row.wrong(whole)):
            answer, said = found if isinstance(found, tuple) else (found, {})
            named = {name: np.asarray(answer.get(name, np.nan), dtype=float) for name in right}
            yield ("whole", n, k), row, named, said


def _whole(case: Case, right: Mapping[str, Array]) -> Whole:
    return Whole(
        right=right,
        inputs={**case.floats(), **{p: case.floats()[n] for p, n in case.parts.items()}},
        value=lambda: _value(case),
        second=lambda name: _second(case, name),
        elsewhere=lambda change: _elsewhere(case, right, change),
        others=lambda: _others(case),
        once=lambda: _once(case),
    )


def _once(case: Case) -> dict[str, Array]:
    """Where second derivatives are asked for, the first ones."""
    first = None if case.rows is None else case.rows.once
    if case.rows is None or first is None:
        return {}
    found = _gradients_at(first, case.inputs)
    blocks = zip(case.rows.blocks(case.wrt), case.parts, strict=True)
    return {part: found[name] for (_, name, *_), part in blocks if name in found}


def _value(case: Case) -> Value:
    if case.rows is not None and case.rows.once is not None:
        case = replace(case.rows.once, inputs=case.inputs)
    try:
        return np.asarray(case.function("float", case.floats()), dtype=float)
    except Exception:  # noqa: BLE001 - a user's program may raise anything
        return np.nan


def _gradients_at(case: Case, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The gradients at other inputs; none where the program does not go through there."""
    try:
        return once(replace(case, inputs=inputs))[1]
    except Exception:  # noqa: BLE001 - likewise
        return {}


def _others(case: Case) -> dict[str, Array]:
    """The gradients by the inputs that are not asked for, where they are of one shape with one."""
    shapes = {np.shape(case.inputs[name]) for name in case.wrt}
    names = tuple(n for n, v in case.inputs.items() if n not in case.wrt and np.shape(v) in shapes)
    return _gradients_at(replace(case, wrt=names), case.inputs) if names else {}


def _second(case: Case, name: str) -> Value:
    """The second derivative by a scalar input; nan where the program cannot be gone back twice."""
    try:
        return twice(case, name)
    except Exception:  # noqa: BLE001 - likewise
        return np.nan


def _elsewhere(
    case: Case, right: Mapping[str, Array], change: Callable[[Array], Array]
) -> dict[str, Array]:
    inputs = {name: change(v) if name in case.wrt else v for name, v in case.floats().items()}
    found = _gradients_at(case, inputs)
    return {name: g for name, g in found.items() if np.shape(g) == right[name].shape}


LITERALS = 12  # of a longer program somebody reads it from the paper


def literals(line: ScalarLine) -> list[tuple[int, int]]:
    """Node and place of each number that is written in the program's text."""
    found = [
        (k, i)
        for k, args in enumerate(line.args)
        for i, a in enumerate(args)
        if a is None and i < 2 and line.spans[k] is not None
    ]
    return found if len(found) <= LITERALS else []


def misread(line: ScalarLine, at: tuple[int, int], number: Array) -> Array | None:
    """The derivative (P, size) with another number (P,) at a place; None where it has none."""
    y, f = list(line.y), list(line.f)
    changed = [at[0], *(k for k in range(len(line.nodes)) if line.above[k] >> at[0] & 1)]
    for k in changed:
        row, args = line.rows[k], line.args[k]
        if row is None or row.params or len(args) > 2:
            return None
        values = tuple(
            number if (k, i) == at else (line.u, line.v)[i][k] if a is None else y[a]
            for i, a in enumerate(args)
        )
        y[k] = row.forward(*values)
        one = 1 + 0 * y[k]  # where there is no value there is no slope
        varies = [a is not None and row.differentiates(i) for i, a in enumerate(args)]
        f[k] = tuple(
            row.pull(i, one, y[k], values, {}) if yes else 0 * one for i, yes in enumerate(varies)
        )
    end = replace(line, f=tuple(f)).tangents[-1]
    return np.zeros(line.x.shape) if end is None else end
