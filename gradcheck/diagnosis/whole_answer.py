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
    floats = case.floats()
    first = None if case.rows is None else case.rows.once  # the question, asked but once

    def value() -> Value:
        asked = case if first is None else replace(first, inputs=case.inputs)
        return np.asarray(asked.function("float", asked.floats()), dtype=float)

    def elsewhere(change: Callable[[Array], Array]) -> Mapping[str, Array]:
        moved = {name: change(v) if name in case.wrt else v for name, v in floats.items()}
        found = _gradients(case, inputs=moved)
        return {name: g for name, g in found.items() if np.shape(g) == right[name].shape}

    def others() -> Mapping[str, Array]:  # of one shape with one that is asked for
        given, shapes = case.inputs.items(), {np.shape(case.inputs[name]) for name in case.wrt}
        names = tuple(n for n, v in given if n not in case.wrt and np.shape(v) in shapes)
        return _gradients(case, wrt=names) if names else {}

    def before() -> Mapping[str, Array]:
        if case.rows is None or first is None:
            return {}
        found = _gradients(first, inputs=case.inputs)
        blocks = zip(case.rows.blocks(case.wrt), case.parts, strict=True)
        return {part: found[name] for (_, name, *_), part in blocks if name in found}

    return Whole(
        right=right,
        inputs={**floats, **{p: floats[n] for p, n in case.parts.items()}},
        value=lambda: _attempt(value, np.nan),
        second=lambda name: _attempt(lambda: twice(case, name), np.nan),
        elsewhere=elsewhere,
        others=others,
        once=before,
    )


def _attempt(make: Callable[[], Value], otherwise: Value) -> Value:
    try:
        return make()
    except Exception:  # noqa: BLE001 - it may raise anything
        return otherwise


def _gradients(case: Case, **changes: Value) -> Mapping[str, Array]:
    """The gradients of a changed question; none where the program does not go through there."""
    found: Mapping[str, Array] = _attempt(lambda: once(replace(case, **changes))[1], {})
    return found


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
