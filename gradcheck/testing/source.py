"""A function of the user's as text: an edit of it that runs, what may be missing, its lines."""

import ast
import linecache
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from gradcheck.testing.call import file_of
from gradcheck.testing.copies import LONGEST
from gradcheck.values import Value

if TYPE_CHECKING:
    from gradcheck.diagnosis.edits import Edit, SourceWords

CALLED, MOST = 24, 4  # characters of a call that may be missing elsewhere, and how many are tried
KEYS = 24  # entries of dicts that may be missing elsewhere
GROWING = ("append", "extend", "insert")  # a list that stood inside of itself NumPy reads for ever
SLOPE = re.compile("grad|prime|deriv|slope")  # what forward needs no function for
PARSING = threading.Lock()
Definition = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class SourceRepair:
    """The mistake's name, the file, and the line as it stands there and as it is to be."""

    name: str
    file: str
    line: int
    old: str
    new: str
    below: bool = False  # the line that stands there stays, and the other comes below

    @property
    def lines(self) -> list[str]:
        added = [f"  + {self.new}"] if self.new else []
        sign = " " if self.below else "-"
        return [f"  {Path(self.file).name}:{self.line}", f"  {sign} {self.old}", *added]


class Source:
    """A function and its definition, which stands in a tree of its own and is edited there."""

    def __init__(self, function: FunctionType, built: Definition) -> None:
        """Put the definition into a function of the variables of its closure, all of them used."""
        self.function, self.built = function, built
        free = function.__code__.co_freevars
        held = f"({','.join(free)},)" if free else "0"
        self.whole = parse(f"def around({', '.join(free)}): pass")
        fields = dict(ast.iter_fields(built))
        if isinstance(built, ast.Lambda):
            value = ast.IfExp(ast.Constant(1), built.body, parse(held).body[0].value)
            inner: ast.stmt = ast.Expr(ast.Lambda(built.args, value))
        else:
            body = [*built.body, *parse(f"if 0: {held}").body]
            inner = ast.FunctionDef(**fields | {"body": body, "decorator_list": []})
        self.whole.body[0].body = [ast.copy_location(inner, built)]
        ast.fix_missing_locations(self.whole)
        self.places: dict[int, tuple[Value, Value]] = {}  # of every node: what holds it, and where
        for node in ast.walk(self.whole):
            for name, part in ast.iter_fields(node):
                each = list(enumerate(part)) if isinstance(part, list) else [(name, part)]
                holder = part if isinstance(part, list) else vars(node)
                self.places |= {id(held): (holder, key) for key, held in each}

    @contextmanager
    def _edited(self, new: ast.AST | None, old: ast.AST) -> Iterator[None]:
        """The tree with one edit made; what is taken away does nothing."""
        new = new or ast.Pass()
        new = new if hasattr(new, "lineno") else ast.copy_location(new, old)
        holder, key = self.places[id(old)]
        holder[key] = ast.fix_missing_locations(new)
        try:
            yield
        finally:
            holder[key] = old

    @contextmanager
    def running(
        self, new: ast.AST | None, old: ast.AST, tried: set[Value] | None = None
    ) -> Iterator[bool]:
        """The function with one edit made, where it compiles and was not `tried` before."""
        function, was, code = self.function, self.function.__code__, self._compile(new, old)
        told = code and (function, code.co_code, code.co_consts, code.co_names, code.co_varnames)
        if code is None or (tried is not None and told in tried):  # a third come to the same
            yield False
            return
        if tried is not None:
            tried.add(told)
        function.__code__ = code
        try:
            yield True
        finally:
            function.__code__ = was

    def values(self) -> Iterator[tuple[ast.AST, ast.expr]]:
        """The values that are assigned or given back, each with what it stands in alone."""
        from gradcheck.diagnosis.edits import parts_of  # noqa: PLC0415 - where something is wrong

        if isinstance(self.built, ast.Lambda):
            yield from ((part, part) for part in parts_of(self.built.body))
        for node in walk(self.built, ast.Assign | ast.AugAssign):
            yield node, node.value
        for node in walk(self.built, ast.Return):
            yield from ((part, part) for part in parts_of(node.value) if node.value)

    def _compile(self, new: ast.AST | None, old: ast.AST) -> CodeType | None:
        """The code of the function with one edit made; None where it does not compile."""
        was = self.function.__code__
        try:
            with self._edited(new, old):
                made: CodeType = compile(self.whole, was.co_filename, "exec")
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None
        outer = next(c for c in made.co_consts if isinstance(c, CodeType))
        codes = (c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == was.co_name)
        return next((c for c in codes if c.co_freevars == was.co_freevars), None)

    def mend(self, edit: "Edit") -> SourceRepair:
        """The statement's line as it stands in the file, and with the edit.

        What is done to a long value that has a name is written by the name, as a line below.
        """
        from gradcheck.diagnosis.patterns import fill  # noqa: PLC0415 - where something is wrong

        line, file = getattr(edit.old, "lineno", 0), file_of(self.function)
        around = (s for s in walk(self.whole, ast.stmt) if edit.old in ast.walk(s))
        statement = [*around][-1]  # the innermost
        whole = self._write(statement)
        if edit.new is None:
            first = linecache.getline(file, line).strip() if len(whole) > LONGEST else whole
            return SourceRepair(edit.name, file, line, _cut(first), "")
        more: Value = edit.new
        if isinstance(statement, ast.For | ast.While) and statement is edit.old:  # a line more
            last, added = statement.body[-1], ast.unparse(more.body[-1])
            line = last.end_lineno or line
            return SourceRepair(edit.name, file, line, _cut(ast.unparse(last)), added, True)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and statement.value is edit.old and len(whole) > LONGEST:
            named = fill(edit.new, {}, {id(edit.old): ast.Name(target.id, ast.Load())})
            if named is not edit.new:
                new = f"{target.id} = {ast.unparse(named)}"
                line = statement.end_lineno or line
                return SourceRepair(edit.name, file, line, _cut(whole), new, True)
        with self._edited(edit.new, edit.old):
            new = self._write(edit.new if statement is edit.old else statement)
        return SourceRepair(edit.name, file, line, *_windows(whole, new))

    @staticmethod
    def _write(statement: Value) -> str:
        inner: Value = getattr(statement, "value", None)
        chosen: Value = inner.body if isinstance(inner, ast.Lambda) else None
        return ast.unparse(chosen.body if chosen else statement)


def _windows(old: str, new: str) -> tuple[str, str]:
    """Two lines, cut to what is not alike where they are long."""
    old, new = old.split("\n", maxsplit=1)[0], new.split("\n", maxsplit=1)[0]
    if max(len(old), len(new)) <= LONGEST:
        return old, new
    pairs = enumerate(zip(old, new, strict=False))
    same = next((k for k, (a, b) in pairs if a != b), min(len(old), len(new)))
    start = max(0, same - LONGEST // 3)
    lead = "..." if start else ""
    return _cut(lead + old[start:]), _cut(lead + new[start:])


def _cut(text: str) -> str:
    line = text.split("\n", maxsplit=1)[0]
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


# -- what may be missing in it -------------------------------------------------------------------


def read_words(
    source: Source,
    tree: ast.Module,
    value: Definition | None,
    cached: Sequence[str],
    floats: Sequence[str],
    *,
    pulls: bool,
) -> "SourceWords":
    """The names of a backward pass that stands in a tree, its short calls, parts of the value.

    What `pulls` has a cotangent first; its cache may have names. Those that hold `floats` are
    likelier than numbers that count.
    """
    from gradcheck.diagnosis.edits import NOBODY, SourceWords  # noqa: PLC0415

    code, built = source.function.__code__, source.built
    grown = {ast.unparse(n.value) for n in walk(built, ast.Attribute) if n.attr in GROWING}
    own = [n for n in code.co_varnames if n not in ("self", "cls", "ctx", *grown)]
    own = own[:1] + sorted(own[1:], key=lambda name: name not in floats)
    every = [n for each in _list_classes(tree, built) for n in walk(each, ast.AST)]
    inside = [*ast.walk(built), *every]
    slopes = [n for n in every if isinstance(n, ast.Call) and SLOPE.search(ast.unparse(n.func))]
    calls = [*_list_short(walk(built, ast.Call)), *_list_short(walk(value, ast.Call | ast.BinOp))]
    divisors = [n.right for n in walk(value, ast.BinOp) if isinstance(n.op, ast.Div)]
    picked: list[Value] = [n.slice for n in inside if isinstance(n, ast.Subscript)]
    picked += [key for n in inside if isinstance(n, ast.Dict) for key in n.keys]
    keys = dict.fromkeys([*(n.value for n in picked if _is_text(n)), *cached])
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    return SourceWords(
        own[0] if own and pulls else NOBODY,
        (*own, *code.co_freevars),
        (*calls, *_list_short(slopes)),
        tuple(dict.fromkeys(t for t in map(ast.unparse, divisors) if len(t) <= CALLED))[:MOST],
        tuple(dict.fromkeys(_list_kept(built, every, own, list(keys)))),
        tuple(n for n in code.co_varnames[: code.co_argcount] if n in own),
        tuple(keys),
        tuple((n.name, len(n.args.args)) for n in functions),
    )


def _list_classes(tree: ast.Module, built: Definition) -> list[Value]:
    """The class of a method, and those that it is made from, as far as they stand in its file."""
    named = {n.name: n for n in walk(tree, ast.ClassDef)}
    found = [n for n in named.values() if built in n.body]
    for each in found:
        found += [named[b.id] for b in each.bases if isinstance(b, ast.Name) and b.id in named]
    return found


def _list_kept(
    built: Definition, every: Sequence[Value], own: Sequence[str], keys: Sequence[str]
) -> Iterator[str]:
    """What the methods of a class store, the attributes that are read, what is picked by names."""
    stored = [n for n in every if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    yield from (text for text in map(ast.unparse, stored) if text.startswith("self."))
    called = [n.func for n in walk(built, ast.Call)]
    read = [n for n in walk(built, ast.Attribute) if isinstance(n.value, ast.Name)]
    yield from (ast.unparse(n) for n in read if n.value.id in own and n not in called)
    holders = [ast.unparse(n.value) for n in walk(built, ast.Subscript) if _is_text(n.slice)]
    pairs = [*product(dict.fromkeys(holders), keys)][:KEYS]
    yield from (f"{holder}[{key!r}]" for holder, key in pairs)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _list_short(nodes: Sequence[ast.AST]) -> list[str]:
    short = {t for t in map(ast.unparse, nodes) if len(t) <= CALLED and "np.zeros" not in t}
    return sorted(short, key=lambda text: (len(text), text))[:MOST]


def parse(text: str) -> Value:
    """A text's tree, one at a time: CPython 3.11 counts the depths of all threads together."""
    with PARSING:
        return ast.parse(text)


def walk(tree: Value, kind: Value) -> list[Value]:
    return [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, kind)]
