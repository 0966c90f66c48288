# ruff: noqa: N802, N815 - methods are called by the names of the nodes
"""The rules of expressions and statements, and a program in plain calls by all of them.

A node without a rule is refused. Every operator, item, loop and call is a guard's or a function's
call in its old place; nothing of the tree that was read is changed.
"""

import ast
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from typing import TypeVar

from gradcheck.documents.document import Passage
from gradcheck.errors import PROGRAM_EXPONENT, TextError
from gradcheck.language.names import NameWalk, call_at, join_name, make_name
from gradcheck.language.vocabulary import (
    OPERATORS,
    OTHERWISE,
    PLAIN_DEF,
    TEXT,
    Refusal,
    Vocabulary,
    join_names,
)
from gradcheck.ops.arithmetic import COMPARISONS, OPERATIONS
from gradcheck.values import Value

NODE = TypeVar("NODE", bound=ast.AST)
LAST = "outcome.value"
BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.BitAnd: "and",
    ast.BitOr: "or", ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt",
    ast.GtE: "ge",
}  # fmt: skip
GUARD = {kind: {**OPERATIONS, **COMPARISONS}.get(word, word) for kind, word in BINARY.items()}
"""What each operator is called among the guards, and among the rows."""
READ_OVER = frozenset({"torch", "numpy", "math"})  # modules that a program may import
IMPORTED = "leave it out: `np`, `torch` and every function are already there"
CONSTANTS: dict[type, Refusal] = {
    str: TEXT,
    bytes: TEXT,
    complex: Refusal("an imaginary number", "write real numbers; the multiplication is `2*j`"),
    type(...): Refusal("a `...` outside `x[...]`", "write `pass`"),
}
REBUILT: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.Expr, ast.Return, ast.Pass, ast.Break, ast.Continue), ""),
    **dict.fromkeys((ast.UnaryOp, ast.BoolOp, ast.Tuple, ast.List), ""),
    ast.While: "turn",
    ast.If: "truth",
    ast.IfExp: "truth",
}
"""Nodes that stay with what is inside translated, and the guard of a test.

A loop counts its turns, a branch is taken in the test's place; where `break` may stand, Python
knows.
"""


def remake(node: NODE, **parts: Value) -> NODE:
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **parts}), node)


class Walk(NameWalk):
    def generic_visit(self, node: ast.AST) -> Value:
        if type(node) not in REBUILT:
            return super().generic_visit(node)
        parts = dict(ast.iter_fields(node))
        for name, held in parts.items():
            if isinstance(held, list):
                parts[name] = self.all(held)
            elif isinstance(held, ast.expr | ast.stmt):
                parts[name] = self.visit(held)
        if guard := REBUILT[type(node)]:
            parts["test"] = call_at(parts["test"], f"guard.{guard}", parts["test"])
        return remake(node, **parts)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """What is printed is computed, and shown to nobody."""
        shown = list_printed(node)
        if shown is None:
            return self.generic_visit(node)  # type: ignore[no-any-return]
        return remake(node, value=ast.copy_location(ast.Tuple(self.all(shown), ast.Load()), node))

    # -- expressions

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A number, `True`, `False` or `None`; the number kind makes a decimal from its value."""
        value: object = node.value
        if isinstance(value, Fraction):
            self.literals.append(value)
            return make_name(node, f"literal.{len(self.literals) - 1}")
        if value is not None and not isinstance(value, int):
            self.refuse(node, *CONSTANTS.get(type(value), OTHERWISE))
        return node

    def operator(self, node: ast.AST, op: ast.AST) -> str:
        """The name of an operator among the guards; refused at a node where it is none."""
        if type(op) not in GUARD:
            self.refuse(node, *OPERATORS.get(type(op), OTHERWISE))
        return GUARD.get(type(op), "")

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """`a + b` is guard.add(a, b)."""
        name = self.operator(_locate_sign(node), node.op)
        if isinstance(node.op, ast.Pow) and _read_magnitude(node.right) > PROGRAM_EXPONENT:
            what = f"an exponent beyond {PROGRAM_EXPONENT:,}"
            self.refuse(node.right, what, "choose a smaller one")
        return call_at(node, f"guard.{name}", *self.all((node.left, node.right)))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """`a < b` is guard.less(a, b); a chain stops where Python would; `is` only with None."""
        sides = [node.left, *node.comparators]
        none = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
        if none and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            left, right = self.all(sides)
            return remake(node, left=left, comparators=[right])
        names = tuple([self.operator(node, op) for op in node.ops])
        made = self.all(sides)
        if len(names) == 1:
            return call_at(node, f"guard.{names[0]}", *made)
        return call_at(node, "guard.chain", ast.Constant(names), *made)  # type: ignore[arg-type]

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return call_at(node, "guard.item", self.visit(node.value), self.key(node.slice))

    def key(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            return remake(node, elts=[self._visit_key_part(part) for part in node.elts])
        return self._visit_key_part(node)

    def _visit_key_part(self, part: ast.expr) -> ast.expr:
        if isinstance(part, ast.Slice):
            bounds = (part.lower, part.upper, part.step)
            made = [ast.Constant(None) if each is None else self.visit(each) for each in bounds]
            return call_at(part, "guard.slice", *made)
        dots = isinstance(part, ast.Constant) and part.value is ...
        return part if dots else self.visit(part)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        """`[f(v) for v in values if v > 0]`; without the brackets it becomes a list all the same.

        Nothing is lazy: a generator could outlive its budget.
        """
        clauses = []
        with ExitStack() as inner:
            for clause in node.generators:
                if clause.is_async:
                    self.refuse(clause.iter, *OTHERWISE)
                values, target = self.visit(clause.iter), self.target(clause.target, plain=True)
                inner.enter_context(self.scope(list_targets(clause.target)))
                tests = [call_at(test, "guard.truth", self.visit(test)) for test in clause.ifs]
                each = call_at(values, "guard.each", values)
                clauses.append(remake(clause, target=target, iter=each, ifs=tests, is_async=0))
            return ast.copy_location(ast.ListComp(self.visit(node.elt), clauses), node)

    visit_GeneratorExp = visit_ListComp

    # -- statements

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.stmt:
        of_all = isinstance(node, ast.Import)
        paths = [alias.name for alias in node.names] if of_all else [getattr(node, "module", "")]
        for path in paths:
            if not path or path.split(".")[0] not in READ_OVER:
                self.refuse(node, f"an import of `{(path or '.')[:64]}`", IMPORTED)
        return ast.copy_location(ast.Pass(), node)

    visit_ImportFrom = visit_Import

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """`y = x**2`, `a, b = pair`, `w.grad = None`; `x[i] = y` is guard.entries(x)[i] = y."""
        value = self.visit(node.value)
        return remake(node, targets=[self.target(each) for each in node.targets], value=value)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        op = ast.Constant(self.operator(node, node.op))
        value = self.visit(node.value)
        match self.target(node.target):
            case ast.Name(id=name) as target:
                changed = call_at(node, "guard.in_place", op, make_name(node, name), value)
                return ast.copy_location(ast.Assign([target], changed), node)
            case ast.Attribute(value=owner, attr=attr):
                parts = (owner, ast.Constant(attr), value)
                call = call_at(node, "guard.attribute_in_place", op, *parts)
            case ast.Subscript(value=ast.Call(args=[owner]), slice=key):
                call = call_at(node, "guard.item_in_place", op, owner, key, value)
        return ast.copy_location(ast.Expr(call), node)

    def target(self, node: ast.expr, plain: bool = False) -> ast.expr:
        """What is assigned; of a loop's variables, which are `plain`, names and tuples alone."""
        match node:
            case ast.Name():
                self.good_name(node, node.id)
            case ast.Tuple() | ast.List():
                return remake(node, elts=[self.target(each, plain) for each in node.elts])
            case _ if plain:
                cure = "write `for name in values:`"
                self.refuse(node, "a loop variable that is no plain name", cure)
            case ast.Subscript():
                owner, key, base = self.visit(node.value), self.key(node.slice), node.value
                while isinstance(base, ast.Attribute | ast.Subscript):
                    base = base.value
                if not isinstance(base, ast.Name):  # of what a call returns: nobody would see it
                    cure = "give it one: `y = ...`, then `y[0] = 1`"
                    self.refuse(base, "an entry of what has no name", cure)
                return remake(node, value=call_at(node, "guard.entries", owner), slice=key)
            case ast.Attribute():
                owner, assignable = self.visit(node.value), self.vocabulary.assignable
                if self.good_name(node, node.attr) and node.attr not in assignable:
                    said = join_names(assignable)
                    cure = f"what may be assigned: {said}" if said else "leave it out"
                    self.refuse(node, f"`.{node.attr}` cannot be assigned", cure)
                return remake(node, value=owner)
            case _:
                self.visit(node)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        values, target = self.visit(node.iter), self.target(node.target, plain=True)
        body, orelse = self.all(node.body), self.all(node.orelse)
        each = call_at(values, "guard.each", values)
        return remake(node, target=target, iter=each, body=body, orelse=orelse)

    def visit_With(self, node: ast.With) -> ast.stmt:
        items = []
        for item in node.items:
            if item.optional_vars is not None:
                cure = "leave it out: `with no_grad():`"
                self.refuse(item.optional_vars, "an `as` after `with`", cure)
            items.append(ast.withitem(self._context(item.context_expr)))
        return remake(node, items=items, body=self.all(node.body))

    def _context(self, node: ast.expr) -> ast.expr:
        contexts = self.vocabulary.contexts
        match node:
            case ast.Call(ast.Name(name)) if name in contexts and not self.is_variable(name):
                pass
            case ast.Call(ast.Attribute(owner, name)) if name in contexts and self.prefix(owner):
                pass
            case _:
                cure = f"write {join_names(f'with {each}():' for each in contexts)}"
                self.refuse(node, "a `with` of something else than a context", cure)
                return node
        made = call_at(node, f"fn.{name}", *self.all(node.args))
        made.keywords = [remake(each, value=self.visit(each.value)) for each in node.keywords]
        return made

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        self.refuse(node, "a `def` inside a block", "define it at the top level of the program")
        return node

    def define(self, node: ast.FunctionDef) -> ast.stmt:
        """`def helper(x, n=3):` at the top level; its annotations are for readers."""
        self.good_name(node, node.name)
        for decorator in node.decorator_list:
            self.refuse(decorator, "a decorator", "leave it out, or write `with no_grad():` inside")
        for parameter in getattr(node, "type_params", []):
            self.refuse(parameter, "a type parameter", "leave it out")
        args = self._parameters(node.args)
        body = [n for n in node.body if not is_text(n)] or [ast.copy_location(ast.Pass(), node)]
        with self.scope({each.arg for each in node.args.args} | find_assigned(node.body)):
            return remake(node, args=args, body=self.all(body), returns=None)

    def _parameters(self, args: ast.arguments) -> ast.arguments:
        for extra in (*args.posonlyargs, *args.kwonlyargs, args.vararg, args.kwarg):
            if extra:
                self.refuse(extra, "a parameter with `*` or `/`", PLAIN_DEF)
        for each in args.args:
            self.good_name(each, each.arg)
        defaults = []
        for default in args.defaults:
            plain = default.operand if isinstance(default, ast.UnaryOp) else default
            if isinstance(plain, ast.Constant):
                defaults.append(self.visit(default))
            else:
                cure = "write a number, `True` or `None`"
                self.refuse(default, "a default that is no plain number", cure)
        names = [remake(each, annotation=None) for each in args.args]
        return remake(args, args=names, defaults=defaults)


def _locate_sign(node: ast.BinOp) -> ast.AST:
    """What stands between two operands: of several signs each has a place of its own."""
    left, right = node.left, node.right
    if (left.end_lineno or left.lineno) != right.lineno or left.end_col_offset is None:
        return node
    stop = {"end_lineno": right.lineno, "end_col_offset": right.col_offset}
    return ast.Pass(lineno=right.lineno, col_offset=left.end_col_offset, **stop)


def _read_magnitude(node: ast.expr) -> Fraction:
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    found = node.value if isinstance(node, ast.Constant) else 0
    return abs(found) if isinstance(found, Fraction) else Fraction(0)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text alone, which is a comment."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", 0), str)


def list_printed(node: ast.AST) -> list[ast.expr] | None:
    """What a statement prints, but for texts; None of one that does not print."""
    match node:
        case ast.Expr(ast.Call(ast.Name("print"), args, keywords)):
            return [each for part in (*args, *keywords) for each in _list_textless(part)]
    return None


def _list_textless(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.expr) and not any(map(_is_of_text, ast.walk(node))):
        yield node
    else:
        for inner in ast.iter_child_nodes(node):
            yield from _list_textless(inner)


def _is_of_text(node: ast.AST) -> bool:
    said = isinstance(getattr(node, "value", 0), str) or getattr(node, "id", "") == "str"
    return said or isinstance(node, ast.JoinedStr | ast.FormattedValue)


def list_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and of its blocks, but not those in a `def`."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef):
            yield from list_statements([*getattr(node, "body", ()), *getattr(node, "orelse", ())])


def find_assigned(body: Iterable[ast.stmt]) -> frozenset[str]:
    targets = (
        target
        for node in list_statements(body)
        if not isinstance(node, ast.AnnAssign)  # which is refused
        for target in (*getattr(node, "targets", ()), getattr(node, "target", ast.Pass()))
    )
    return frozenset().union(*map(list_targets, targets))


def list_targets(node: ast.AST) -> frozenset[str]:
    stored = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return frozenset(each.id for each in stored if isinstance(each.ctx, ast.Store))


# -- whole programs --------------------------------------------------------------------------------


def translate(
    tree: ast.Module, passage: Passage, declared: Iterable[str], vocabulary: Vocabulary
) -> tuple[ast.Module, frozenset[tuple[str, str]], tuple[Fraction, ...]]:
    """A tree in plain calls, what they need, its literals; TextError with all that is refused."""
    definitions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    variables = find_assigned(tree.body) | frozenset(declared)
    helpers = frozenset(n.name for n in definitions)
    walk = Walk(
        passage, vocabulary, [variables], helpers, frozenset(_list_layers(tree, vocabulary))
    )
    for node in definitions:
        if node.name in variables:
            walk.refuse(node, f"`{node.name}` is a variable too", "give the function its own name")
    statements = [n for n in tree.body[:-1] if not is_text(n)] + tree.body[-1:]
    body: list[Value] = [
        walk.define(n) if isinstance(n, ast.FunctionDef) else walk.visit(n) for n in statements
    ]
    if walk.complaints:
        raise TextError(walk.complaints)
    valued = [isinstance(n, ast.Expr) and list_printed(n) is None for n in statements]
    last = max((k for k, found in enumerate(valued) if found), default=None)
    if last is not None:
        value = call_at(body[last], "guard.last", body[last].value)
        kept = ast.Assign([ast.Name(LAST, ast.Store())], value)
        body[last] = ast.copy_location(kept, body[last])
    made = ast.fix_missing_locations(ast.Module(body, []))
    names = (node.id for node in ast.walk(made) if isinstance(node, ast.Name))
    dotted = (tuple(name.split(".")) for name in names if "." in name and name != LAST)
    return made, frozenset((t, name) for t, name in dotted), (*walk.literals,)


def _list_layers(tree: ast.Module, vocabulary: Vocabulary) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=made)):
                if join_name(made).rpartition(".")[2] in vocabulary.layers:
                    yield name


# Operators, indices and loops are calls by now; what is left is this and nothing else.
PLAIN = frozenset(
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
    """The nodes that no rule can have meant to leave in a tree."""
    for node in ast.walk(tree):
        names = (getattr(node, field, None) for field in NAMING)
        hidden = any(isinstance(name, str) and name[:1] == "_" != name for name in names)
        if type(node) not in PLAIN or hidden:
            yield node
