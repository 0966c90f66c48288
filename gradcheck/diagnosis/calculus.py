"""The calculus family: each wrong rule at each place of the line, everywhere, and two at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gradcheck.diagnosis.line import (
    Key,
    Place,
    ScalarLine,
    Span,
    covering,
    operation,
    places,
    rerun,
    shift,
)
from gradcheck.mistakes import Mistake
from gradcheck.numbers.symbolic import write_out
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


def acts(line: ScalarLine, rows: Sequence[Mistake]) -> Iterator[WrongRule]:
    """Every row at every place where it can happen, then at all of them together."""
    found = places(line)
    operations = [operation(line, place.ks, line.tangents, place.summed) for place in found]
    for n, row in enumerate(rows):
        for letter, held in line.held.items() if row.verb == "held" else ():
            for place in found:
                if row.where(operation(line, place.ks, line.tangents, place.summed, held)):
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
            span = covering(place.span for place in sites)
            yield WrongRule((n, "everywhere"), row, None, span, rerun(line, wrong))


def pairs(line: ScalarLine, singles: Sequence[WrongRule], most: int) -> Array | None:
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
        s = operation(line, place.ks, d, place.summed)
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
                right[b] = singles[b].mistake.wrong(operation(line, [k], row))[0, 0]
        found.append(right)
    return found


def texts(line: ScalarLine, act: WrongRule) -> Params:
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


def _write_derivative(line: ScalarLine, a: int | None) -> str:
    whole = None if a is None or line.size != 1 else write_out(line.nodes[a], READABLE)
    symbols = [] if whole is None else sorted(whole.free_symbols, key=str)
    variables = [s for s in symbols if str(s) in line.shapes]
    if whole is None or len(variables) != 1:
        return ""
    form = sympy.diff(whole, variables[0])
    return str(form) if form.count_ops() <= READABLE else ""
