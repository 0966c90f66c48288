"""The value of a formula's tree, by Python's own mathematics."""

import ast
import copy
import math

KNOWN = {
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub, ast.Lt, ast.Gt,
}  # fmt: skip
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


class _Floats(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(float(node.value)), node)


def value(node, point):
    tree = ast.fix_missing_locations(_Floats().visit(copy.deepcopy(node)))
    assert {type(each) for each in ast.walk(tree)} <= KNOWN, ast.dump(tree)
    return eval(compile(tree, "tree", "eval"), {"pi": math.pi, "e": math.e, **FUNCTIONS, **point})
