"""What Python can write in two ways, written in one: before a rule looks at the tree.

Annotations are for readers and go; `f = lambda x: ...` is the `def` that it stands for. There is
one device, one kind of float and one way to print: what lessons say of them goes, too.
"""

import ast

from gradcheck.language.rules.walk import dotted


def uniform(tree: ast.Module) -> ast.Module:
    """The same program without annotations, its named lambdas as helpers; places stay."""
    uniformed: ast.Module = _Uniform().visit(tree)
    return uniformed


SETTINGS = frozenset(
    f"{root}.{name}"
    for root, names in {
        "torch": ("set_default_device", "set_default_dtype", "set_printoptions"),
        "np": ("set_printoptions",),
    }.items()
    for name in names
)
MOVES = frozenset({"cpu", "cuda", "contiguous"})
FLOATS = frozenset({"float", "float32", "float64", "double"})
AVAILABLE = frozenset({"torch.cuda.is_available", "torch.backends.mps.is_available"})


class _Uniform(ast.NodeTransformer):
    """Rewrites one node at a time; what is left of a tree is checked by the rules as ever."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """A parameter without its annotation."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A helper without the annotation of its value."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """`x: Tensor = 2.0` is `x = 2.0`; without a value it is nothing."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        assignment = ast.Assign([node.target], node.value)
        return self.visit(ast.copy_location(assignment, node))  # type: ignore[no-any-return]

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """`torch.set_default_dtype(torch.float64)` is nothing: so it is anyway."""
        match node.value:
            case ast.Call(func=func) if dotted(func) in SETTINGS:
                return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`x.to(device)` is `x`, `x.to(torch.float32)` is `x.float()`, `device=` says nothing."""
        node.keywords = [k for k in node.keywords if k.arg != "device" or _moves(node)]
        match node:
            case ast.Call(func=func) if dotted(func) in AVAILABLE:
                return ast.copy_location(ast.Constant(False), node)
            case ast.Call(func=func, args=[ast.expr() as name]) if dotted(func) == "torch.device":
                return self.visit(name)  # type: ignore[no-any-return]
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if (
                name in MOVES and not node.args and not node.keywords
            ):
                return self.visit(value)  # type: ignore[no-any-return]
            case ast.Call(func=ast.Attribute() as func, args=args) if _moves(node):
                given = [*args, *(k.value for k in node.keywords)]
                return self._moved(node, func, [dotted(each) for each in given])
        return self.generic_visit(node)

    def _moved(self, node: ast.Call, func: ast.Attribute, given: list[str]) -> ast.AST:
        """`x.to(...)`: to a kind of float, or nowhere."""
        kinds = {each.removeprefix("torch.") for each in given if each.startswith("torch.")}
        if not kinds:
            return self.visit(func.value)  # type: ignore[no-any-return]
        if kinds <= FLOATS:
            func.attr, node.args, node.keywords = "float", [], []
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`f = lambda x: x**2` is `def f(x): return x**2`."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=args, body=body)):
                return self.visit(_defined(node, name, args, body))  # type: ignore[no-any-return]
        return self.generic_visit(node)


def _moves(node: ast.Call) -> bool:
    """Whether a call is `x.to(...)`."""
    return isinstance(node.func, ast.Attribute) and node.func.attr == "to"


def _defined(node: ast.Assign, name: str, args: ast.arguments, body: ast.expr) -> ast.FunctionDef:
    """The helper of this name; made from a text, for each Python adds fields of its own."""
    made = ast.parse("def name(): return 0").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args = name, args
    made.body = [ast.copy_location(ast.Return(body), body)]
    return ast.copy_location(made, node)
