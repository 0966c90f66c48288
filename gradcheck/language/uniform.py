"""What Python can write in two ways, written in one: before a rule looks at the tree.

Annotations are for readers and go; `f = lambda x: ...` is the `def` that it stands for. There is
one device, one kind of float and one way to print: what lessons say of them goes, too.
"""

import ast

from gradcheck.language.rules.vocabulary import words
from gradcheck.language.rules.walk import dotted

SETTINGS = words(
    "torch.set_default_device torch.set_default_dtype torch.set_printoptions np.set_printoptions"
)
MOVES = words("cpu cuda contiguous")
FLOATS = words("float torch.float torch.float32 torch.float64 torch.double")
AVAILABLE = words("torch.cuda.is_available torch.backends.mps.is_available")


def uniform(tree: ast.Module) -> ast.Module:
    """The same program without annotations, its named lambdas as helpers; places stay."""
    uniformed: ast.Module = _Uniform(tree).visit(tree)
    return uniformed


class _Uniform(ast.NodeTransformer):
    """Rewrites one node at a time; what is left of a tree is checked by the rules as ever."""

    def __init__(self, tree: ast.Module) -> None:
        """What the program itself defines, and the names that it gives to devices."""
        nodes = list(ast.walk(tree))
        named = [n for n in nodes if isinstance(n, ast.Assign) and _name(n)]
        self.own = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        self.own |= {_name(n) for n in named if isinstance(n.value, ast.Lambda)}
        self.devices = {_name(n) for n in named if _is_device(n.value)}

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
        if _last(node.func) in self.own:
            return self.generic_visit(node)
        node.keywords = [k for k in node.keywords if k.arg != "device" or _last(node.func) == "to"]
        match node:
            case ast.Call(func=func) if dotted(func) in AVAILABLE:
                return ast.copy_location(ast.Constant(False), node)
            case ast.Call(func=func, args=[ast.expr() as name]) if dotted(func) == "torch.device":
                return self.visit(name)  # type: ignore[no-any-return]
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if (
                name in MOVES and not node.args and not node.keywords
            ):
                return self.visit(value)  # type: ignore[no-any-return]
            case ast.Call(func=ast.Attribute(attr="to") as func, args=args, keywords=named) if (
                args or named
            ):
                return self._moved(node, func, [*args, *(each.value for each in named)])
        return self.generic_visit(node)

    def _moved(self, node: ast.Call, func: ast.Attribute, given: list[ast.expr]) -> ast.AST:
        """`x.to(...)`: to kinds of float, to devices, or left as it is for the rules to refuse."""
        left = [g for g in given if not _is_device(g) and dotted(g) not in self.devices]
        if not left:
            return self.visit(func.value)  # type: ignore[no-any-return]
        if all(dotted(each) in FLOATS for each in left):
            func.attr, node.args, node.keywords = "float", [], []
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`f = lambda x: x**2` is `def f(x): return x**2`."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=args, body=body)):
                return self.visit(_defined(node, name, args, body))  # type: ignore[no-any-return]
        return self.generic_visit(node)


def _name(node: ast.Assign) -> str:
    """The one name that is assigned, or nothing."""
    return node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""


def _last(func: ast.expr) -> str:
    """The last name of what is called."""
    return func.attr if isinstance(func, ast.Attribute) else dotted(func)


def _is_device(node: ast.expr) -> bool:
    """A text, `torch.device(...)`, `x.device`, or one or the other of these."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, str)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_device(body) and _is_device(orelse)
        case ast.Call(func=func):
            return dotted(func) == "torch.device"
        case ast.Attribute(attr=name):
            return name == "device"
    return False


def _defined(node: ast.Assign, name: str, args: ast.arguments, body: ast.expr) -> ast.FunctionDef:
    """The helper of this name; made from a text, for each Python adds fields of its own."""
    made = ast.parse("def name(): return 0").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args = name, args
    made.body = [ast.copy_location(ast.Return(body), body)]
    return ast.copy_location(made, node)
