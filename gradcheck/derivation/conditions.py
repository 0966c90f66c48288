"""What has to hold for a formula to hold: the path that was taken, and the domains of ops."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

import sympy
from flint import arb

from gradcheck.numbers.symbolic import Symbolic, number, written
from gradcheck.opinions.limits import READABLE
from gradcheck.ops.domains import ENDLESS, edges


def came_out(expr: sympy.Expr, sign: int) -> str:
    """A comparison as it came out, in words of the inputs; nothing where it hangs on none."""
    if not expr.free_symbols:
        return ""
    return _relation(expr, "=" if sign == 0 else ">" if sign > 0 else "<")


def _relation(expr: sympy.Expr, sign: str) -> str:
    """`x > y` for x - y > 0."""
    terms = sympy.Add.make_args(sympy.expand(expr))
    left = sympy.Add(*(t for t in terms if not t.could_extract_minus_sign()))
    right = sympy.Add(*(-t for t in terms if t.could_extract_minus_sign()))
    if left.is_number and right.free_symbols:
        left, right = right, left
        sign = {">": "<", "<": ">"}.get(sign, sign)
    return f"{left} {sign} {right}"


def of_domain(nodes: Iterable[Symbolic]) -> Iterator[str]:
    """What has to hold for the value to exist, op by op."""
    for node in nodes:
        if node.row is None:
            continue
        yield from endless(node)
        if node.row.undefined is None:
            continue
        for i, bound in edges(node.row):
            arg = argument(node, i)
            if arg is None or not arg.free_symbols or power_of_whole(node):
                continue
            inner = arg - exact(bound)
            if inner.is_nonzero or (inner.is_nonnegative and not _excluded(node, i, bound)):
                continue
            if node.row.name in ("divide", "reciprocal"):
                yield f"{arg} != 0"
            else:
                yield _relation(inner, ">" if _above(node, i, bound) else "<")


def power_of_whole(node: Symbolic) -> bool:
    """Whether it is a power with a whole exponent that is not negative: always defined."""
    if node.row is None or node.row.name != "power":
        return False
    exponent = argument(node, 1)
    return exponent is not None and bool(exponent.is_integer and exponent.is_nonnegative)


def _excluded(node: Symbolic, i: int, bound: float) -> bool:
    """Whether the op has no value on the edge itself."""
    given = [arb(1)] * len(node.args)
    given[i] = arb(bound)
    assert node.row is not None
    assert node.row.undefined is not None
    return bool(node.row.undefined(*given))


def _above(node: Symbolic, i: int, bound: float) -> bool:
    """Whether the argument lies above the edge here."""
    arg = node.args[i]
    return bool((arg.value if type(arg) is Symbolic else arg) >= bound)


def endless(node: Symbolic) -> Iterator[str]:
    """Conditions without end, `cos(x) != 0`."""
    assert node.row is not None
    words, arg = ENDLESS.get(node.row.name), argument(node, 0)
    if words and arg is not None and arg.free_symbols:
        yield words.format(arg)


def argument(node: Symbolic, i: int) -> sympy.Expr | None:
    """An op's argument as a formula; None where it is too long."""
    if i >= len(node.args):
        return None
    arg = node.args[i]
    return written(arg, READABLE) if type(arg) is Symbolic else number(arg)


def exact(bound: float) -> sympy.Rational:
    """A number as SymPy has it."""
    return number(Fraction(bound))
