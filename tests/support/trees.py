"""The value of a formula's tree, by Python's own mathematics."""

import ast
import math
import operator

OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
}
SHARED = "sin cos tan sinh cosh tanh exp log log2 log10 sqrt cbrt"
FUNCTIONS = {
    **{name: getattr(math, name) for name in SHARED.split()},
    "arcsin": math.asin,
    "arctan": math.atan,
    "absolute": abs,
    "sign": lambda x: math.copysign(1.0, x),
    "maximum": max,
    "where": lambda condition, yes, no: yes if condition else no,
    "sec": lambda x: 1 / math.cos(x),
    "csc": lambda x: 1 / math.sin(x),
    "cot": lambda x: 1 / math.tan(x),
    "sech": lambda x: 1 / math.cosh(x),
}


def value(node, point):
    """The value of a tree where names have the values of a point."""

    def inner(tree):
        match tree:
            case ast.Expression(body):
                return inner(body)
            case ast.Constant(number):
                return float(number)
            case ast.Name(name):
                return {"pi": math.pi, "e": math.e, **point}[name]
            case ast.BinOp(left, op, right):
                return OPERATIONS[type(op)](inner(left), inner(right))
            case ast.UnaryOp(op, operand):
                return OPERATIONS[type(op)](inner(operand))
            case ast.Compare(left, [op], [right]):
                return OPERATIONS[type(op)](inner(left), inner(right))
            case ast.Call(ast.Name(function), arguments, []):
                return FUNCTIONS[function](*map(inner, arguments))
        raise AssertionError(ast.dump(tree))

    return inner(node)
