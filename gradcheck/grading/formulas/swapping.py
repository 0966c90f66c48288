"""The value of a formula of single numbers with one piece of it changed, again and again.

What the change leaves as it was is evaluated once: a change costs its own piece and the way up.
"""

import ast
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb

from gradcheck.grading.equivalence import Array
from gradcheck.grading.formulas.from_tree import BINARY, rule_of
from gradcheck.language.kinds import CONSTANTS, FORMULAS
from gradcheck.numbers.ball import exact

Changed = Mapping[int, arb]


class Swapping:
    """A formula at a point of arbs, at the precision that is set while it is asked."""

    def __init__(self, body: ast.expr, point: Mapping[str, Array]) -> None:
        self._body, self._point = body, point
        self._above = {id(c): node for node in ast.walk(body) for c in ast.iter_child_nodes(node)}
        self._known: dict[int, arb] = {}

    def value(self, node: ast.expr, new: ast.expr) -> arb:
        """The value with a new piece in a node's place; LookupError for what is no number."""
        found = self._value(new, {})
        while node is not self._body:
            above = self._above[id(node)]
            assert isinstance(above, ast.expr)
            found = self._made(above, {id(node): found})
            node = above
        return found

    def _value(self, node: ast.expr, changed: Changed) -> arb:
        if id(node) in changed:
            return changed[id(node)]
        if id(node) in self._known:
            return self._known[id(node)]
        found = self._made(node, changed)
        if id(node) in self._above or node is self._body:
            self._known[id(node)] = found
        return found

    def _made(self, node: ast.expr, changed: Changed) -> arb:
        """The value of a piece from those of its own."""
        found: Any
        match node:
            case ast.Constant(int() | Fraction() as number):
                found = exact(number)
            case ast.Name(name):
                known = self._point.get(name)
                found = CONSTANTS[name][2]() if known is None else known[()]
            case ast.BinOp(left, op, right):
                rule = rule_of(BINARY[type(op)])
                found = rule(self._value(left, changed), self._value(right, changed))
            case ast.UnaryOp(op, inner):
                value = self._value(inner, changed)
                found = -value if isinstance(op, ast.USub) else value
            case ast.Call(ast.Name(name), args, []):
                rule = rule_of(FORMULAS.function(name) or "")
                found = rule(*[self._value(arg, changed) for arg in args])
            case _:
                raise LookupError(f"no single number: {type(node).__name__}")
        if not isinstance(found, arb):
            raise LookupError(f"no single number: {type(found).__name__}")
        return found
