"""The derivative by a number as the formula of the path taken, and what has to hold for that."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

import numpy as np
import sympy
from flint import arb

from gradcheck.errors import GradcheckError
from gradcheck.numbers.closed import compile_closed, leave_hard_open, spell
from gradcheck.numbers.symbolic import Symbolic, number, trace_line, write_out
from gradcheck.opinions.limits import READABLE
from gradcheck.opinions.opinion import Opinion
from gradcheck.ops.row import ENDLESS, edges
from gradcheck.problem.record import Point, Problem
from gradcheck.texts import Formulas, PathForm
from gradcheck.texts.notation import Notation
from gradcheck.texts.rewriting import LEAST, find_shortest, restrict_to_polynomials
from gradcheck.verdict.consult import Verdict

Relation = tuple[sympy.Expr, str]
TURNED = {">": "<", "<": ">"}
TOGETHER = restrict_to_polynomials(sympy.together)


def write_path_forms(problem: Problem, point: Point, verdict: Verdict) -> dict[str, PathForm]:
    """The derivative by each number of a scalar program, in the program's names where shorter."""
    if problem.cotangent is not None or problem.has_rows or problem.made:
        return {}
    symbolic = verdict.opinions["symbolic"]
    forms = {n: np.asarray(symbolic.closed.get(n), dtype=object) for n in problem.wrt}
    single = {n: f.item() for n, f in forms.items() if f.shape == () and f.item() is not None}
    if not single:
        return {}
    where, named = write_conditions(symbolic), Formulas().texts
    if len(problem.program.tree.body) > 1 or not problem.inputs.keys() <= set(problem.wrt):
        from gradcheck.texts.forms import write_formulas  # noqa: PLC0415 - for these alone

        named = write_formulas(problem, point, verdict.opinions["reverse"].gradients).texts

    def write(name: str, form: sympy.Expr) -> str:
        own, other = spell(find_shortest(form)), named.get(name, "") if form.free_symbols else ""
        lengths = [len(Notation({}).write(text)) for text in (own, other)]
        return other if other and lengths[1] + LEAST <= lengths[0] else own

    return {name: PathForm(write(name, form), where) for name, form in single.items()}


@leave_hard_open()
def write_conditions(closed: Opinion) -> str:
    """The comparisons of the path, and the ends of the domains of its ops."""
    nodes = [] if closed.end is None else trace_line([closed.end])
    written = ((write_out(difference, READABLE), sign) for difference, sign in closed.path)
    try:
        relations = [
            (expr, "=" if sign == 0 else ">" if sign > 0 else "<")
            for expr, sign in written
            if expr is not None and not expr.has(sympy.floor, sympy.ceiling)
        ]
        return ", ".join(
            _describe_relations([*relations, *find_domain(nodes)], list_endless(nodes))
        )
    except (GradcheckError, ArithmeticError, ValueError, NotImplementedError):  # no words for it
        return ""


def _describe_relations(relations: Iterable[Relation], words: Iterable[str]) -> Iterator[str]:
    """Relations to zero in words of the inputs, those of one number as its bounds."""
    bounds: dict[sympy.Symbol, dict[str, list[sympy.Rational]]] = {}
    others: dict[str, None] = {}
    for expr, sign in relations:
        if not expr.free_symbols:
            continue
        opened = restrict_to_polynomials(sympy.expand)(expr)
        symbol, *more = expr.free_symbols
        slope = opened.coeff(symbol, 1)
        rest = opened - slope * symbol
        if more or not slope.is_Rational or slope == 0 or not rest.is_Rational:
            others[_write_relation(opened, sign)] = None
            continue
        turned = TURNED.get(sign, sign) if slope < 0 else sign
        bounds.setdefault(symbol, {}).setdefault(turned, []).append(-rest / slope)
    for symbol, known in bounds.items():
        yield from _write_interval(symbol, known)
    yield from dict.fromkeys([*others, *words])


def _write_interval(
    symbol: sympy.Symbol, known: Mapping[str, list[sympy.Rational]]
) -> Iterator[str]:
    """`0 < x < 1`, and the places between that are left out."""
    low, high = max(known.get(">", []), default=None), min(known.get("<", []), default=None)
    if low is not None and high is None:
        yield f"{symbol} > {low}"
    elif high is not None:
        yield f"{symbol} < {high}" if low is None else f"{low} < {symbol} < {high}"
    for sign in ("=", "!="):
        for at in dict.fromkeys(known.get(sign, [])):
            if (low is None or at > low) and (high is None or at < high):
                yield f"{symbol} {sign} {at}"


def _write_relation(expr: sympy.Expr, sign: str) -> str:
    """`x > y` for x - y > 0."""
    terms = sympy.Add.make_args(expr)
    left = sympy.Add(*(t for t in terms if not t.could_extract_minus_sign()))
    right = sympy.Add(*(-t for t in terms if t.could_extract_minus_sign()))
    if left.is_number and right.free_symbols:
        left, right = right, left
        sign = TURNED.get(sign, sign)
    return f"{spell(left)} {sign} {spell(right)}"


def find_domain(nodes: Iterable[Symbolic]) -> Iterator[Relation]:
    """What has to hold for the value to exist, op by op, as relations to zero."""
    for node in nodes:
        row = node.row
        if row is None or row.undefined is None:
            continue
        exponent = make_argument(node, 1) if row.name == "power" else None
        whole = exponent is not None and exponent.is_Integer
        if exponent is not None and whole and exponent >= 0:
            continue  # a polynomial
        for i, bound in edges(row):
            arg = make_argument(node, i)
            if arg is None or not arg.free_symbols:
                continue
            at_bound = [arb(bound) if k == i else arb(1) for k in range(len(node.args))]
            inner = arg - number(Fraction(bound))
            sign = find_sign(inner) or find_sign(TOGETHER(inner))
            if sign in ("+", "-") or (sign == "0+" and not row.undefined(*at_bound)):
                continue
            given = node.args[i]
            above = (given.value if type(given) is Symbolic else given) >= bound
            poles = row.name in ("divide", "reciprocal") or whole
            yield inner, "!=" if poles else ">" if above else "<"


ALIKE = {sympy.erf: sympy.tanh, sympy.erfc: sympy.exp, sympy.sech: sympy.exp}  # in their signs
SIGNS = {"+": "positive", "-": "negative", "0+": "nonnegative", "0-": "nonpositive"}


def find_sign(expr: sympy.Expr) -> str:
    """Say "+", "0+" (not negative), "0-" or "-" where every real number inside gives that, else "".

    What SymPy does not know to be real, a logarithm, is here.
    """
    if expr.is_number:
        value = compile_closed((), expr)()
        return "+" if value > 0 else "-" if value < 0 else "0+" * (expr == 0)
    for function, other in ALIKE.items():
        expr = expr.replace(function, other)
    expr = expr.replace(lambda e: e.is_real is None, lambda e: sympy.Dummy(real=True))
    return next((sign for sign, word in SIGNS.items() if getattr(expr, f"is_{word}")), "")


def list_endless(nodes: Iterable[Symbolic]) -> Iterator[str]:
    """Conditions without end, `cos(x) != 0`."""
    for node in nodes:
        words = "" if node.row is None else ENDLESS.get(node.row.name, "")
        arg = make_argument(node, 0) if words else None
        if arg is not None and arg.free_symbols:
            yield words.format(spell(arg))


def make_argument(node: Symbolic, i: int) -> sympy.Expr | None:
    """An op's argument as a formula; None where it is too long."""
    if i >= len(node.args):
        return None
    arg = node.args[i]
    return write_out(arg, READABLE) if type(arg) is Symbolic else number(arg)
