"""What Python can write in two ways, written in one: before a rule looks at the tree.

Annotations are for readers and go; `f = lambda x: ...` is the `def` that it stands for.
"""

import ast


def uniform(tree: ast.Module) -> ast.Module:
    """The same program without annotations, its named lambdas as helpers; places stay."""
    uniformed: ast.Module = _Uniform().visit(tree)
    return uniformed


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

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`f = lambda x: x**2` is `def f(x): return x**2`."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=args, body=body)):
                return self.visit(_defined(node, name, args, body))  # type: ignore[no-any-return]
        return self.generic_visit(node)


def _defined(node: ast.Assign, name: str, args: ast.arguments, body: ast.expr) -> ast.FunctionDef:
    """The helper of this name; made from a text, for each Python adds fields of its own."""
    made = ast.parse("def name(): return 0").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args = name, args
    made.body = [ast.copy_location(ast.Return(body), body)]
    return ast.copy_location(made, node)
