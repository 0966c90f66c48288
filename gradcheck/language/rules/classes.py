"""The rules of small classes: a module with parameters, or a function with its own derivative."""

import ast
from collections.abc import Iterator

from gradcheck.language.rules.names import good_name
from gradcheck.language.rules.refusals import NODES, Refusal
from gradcheck.language.rules.vocabulary import FUNCTION, MODULE
from gradcheck.language.rules.walk import Check, Meaning, dotted

BASES = {
    "nn.Module": MODULE,
    "torch.nn.Module": MODULE,
    "Module": MODULE,
    "torch.autograd.Function": FUNCTION,
    "autograd.Function": FUNCTION,
    "Function": FUNCTION,
}
DUE = {MODULE: "forward", FUNCTION: "backward"}
# What PyTorch gives to every module, and to the context of every function.
GIVEN = frozenset({"parameters", "named_parameters", "zero_grad", "train", "eval", "forward"})
CONTEXT_READ = frozenset({"saved_tensors", "needs_input_grad"})
CONTEXT_CALLED = frozenset({"save_for_backward", "mark_non_differentiable"})

BASE = Refusal("a class of another kind", "write `class Net(nn.Module):` with `forward`")
NESTED = Refusal("a `class` inside a block", "define it at the top level of the program")
MEMBER = Refusal("this in a `class`", "write `def` in it, and values as `self.name = ...`")
NOT_STATIC = Refusal(
    "a method of a function without `@staticmethod`", "write `@staticmethod` above it"
)
DECORATED = Refusal("a decorator", "leave it out")
TYPE_PARAMETER = Refusal("a type parameter", "leave it out")
SELF = Refusal("a method without a first argument", "write `self` or `ctx` first")


def kind_of(node: ast.ClassDef) -> str:
    """`module`, `function`, or nothing for a class of another kind."""
    plain = len(node.bases) == 1 and not node.keywords
    return BASES.get(dotted(node.bases[0]), "") if plain else ""


def members(body: list[ast.stmt]) -> Iterator[str]:
    """The names that classes give to their methods and to what `self.name = ...` keeps."""
    for node in (each for each in body if isinstance(each, ast.ClassDef)):
        yield from (CONTEXT_READ | CONTEXT_CALLED) if kind_of(node) == FUNCTION else GIVEN
        yield from (each.name for each in node.body if isinstance(each, ast.FunctionDef))
        stored = (each for each in ast.walk(node) if isinstance(each, ast.Attribute))
        yield from (each.attr for each in stored if isinstance(each.ctx, ast.Store))


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """The functions of a class."""
    return [each for each in node.body if isinstance(each, ast.FunctionDef)]


def class_rule(check: Check, node: ast.ClassDef) -> list[ast.FunctionDef]:
    """The methods of a class whose outside is in order, to be checked like helpers."""
    kind = kind_of(node)
    if not check.vocabulary.scripts or not kind:
        check.refuse(node, BASE if check.vocabulary.scripts else NODES[ast.ClassDef])
        return []
    if check.blocks or check.inside_helper:
        check.refuse(node, NESTED)
        return []
    good_name(check, node, node.name)
    for extra in (*node.decorator_list, *getattr(node, "type_params", [])):
        check.refuse(extra, DECORATED)
    for each in node.body:
        if isinstance(each, ast.FunctionDef):
            _method(check, each, kind)
        elif not (isinstance(each, ast.Pass) or is_text(each)):
            check.refuse(each, MEMBER)
    if DUE[kind] not in {each.name for each in methods(node)}:
        check.say(node, f"a class without `{DUE[kind]}`", f"write `def {DUE[kind]}` in it")
    check.meanings[node] = Meaning("class", kind)
    return methods(node)


def _method(check: Check, node: ast.FunctionDef, kind: str) -> None:
    """The outside of a method: `__init__` of a module is the one name with `_` that there is."""
    static = [each for each in node.decorator_list if dotted(each) == "staticmethod"]
    for decorator in node.decorator_list:
        if kind == MODULE or decorator not in static:
            check.refuse(decorator, DECORATED)
    if kind == FUNCTION and not static:
        check.refuse(node, NOT_STATIC)
    if not node.args.args:
        check.refuse(node, SELF)
    if getattr(node, "type_params", []):
        check.refuse(node, TYPE_PARAMETER)
    if not (kind == MODULE and node.name == "__init__"):
        good_name(check, node, node.name)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text that stands alone."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def is_super(node: ast.expr) -> bool:
    """`super().__init__()` or `super(Net, self).__init__()`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"),
            args=[],
            keywords=[],
        ):
            return True
    return False


def call_class(check: Check, func: ast.Name) -> Meaning | None:
    """`Net(3)`: a module is made; a function is applied instead."""
    if check.classes[func.id] == FUNCTION:
        check.say(func, f"`{func.id}` is a function", f"write `{func.id}.apply(...)`")
        return None
    return Meaning("call", func.id)
