"""The derivative of a number by a number on the whole line: its pieces, and where it has none.

The program is walked at one place of every interval between the edges that are met on the way:
what it compares with zero, and where the domains of its ops end. At each edge all opinions are
asked whether there is a derivative.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import sympy

from gradcheck.closed_forms.notation import Notation
from gradcheck.closed_forms.scalars import LEAST, shortest
from gradcheck.closed_forms.shown import Branches
from gradcheck.derivation.conditions import (
    argument,
    came_out,
    endless,
    exact,
    of_domain,
    power_of_whole,
)
from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.symbolic import symbolic, walked
from gradcheck.ops.domains import edges
from gradcheck.problem.record import Point, Problem
from gradcheck.verdict.consult import Verdict, consult

MOST = 8  # edges: beyond, nobody reads the pieces
SOLVED = 4  # the degree of an edge's polynomial
LONGEST = 150  # characters of a piece
DIGITS, APART = 30, 1e-20  # slopes on both sides of an irrational edge

Interval = tuple[Any, Any]  # two edges, or minus and plus infinity
Forms = Mapping[Interval, Any]  # a formula for each interval; None where there is none
INFINITE = (-sympy.oo, sympy.oo)


class _Unknown(ArithmeticError):
    """An edge that cannot be said."""


def branches(problem: Problem, point: Point, verdict: Verdict) -> dict[str, Branches]:
    """The derivative by each number of a scalar program, in the program's names where shorter."""
    if problem.cotangent is not None or problem.has_rows or problem.made:
        return {}
    closed = verdict.opinions["symbolic"].closed
    named = _in_own_names(problem, point, verdict)
    found = {}
    for name in problem.wrt:
        given = np.asarray(closed.get(name), dtype=object)
        form = given.item() if given.shape == () else None
        if form is None:
            continue
        free = sorted(map(str, form.free_symbols))
        try:
            own = _Line(problem.case(point), name) if len(point) == 1 else None
            found[name] = _several(problem.case(point), form) if own is None else own.branches()
        except (_Unknown, ArithmeticError, ValueError, TypeError, RecursionError):
            found[name] = _several(problem.case(point), form)
        if len(found[name].pieces) == 1 and name in named and free:
            found[name] = _in_names(found[name], named[name])
    return found


def _in_own_names(problem: Problem, point: Point, verdict: Verdict) -> Mapping[str, str]:
    """The derivatives by what the program assigns, and by inputs that are not differentiated."""
    if len(problem.program.tree.body) == 1 and problem.inputs.keys() <= set(problem.wrt):
        return {}  # neither is there
    from gradcheck.derivation.forms import matrix_forms  # noqa: PLC0415 - for these alone

    return matrix_forms(problem, point, verdict.opinions["reverse"].gradients)


def _in_names(found: Branches, named: str) -> Branches:
    """The one piece as the program's own values say it, where that is shorter."""
    ((form, where),) = found.pieces
    shorter = _length(named) + LEAST <= _length(form)
    return replace(found, pieces=((named, where),)) if shorter else found


def _length(text: str) -> int:
    return len(Notation({}).written(text))


def _text(form: sympy.Expr) -> str:
    return str(shortest(form))


def _several(case: Case, form: sympy.Expr) -> Branches:
    """Of a function of several numbers: the formula of the path taken, and what it hangs on."""
    try:
        compared, nodes = walked(case)
    except (GradcheckError, ArithmeticError, ValueError):  # too long to be written out
        return Branches(((_text(form), ""),))
    path = [(e, sign) for e, sign in compared if not e.has(sympy.floor, sympy.ceiling)]
    conditions = [*(came_out(*each) for each in path), *of_domain(nodes)]
    return Branches(((_text(form), ", ".join(dict.fromkeys(filter(None, conditions)))),))


@dataclass(frozen=True)
class _Line:
    """A program of one number, anywhere on the line."""

    case: Case
    name: str

    @cached_property
    def symbol(self) -> sympy.Symbol:
        """The number."""
        return sympy.Symbol(self.name, real=True)

    def branches(self) -> Branches:
        """The pieces between the edges, those alike put together."""
        points, words = self._edges()
        spans = list(pairwise([INFINITE[0], *points, INFINITE[1]]))
        forms = {span: self._form(_inside(span)) for span in spans}
        smooth = {p: self._is_smooth(p, forms) for p in points}
        inside = [p for p in points if _meet(p, forms) and not smooth[p]]
        pieces: dict[str, list[Interval]] = {}
        for span, form in forms.items():
            if form is not None:
                pieces.setdefault(_text(form), []).append(span)
        if not pieces or max(map(len, pieces)) > LONGEST:
            raise _Unknown
        if len(pieces) == 1:
            ((form, several),) = pieces.items()
            return Branches(((form, ", ".join([*self._domain(several, points, smooth), *words])),))
        shown = tuple(self._pieces(pieces, smooth))
        return Branches(shown, tuple(f"{self.name} = {p}" for p in inside))

    def _domain(
        self, several: list[Interval], points: list[Any], smooth: Mapping[Any, bool]
    ) -> list[str]:
        """Where the one formula holds: nothing where that is everywhere."""
        joined = _joined(several, smooth)
        if len(several) == len(points) + 1:  # all intervals: but for some edges
            return [f"{self.name} != {p}" for p in points if not smooth[p]]
        return [" or ".join(_condition(self.name, span, set()) for span in joined)]

    def _pieces(
        self, pieces: Mapping[str, list[Interval]], smooth: Mapping[Any, bool]
    ) -> Iterator[tuple[str, str]]:
        """Formulas from the right to the left; an edge with a derivative belongs to the first."""
        open_ends = {p for p, at in smooth.items() if at}
        for form, several in reversed(list(pieces.items())):
            spans = [_condition(self.name, s, open_ends) for s in _joined(several, smooth)]
            open_ends -= {end for span in several for end in span}
            yield form, " or ".join(spans)

    def _edges(self) -> tuple[list[Any], list[str]]:
        """Every edge of the line, in order, and conditions that hold without end."""
        points: set[Any] = set()
        words: dict[str, None] = {}
        seen: set[Any] = set()
        todo = [Fraction(np.asarray(self.case.inputs[self.name]).item())]
        while todo:
            at = todo.pop()
            for expr, always in self._met(at):
                words.update(dict.fromkeys(always))
                points.update(self._roots(expr))
            if len(points) > MOST:
                raise _Unknown
            ends = [INFINITE[0], *sorted(points), INFINITE[1]]
            spans = set(pairwise(ends)) - seen
            seen |= spans
            todo += [_inside(span) for span in spans]
        return sorted(points), list(words)

    def _met(self, at: Fraction) -> Iterator[tuple[sympy.Expr, list[str]]]:
        """What is zero at the edges that a run meets."""
        try:
            compared, nodes = walked(self._at(at))
        except Exception:  # noqa: BLE001 - outside of the domain a program may raise anything
            return
        yield from ((expr, []) for expr, _ in compared)
        for node in nodes:
            if node.row is None:
                continue
            always = list(endless(node))
            yield sympy.Integer(1), always
            for i, bound in [] if always or power_of_whole(node) else edges(node.row):
                arg = argument(node, i)
                if arg is not None and arg.free_symbols:
                    yield arg - exact(bound), []

    def _roots(self, expr: sympy.Expr) -> Iterator[Any]:
        """The real zeros of an edge's expression."""
        if not expr.free_symbols or expr.is_positive or expr.is_negative:
            return
        for part in sympy.together(expr).as_numer_denom():
            if not part.free_symbols or part.is_positive or part.is_negative:
                continue
            polynomial = part.as_poly(self.symbol)
            if polynomial is None or polynomial.degree() > SOLVED:
                raise _Unknown
            roots = sympy.roots(polynomial)
            if sum(roots.values()) < polynomial.degree():
                raise _Unknown
            yield from (root for root in roots if root.is_real)

    def _at(self, value: Fraction) -> Case:
        array = np.empty((), dtype=object)
        array[()] = value
        return replace(self.case, inputs={self.name: array})

    def _form(self, at: Fraction) -> sympy.Expr | None:
        """The derivative's formula at a place; nothing where it has none."""
        found = symbolic(self._at(at))
        if found.abstains or found.value is None or not np.all(np.isfinite(found.value.value)):
            return None
        form = found.closed.get(self.name)
        if form is None or not np.all(np.isfinite(found.gradients[self.name].value)):
            return None
        return np.asarray(form, dtype=object).item()

    def _is_smooth(self, at: Any, forms: Forms) -> bool:
        """Whether there is a derivative on an edge; _Unknown where that cannot be asked."""
        if not _meet(at, forms):
            return False
        sides = (form.subs(self.symbol, at) for span, form in forms.items() if at in span)
        gap = abs(sympy.N(next(sides) - next(sides), DIGITS))
        if gap.is_finite and gap > APART:
            return False
        if not at.is_Rational:
            raise _Unknown
        verdict = consult(self._at(Fraction(int(at.p), int(at.q))), write=False)
        said = verdict.parts[self.name].verdict
        return said == "agree" or (said == "undecided" and bool(gap.is_finite))


def _meet(at: Any, forms: Forms) -> bool:
    """Whether there is a formula on both sides of an edge."""
    return all(form is not None for span, form in forms.items() if at in span)


def _inside(span: Interval) -> Fraction:
    """A place in an interval, off its middle: edges that nobody named are seldom met there."""
    low, high = (None if end.is_infinite else Fraction(float(end)) for end in span)
    if low is None and high is None:
        return Fraction(3, 7)
    if low is None or high is None:
        return high - Fraction(10, 7) if high is not None else low + Fraction(10, 7)  # type: ignore[operator]
    return low + (high - low) * Fraction(3, 7)


def _joined(several: Sequence[Interval], smooth: Mapping[Any, bool]) -> list[Interval]:
    """Intervals that meet at an edge with a derivative as one."""
    found: list[Interval] = []
    for span in several:
        if found and found[-1][1] == span[0] and smooth[span[0]]:
            found[-1] = (found[-1][0], span[1])
        else:
            found.append(span)
    return found


def _condition(name: str, span: Interval, closed: set[Any]) -> str:
    """`0 < x < 1`, with the edges that belong to it."""
    low, high = span
    below = "" if low.is_infinite else f"{low} {'<=' if low in closed else '<'} "
    above = "" if high.is_infinite else f" {'<=' if high in closed else '<'} {high}"
    if below and not above:
        return f"{name} {'>=' if low in closed else '>'} {low}"
    return f"{below}{name}{above}"
