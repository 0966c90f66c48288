"""The calculus family: each wrong rule at each place of the line, everywhere, and two at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gradcheck.diagnosis.line import Key, ScalarLine, Span, covering
from gradcheck.diagnosis.places import Place, operation, places, rerun, shift
from gradcheck.mistakes import Mistake
from gradcheck.numbers.symbolic import write_out
from gradcheck.ops.later import sympy
from gradcheck.values import Array, Params, Value

READABLE = 30
TYPED = 12  # characters of a number that somebody typed
DECIMALS = 10**6  # of such a number's denominator
RERUNS = 400  # nodes: beyond, "everywhere" is left to the backprop family


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
        if row.verb == "held":
            yield from _of_held(line, row, n, found)
            continue
        sites = [p for p, s in zip(found, operations, strict=True) if row.where(s)]
        for place in sites:
            made = shift(line, place, row.wrong)
            yield WrongRule((n, *place.key), row, place, _span(line, row, place), made)
        if row.habit and len(sites) > 1 and len(line.nodes) <= RERUNS:
            wrong = {k: row.wrong for place in sites for k in place.ks}
            span = covering(place.span for place in sites)
            yield WrongRule((n, "everywhere"), row, None, span, rerun(line, wrong))


def _of_held(line: ScalarLine, row: Mistake, n: int, found: Sequence[Place]) -> Iterator[WrongRule]:
    """A row that looks at a letter that is held, at every place where each letter occurs."""
    for letter, held in line.held.items():
        for place in found:
            if row.where(operation(line, place.ks, line.tangents, place.summed, held)):
                made = shift(line, place, row.wrong, held)
                yield WrongRule((n, letter, *place.key), row, place, place.span, made, letter)


def _span(line: ScalarLine, row: Mistake, place: Place) -> Span:
    """The place itself, or the argument that the row points at."""
    if row.operand is not None:
        a = line.args[place.ks[0]][row.operand]
        if a is not None and line.spans[a] is not None:
            return line.spans[a]
    return place.span


def pairs(line: ScalarLine, singles: Sequence[WrongRule], most: int) -> Array | None:
    """The derivative (B, B, P, size) of each act on top of each other one, `most` numbers at most.

    Only a pair where the second is not inside the first is made in that order; the rest is nan.
    """
    count = len(singles)
    if not count or any(act.place is None or act.place.chained for act in singles):
        return None
    if count * count * line.x.size > most or count * line.x.size * len(line.nodes) > most:
        return None
    d = _all_tangents(line, singles)
    root = d[-1]
    assert root is not None
    out = np.full((count, count, *line.x.shape), np.nan)
    for j, act in enumerate(singles):
        assert act.place is not None
        ks = act.place.ks
        s = operation(line, ks, d, act.place.summed)
        change = (act.mistake.wrong(s) - s.right) * line.adjoints[list(ks)][:, None, :, None]
        made = np.broadcast_to(root + change.sum(axis=0), (count, *line.x.shape))
        fits = [i != j and _in_order(line, one, act) for i, one in enumerate(singles)]
        out[fits, j] = made[fits]
    return out


def _in_order(line: ScalarLine, first: WrongRule, second: WrongRule) -> bool:
    """Whether no node of the first lies at, or after, a node of the second."""
    assert first.place is not None
    assert second.place is not None
    bits = sum(1 << k for k in second.place.ks)
    return not any((line.above[k] | 1 << k) & bits for k in first.place.ks)


def _all_tangents(line: ScalarLine, singles: Sequence[WrongRule]) -> list[Array | None]:
    """The derivatives (B, P, size) of every node, with act b made in row b."""
    at: dict[int, list[int]] = {}
    for b, act in enumerate(singles):
        for k in act.place.ks if act.place is not None else ():
            at.setdefault(k, []).append(b)
    shape = (len(singles), *line.x.shape)
    found: list[Array | None] = []
    for k in range(len(line.nodes)):
        right = _chain(line, k, found, shape)
        if right is not None and k in at:
            right = np.array(np.broadcast_to(right, shape))
            for b in at[k]:
                right[b] = singles[b].mistake.wrong(
                    operation(line, [k], _alone(line, k, found, b))
                )[0, 0]
        found.append(right)
    return found


def _alone(
    line: ScalarLine, k: int, d: Sequence[Array | None], b: int
) -> Mapping[int, Array | None]:
    """The derivatives in row b of node k's arguments, and of what those come from."""
    near = [a for a in line.args[k] if a is not None]
    near += [b for a in near for b in line.args[a] if b is not None]
    near += [b for a in near for b in line.args[a] if b is not None]
    return {a: None if (full := d[a]) is None else full[b : b + 1] for a in near}


def _chain(
    line: ScalarLine, k: int, d: Sequence[Array | None], shape: tuple[int, ...]
) -> Array | None:
    right = line.chain(k, d)
    return None if right is None else np.broadcast_to(right, shape)


def texts(line: ScalarLine, act: WrongRule) -> Params:
    """What the words of a row may mention: spans of the program, or names and numbers."""
    if act.place is None:
        return {}
    k = act.place.ks[0]
    args = dict(zip("uv", line.args[k], strict=False))
    found = {letter: _label(line, k, a, letter) for letter, a in args.items()}
    found |= {f"d{letter}": _derivative(line, a) for letter, a in args.items()}
    varying = [
        letter for letter, a in args.items() if a is not None and line.tangents[a] is not None
    ]
    if len(varying) == 1:
        w = varying[0]
        found |= {"w": found[w], "dw": found[f"d{w}"]}
        found["c"] = found.get("v" if w == "u" else "u")
    if act.letter:
        found["h"] = act.letter
    return {"whole": act.place.span} | {name: text for name, text in found.items() if text}


def _label(line: ScalarLine, k: int, a: int | None, letter: str) -> Value:
    """An argument as a span, a variable's name, or a number."""
    if a is None:
        return _number(line.nodes[k].args["uv".index(letter)])
    atom = line.nodes[a].atom
    return line.spans[a] if atom is None else str(atom)


def _number(value: Value) -> str:
    """A number as somebody would type it, or "" where nobody would."""
    exact = Fraction(value) if isinstance(value, Fraction | int | float) else None
    if exact is not None and exact.denominator % 5 == 0 and DECIMALS % exact.denominator == 0:
        return f"{float(exact):.12g}"
    said = str(value if exact is None else exact)
    return said if len(said) <= TYPED else ""


def _derivative(line: ScalarLine, a: int | None) -> str:
    """The derivative of a node by the one variable, written out, or "" where it would be long."""
    if a is None or line.size != 1:
        return ""
    whole = write_out(line.nodes[a], READABLE)
    symbols = [] if whole is None else sorted(whole.free_symbols, key=str)
    variables = [s for s in symbols if str(s) in line.shapes]
    if whole is None or len(variables) != 1:
        return ""
    form = sympy.diff(whole, variables[0])
    return str(form) if form.count_ops() <= READABLE else ""
