"""The derivative by a number as the formula of the path taken, and what was compared on it."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import sympy

from gradcheck.errors import GradcheckError
from gradcheck.numbers.closed import leave_hard_open, spell
from gradcheck.numbers.symbolic import write_out
from gradcheck.opinions.limits import READABLE
from gradcheck.opinions.opinion import Opinion
from gradcheck.problem.record import Point, Problem
from gradcheck.texts import PathForm
from gradcheck.texts.rewriting import LEAST, find_shortest, restrict_to_polynomials
from gradcheck.verdict.consult import Verdict

Relation = tuple[sympy.Expr, str]
TURNED = {">": "<", "<": ">"}


def write_path_forms(problem: Problem, point: Point, verdict: Verdict) -> dict[str, PathForm]:
    """The derivative by each number of a scalar program, in the program's names where shorter."""
    if problem.cotangent is not None or problem.has_rows or problem.made:
        return {}
    symbolic = verdict.opinions["symbolic"]
    forms = {n: np.asarray(symbolic.closed.get(n), dtype=object) for n in problem.wrt}
    single = {n: f.item() for n, f in forms.items() if f.shape == () and f.item() is not None}
    if not single:
        return {}
    where, named = write_conditions(symbolic), dict[str, str]()
    if len(problem.program.tree.body) > 1 or not problem.inputs.keys() <= set(problem.wrt):
        from gradcheck.texts.forms import write_matrix_forms  # noqa: PLC0415 - for these alone

        named = write_matrix_forms(problem, point, verdict.opinions["reverse"].gradients)

    def write(name: str, form: sympy.Expr) -> str:
        own, other = spell(find_shortest(form)), named.get(name, "") if form.free_symbols else ""
        lengths = [len(text.replace(" ", "").replace("*", "")) for text in (own, other)]
        return other if other and lengths[1] + LEAST <= lengths[0] else own

    return {name: PathForm(write(name, form), where) for name, form in single.items()}


@leave_hard_open()
def write_conditions(closed: Opinion) -> str:
    """The comparisons of the path."""
    written = ((write_out(difference, READABLE), sign) for difference, sign in closed.path)
    try:
        relations = [
            (expr, "=" if sign == 0 else ">" if sign > 0 else "<")
            for expr, sign in written
            if expr is not None and not expr.has(sympy.floor, sympy.ceiling)
        ]
        return ", ".join(_describe_relations(relations))
    except (GradcheckError, ArithmeticError, ValueError, NotImplementedError):  # no words for it
        return ""


def _describe_relations(relations: Iterable[Relation]) -> Iterator[str]:
    """Relations to zero in words of the inputs, those of one number as its bounds."""
    bounds: dict[sympy.Symbol, dict[str, list[sympy.Rational]]] = {}
    others: dict[str, None] = {}
    for expr, sign in relations:
        if not expr.free_symbols:
            continue
        opened = restrict_to_polynomials(sympy.expand)(expr)
        symbol, slope = next(iter(expr.free_symbols)), sympy.Integer(0)
        if len(expr.free_symbols) == 1:
            slope = opened.coeff(symbol, 1)
        rest = opened - slope * symbol
        if not slope.is_Rational or slope == 0 or not rest.is_Rational:
            others[_write_relation(opened, sign)] = None
            continue
        turned = TURNED.get(sign, sign) if slope < 0 else sign
        bounds.setdefault(symbol, {}).setdefault(turned, []).append(-rest / slope)
    for symbol, known in bounds.items():
        yield from _write_interval(symbol, known)
    yield from others


def _write_interval(
    symbol: sympy.Symbol, known: Mapping[str, list[sympy.Rational]]
) -> Iterator[str]:
    """`0 < x < 1`, and `x = 1` where that was compared."""
    low, high = max(known.get(">", []), default=None), min(known.get("<", []), default=None)
    if low is not None and high is None:
        yield f"{symbol} > {low}"
    elif high is not None:
        yield f"{symbol} < {high}" if low is None else f"{low} < {symbol} < {high}"
    yield from (f"{symbol} = {at}" for at in dict.fromkeys(known.get("=", [])))


def _write_relation(expr: sympy.Expr, sign: str) -> str:
    """`x > y` for x - y > 0."""
    terms = sympy.Add.make_args(expr)
    left = sympy.Add(*(t for t in terms if not t.could_extract_minus_sign()))
    right = sympy.Add(*(-t for t in terms if t.could_extract_minus_sign()))
    if left.is_number and right.free_symbols:
        left, right = right, left
        sign = TURNED.get(sign, sign)
    return f"{spell(left)} {sign} {spell(right)}"
