"""Repair: the one small edit of a backward pass's own source that makes all its gradients right.

An edit that gives the reference at every point and for every cotangent that was asked, at a point
beside and at another shape, is the mistake, undone; it needs no model of what the function
computes. What may be edited is in `edits`. Edits are tried in copies of the functions: nobody else
sees them.
"""

import ast
import linecache
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.opinions.limits import EPSILON, MENDED
from gradcheck.testing.budget import TimeBudget
from gradcheck.testing.call import draw_signed, file_of, nudge, taller, text_of
from gradcheck.testing.copies import Copies, is_theirs
from gradcheck.testing.fast import fast_verdicts
from gradcheck.testing.judging import AskedPoint, Claim, compare
from gradcheck.testing.program import UserProgram
from gradcheck.values import Routine, Value

if TYPE_CHECKING:
    from gradcheck.diagnosis.edits import Edit, SourceWords

ONE, LEAST = 1 / 12, 0.1  # of the time for explaining for one edit, and seconds
LONGEST = 56  # characters of a line of source in a message
NOBODY = "?"  # the cotangent of a function that has none
CALLED, MOST = 24, 4  # characters of a call that may be missing elsewhere, and how many are tried
OURS = "gradcheck"  # what stands between a check and somebody else's backward is no mistake
GROWING = ("append", "extend", "insert")  # a list that stood inside of itself NumPy reads for ever
BUILT = (ast.FunctionDef, ast.Lambda)
Parents = Mapping[int, ast.AST]  # by the nodes' identities, of one tree that is kept
Place = tuple[FunctionType, Value, Parents]  # a function, and its definition


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
        added = [f"  + {self.new}"] if self.new else []
        return [f"  {Path(self.file).name}:{self.line}", f"  - {self.old}", *added]


@dataclass
class Search:
    """A search for the repair of the backward that was given.

    It is to hold at every point that was asked about, at one beside and at one of another shape.
    """

    program: UserProgram
    every: Sequence[AskedPoint]
    rtol: float
    budget: TimeBudget

    def run(self) -> SourceRepair | None:
        """The first edit that makes everything right: other code in a copy of a function.

        What forward computes, if it is one expression of the same names, may be what is missing;
        the first of functions that pull back has a cotangent first.
        """
        from gradcheck.diagnosis.edits import stages  # noqa: PLC0415 - where something is wrong

        claim = self.every[0].claim
        assert claim is not None
        try:
            functions = self._functions(claim)
        except Exception:  # noqa: BLE001 - a user's objects may refuse to be copied
            return None
        if self._holds(self.every):  # what is right but for rounding, no text can mend
            return None
        each = max(ONE * self.budget.left, LEAST)  # for one edit, which may loop for ever
        every: list[Value] = []
        for function in functions:
            built = definition(function)
            if built is not None:
                first = None if every or self.program.second else self.program.forward
                words = _words_of(function, built, first, claim.cotangent is not None)
                every.append(((function, built, _parents_of(built)), stages(built, words)))
        for stage in zip(*(some for _, some in every), strict=True):
            for (place, _), edits in zip(every, stage, strict=True):
                for edit in edits:
                    if self._is_right_with(edit, place, each):
                        return _repair(edit, *place)
        return None

    def _is_right_with(self, edit: "Edit", place: Place, seconds: float) -> bool:
        function, was, code = place[0], place[0].__code__, _with_edit(edit, *place)
        if code is None:
            return False
        function.__code__ = code
        try:
            return bool(
                self.budget.run(
                    lambda: self._holds(self.every) and self._holds(self.elsewhere), seconds
                )
            )
        finally:
            function.__code__ = was

    @cached_property
    def copies(self) -> Copies:
        return Copies()

    @cached_property
    def trial(self) -> UserProgram:
        return self.program.copied(self.copies)

    def _functions(self, claim: Claim) -> list[FunctionType]:
        """The copies that backward calls and forward, which is the truth, does not.

        A lambda that calls what somebody wrote is the words of a test.
        """
        args = claim.call.fresh
        right = () if self.trial.second else _called_by(lambda: self.trial.value(*args()))
        codes = [c for c in _called_by(lambda: claim.run(self.trial, args())) if c not in right]
        found = [f for code in codes for f in self.copies.functions(code) if is_theirs(f)]
        homes = ((f, str(f.__globals__.get("__name__", ""))) for f in found)
        found = [f for f, home in homes if home.partition(".")[0] != OURS]
        test = len(found) > 1 and found[0].__name__ == "<lambda>"
        return found[1:] if test else found

    @cached_property
    def elsewhere(self) -> list[AskedPoint]:
        """The claim at a point beside, and at one of another shape, where the opinions know it."""
        rng, asked, found = np.random.default_rng(2), self.every[0], []
        claim, call = asked.claim, asked.call
        assert claim is not None
        for there in (nudge(call, rng, fill=True), taller(call)):
            try:
                if there is None or not np.all(np.isfinite(there.plain())):
                    continue
                c = None if claim.cotangent is None else draw_signed(rng, there.shape())
                case, made = there.case(asked.case.seed, c), Claim(there, None, c)
                point = AskedPoint(there, case, made, fast_verdicts([case], True)[0])
                if point.verdict.verdict == "agree" and made.gradients:
                    found.append(point)
            except Exception:  # noqa: BLE001 - a function may refuse any point
                continue
        return found

    def _holds(self, points: Sequence[AskedPoint]) -> bool:
        """Whether the copies give the reference everywhere."""
        try:
            return all(map(self._meets, points))
        except Exception:  # noqa: BLE001 - an edited program may raise anything
            return False

    def _meets(self, asked: AskedPoint) -> bool:
        claim, call = asked.claim, asked.call
        assert claim is not None
        if self.trial.second and not np.array_equal(self.trial.value(*call.fresh()), call.plain()):
            return False  # the function that is edited gives the value too
        gradients = claim.call.by_name(claim.run(self.trial, call.fresh()))
        unit = call.grain()
        rtol = max(self.rtol, MENDED * ((unit / EPSILON) ** 0.5 if unit > EPSILON else 0.0))
        found = compare(asked.case, asked.verdict, gradients, rtol, unit)
        return all(part.right for part in found)


def _called_by(run: Callable[[], object]) -> list[CodeType]:
    """What somebody's functions run, in the order in which they are called first."""
    found: dict[CodeType, None] = {}

    def look(frame: Value, event: str, _: Value) -> None:
        if event == "call":
            found.setdefault(frame.f_code)

    if sys.getprofile() is None:  # somebody's profiler could not be put back
        sys.setprofile(look)
        try:
            run()
        finally:
            sys.setprofile(None)
    return list(found)


# -- what is told --------------------------------------------------------------------------------


def _repair(edit: "Edit", function: FunctionType, built: Value, parents: Parents) -> SourceRepair:
    """The statement's line as it stands in the file, and with the edit."""
    statement: Value = edit.old
    while not isinstance(statement, ast.stmt) and statement is not built:
        statement = parents[id(statement)]
    line, file = getattr(edit.old, "lineno", 0), file_of(function)
    whole = ast.unparse(statement)
    new = "" if edit.new is None else ast.unparse(_edited(statement, edit, parents))
    if isinstance(statement, ast.Lambda):
        whole, new = whole.partition(": ")[2], new.partition(": ")[2]
    old = linecache.getline(file, line).strip() if len(whole) > LONGEST else whole
    first, last = _windows(whole, new) if new else (old, "")
    return SourceRepair(edit.name, file, line, first if new else _cut(old), last)


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


# -- the definition, and the function with an edit made ----------------------------------------


@lru_cache(maxsize=32)
def _parse(file: str) -> ast.Module | None:
    try:
        return ast.parse(text_of(file))
    except SyntaxError:
        return None


def definition(function: Value) -> Value:
    """The definition or lambda that a function was made of; None of anything else."""
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        return None
    tree = _parse(file_of(plain))
    nodes: list[Value] = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, BUILT)]
    every: list[Value] = list(plain.__code__.co_positions())
    places = [p for p in every if p[0] is not None and p[2] is not None]
    held = [n for n in nodes if _holds(n, plain.__code__, places)]
    return min(held, key=lambda n: (n.end_lineno - n.lineno, n.end_col_offset - n.col_offset),
               default=None)  # fmt: skip


def _holds(node: Value, code: CodeType, places: list[Value]) -> bool:
    """Whether all the instructions of a code object come from inside a definition."""
    if (node.name if isinstance(node, ast.FunctionDef) else "<lambda>") != code.co_name:
        return False
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    inner = [p for p in places if p[0] != code.co_firstlineno or p[2] or p[3]]
    return bool(inner) and all(first <= p[0::2] and p[1::2] <= last for p in inner)


def _words_of(
    function: FunctionType, built: Value, forward: Routine | None, pulls: bool
) -> "SourceWords":
    """The names of a backward pass, its short calls, and short parts of the value."""
    from gradcheck.diagnosis.edits import SourceWords  # noqa: PLC0415

    code = function.__code__
    grown = {ast.unparse(n.value) for n in _walk(built, ast.Attribute) if n.attr in GROWING}
    own = [n for n in code.co_varnames if n not in ("self", "cls", "ctx", *grown)]
    given = tuple(n for n in code.co_varnames[: code.co_argcount] if n in own)
    value = definition(forward)
    calls = (*_short_texts(built, (ast.Call,)), *_short_texts(value, (ast.Call, ast.BinOp)))
    divided = [n.right for n in _walk(value, ast.BinOp) if isinstance(n.op, ast.Div)]
    divisors = [text for text in map(ast.unparse, divided) if len(text) <= CALLED]
    named = {n.name: n for n in _walk(_parse(file_of(function)), ast.ClassDef)}
    classes = [n for n in named.values() if built in n.body]
    for each in classes:  # and those that it is made from, as far as they stand in its file
        classes += [named[b.id] for b in each.bases if isinstance(b, ast.Name) and b.id in named]
    kept = [n for each in classes for n in _walk(each, ast.Attribute)]
    mine = [ast.unparse(n) for n in kept if isinstance(n.ctx, ast.Store)]
    picked: list[Value] = []
    for each in (built, *classes):
        picked += [n.slice for n in _walk(each, ast.Subscript)]
        picked += [key for n in _walk(each, ast.Dict) for key in n.keys]
    keys = [n.value for n in picked if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return SourceWords(
        own[0] if own and pulls else NOBODY,
        (*own, *code.co_freevars),
        calls,
        tuple(dict.fromkeys(divisors))[:MOST],
        tuple(dict.fromkeys(text for text in mine if text.startswith("self."))),
        given,
        tuple(dict.fromkeys(keys)),
    )


def _walk(tree: Value, kind: Value) -> list[Value]:
    return [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, kind)]


def _short_texts(built: Value, kinds: Value) -> list[str]:
    """The texts of the short expressions of some kinds that a function is made of."""
    texts = {ast.unparse(n) for n in _walk(built, kinds) if type(n) in kinds}
    short = [text for text in texts if len(text) <= CALLED and "np.zeros" not in text]
    return sorted(short, key=lambda text: (len(text), text))[:MOST]


def _edited(tree: Value, edit: "Edit", parents: Parents) -> Value:
    node, new = edit.old, edit.new
    if new is not None:
        new = new if hasattr(new, "lineno") else ast.copy_location(new, node)
        ast.fix_missing_locations(new)
    while node is not tree:
        above = parents[id(node)]
        fields = {name: _other(part, node, new) for name, part in ast.iter_fields(above)}
        node, new = above, ast.copy_location(type(above)(**fields), above)
    return new


def _other(part: Value, node: ast.AST, new: ast.AST | None) -> Value:
    """A field of a node with another part; of a statement that goes nothing is left."""
    if not isinstance(part, list):
        return new if part is node else part
    if not any(each is node for each in part):
        return part
    left = [new if each is node else each for each in part if each is not node or new]
    return left or [ast.copy_location(ast.Pass(), node)]


def _parents_of(built: Value) -> Parents:
    return {id(part): node for node in ast.walk(built) for part in ast.iter_child_nodes(node)}


def _with_edit(
    edit: "Edit", function: FunctionType, built: Value, parents: Parents
) -> CodeType | None:
    """The code of a function with one edit made; None where it does not compile.

    It names the variables of the closure where it cannot come to, for they are to be the same.
    """
    name, free = function.__name__, function.__code__.co_freevars
    held: Value = ast.parse(f"({','.join(free)},)", mode="eval").body if free else None
    inner: Value = _edited(built, edit, parents)
    fields = dict(ast.iter_fields(inner))
    if isinstance(built, ast.FunctionDef):
        never = ast.parse("if 0: _").body[0]
        never.body[0].value = held  # type: ignore[attr-defined]
        body = [*fields["body"], *([never] if free else [])]
        inner = ast.copy_location(
            ast.FunctionDef(**fields | {"body": body, "decorator_list": []}), built
        )
    else:
        value = ast.IfExp(ast.Constant(1), fields["body"], held) if free else fields["body"]
        inner = ast.copy_location(ast.Expr(ast.Lambda(fields["args"], value)), built)
    around = ast.parse(f"def around({', '.join(free)}): pass")
    around.body[0].body = [inner]  # type: ignore[attr-defined]
    try:
        whole: CodeType = compile(
            ast.fix_missing_locations(around), function.__code__.co_filename, "exec"
        )
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    outer = next(c for c in whole.co_consts if isinstance(c, CodeType))
    codes = [c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == name]
    return codes[0] if codes and codes[0].co_freevars == free else None
