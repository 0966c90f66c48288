"""From a checked tree to plain calls: one spelling for each thing, each in its old place.

Names with a dot in them (`fn.sin`, `guard.add`) cannot be written in a program, so nothing that
a program declares or assigns can stand in their way.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypeVar

from gradcheck.language.check import Referent
from gradcheck.language.vocabulary import Vocabulary
from gradcheck.ops.pytorch import OF_METHODS, OWN

LAST = "outcome.value"
ADDED = TypeVar("ADDED", bound=ast.AST)

# What each operator is called among the guards, and among NumPy's functions.
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.MatMult: "matmul",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}

GUARDED: Mapping[type[ast.AST], tuple[str, str]] = {
    ast.For: ("iter", "each"),
    ast.comprehension: ("iter", "each"),
    ast.While: ("test", "turn"),
    ast.If: ("test", "truth"),
    ast.IfExp: ("test", "truth"),
}


class Lowered(NamedTuple):
    """The lowered tree, the dotted names in it, and the decimal numbers it looks up by place."""

    tree: ast.Module
    needs: frozenset[tuple[str, str]]
    literals: tuple[Fraction, ...]


def lower(
    tree: ast.Module, meanings: Mapping[ast.AST, Referent], vocabulary: Vocabulary
) -> Lowered:
    """The tree in plain calls; `tree` itself is used up."""
    walk = _Lower(meanings, vocabulary)
    lowered: ast.Module = walk.visit(tree)
    _keep_last(lowered)
    ast.fix_missing_locations(lowered)
    names = (node.id for node in ast.walk(lowered) if isinstance(node, ast.Name))
    dotted = (tuple(name.split(".")) for name in names if "." in name and name != LAST)
    return Lowered(lowered, frozenset((table, name) for table, name in dotted), (*walk.literals,))


def _keep_last(tree: ast.Module) -> None:
    for index in reversed(range(len(tree.body))):
        statement = tree.body[index]
        if isinstance(statement, ast.Expr):
            last = _guard(statement.value, "last", statement.value)
            kept = ast.Assign([ast.Name(LAST, ast.Store())], last)
            tree.body[index] = ast.copy_location(kept, statement)
            return


@dataclass
class _Lower(ast.NodeTransformer):
    """One method a kind of node; every new node takes the place of the old one."""

    meanings: Mapping[ast.AST, Referent]
    vocabulary: Vocabulary
    literals: list[Fraction] = field(default_factory=list)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A variable stays; a constant and a type are looked up under names of their own."""
        role, name = self.meanings.get(node, Referent("variable"))
        return node if role == "variable" else _at(node, _name(f"{role}.{name}"))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`np.pi` is `pi`; `x.grad` stays."""
        role, name = self.meanings.get(node, Referent("variable"))
        if role == "newaxis":
            return _at(node, ast.Constant(None))
        if role in ("constant", "type"):
            return _at(node, _name(f"{role}.{name}"))
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A decimal number is made by the number kind, from its exact value."""
        value: object = node.value
        if not isinstance(value, Fraction):
            return node
        self.literals.append(value)
        return _at(node, _name(f"literal.{len(self.literals) - 1}"))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """`a + b` is guard.add(a, b)."""
        return _guard(node, OPERATORS[type(node.op)], self.visit(node.left), self.visit(node.right))

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.stmt:
        """Nothing is imported."""
        return _at(node, ast.Pass())

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A helper without its annotations, which are for readers."""
        node.returns = None
        for each in node.args.args:
            each.annotation = None
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`x[i] = y` is guard.put(x, i, y)."""
        target = node.targets[0]
        if not isinstance(target, ast.Subscript):
            return self.generic_visit(node)
        parts = (self.visit(each) for each in (target.value, target.slice, node.value))
        return _at(node, ast.Expr(_guard(node, "put", *parts)))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`a < b` is guard.less(a, b); a chain keeps its order and stops where Python would."""
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            return self.generic_visit(node)
        names = tuple(OPERATORS[type(op)] for op in node.ops)
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        if len(names) == 1:
            return _guard(node, names[0], *sides)
        return _guard(node, "chain", ast.Constant(names), *sides)  # type: ignore[arg-type]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """`w -= v` changes w itself where it can, whatever w stands for."""
        op, value = ast.Constant(OPERATORS[type(node.op)]), self.visit(node.value)
        match node.target:
            case ast.Name(id=name):
                changed = _guard(node, "in_place", op, _name(name), value)
                return _at(node, ast.Assign([ast.Name(name, ast.Store())], changed))
            case ast.Attribute(value=owner, attr=attr):
                parts = (self.visit(owner), ast.Constant(attr), value)
                call = _guard(node, "attribute_in_place", op, *parts)
            case ast.Subscript(value=owner, slice=key):
                parts = (self.visit(owner), self.visit(key), value)
                call = _guard(node, "item_in_place", op, *parts)
        return _at(node, ast.Expr(call))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """`x[i]` is guard.item(x, i); on the left of `=` the index alone is guarded."""
        owner, key = self.visit(node.value), self.visit(node.slice)
        if isinstance(node.ctx, ast.Load):
            return _guard(node, "item", owner, key)
        return _at(node, ast.Subscript(owner, _guard(node.slice, "index", owner, key), ast.Store()))

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        """`a:b:c` is guard.slice(a, b, c)."""
        parts = (node.lower, node.upper, node.step)
        bounds = (ast.Constant(None) if part is None else self.visit(part) for part in parts)
        return _guard(node, "slice", *bounds)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Loops count their turns, and a branch is taken in the place of its test."""
        super().generic_visit(node)
        if type(node) in GUARDED:
            field, guard = GUARDED[type(node)]
            held = getattr(node, field)
            setattr(node, field, _guard(held, guard, held))
        if isinstance(node, ast.comprehension):
            node.ifs = [_guard(test, "truth", test) for test in node.ifs]
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Nothing is lazy: a generator could outlive its budget."""
        self.generic_visit(node)
        return _at(node, ast.ListComp(node.elt, node.generators))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Each call goes to what it was found to mean."""
        role, name = self.meanings[node]
        args: list[ast.expr] = [self.visit(argument) for argument in node.args]
        keywords = [self.visit(keyword) for keyword in node.keywords]
        match role:
            case "method" | "postfix":
                owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
                args.insert(0, self.visit(owner))
                called = OF_METHODS + name if name in OWN else name
                func = f"fn.{called}" if role == "postfix" else "guard.method"
                args[1:1] = [ast.Constant(name)] if role == "method" else []
            case "guard":
                assert isinstance(node.func, ast.Attribute)
                args.insert(0, self.visit(node.func.value))
                func = f"guard.{name}"
            case "call":
                func = "guard.call"
                args.insert(0, self.visit(node.func))
            case "builtin":
                func = f"builtin.{name}"
            case _:
                func = f"fn.{name}"
        if role in ("function", "postfix", "builtin"):
            for keyword in keywords:  # `dim` is `axis`
                known = self.vocabulary.keyword_aliases
                keyword.arg = known.get(keyword.arg or "", keyword.arg)
        return _at(node, ast.Call(_name(func), args, keywords))


def _name(identifier: str) -> ast.Name:
    return ast.Name(identifier, ast.Load())


def _at(node: ast.AST, new: ADDED) -> ADDED:
    """A new node in the place of an old one."""
    return ast.copy_location(new, node)


def _guard(node: ast.AST, name: str, *args: ast.expr) -> ast.Call:
    return _at(node, ast.Call(_name(f"guard.{name}"), list(args), []))


# Operators, indices and loops are calls by now; what is left is this and nothing else.
NODES = frozenset(
    (
        *(ast.Module, ast.Expr, ast.Assign, ast.For, ast.While, ast.If, ast.With, ast.withitem),
        *(ast.Pass, ast.Break, ast.Continue, ast.FunctionDef, ast.arguments, ast.arg, ast.Return),
        *(ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.keyword, ast.Subscript, ast.IfExp),
        *(ast.Tuple, ast.List, ast.ListComp, ast.comprehension, ast.Load, ast.Store),
        *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.Invert, ast.BoolOp, ast.And, ast.Or),
        *(ast.Compare, ast.Is, ast.IsNot),
    )
)
NAMING = ("id", "attr", "arg", "name")


def find_unexpected(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that no rule and no lowering can have meant to leave in a tree."""
    for node in ast.walk(tree):
        names = (getattr(node, field, None) for field in NAMING)
        hidden = any(isinstance(name, str) and name[:1] == "_" != name for name in names)
        if type(node) not in NODES or hidden:
            yield node
