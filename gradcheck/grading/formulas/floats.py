"""A quick look at a formula in floats: what is far off there needs no balls."""

import ast
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from operator import add, mul, sub, truediv

from gradcheck.values import Value

CLOSE = 1e-6  # relative: floats that differ by more are no rounding error
CONSTANTS = {"pi": math.pi, "e": math.e}
NAMES = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in (*NAMES, "exp", "sqrt", "log")},
    **{f"arc{name}": getattr(math, f"a{name}") for name in NAMES},
    "absolute": abs,
    "sec": lambda x: 1 / math.cos(x),
    "csc": lambda x: 1 / math.sin(x),
    "cot": lambda x: 1 / math.tan(x),
}
INVERSE: Mapping[str, Callable[[float], float]] = {
    "exp": math.log,
    "log": math.exp,
    "sqrt": lambda x: x * x,
}
BINARY: Mapping[type[ast.operator], Callable[[float, float], Value]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
    ast.Pow: pow,
}


class Unknown(LookupError):
    """A formula whose value floats do not tell."""


class Floats:
    """A formula of single numbers at one point; also with another piece in the place of one.

    What is due in the place of each piece, the rest being as it is, is solved back from what is due
    for the whole.
    """

    def __init__(self, body: ast.expr, point: Mapping[str, float], due: float) -> None:
        self.body, self.point = body, point
        self.known: dict[int, float] = {}
        self.above: dict[int, ast.AST] = {}
        self.dues: dict[int, float | None] = {id(body): due}

    def is_near(self, node: ast.expr | None = None, new: ast.expr | None = None) -> bool:
        """Whether the value, perhaps with a new piece in a node's place, may be the one due."""
        try:
            if node is None or new is None:
                return self._is(self.value(self.body), self.dues[id(self.body)])
            if not self.above:
                self._climb()
            due = self.due(node)
            if due is not None:
                return self._is(self.value(new), due)
            return self._is(self._with(node, new), self.dues[id(self.body)])
        except Unknown:
            return True
        except (ArithmeticError, ValueError, TypeError):  # a root of a negative number is complex
            return False

    @staticmethod
    def _is(value: float, due: float | None) -> bool:
        if due is None or isinstance(value, complex):
            return False
        return abs(value - due) <= CLOSE * max(abs(value), abs(due))

    def _climb(self) -> None:
        """Work out all pieces, and what stands above each."""
        with suppress(ArithmeticError, ValueError, TypeError, Unknown):
            self.value(self.body)
        self.above = {
            id(below): each for each in ast.walk(self.body) for below in ast.iter_child_nodes(each)
        }

    def due(self, node: ast.expr) -> float | None:
        """What is due in a node's place; None where that is not one number."""
        if not self.above:
            self._climb()
        if id(node) not in self.dues:
            above = self.above[id(node)]
            assert isinstance(above, ast.expr)
            due = self.due(above)
            found = None if due is None else self._solve(above, node, due)
            self.dues[id(node)] = None if isinstance(found, complex) else found
        return self.dues[id(node)]

    def _solve(self, above: ast.expr, node: ast.expr, due: float) -> float | None:
        """What is due for a piece of a node for which a number is due."""
        try:
            match above:
                case ast.BinOp(left, ast.Add(), right):
                    return due - self.value(right if node is left else left)
                case ast.BinOp(left, ast.Sub(), right):
                    return due + self.value(right) if node is left else self.value(left) - due
                case ast.BinOp(left, ast.Mult(), right):
                    return due / self.value(right if node is left else left)
                case ast.BinOp(left, ast.Div(), right):
                    return due * self.value(right) if node is left else self.value(left) / due
                case ast.BinOp(left, ast.Pow(), right):
                    return self._solve_power(left, right, node is left, due)
                case ast.UnaryOp(op, _):
                    return -due if isinstance(op, ast.USub) else due
                case ast.Call(ast.Name(name), [_]) if name in INVERSE:
                    return INVERSE[name](due)
        except (ArithmeticError, ValueError, TypeError, Unknown):
            return None
        return None

    def _solve_power(self, left: ast.expr, right: ast.expr, base: bool, due: float) -> float | None:
        """What is due for the base or the exponent of a power."""
        a, b = self.value(left), self.value(right)
        if not base:
            return math.log(due) / math.log(a)
        root = math.copysign(abs(due) ** (1 / b), a)
        return root if self._is(root**b, due) else None

    def _with(self, node: ast.expr, new: ast.expr) -> float:
        """The value with a new piece: what the change leaves as it was is worked out once."""
        found, here = self.value(new), node
        while here is not self.body:
            above = self.above[id(here)]
            assert isinstance(above, ast.expr)
            found = self._evaluate_with(above, id(here), found)
            here = above
        return found

    def value(self, node: ast.expr) -> float:
        """The value of a piece."""
        found = self.known.get(id(node))
        if found is None:
            found = self._evaluate_with(node)
            if (
                not self.above or id(node) in self.above
            ):  # else it may be gone, and its id another's
                self.known[id(node)] = found
        return found

    def _evaluate_with(self, node: ast.expr, changed: int = 0, value: float = 0.0) -> float:
        """The value of a node from those of its pieces, one of which may be changed."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, int | Fraction):
                return float(node.value)
        elif isinstance(node, ast.Name):
            found = self.point.get(node.id, CONSTANTS.get(node.id))
            if found is not None:
                return found
        elif isinstance(node, ast.BinOp):
            a = value if id(node.left) == changed else self.value(node.left)
            b = value if id(node.right) == changed else self.value(node.right)
            rule = BINARY.get(type(node.op))
            if rule is not None:
                return rule(a, b)  # type: ignore[no-any-return]
        elif isinstance(node, ast.UnaryOp):
            a = value if id(node.operand) == changed else self.value(node.operand)
            return -a if isinstance(node.op, ast.USub) else a
        elif isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.func, ast.Name):
            function = FUNCTIONS.get(node.func.id)
            if function is not None:
                a = value if id(node.args[0]) == changed else self.value(node.args[0])
                return function(a)
        raise Unknown
