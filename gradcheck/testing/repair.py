"""Repair: the one small edit of a backward pass's own source that makes all its gradients right.

An edit that gives the reference at every point and for every cotangent that was asked, at a point
beside and at another shape, is the mistake, undone; it needs no model of what the function
computes. What may be edited is in `edits`.
"""

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dis import get_instructions
from functools import lru_cache, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType

from gradcheck.testing.buffers import is_theirs
from gradcheck.testing.edits import Edit, SourceWords, candidates
from gradcheck.testing.source import file_of, text_of
from gradcheck.values import Routine, Value

LONGEST = 56  # characters of a line of source in a message
NOBODY = "?"  # the cotangent of a function that has none
CALLED, MOST = 24, 4  # characters of a call that may be missing elsewhere, and how many are tried
OURS = "gradcheck"  # what stands between a check and somebody else's backward is no mistake
BUILT = (ast.FunctionDef, ast.Lambda)
Remake = Callable[[Routine], Routine]  # of a method, the backward pass that calls it
Places = dict[int, tuple[ast.AST, str, int | None]]


@dataclass(frozen=True)
class SourceRepair:
    """The mistake's name, the file, and the line as it stands there and as it is to be."""

    name: str
    file: str
    line: int
    old: str
    new: str

    @property
    def lines(self) -> list[str]:
        """Two lines of a diff, below the place."""
        added = [f"  + {self.new}"] if self.new else []
        return [f"  {Path(self.file).name}:{self.line}", f"  - {self.old}", *added]


def find_repair(
    backward: Routine,
    right: Callable[[Routine], bool],
    forward: Routine | None,
    *,
    pulls: bool,
) -> SourceRepair | None:
    """The first edit after which `right` says so; None where the source is not at hand.

    What `forward` computes, if it is one expression of the same names, may be what is missing; a
    function that `pulls` has a cotangent first. What it calls is looked at after itself; of
    `lambda c, x: layer.backward(c)` the layer's own method is alone: the words of a test that only
    call somebody else are no mistake.
    """
    searches = [partial(_search_called, backward, right, pulls)]
    if not _only_calls(backward):
        owner = type(backward.__self__) if isinstance(backward, MethodType) else object
        own = partial(_search, backward, right, _kept_names(owner), forward, pulls)
        searches.insert(len(searches) if _is_lambda(backward) else 0, own)
    return next(filter(None, (search() for search in searches)), None)


def _search_called(
    backward: Routine, right: Callable[[Routine], bool], pulls: bool
) -> SourceRepair | None:
    """The first edit of what a backward pass calls."""
    for owner, function, remake in _called(backward):
        kept, mends = _kept_names(owner), partial(_is_right_with, right, remake)
        if found := _search(function, mends, kept, None, pulls):
            return found
    return None


def _is_lambda(function: Routine) -> bool:
    return getattr(function, "__name__", "") == "<lambda>"


def _only_calls(backward: Routine) -> bool:
    """Whether it is a lambda that calls something which is neither NumPy's nor Python's own."""
    built = definition_of(backward)
    if not isinstance(built, ast.Lambda):
        return False
    closed = inspect.getclosurevars(backward)
    known = {**closed.globals, **closed.nonlocals}
    called = (n.func for n in ast.walk(built) if isinstance(n, ast.Call))
    roots = (ast.unparse(func).partition(".")[0] for func in called)
    things = (known[root] for root in roots if root in known)
    return any(not _is_of_numpy(thing) for thing in things)


def _is_of_numpy(thing: Value) -> bool:
    named = thing.__name__ if inspect.ismodule(thing) else type(thing).__module__
    return str(named).partition(".")[0] in ("numpy", "builtins") and not inspect.isfunction(thing)


def _kept_names(owner: type) -> list[str]:
    """What the methods of a class keep in its objects: `self.mask`."""
    own = (m.__code__ for c in owner.__mro__ for m in vars(c).values() if type(m) is FunctionType)
    named = (i.argval for code in own for i in get_instructions(code) if i.opname == "STORE_ATTR")
    return [f"self.{name}" for name in dict.fromkeys(named)]


def _called(backward: Routine) -> Iterator[tuple[type, FunctionType, Remake]]:
    """Somebody's functions and methods that a backward pass calls, with one that calls others.

    Of a method its class comes first. Or the one method that a function of ours is known to call.
    """
    if known := getattr(backward, "method", None):
        owner, method, remake = known
        plain: Value = inspect.unwrap(getattr(method, "__func__", method))  # `once_differentiable`
        if isinstance(plain, FunctionType):
            yield owner, plain, remake
        return
    function = getattr(backward, "__func__", backward)
    if not isinstance(function, FunctionType) or not _is_of_somebody(function):
        return
    code, own = function.__code__, getattr(backward, "__self__", None)
    held = map(_content, function.__closure__ or ())
    named = map(function.__globals__.get, code.co_names)
    things = list({id(thing): thing for thing in (own, *held, *named)}.values())
    for thing in things:
        if isinstance(thing, FunctionType) and _is_of_somebody(thing):
            yield object, thing, partial(_calling, backward, thing)
    for name in code.co_names:
        for thing in things:
            found = _attribute(thing, name)
            if found is not None:
                yield *found, _remaking(backward, thing, name)


def _content(cell: CellType) -> Value:
    """What a variable of a closure holds; nothing of an empty one."""
    with suppress(ValueError):
        return cell.cell_contents
    return None


def _attribute(thing: Value, name: str) -> tuple[type, FunctionType] | None:
    """A function of somebody's module, or a method of an object of somebody's class."""
    owner: type = object
    if isinstance(thing, ModuleType):
        found = vars(thing).get(name)
    else:
        owner = next((c for c in type(thing).__mro__ if name in vars(c)), type)
        found = vars(owner).get(name) if hasattr(thing, "__dict__") else None
    if isinstance(found, FunctionType) and _is_of_somebody(found):
        return owner, found
    return None


def _is_of_somebody(function: FunctionType) -> bool:
    """Whether a function is neither a library's nor Python's own."""
    root = (function.__module__ or "").partition(".")[0]
    return is_theirs(function) and root not in sys.stdlib_module_names


def _is_right_with(right: Callable[[Routine], bool], remake: Remake, changed: Routine) -> bool:
    return right(remake(changed))


def _remaking(backward: Routine, thing: Value, name: str) -> Remake:
    """A function that calls an attribute of an object or module, with another in its stead.

    It has one of its own that shares the attributes: nobody else sees the other function.
    """
    if isinstance(thing, ModuleType):
        edited: Value = ModuleType(thing.__name__)
        edited.__dict__.update(vars(thing))
        other = edited
    else:
        kind: Value = type(thing)
        edited = type(kind)(kind.__name__, (kind,), {})
        other = object.__new__(edited)
        other.__dict__ = thing.__dict__
    own = _calling(backward, thing, other)

    def remake(changed: Routine) -> Routine:
        setattr(edited, name, changed)
        return own

    return remake


def _calling(backward: Routine, thing: Value, other: Value) -> Routine:
    """The same function, for which one thing is another."""
    plain: Value = getattr(backward, "__func__", backward)
    cells = tuple(
        CellType(other) if _content(cell) is thing else cell for cell in plain.__closure__ or ()
    )
    names = {n: other if value is thing else value for n, value in plain.__globals__.items()}
    made = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, cells)
    made.__kwdefaults__ = plain.__kwdefaults__
    owner = getattr(backward, "__self__", None)
    return made if owner is None else MethodType(made, other if owner is thing else owner)


def _search(
    backward: Routine,
    right: Callable[[Routine], bool],
    kept: Sequence[str],
    forward: Routine | None,
    pulls: bool,
) -> SourceRepair | None:
    """The first edit of one function after which `right` says so.

    `kept` is what its class keeps; what `forward` computes it may lack.
    """
    plain = getattr(backward, "__func__", backward)
    if not isinstance(plain, FunctionType) or (plain.__module__ or "").partition(".")[0] == OURS:
        return None
    built = definition(plain)
    if built is None:
        return None
    places = places_of(built)
    for edit in candidates(built, words_of(plain, kept, forward, pulls)):
        changed = with_edit(built, edit, places, plain)
        if changed is not None and right(_bind(changed, backward)):
            return _repair(edit, built, places, plain)
    return None


def _bind(function: FunctionType, like: Routine) -> Routine:
    return MethodType(function, like.__self__) if isinstance(like, MethodType) else function


# -- what is told --------------------------------------------------------------------------------


def _repair(edit: Edit, built: Value, places: Places, function: FunctionType) -> SourceRepair:
    """The statement's line as it stands in the file, and with the edit."""
    statement = _statement(edit.old, built, places)
    line, file = getattr(edit.old, "lineno", 0), file_of(function)
    whole = ast.unparse(statement)
    new = "" if edit.new is None else ast.unparse(edit_source(statement, edit, places))
    if isinstance(statement, ast.Lambda):
        whole, new = whole.partition(": ")[2], new.partition(": ")[2]
    old = linecache.getline(file, line).strip() if len(whole) > LONGEST else whole
    first, last = _windows(whole, new) if new else (old, "")
    return SourceRepair(edit.name, file, line, first if new else _cut(old), last)


def _statement(node: ast.AST, built: Value, places: Places) -> Value:
    """The simple statement around a node, or the head of a compound one, or a lambda."""
    while not isinstance(node, ast.stmt) and node is not built:
        node = places[id(node)][0]
    return node


def _windows(old: str, new: str) -> tuple[str, str]:
    """Two lines, cut to what is not alike where they are long."""
    old, new = old.split("\n", maxsplit=1)[0], new.split("\n", maxsplit=1)[0]
    if max(len(old), len(new)) <= LONGEST:
        return old, new
    same = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    start = max(0, same - LONGEST // 3)
    lead = "..." if start else ""
    return _cut(lead + old[start:]), _cut(lead + new[start:])


def _cut(text: str) -> str:
    line = text.split("\n", maxsplit=1)[0]
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


# -- the definition, and the function with an edit made ----------------------------------------


@lru_cache(maxsize=32)
def _parse(file: str) -> ast.Module | None:
    try:
        return ast.parse(text_of(file))
    except SyntaxError:
        return None


def definition(function: FunctionType) -> Value:
    """The definition or lambda that a function was made of."""
    tree = _parse(file_of(function))
    nodes: list[Value] = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, BUILT)]
    every: list[Value] = list(function.__code__.co_positions())
    places = [p for p in every if p[0] is not None and p[2] is not None]
    held = [n for n in nodes if _holds(n, function.__code__, places)]
    return min(held, key=lambda n: (n.end_lineno - n.lineno, n.end_col_offset - n.col_offset),
               default=None)  # fmt: skip


def _holds(node: Value, code: CodeType, places: list[Value]) -> bool:
    """Whether all the instructions of a code object come from inside a definition."""
    if (node.name if isinstance(node, ast.FunctionDef) else "<lambda>") != code.co_name:
        return False
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    inner = [p for p in places if p[0] != code.co_firstlineno or p[2] or p[3]]
    return bool(inner) and all(first <= p[0::2] and p[1::2] <= last for p in inner)


def definition_of(function: Routine | None) -> Value:
    """The definition of a function or method; None of anything else."""
    plain = getattr(function, "__func__", function)
    return definition(plain) if isinstance(plain, FunctionType) else None


def words_of(
    function: FunctionType, kept: Sequence[str], forward: Routine | None, pulls: bool
) -> SourceWords:
    """The names of a backward pass, its short calls, and short parts of the value."""
    code = function.__code__
    own = [n for n in code.co_varnames if n not in ("self", "cls", "ctx")]
    named = (*own, *code.co_freevars)
    given = tuple(n for n in code.co_varnames[: code.co_argcount] if n in own)
    calls = (*_short_texts(function, (ast.Call,)), *_short_texts(forward, (ast.Call, ast.BinOp)))
    keys = _keys(function)
    return SourceWords(
        own[0] if own and pulls else NOBODY,
        named,
        calls,
        _divisors(forward),
        tuple(kept),
        given,
        keys,
    )


def _short_texts(function: Routine | None, kinds: Value) -> list[str]:
    """The texts of the short expressions of some kinds that a function is made of."""
    built = definition_of(function)
    texts = [] if built is None else [ast.unparse(n) for n in ast.walk(built) if type(n) in kinds]
    short = {text for text in texts if len(text) <= CALLED and "np.zeros" not in text}
    return sorted(short, key=len)[:MOST]


def _divisors(function: Routine | None) -> tuple[str, ...]:
    built = definition_of(function)
    parts = [] if built is None else [n for n in ast.walk(built) if isinstance(n, ast.BinOp)]
    texts = (ast.unparse(n.right) for n in parts if isinstance(n.op, ast.Div))
    return tuple(dict.fromkeys(text for text in texts if len(text) <= CALLED))[:MOST]


def _keys(function: FunctionType) -> tuple[str, ...]:
    """The texts by which a function picks: `cache["h"]`."""
    picked = [n.slice for n in ast.walk(definition(function)) if isinstance(n, ast.Subscript)]
    texts = (n.value for n in picked if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return tuple(dict.fromkeys(texts))


HEADS = {(ast.Subscript, "value"), (ast.Call, "func")}


def with_edit(
    built: Value, edit: Edit, places: Places, function: FunctionType
) -> FunctionType | None:
    """The function with one edit made; None where it does not compile."""
    if _subscripts_a_number(edit, places):
        return None
    try:
        code = _compile(edit_source(built, edit, places), function)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if code is None or any(name not in cells for name in code.co_freevars):
        return None
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, None, closure)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


def _subscripts_a_number(edit: Edit, places: Places) -> bool:
    """Whether an edit would index or call what cannot be: the compiler warns of it, aloud."""
    if edit.new is None:
        return False
    nodes = list(ast.walk(edit.new))
    heads: list[ast.AST] = [n.value for n in nodes if isinstance(n, ast.Subscript)]
    heads += [n.func for n in nodes if isinstance(n, ast.Call)]
    parent, field, _ = places.get(id(edit.old), (None, "", None))
    if (type(parent), field) in HEADS:
        heads.append(edit.new)
    return any(
        isinstance(head, ast.GeneratorExp)
        or not any(isinstance(node, ast.Name) for node in ast.walk(head))
        for head in heads
    )


def places_of(root: Value) -> Places:
    """Where each node of a tree stands: its parent, the field, and the place in a list of several.

    By the nodes' identities, for one tree that is kept.
    """
    return {
        id(part): (node, name, k)
        for node in ast.walk(root)
        for name, value in ast.iter_fields(node)
        for k, part in (enumerate(value) if isinstance(value, list) else [(None, value)])
        if isinstance(part, ast.AST)
    }


def edit_source(root: Value, edit: Edit, places: Places) -> Value:
    """A copy of a tree with one node replaced; everything beside the way to it is shared."""
    node, new = edit.old, edit.new
    if new is not None:
        new = new if hasattr(new, "lineno") else ast.copy_location(new, node)
        ast.fix_missing_locations(new)
    while node is not root:
        parent, name, k = places[id(node)]
        fields = dict(ast.iter_fields(parent))
        if k is None:
            fields[name] = new
        else:
            before, after = fields[name][:k], fields[name][k + 1 :]
            left = [*before, *([] if new is None else [new]), *after]
            fields[name] = left or [ast.copy_location(ast.Pass(), node)]
        node, new = parent, ast.copy_location(type(parent)(**fields), parent)
    return new


def _compile(built: Value, function: FunctionType) -> CodeType | None:
    name = function.__name__
    inner: Value = built
    if isinstance(built, ast.FunctionDef):
        fields = {k: v for k, v in ast.iter_fields(built) if k != "decorator_list"}
        inner = ast.copy_location(ast.FunctionDef(decorator_list=[], **fields), built)
    else:
        inner = ast.copy_location(ast.Expr(built), built)
    around = ast.parse(f"def around({', '.join(function.__code__.co_freevars)}): pass")
    around.body[0].body = [inner]  # type: ignore[attr-defined]
    whole = compile(around, "<repair>", "exec")
    outer = next(c for c in whole.co_consts if isinstance(c, CodeType))
    return next((c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == name), None)
