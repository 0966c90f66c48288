"""The calculus family: each wrong rule at each place of the line, everywhere, and two at a time.

Of second derivatives of single numbers: what went wrong in the first step, or in the second.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, combinations_with_replacement

import numpy as np

from gradcheck.diagnosis.line import (
    Key,
    Made,
    Place,
    ScalarLine,
    Span,
    Stream,
    ask_once,
    cover_spans,
    derive_lines,
    list_places,
    rerun,
)
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.row import GENERIC, VAGUE
from gradcheck.mistakes.whole_answer import differentiated_too_often
from gradcheck.numbers.symbolic import write_out
from gradcheck.opinions.opinion import Case, pair
from gradcheck.ops import TABLE
from gradcheck.ops.row import BY_SPELLING, sympy
from gradcheck.values import Array, Params, Value

TYPED = 12  # characters of a number that somebody typed
DECIMALS = 10**6  # of such a number's denominator
RERUNS = 400  # nodes: beyond, "everywhere" is left to the backprop family


def list_acts(line: ScalarLine, rows: Sequence[Mistake]) -> Iterator[tuple[Key, Made]]:
    """Every row at every place where it can happen, then at all of them together."""
    places = list_places(line)
    seen = {
        letter: [(place, place.look(held=held)) for place in places]
        for letter, held in {"": None, **line.held}.items()
    }
    for n, row in enumerate(rows):
        for letter in line.held if row.verb == "held" else ("",):
            sites = [(place, s) for place, s in seen[letter] if row.where(s)]
            for place, s in sites:
                span = place.span
                if row.operand is not None:  # the row points at an argument
                    a = line.args[place.ks[0]][row.operand]
                    span = (line.spans[a] if a is not None else None) or span
                say = partial(_quote_texts, place, letter)
                made = Made(row, span, [], False, say, place, place.shift(row.wrong, s))
                yield (n, letter, *place.key), made
            if row.habit and not letter and len(sites) > 1 and len(line.nodes) <= RERUNS:
                wrong = {k: row.wrong for place, _ in sites for k in place.ks}
                span = cover_spans(place.span for place, _ in sites)
                yield (n, "everywhere"), Made(row, span, [], True, flat=rerun(line, wrong)[-1])


PAIRED = 3_000_000  # numbers in the table of two mistakes: 24 MB
Combined = tuple[Sequence[Value], Value]  # who takes part, and the derivatives (B, P, size)


def turn(line: ScalarLine, acts: Mapping[int, Made]) -> Combined:
    """Each act with a sign at its place too; of a term that is lost, the sign cannot be off."""
    who, rows = [], []
    for n, made in acts.items():
        if made.mistake.rank < GENERIC and made.mistake.operand is None and made.place:
            who.append(n)
            lost = made.place.shift(lambda s: 0 * s.right, made.place.look())
            rows.append(2 * lost - made.flat)
    return who, rows


def combine_pairs(line: ScalarLine, acts: Mapping[int, Made]) -> Combined:
    """Each act on top of each other one that it is not inside, if they are not too many."""
    rules = ((n, made) for n, made in acts.items() if made.mistake.rank <= VAGUE)
    at = [(n, made.mistake.wrong, made.place) for n, made in rules if made.place]
    if not at or len(at) * line.x.size * max(len(at), len(line.nodes)) > PAIRED:
        return (), ()
    runs = [rerun(line, dict.fromkeys(place.ks, wrong)) for _, wrong, place in at]
    d = [None if each[0] is None else np.array(each) for each in zip(*runs, strict=True)]
    # what lies at, or below, a node of each place; no node of the first may lie after the second
    under = [[line.above[k] | 1 << k for k in place.ks] for _, _, place in at]
    found: list[tuple[tuple[int, int], Array]] = []
    for n, wrong, place in at:
        s = place.look(d)
        change = (wrong(s) - s.right) * line.adjoints[place.ks][:, None, :, None]
        made = np.broadcast_to(d[-1] + change.sum(axis=0), (len(at), *line.x.shape))
        found += [
            ((first, n), flat)
            for (first, *_), below, flat in zip(at, under, made, strict=True)
            if first != n and not any(bits >> k & 1 for bits in below for k in place.ks)
        ]
    found.sort(key=lambda each: each[0])
    return [both for both, _ in found], [flat for _, flat in found]


ALIKE = 16  # operands whose derivatives are written out, to see whether they are one


def _quote_texts(place: Place, letter: str = "") -> Params:
    """What the words of a row may mention: spans of the program, or names and numbers."""
    line, args = place.line, dict(zip("uv", place.line.args[place.ks[0]], strict=False))
    found: dict[str, Value] = {}
    for i, (x, a) in enumerate(args.items()):
        said = {_quote_operand(line, k, i) for k in place.ks}
        found[x] = said.pop() if len(said) == 1 else ""  # of an array the first entry says nothing
        if a is not None:
            every = {b for k in place.ks if (b := line.args[k][i]) is not None}
            slopes = {line.write_derivative(b) for b in every} if len(every) <= ALIKE else ()
            found[f"d{x}"] = slopes.pop() if len(slopes) == 1 else ""
    varying = [x for x, a in args.items() if a is not None and line.tangents[a] is not None]
    if len(varying) == 1:
        w = varying[0]
        found |= {"w": found[w], "dw": found[f"d{w}"], "c": found.get("v" if w == "u" else "u")}
    found |= {"h": letter, "whole": place.span}
    return {name: text for name, text in found.items() if text or name == "whole"}


def _quote_operand(line: ScalarLine, k: int, i: int) -> Value:
    a = line.args[k][i]
    if a is None:
        return _write_number(line.nodes[k].args[i])
    atom = line.nodes[a].atom
    return line.spans[a] if atom is None else str(atom)


def _write_number(value: Value) -> str:
    """A number as somebody would type it, or "" where nobody would."""
    exact = Fraction(value) if isinstance(value, Fraction | int | float) else None
    if exact is not None and exact.denominator % 5 == 0 and DECIMALS % exact.denominator == 0:
        return f"{float(exact):.12g}"
    said = str(value if exact is None else exact)
    return said if len(said) <= TYPED else ""


# -- second derivatives ----------------------------------------------------------------------------


MOST = 60  # operations of a first derivative that is written out
STEP = 2.0**-7  # of the input
# Fornberg 1988: central differences of the eighth order at -4 ... 4, of the first and second kind.
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
REACH = np.arange(-4, 5)


def is_second(cases: Sequence[Case]) -> bool:
    """Whether second derivatives by single numbers are asked for."""
    once = ask_once(cases[0])
    return once is not cases[0] and all(np.shape(once.inputs[name]) == () for name in once.wrt)


def act_in_second(cases: Sequence[Case], rows: Sequence[Mistake], whole: Span) -> Stream:
    """Every wrong rule in either step, for each of the second derivatives."""
    wrt = ask_once(cases[0]).wrt
    for first, then in combinations_with_replacement(wrt, 2):
        in_first = _err_in_first(cases, first, then, rows)
        for key, made, values in chain(in_first, _err_in_second(cases, first, then, rows)):
            act = replace(made, span=made.span or whole, place=None)
            at = [{pair(first, then): np.asarray(value)} for value in values]
            yield ("second", first, then, *key), act, range(len(cases)), at


def _err_in_first(
    cases: Sequence[Case], first: str, then: str, rows: Sequence[Mistake]
) -> Iterator[tuple[Key, Made, Array]]:
    x = np.array([float(case.inputs[then]) for case in cases])
    h, size = STEP * np.maximum(np.abs(x), STEP), (len(cases), len(REACH))
    around = [
        replace(ask_once(case), inputs={**case.inputs, then: np.asarray(at)})
        for case, places in zip(cases, x[:, None] + np.outer(h, REACH), strict=True)
        for at in places
    ]
    line = _by(around, first)
    if line is None:
        return
    again = line.tangents[-1].reshape(size) @ SECOND / h**2
    yield (), Made(differentiated_too_often, None), again
    stage = " It happened in the first of the two differentiations."
    for key, made in list_acts(line, rows):
        say = lambda made=made: {**made.texts, "stage": stage}
        yield ("first", *key), replace(made, say=say), made.flat.reshape(size) @ FIRST / h


def _err_in_second(
    cases: Sequence[Case], first: str, then: str, rows: Sequence[Mistake]
) -> Iterator[tuple[Key, Made, Array]]:
    line = _by([ask_once(case) for case in cases], first)
    whole = None if line is None else write_out(line.nodes[-1], MOST)
    if whole is None:
        return
    slope = sympy.diff(whole, sympy.Symbol(first, real=True))
    if slope.count_ops() > MOST:
        return
    known = {n: TABLE[BY_SPELLING.get(n, n)].function for n in (*TABLE, *BY_SPELLING)}
    letters = sorted(slope.free_symbols, key=str)
    run = sympy.lambdify(letters, slope, modules=[known])

    def function(kind: str, inputs: Params) -> Value:
        return run(*(inputs[str(letter)] for letter in letters))

    asked = [replace(ask_once(c), function=function, where=lambda: None) for c in cases]
    again = _by(asked, then)
    if again is None:
        return
    for key, made in list_acts(again, rows):
        act = replace(made, span=None, say=partial(_quote_pieces, again, made))
        yield ("then", *key), act, made.flat[:, 0]


def _quote_pieces(line: ScalarLine, made: Made) -> Params:
    whole = str(write_out(line.nodes[-1], MOST))
    ks = made.place.ks if made.place is not None else []
    text = {"text": str(write_out(line.nodes[ks[0]], MOST))} if ks else {}
    stage = f" It happened to the first derivative, `{whole}`."
    return {**made.texts, **text, "whole": whole, "stage": stage}


def _by(cases: Sequence[Case], name: str) -> ScalarLine | None:
    found = derive_lines([replace(case, wrt=(name,)) for case in cases])
    return found[0][1] if len(found) == 1 and found[0][1].scalar else None
