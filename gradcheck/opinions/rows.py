"""Opinions on every entry of a value: a Jacobian, asked row by row and put together."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np

from gradcheck.opinions.opinion import Case, Opinion, Rows, Slope, estimate
from gradcheck.values import Array, Params

P = ParamSpec("P")


def by_rows(
    ask: Callable[Concatenate[Case, P], Opinion],
) -> Callable[Concatenate[Case, P], Opinion]:
    """An opinion that answers for all entries of a value where a case has `rows`."""

    @wraps(ask)
    def asked(case: Case, /, *args: P.args, **kwargs: P.kwargs) -> Opinion:
        if case.rows is None:
            return ask(case, *args, **kwargs)
        found: list[Opinion] = []
        for row in case.each_row():
            found.append(ask(row, *args, **kwargs))
            if found[-1].abstains:
                return found[-1]
        return _join(case, case.rows, found)

    return asked


def stack_rows(case: Case, found: Sequence[Params]) -> dict[str, Array]:
    """The gradients of all entries as one array a part: the axes of the value come first."""
    assert case.rows is not None
    out = {}
    for part, name, rows, shape in case.rows.blocks(case.wrt):
        if all(name in each for each in found):
            whole = np.stack([np.asarray(each[name]) for each in found[rows]])
            out[part] = whole.reshape(shape + whole.shape[1:])
    return out


def _join(case: Case, rows: Rows, found: Sequence[Opinion]) -> Opinion:
    first = found[0]
    values = stack_rows(case, [{n: g.balls for n, g in each.gradients.items()} for each in found])
    written = [{n: f for n, f in each.closed.items() if f is not None} for each in found]
    conditions = dict.fromkeys(words for each in found for words in each.conditions)
    return Opinion(
        first.name,
        value=first.value,
        gradients={part: estimate(balls) for part, balls in values.items()},
        slopes=dict(_slopes(case, rows, found)),
        closed=dict.fromkeys(case.parts if first.closed else ()) | stack_rows(case, written),
        conditions=tuple(conditions),
        ties=sum(each.ties for each in found),
        method=first.method,
    )


def _slopes(
    case: Case, rows: Rows, found: Sequence[Opinion]
) -> Sequence[tuple[tuple[str, tuple[int, ...]], Slope]]:
    """Where it is not smooth, by the part and the index in it."""
    return [
        ((part, (*row, *index)), slope)
        for part, name, which, shape in rows.blocks(case.wrt)
        for row, each in zip(np.ndindex(shape), found[which], strict=True)
        for (by, index), slope in each.slopes.items()
        if by == name
    ]
