"""Repair: the one small edit of a backward pass's own source that makes all its gradients right.

An edit that gives the reference wherever it was asked, at a point beside and at another shape, is
the mistake, undone. Edits are tried in copies of the functions: nobody else sees them.
"""

import ast
import linecache
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.opinions.limits import EPSILON, MENDED
from gradcheck.testing.budget import TimeBudget
from gradcheck.testing.call import draw_signed, file_of, grow, nudge, text_of
from gradcheck.testing.copies import LONGEST, Copies, is_theirs, root_of
from gradcheck.testing.judging import AskedPoint, Claim, compare
from gradcheck.testing.program import UserProgram
from gradcheck.values import Value
from gradcheck.verdict.consult import consult_few

if TYPE_CHECKING:
    from gradcheck.diagnosis.edits import Edit, SourceWords

ONE, LEAST = 1 / 12, 0.1  # of the time for explaining for one edit, and seconds
CALLED, MOST = 24, 4  # characters of a call that may be missing elsewhere, and how many are tried
OURS = "gradcheck"  # what stands between a check and somebody else's backward is no mistake
GROWING = ("append", "extend", "insert")  # a list that stood inside of itself NumPy reads for ever
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

    @property
    def lines(self) -> list[str]:
        added = [f"  + {self.new}"] if self.new else []
        return [f"  {Path(self.file).name}:{self.line}", f"  - {self.old}", *added]


@dataclass
class RepairSearch:
    """A search for the repair of the backward that was given.

    It is to hold at every point that was asked about, at one beside and at one of another shape.
    """

    program: UserProgram
    every: Sequence[AskedPoint]
    rtol: float
    budget: TimeBudget
    trees: dict[str, ast.Module] = field(default_factory=dict)  # of files, which are edited
    tried: set[Value] = field(default_factory=set)

    def run(self) -> SourceRepair | None:
        """The first edit that makes everything right: other code in a copy of a function.

        What forward computes, if it is one expression of the same names, may be what is missing;
        the first of functions that pull back has a cotangent first.
        """
        from gradcheck.diagnosis.edits import stages  # noqa: PLC0415 - where something is wrong

        try:
            functions = self._functions()
        except Exception:  # noqa: BLE001 - a user's objects may refuse to be copied
            return None
        if self._holds(self.every):  # what is right but for rounding, no text can mend
            return None
        each = max(ONE * self.budget.left, LEAST)  # for one edit, which may loop for ever
        sources: list[Source] = []
        found = []
        for function in functions:
            built = self._definition(function)
            if built is not None:
                found.append(stages(built, self._words(function, built, first=not sources)))
                sources.append(Source(function, built))
        for stage in zip(*found, strict=True):
            for source, edits in zip(sources, stage, strict=True):
                for edit in edits:
                    if self._is_right_with(edit, source, each):
                        return source.mend(edit)
        return None

    def _is_right_with(self, edit: "Edit", source: "Source", seconds: float) -> bool:
        function, was, code = source.function, source.function.__code__, source.compile(edit)
        told = code and (function, code.co_code, code.co_consts, code.co_names, code.co_varnames)
        if code is None or told in self.tried:  # a third of all edits come to the same
            return False
        self.tried.add(told)
        function.__code__ = code
        hold = lambda: self._holds(self.every) and self._holds(self.elsewhere)
        try:
            return bool(self.budget.run(hold, seconds))
        finally:
            function.__code__ = was

    @cached_property
    def copies(self) -> Copies:
        return Copies()

    @cached_property
    def trial(self) -> UserProgram:
        return self.program.copied(self.copies)

    @property
    def claim(self) -> Claim:
        assert self.every[0].claim is not None
        return self.every[0].claim

    def _pull(self, asked: AskedPoint) -> Value:
        assert asked.claim is not None
        return asked.claim.run(self.trial, asked.call.fresh())

    def _functions(self) -> list[FunctionType]:
        """The copies that backward calls and forward, which is the truth, does not.

        A lambda that calls what somebody wrote is the words of a test.
        """
        asked = self.every[0]
        forward = lambda: self.trial.value(*asked.call.fresh())
        right = () if self.trial.second else _called_by(forward)
        codes = [c for c in _called_by(lambda: self._pull(asked)) if c not in right]
        found = [f for code in codes for f in self.copies.functions(code) if is_theirs(f)]
        found = [f for f in found if root_of(f.__globals__.get("__name__", "")) != OURS]
        test = len(found) > 1 and found[0].__name__ == "<lambda>"
        return found[1:] if test else found

    @cached_property
    def elsewhere(self) -> list[AskedPoint]:
        """The claim at a point beside, and at those of other shapes, where the opinions know it."""
        rng, asked, found = np.random.default_rng(2), self.every[0], []
        for there in (nudge(asked.call, rng, fill=True), *grow(asked.call)):
            try:
                if there is None or not np.all(np.isfinite(there.plain())):
                    continue
                c = None if self.claim.cotangent is None else draw_signed(rng, there.shape())
                case, claim = there.case(asked.case.seed, c), Claim(there, {}, c)
                verdict = consult_few([case], True)[0]
                if verdict.verdict == "agree":
                    there.by_name(claim.run(self.program, there.fresh()))  # it may refuse the point
                    found.append(AskedPoint(there, case, claim, verdict))
            except Exception:  # noqa: BLE001 - a function may refuse any point
                continue
        return found

    def _holds(self, points: Sequence[AskedPoint]) -> bool:
        try:
            return all(map(self._meets, points))
        except Exception:  # noqa: BLE001 - an edited program may raise anything
            return False

    def _meets(self, asked: AskedPoint) -> bool:
        call = asked.call
        if self.trial.second and not np.array_equal(self.trial.value(*call.fresh()), call.plain()):
            return False  # the function that is edited gives the value too
        unit = call.grain()
        rtol = max(self.rtol, MENDED * ((unit / EPSILON) ** 0.5 if unit > EPSILON else 0.0))
        gradients = call.by_name(self._pull(asked))
        return all(p.right for p in compare(asked.case, asked.verdict, gradients, rtol, unit))

    # -- what the file says

    def _tree(self, function: Value) -> ast.Module:
        file = file_of(function)
        if file not in self.trees:
            try:
                self.trees[file] = _parse(text_of(file))
            except SyntaxError:
                self.trees[file] = ast.Module([], [])
        return self.trees[file]

    def _definition(self, function: Value) -> Definition | None:
        """The definition or lambda that a function was made of; None of anything else."""
        plain = getattr(function, "__func__", function)
        if not isinstance(plain, FunctionType):
            return None
        code, every = plain.__code__, [p for p in plain.__code__.co_positions() if None not in p]
        # of a whole line, which says nothing, the columns are 0
        places: Value = [p for p in every if p[0] != code.co_firstlineno or p[2] or p[3]]
        first, last = min(p[0::2] for p in places), max(p[1::2] for p in places)
        held = [
            node
            for node in _walk(self._tree(plain), Definition)
            if getattr(node, "name", "<lambda>") == code.co_name
            and (node.lineno, node.col_offset) <= first
            and last <= (node.end_lineno, node.end_col_offset)
        ]
        size = lambda n: (n.end_lineno - n.lineno, n.end_col_offset - n.col_offset)
        return min(held, key=size, default=None)

    def _words(self, function: FunctionType, built: Definition, *, first: bool) -> "SourceWords":
        """The names of a backward pass, its short calls, and short parts of the value."""
        from gradcheck.diagnosis.edits import NOBODY, SourceWords  # noqa: PLC0415

        code, tree = function.__code__, self._tree(function)
        grown = {ast.unparse(n.value) for n in _walk(built, ast.Attribute) if n.attr in GROWING}
        own = [n for n in code.co_varnames if n not in ("self", "cls", "ctx", *grown)]
        value = (
            self._definition(self.program.forward) if first and not self.program.second else None
        )
        calls = (*_short_texts(built, (ast.Call,)), *_short_texts(value, (ast.Call, ast.BinOp)))
        divided = [n.right for n in _walk(value, ast.BinOp) if isinstance(n.op, ast.Div)]
        divisors = [text for text in map(ast.unparse, divided) if len(text) <= CALLED]
        named = {n.name: n for n in _walk(tree, ast.ClassDef)}
        classes = [n for n in named.values() if built in n.body]
        for each in classes:  # and those that it is made from, as far as they stand in its file
            classes += [
                named[b.id] for b in each.bases if isinstance(b, ast.Name) and b.id in named
            ]
        every = [n for each in classes for n in _walk(each, ast.AST)]
        stored = [n for n in every if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
        kept = [text for text in map(ast.unparse, stored) if text.startswith("self.")]
        inside = [*ast.walk(built), *every]
        picked: list[Value] = [n.slice for n in inside if isinstance(n, ast.Subscript)]
        picked += [key for n in inside if isinstance(n, ast.Dict) for key in n.keys]
        keys = [n.value for n in picked if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        return SourceWords(
            own[0] if own and self.claim.cotangent is not None else NOBODY,
            (*own, *code.co_freevars),
            calls,
            tuple(dict.fromkeys(divisors))[:MOST],
            tuple(dict.fromkeys(kept)),
            tuple(n for n in code.co_varnames[: code.co_argcount] if n in own),
            tuple(dict.fromkeys(keys)),
        )


def _parse(text: str) -> Value:
    """A text's tree, one at a time: CPython 3.11 counts the depths of all threads together."""
    with PARSING:
        return ast.parse(text)


def _walk(tree: Value, kind: Value) -> list[Value]:
    return [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, kind)]


def _short_texts(built: Value, kinds: Value) -> list[str]:
    texts = {ast.unparse(n) for n in _walk(built, kinds)}
    short = [text for text in texts if len(text) <= CALLED and "np.zeros" not in text]
    return sorted(short, key=lambda text: (len(text), text))[:MOST]


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


class Source:
    """A function and its definition, which stands in a tree of its own and is edited there."""

    def __init__(self, function: FunctionType, built: Definition) -> None:
        """Put the definition into a function of the variables of its closure, all of them used."""
        self.function = function
        free = function.__code__.co_freevars
        held = f"({','.join(free)},)" if free else "0"
        self.whole = _parse(f"def around({', '.join(free)}): pass")
        fields = dict(ast.iter_fields(built))
        if isinstance(built, ast.Lambda):
            value = ast.IfExp(ast.Constant(1), built.body, _parse(held).body[0].value)
            inner: ast.stmt = ast.Expr(ast.Lambda(built.args, value))
        else:
            body = [*built.body, *_parse(f"if 0: {held}").body]
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
    def _edited(self, edit: "Edit") -> Iterator[None]:
        """The tree with one edit made; what is taken away does nothing."""
        old, new = edit.old, edit.new or ast.Pass()
        new = new if hasattr(new, "lineno") else ast.copy_location(new, old)
        holder, key = self.places[id(old)]
        holder[key] = ast.fix_missing_locations(new)
        try:
            yield
        finally:
            holder[key] = old

    def compile(self, edit: "Edit") -> CodeType | None:
        """The code of the function with one edit made; None where it does not compile."""
        was = self.function.__code__
        try:
            with self._edited(edit):
                made: CodeType = compile(self.whole, was.co_filename, "exec")
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None
        outer = next(c for c in made.co_consts if isinstance(c, CodeType))
        codes = (c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == was.co_name)
        return next((c for c in codes if c.co_freevars == was.co_freevars), None)

    def mend(self, edit: "Edit") -> SourceRepair:
        """The statement's line as it stands in the file, and with the edit."""
        line, file = getattr(edit.old, "lineno", 0), file_of(self.function)
        around = (s for s in _walk(self.whole, ast.stmt) if edit.old in ast.walk(s))
        statement = [*around][-1]  # the innermost
        whole = self._write(statement)
        if edit.new is None:
            first = linecache.getline(file, line).strip() if len(whole) > LONGEST else whole
            return SourceRepair(edit.name, file, line, _cut(first), "")
        with self._edited(edit):
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
