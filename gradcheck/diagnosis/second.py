"""Second derivatives of single numbers: what went wrong in the first step, or in the second."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.diagnosis import calculus
from gradcheck.diagnosis.line import Gradients, ScalarLine, Span, lines
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.whole_answer import differentiated_too_often
from gradcheck.numbers.symbolic import write_out
from gradcheck.opinions.opinion import Case, pair
from gradcheck.ops import TABLE
from gradcheck.ops.row import sympy
from gradcheck.values import Array, Params, Value

Act = tuple[tuple[Value, ...], Mistake, list[Gradients], Params, Span]

MOST = 60  # operations of a first derivative that is written out
STEP = 2.0**-7  # of the input
# Fornberg 1988: central differences of the eighth order at -4 ... 4, of the first and second kind.
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
REACH = np.arange(-4, 5)
NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
IN_FIRST = {"stage": " It happened in the first of the two differentiations."}


def is_second(cases: Sequence[Case]) -> bool:
    """Whether second derivatives by single numbers are asked for."""
    once = cases[0].rows.once if cases[0].rows is not None else None
    return once is not None and all(np.shape(once.inputs[name]) == () for name in once.wrt)


def acts(cases: Sequence[Case], rows: Sequence[Mistake]) -> Iterator[Act]:
    """Every wrong rule in either step, for each of the second derivatives."""
    once = cases[0].rows.once if cases[0].rows is not None else None
    assert once is not None
    for k, first in enumerate(once.wrt):
        for then in once.wrt[k:]:
            yield from _err_in_first(cases, first, then, rows)
            yield from _err_in_second(cases, first, then, rows)


def _err_in_first(
    cases: Sequence[Case], first: str, then: str, rows: Sequence[Mistake]
) -> Iterator[Act]:
    steps = [STEP * max(abs(float(case.inputs[then])), STEP) for case in cases]
    around = [
        _ask(case, {then: np.asarray(float(case.inputs[then]) + j * step)})
        for case, step in zip(cases, steps, strict=True)
        for j in REACH
    ]
    line = _by(around, first)
    if line is None:
        return
    h, size = np.array(steps), (len(cases), len(REACH))
    right = line.tangents[-1]
    assert right is not None
    again = right.reshape(size) @ SECOND / h**2
    yield ("thrice", first, then), differentiated_too_often, _at(again, first, then), {}, None
    for act in calculus.acts(line, rows):
        made = act.flat.reshape(size) @ FIRST / h
        said = {**calculus.texts(line, act), **IN_FIRST}
        yield ("first", first, then, *act.key), act.mistake, _at(made, first, then), said, act.span


def _err_in_second(
    cases: Sequence[Case], first: str, then: str, rows: Sequence[Mistake]
) -> Iterator[Act]:
    line = _by([_ask(case, {}) for case in cases], first)
    whole = None if line is None else write_out(line.nodes[-1], MOST)
    if whole is None:
        return
    slope = sympy.diff(whole, sympy.Symbol(first, real=True))
    if slope.count_ops() > MOST:
        return
    known = {name: row.function for name, row in TABLE.items()}
    known |= {school: known[name] for school, name in NAMES.items()}
    letters = sorted(slope.free_symbols, key=str)
    again = sympy.lambdify(letters, slope, modules=[known])

    def function(kind: str, inputs: Params) -> Value:
        return again(*(inputs[str(letter)] for letter in letters))

    line = _by([replace(_ask(c, {}), function=function, where=lambda: None) for c in cases], then)
    for act in calculus.acts(line, rows) if line is not None else ():
        made = _at(act.flat[:, 0], first, then)
        yield ("second", first, then, *act.key), act.mistake, made, _quote_pieces(line, act), None


def _quote_pieces(line: ScalarLine | None, act: calculus.WrongRule) -> Params:
    """What the words mention: pieces of the first derivative, written out."""
    assert line is not None
    ks = act.place.ks if act.place is not None else ()
    whole = str(write_out(line.nodes[-1], MOST))
    texts = calculus.texts(line, act)
    found = {"text": str(write_out(line.nodes[ks[0]], MOST))} if ks else {}
    stage = f" It happened to the first derivative, `{whole}`."
    return {**texts, **found, "whole": whole, "stage": stage}


def _ask(case: Case, moved: Mapping[str, Array]) -> Case:
    assert case.rows is not None
    assert case.rows.once is not None
    return replace(case.rows.once, inputs={**case.inputs, **moved})


def _by(cases: Sequence[Case], name: str) -> ScalarLine | None:
    found = lines([replace(case, wrt=(name,)) for case in cases])
    return found[0][1] if len(found) == 1 and found[0][1].scalar else None


def _at(values: Array, first: str, then: str) -> list[Gradients]:
    return [{pair(first, then): np.asarray(value)} for value in values]
