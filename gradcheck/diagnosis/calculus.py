"""The calculus family: each wrong rule at each place of the line, everywhere, and two at a time.

Of second derivatives of single numbers: what went wrong in the first step, or in the second.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from gradcheck.diagnosis.line import (
    Gradients,
    Key,
    Place,
    ScalarLine,
    Span,
    cover_spans,
    derive_lines,
    list_places,
    rerun,
    select,
    shift,
)
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.whole_answer import differentiated_too_often
from gradcheck.numbers.symbolic import write_out
from gradcheck.opinions.opinion import Case, pair
from gradcheck.ops import TABLE
from gradcheck.ops.row import sympy
from gradcheck.values import Array, Params, Value

READABLE = 30
TYPED = 12  # characters of a number that somebody typed
DECIMALS = 10**6  # of such a number's denominator
RERUNS = 400  # nodes: beyond, "everywhere" is left to the backprop family
NEAR = 3  # steps below a node that rules look into


@dataclass(frozen=True, eq=False)
class WrongRule:
    """A wrong rule at a place (None: everywhere), and the derivative (P, size) that it gives.

    `letter` is the one that is held, where the rule looks at one.
    """

    key: Key
    mistake: Mistake
    place: Place | None
    span: Span
    flat: Array
    letter: str = ""


def list_acts(line: ScalarLine, rows: Sequence[Mistake]) -> Iterator[WrongRule]:
    """Every row at every place where it can happen, then at all of them together."""
    found = list_places(line)
    operations = [select(line, place.ks, line.tangents, place.summed) for place in found]
    for n, row in enumerate(rows):
        for letter, held in line.held.items() if row.verb == "held" else ():
            for place in found:
                if row.where(select(line, place.ks, line.tangents, place.summed, held)):
                    made = shift(line, place, row.wrong, held)
                    yield WrongRule((n, letter, *place.key), row, place, place.span, made, letter)
        if row.verb == "held":
            continue
        sites = [p for p, s in zip(found, operations, strict=True) if row.where(s)]
        for place in sites:
            span = place.span
            if row.operand is not None:  # the row points at an argument
                a = line.args[place.ks[0]][row.operand]
                span = (line.spans[a] if a is not None else None) or span
            made = shift(line, place, row.wrong)
            yield WrongRule((n, *place.key), row, place, span, made)
        if row.habit and len(sites) > 1 and len(line.nodes) <= RERUNS:
            wrong = {k: row.wrong for place in sites for k in place.ks}
            span = cover_spans(place.span for place in sites)
            yield WrongRule((n, "everywhere"), row, None, span, rerun(line, wrong))


def combine_pairs(line: ScalarLine, singles: Sequence[WrongRule], most: int) -> Array | None:
    """The derivative (B, B, P, size) of each act on top of each other one, `most` numbers at most.

    Only a pair where the second is not inside the first is made in that order; the rest is nan.
    """
    count, at = len(singles), [act.place for act in singles if act.place is not None]
    if not count or len(at) < count or any(place.chained for place in at):
        return None
    if count * line.x.size * max(count, len(line.nodes)) > most:
        return None
    d = _find_all_tangents(line, singles, at)
    root = d[-1]
    assert root is not None
    # what lies at, or below, a node of each place; no node of the first may lie after the second
    under = [[line.above[k] | 1 << k for k in place.ks] for place in at]
    out = np.full((count, count, *line.x.shape), np.nan)
    for j, (act, place) in enumerate(zip(singles, at, strict=True)):
        s = select(line, place.ks, d, place.summed)
        change = (act.mistake.wrong(s) - s.right) * line.adjoints[list(place.ks)][:, None, :, None]
        made = np.broadcast_to(root + change.sum(axis=0), (count, *line.x.shape))
        fits = [
            i != j and not any(bits >> k & 1 for bits in under[i] for k in place.ks)
            for i in range(count)
        ]
        out[fits, j] = made[fits]
    return out


def _find_all_tangents(
    line: ScalarLine, singles: Sequence[WrongRule], at: Sequence[Place]
) -> list[Array | None]:
    """The derivatives (B, P, size) of every node, with act b made in row b."""
    shape = (len(singles), *line.x.shape)
    found: list[Array | None] = []
    for k in range(len(line.nodes)):
        right = line.chain(k, found)
        here = [b for b, place in enumerate(at) if k in place.ks]
        if right is not None:
            right = np.broadcast_to(right, shape)
            right = np.array(right) if here else right
            near = [k]  # and what its arguments come from, as rules look inside
            for _ in range(NEAR if here else 0):
                near += [a for m in near for a in line.args[m] if a is not None]
            for b in here:
                row = {a: None if (d := found[a]) is None else d[b : b + 1] for a in near[1:]}
                right[b] = singles[b].mistake.wrong(select(line, [k], row))[0, 0]
        found.append(right)
    return found


def quote_texts(line: ScalarLine, act: WrongRule) -> Params:
    """What the words of a row may mention: spans of the program, or names and numbers."""
    if act.place is None:
        return {}
    k = act.place.ks[0]
    args = dict(zip("uv", line.args[k], strict=False))
    found: dict[str, Value] = {}
    for i, (letter, a) in enumerate(args.items()):
        atom = None if a is None else line.nodes[a].atom
        named = str(atom) if a is None or atom is not None else line.spans[a]
        found[letter] = _write_number(line.nodes[k].args[i]) if a is None else named
        found[f"d{letter}"] = _write_derivative(line, a)
    varying = [x for x, a in args.items() if a is not None and line.tangents[a] is not None]
    if len(varying) == 1:
        w = varying[0]
        found |= {"w": found[w], "dw": found[f"d{w}"], "c": found.get("v" if w == "u" else "u")}
    found |= {"h": act.letter, "whole": act.place.span}
    return {name: text for name, text in found.items() if text or name == "whole"}


def _write_number(value: Value) -> str:
    """A number as somebody would type it, or "" where nobody would."""
    exact = Fraction(value) if isinstance(value, Fraction | int | float) else None
    if exact is not None and exact.denominator % 5 == 0 and DECIMALS % exact.denominator == 0:
        return f"{float(exact):.12g}"
    said = str(value if exact is None else exact)
    return said if len(said) <= TYPED else ""


@lru_cache(maxsize=1_000)  # SymPy takes as long as all else: many mistakes stand at one node
def _write_derivative(line: ScalarLine, a: int | None) -> str:
    whole = None if a is None or line.size != 1 else write_out(line.nodes[a], READABLE)
    symbols = [] if whole is None else sorted(whole.free_symbols, key=str)
    variables = [s for s in symbols if str(s) in line.shapes]
    if whole is None or len(variables) != 1:
        return ""
    form = sympy.diff(whole, variables[0])
    return str(form) if form.count_ops() <= READABLE else ""


# -- second derivatives ----------------------------------------------------------------------------


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


def second_acts(cases: Sequence[Case], rows: Sequence[Mistake]) -> Iterator[Act]:
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
    yield ("thrice", first, then), differentiated_too_often, _pick(again, first, then), {}, None
    for act in list_acts(line, rows):
        made = act.flat.reshape(size) @ FIRST / h
        said = {**quote_texts(line, act), **IN_FIRST}
        yield (
            ("first", first, then, *act.key),
            act.mistake,
            _pick(made, first, then),
            said,
            act.span,
        )


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
    for act in list_acts(line, rows) if line is not None else ():
        made = _pick(act.flat[:, 0], first, then)
        yield ("second", first, then, *act.key), act.mistake, made, _quote_pieces(line, act), None


def _quote_pieces(line: ScalarLine | None, act: WrongRule) -> Params:
    assert line is not None
    ks = act.place.ks if act.place is not None else ()
    whole = str(write_out(line.nodes[-1], MOST))
    found = {"text": str(write_out(line.nodes[ks[0]], MOST))} if ks else {}
    stage = f" It happened to the first derivative, `{whole}`."
    return {**quote_texts(line, act), **found, "whole": whole, "stage": stage}


def _ask(case: Case, moved: Mapping[str, Array]) -> Case:
    assert case.rows is not None
    assert case.rows.once is not None
    return replace(case.rows.once, inputs={**case.inputs, **moved})


def _by(cases: Sequence[Case], name: str) -> ScalarLine | None:
    found = derive_lines([replace(case, wrt=(name,)) for case in cases])
    return found[0][1] if len(found) == 1 and found[0][1].scalar else None


def _pick(values: Array, first: str, then: str) -> list[Gradients]:
    return [{pair(first, then): np.asarray(value)} for value in values]
