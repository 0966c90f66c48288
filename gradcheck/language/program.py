"""A program that was checked: from a text, or from the tree of an answer."""

import ast
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import CodeType, MappingProxyType
from typing import TypeVar

from gradcheck.documents.passage import Passage, where_is
from gradcheck.engine.layers import LAYERS
from gradcheck.errors import TextError
from gradcheck.language.grammar import find_unexpected, translate
from gradcheck.language.names import dotted_name
from gradcheck.language.parse import cure, parse
from gradcheck.language.refusals import OTHERWISE
from gradcheck.language.spans import MARK, Spans
from gradcheck.language.vocabulary import Vocabulary, words
from gradcheck.values import Value

NODE = TypeVar("NODE", bound=ast.AST)
NONE: Mapping[int, ast.AST] = MappingProxyType({})
PICKING = words(
    "cross_entropy nll_loss embedding gather select take take_along_axis one_hot delete"
)
"""The functions that take places, or the numbers of classes."""
PICKERS = words("CrossEntropyLoss NLLLoss Embedding")


@dataclass(frozen=True, eq=False)
class Program:
    """A checked program, compiled; `needs` are the tables and names that its run must look up."""

    passage: Passage
    tree: ast.Module
    code: CodeType
    needs: frozenset[tuple[str, str]]
    literals: tuple[Fraction, ...]
    spans: Spans

    @property
    def source(self) -> str:
        """The text of the program."""
        return self.passage.source

    @property
    def functions(self) -> frozenset[str]:
        """The functions of the vocabulary that the program calls, by their own names."""
        return frozenset(name for table, name in self.needs if table == "fn")


def check_program(
    source: str,
    *,
    declared: Collection[str],
    vocabulary: Vocabulary,
    file: str = "",
    line: int = 1,
    column: int = 1,
    moved: Collection[str] = (),
    valued: bool = False,
) -> Program:
    """A text as a program in the declared names; TextError has every complaint found.

    `line` and `column` say where in the file the first character of the text stands. To the values
    of `moved` names the program adds the input of that name, where it assigns them. `valued`: what
    the last line assigns to one name is the program's value.
    """
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    passage = Passage(text, file, line, column)
    tree = parse(passage)
    for name, statement in assignments(tree):
        if name in moved:
            statement.value = _plus(statement.value, name)
    if valued:
        tree.body += _repeat_last(tree.body[-1:])
    return _check(tree, passage, declared, vocabulary)


def assignments(tree: ast.Module) -> list[tuple[str, ast.Assign]]:
    """The plain assignments of one name on the program's own level, `z = X @ W`, in order."""
    found = []
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.append((name, node))
    return found


def _repeat_last(last: list[ast.stmt]) -> list[ast.stmt]:
    """`loss`, where the last line is `loss = ...` or `loss += ...`."""
    match last:
        case [
            ast.Assign(targets=[ast.Name() as name])
            | ast.AugAssign(target=ast.Name() as name)
            | ast.AnnAssign(target=ast.Name() as name, value=ast.expr())
        ]:
            read = ast.copy_location(ast.Name(name.id, ast.Load()), name)
            return [ast.copy_location(ast.Expr(read), name)]
    return []


def places(tree: ast.Module) -> frozenset[str]:
    """The names that stand in an index, or as an argument of what picks entries."""
    found: set[str] = set()
    picks = PICKING | {
        name for name, each in assignments(tree) if _called_name(each.value) in PICKERS
    }
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=index):
                found |= {each.id for each in ast.walk(index) if isinstance(each, ast.Name)}
            case ast.Call() if _called_name(node) in picks or _called_name(node.func) in PICKERS:
                given = (*node.args, *(keyword.value for keyword in node.keywords))
                found |= {each.id for each in given if isinstance(each, ast.Name)}
    return frozenset(found)


def _called_name(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return ""


def _plus(value: ast.expr, name: str) -> ast.expr:
    """What is assigned to a name, plus what the name meant before: `z = X @ W + z`."""
    before = ast.copy_location(ast.Name(name, ast.Load()), value)
    return ast.copy_location(ast.BinOp(value, ast.Add(), before), value)


def check_expression(
    tree: ast.Expression,
    *,
    declared: Collection[str],
    vocabulary: Vocabulary,
    source: str = "",
    file: str = "",
    line: int = 1,
    column: int = 1,
) -> Program:
    """The tree of an answer, its decimal numbers as Fractions, as a program of one expression.

    How deep it may be is for its reader to say.
    """
    passage = Passage(source, file, line, column)
    module = ast.Module([ast.Expr(copy_tree(tree.body))], [])
    return _check(ast.fix_missing_locations(module), passage, declared, vocabulary)


def check_module(tree: ast.Module, *, declared: Collection[str], vocabulary: Vocabulary) -> Program:
    """A tree of Python's own parser as a program without a text; its floats are as written."""
    copied = copy_tree(tree)
    for node in ast.walk(copied):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            node.value = Fraction(repr(node.value))  # type: ignore[assignment]
    passage = Passage("\n" * max((getattr(n, "lineno", 1) for n in ast.walk(copied)), default=1))
    return _check(ast.fix_missing_locations(copied), passage, declared, vocabulary)


def _check(
    tree: ast.Module,
    passage: Passage,
    declared: Collection[str],
    vocabulary: Vocabulary,
) -> Program:
    """A tree checked, translated and compiled; what only Python's compiler sees is told as well."""
    made, needs, literals = translate(tree, passage, declared, vocabulary)
    found = [passage.complaint(*OTHERWISE, where_is(node)) for node in find_unexpected(made)]
    if found:
        raise TextError(found[:1])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(made, MARK, "exec", dont_inherit=True)
    except SyntaxError as error:
        line, start = error.lineno or 1, (error.offset or 1) - 1
        where = (line, line, start, start + 1)
        complaint = passage.complaint(f"not readable as Python: {error.msg}", cure(error), where)
        raise TextError([complaint]) from None
    return Program(passage, tree, code, needs, literals, Spans(passage))


def copy_tree(node: NODE, other: Mapping[int, ast.AST] = NONE) -> NODE:
    """A copy of a tree, places and all, with `other` nodes in the place of some, by their ids."""
    there = (name for name in (*node._fields, *node._attributes) if hasattr(node, name))
    return type(node)(**{name: _copy_field(getattr(node, name), other) for name in there})


def _copy_field(value: Value, other: Mapping[int, ast.AST]) -> Value:
    """A copy of what a field of a node holds: a node, a list of them, or something that stays."""
    if isinstance(value, list):
        return [_copy_field(each, other) for each in value]
    if not isinstance(value, ast.AST):
        return value
    return other[id(value)] if id(value) in other else copy_tree(value, other)


# -- leaves ----------------------------------------------------------------------------------------

MADE = "requires_grad"
ASKED = "requires_grad_"


def leaves(program: Program) -> tuple[str, ...]:
    """The leaves made outside of any `def`, as they are read: `x`, `model.weight`, `net[0].bias`.

    They are the names given to `tensor(..., requires_grad=True)` and its like, and the parameters
    of layers and of `Sequential`.
    """
    return tuple(dict.fromkeys(_leaves(program.tree.body)))


def _leaves(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef():
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                yield from _made_leaves(name, call)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr))
            ) if attr == ASKED:
                yield name
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr=attr)]) if (
                attr == MADE
            ):
                yield name
        for block in ("body", "orelse"):
            yield from _leaves(getattr(node, block, []))


def _made_leaves(path: str, call: ast.Call) -> Iterator[str]:
    """The leaves that a call makes, by the path under which it is kept."""
    maker = dotted_name(call.func).rpartition(".")[2]
    if _is_leaf(call) or maker == "Parameter":
        yield path
    elif maker in LAYERS:
        held = LAYERS[maker].held
        yield from (f"{path}.{name}" for name in held if not _is_without(call, name))
    elif maker == "Sequential":
        for k, each in enumerate(call.args):
            if isinstance(each, ast.Call):
                yield from _made_leaves(f"{path}[{k}]", each)


def _is_leaf(call: ast.Call) -> bool:
    """Whether a call makes a leaf: `requires_grad=True`, or `.requires_grad_()` at its end."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == ASKED:
        return True
    flag = _keyword(call, MADE)
    return isinstance(flag, ast.Constant) and flag.value is True


def _is_without(call: ast.Call, name: str) -> bool:
    bare = _off(call, "affine") or _off(call, "elementwise_affine")
    return bare or (name.startswith("bias") and _off(call, "bias"))


def _off(call: ast.Call, name: str) -> bool:
    given = _keyword(call, name)
    return isinstance(given, ast.Constant) and given.value is False


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)
