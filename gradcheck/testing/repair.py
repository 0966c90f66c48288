"""Repair: the one small edit of a backward pass's own source that makes all its gradients right.

An edit that gives the reference wherever it was asked, at a point beside and at another shape, is
the mistake, undone. Edits are tried in copies of the functions: nobody else sees them.
"""

import ast
import linecache
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product, repeat
from pathlib import Path
from types import CodeType, FunctionType

import numpy as np

from gradcheck.diagnosis.edits import NOBODY, Edit, SourceWords, list_stages
from gradcheck.diagnosis.patterns import fill
from gradcheck.language.program import parse_python
from gradcheck.opinions.limits import EPSILON, MENDED
from gradcheck.opinions.tape import record
from gradcheck.testing.budget import TimeBudget
from gradcheck.testing.call import Call, draw_signed, find_file, grow, nudge, read_text
from gradcheck.testing.copies import LONGEST, Copies, find_root, is_theirs, list_called, list_used
from gradcheck.testing.judging import Question, compare, is_known
from gradcheck.testing.program import UserProgram, list_names
from gradcheck.values import Array, Params, Value
from gradcheck.verdict.consult import consult_few

ONE, LEAST = 1 / 12, 0.1  # of the time for explaining for one edit, and seconds
OURS = "gradcheck"  # what stands between a check and somebody else's backward is no mistake
CALLED, MOST = 24, 4  # characters of a call that may be missing elsewhere, and how many are tried
KEYS = 24  # entries of dicts that may be missing elsewhere
WAITING = ("start", "wait", "acquire", "notify")  # of `threading`; a log asks it for a name
GROWING = ("append", "extend", "insert")  # a list that stood inside of itself NumPy reads for ever
SLOPE = re.compile("grad|prime|deriv|slope")  # what forward needs no function for
Definition = ast.FunctionDef | ast.Lambda


# -- a function as text: an edit of it that runs, and its lines -----------------------------------


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
        self.tried: set[Value] = set()  # what edits have come to: a third come to the same
        free = ", ".join(function.__code__.co_freevars)
        used = parse_python(f"if 0: [{free}]").body
        body = built.body if isinstance(built, ast.FunctionDef) else [ast.Return(built.body)]
        inner = ast.FunctionDef(function.__code__.co_name, built.args, [*body, *used], [])
        self.whole = parse_python(f"def around({free}): pass")
        self.whole.body[0].body = [ast.copy_location(inner, built)]
        ast.fix_missing_locations(self.whole)
        self.places: dict[int, tuple[Value, Value]] = {}  # of every node: what holds it, and where
        for node in ast.walk(self.whole):
            for name, part in ast.iter_fields(node):
                each = list(enumerate(part)) if isinstance(part, list) else [(name, part)]
                holder = part if isinstance(part, list) else vars(node)
                self.places |= {id(held): (holder, key) for key, held in each}

    @contextmanager
    def running(self, edit: Edit) -> Iterator[bool]:
        """The function with one edit made, where it compiles and was not tried before."""
        function, was, code = self.function, self.function.__code__, self._compile(edit)
        told = code and (code.co_code, code.co_consts, code.co_names, code.co_varnames)
        if code is None or told in self.tried:
            yield False
            return
        self.tried.add(told)
        function.__code__ = code
        try:
            yield True
        finally:
            function.__code__ = was

    def _compile(self, edit: Edit) -> CodeType | None:
        was, new = self.function.__code__, edit.new or ast.Pass()
        new = new if hasattr(new, "lineno") else ast.copy_location(new, edit.old)
        holder, key = self.places[id(edit.old)]
        holder[key] = ast.fix_missing_locations(new)  # to fill it into a copy takes as long again
        try:
            made: CodeType = compile(self.whole, was.co_filename, "exec")
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None
        finally:
            holder[key] = edit.old
        outer = next(c for c in made.co_consts if isinstance(c, CodeType))
        codes = (c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == was.co_name)
        return next((c for c in codes if c.co_freevars == was.co_freevars), None)

    def mend(self, edit: Edit) -> SourceRepair:
        """The statement's line as it stands in the file, and with the edit.

        What is done to a long value that has a name is written by the name, as a line below.
        """
        around = (s for s in walk(self.whole, ast.stmt) if edit.old in ast.walk(s))
        statement: Value = [*around][-1]  # the innermost
        line, file = getattr(edit.old, "lineno", 0), find_file(self.function)
        more: Value = edit.new
        old, new, below = self._write(statement), "", None
        long = len(old) > LONGEST
        if more is None:
            old = linecache.getline(file, line).strip() if long else old
        elif isinstance(statement, ast.For | ast.While) and statement is edit.old:
            below, new = statement.body[-1], ast.unparse(more.body[-1])
        elif long and isinstance(statement, ast.Assign) and statement.value is edit.old:
            name = getattr(statement.targets[0], "id", "")
            named = fill(more, {}, {id(edit.old): ast.Name(name, ast.Load())})
            if name and named is not more:
                below, new = statement, f"{name} = {ast.unparse(named)}"
        if below is not None:
            line, (old, _) = below.end_lineno or line, _cut(self._write(below))
        else:
            new = self._write(fill(statement, {}, {id(edit.old): more})) if more else ""
            old, new = _cut(old, new)
        return SourceRepair(edit.name, file, line, old, new, below is not None)

    def _write(self, statement: Value) -> str:
        return ast.unparse(statement.value if isinstance(self.built, ast.Lambda) else statement)


def _cut(old: str, new: str = "") -> tuple[str, str]:
    """The first lines of two texts, cut to what is not alike where they are long."""
    old, new = old.split("\n", maxsplit=1)[0], new.split("\n", maxsplit=1)[0]
    start = 0
    if max(len(old), len(new)) > LONGEST:
        pairs = enumerate(zip(old, new, strict=False))
        alike = next((k for k, (a, b) in pairs if a != b), min(len(old), len(new)))
        start = max(0, alike - LONGEST // 3)
    lead = "..." if start else ""
    texts = (lead + text[start:] for text in (old, new))
    first, second = (t if len(t) <= LONGEST else t[: LONGEST - 3] + "..." for t in texts)
    return first, second


# -- what may be missing in it -------------------------------------------------------------------


def _list_classes(tree: ast.Module, built: Definition) -> list[Value]:
    """The class of a method, and those that it is made from, as far as they stand in its file."""
    named = {n.name: n for n in walk(tree, ast.ClassDef)}
    found = [n for n in named.values() if built in n.body]
    for each in found:
        bases = (named.get(getattr(base, "id", "")) for base in each.bases)
        found += [base for base in bases if base is not None and base not in found]
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


def walk(tree: Value, kind: Value) -> list[Value]:
    return [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, kind)]


# -- which edit makes it right ---------------------------------------------------------------------


@dataclass
class RepairSearch:
    """A search for the repair of the backward that was given.

    It is to hold at every point that was asked about, at one beside and at one of another shape.
    """

    program: UserProgram
    every: Sequence[Question]
    rtol: float
    budget: TimeBudget
    trees: dict[str, ast.Module] = field(default_factory=dict)  # of files, which are edited
    floats: Mapping[CodeType, Params] = field(default_factory=dict)  # by what runs, their names
    constants: Set[str] = frozenset()  # names of the files that forward reads, and backward
    shared: bool = False  # whether forward runs what is edited
    alone: Set[str] = frozenset()  # names that backward alone reads
    each: float = LEAST  # seconds for one edit, which may loop for ever

    def run(self) -> SourceRepair | None:
        """The first edit that makes everything right: other code in a copy of a function.

        What forward computes, if it is one expression of the same names, may be what is missing;
        the first of functions that pull back has a cotangent first.
        """
        try:
            functions = self._functions()
        except Exception:  # noqa: BLE001 - a user's objects may refuse to be copied
            return None
        if self._holds(self.every):  # what is right but for rounding, no text can mend
            return None
        self.each = max(ONE * self.budget.left, LEAST)
        found: list[list[Iterator[tuple[Source, Edit]]]] = []
        for function, built in ((f, self._definition(f)) for f in functions):
            if built is not None:
                source = Source(function, built)
                words = self._read_words(source, first=not found)
                known = self._find_known(source)
                others = {id(n) for n in ast.walk(built)} - known
                stages = chain(*(list_stages(built, words, nodes) for nodes in (others, known)))
                found.append([zip(repeat(source), edits, strict=False) for edits in stages])
        # looked through everywhere before anything is put beside what stands there
        for every in map(chain.from_iterable, zip(*found, strict=True)):
            for source, edit in every:
                if self._is_right_with(source, edit):
                    return None if self._has_rival(edit, every) else source.mend(edit)
        return None

    def _has_rival(self, chosen: Edit, others: Iterator[tuple[Source, Edit]]) -> bool:
        """Whether another mistake in another line, undone as cheaply, would be as good a guess.

        What is added may be added in many lines, and comes to the same.
        """
        until, line = self.budget.left - self.each, getattr(chosen.old, "lineno", 0)
        for source, edit in () if chosen.grows else others:
            if self.budget.left < until:
                break
            alike = edit.cost == chosen.cost and edit.name != chosen.name
            rival = alike and getattr(edit.old, "lineno", 0) != line
            if rival and self._is_right_with(source, edit):
                return True
        return False

    def _find_known(self, source: Source) -> set[int]:
        """The nodes of the statements whose value stands in forward too: it is hardly wrong."""
        held = self.floats.get(source.function.__code__, {})
        stored = Counter(n.id for n in walk(source.built, ast.Name) if isinstance(n.ctx, ast.Store))
        found: set[int] = set()
        for node in walk(source.built, ast.Assign):
            name = getattr(node.targets[0], "id", "")
            alone = stored[name] == 1 and not isinstance(node.value, ast.Name)
            value = np.asarray(held.get(name, 0.0))
            like = (each for each in self.passed if each.shape == value.shape)
            if alone and value.size > 1 and any(np.allclose(value, v, MENDED, 0) for v in like):
                found |= {id(n) for n in ast.walk(node)}
        return found

    @cached_property
    def passed(self) -> list[Array]:
        """The values that forward passes through at the first point."""
        try:
            tape = record(self.every[0].case)
        except Exception:  # noqa: BLE001 - a user's program may refuse tensors
            tape = None
        return [np.asarray(each.value) for each in tape.given.values()] if tape else []

    def _is_right_with(self, source: Source, edit: Edit) -> bool:
        """Whether it holds here, and elsewhere, which is asked once and takes what it takes."""
        with source.running(edit) as runs:
            here = runs and self.budget.run(lambda: self._holds(self.every), self.each)
            return bool(here and self.budget.run(self._holds_elsewhere))

    def _holds_elsewhere(self) -> bool:
        """At a second point and further shapes, at all, and where constants are others."""
        for kind, asked in self.elsewhere.items():
            with self.trial.moving_constants(self.constants if kind else (), kind or float):
                if not (asked or kind) or not self._holds(asked):
                    return False
        return True

    @cached_property
    def trial(self) -> UserProgram:
        return self.program.copy(Copies())

    def _pull(self, asked: Question) -> Params:
        self.trial.kept.put_back()  # an edit before may have written into an array of the user's
        return asked.call.pull(asked.case.cotangent, None, self.trial)

    def _functions(self) -> list[FunctionType]:
        """The copies that backward calls and forward, which is the truth, does not.

        Where it calls nothing else, what both call, which may be edited as long as the value stays
        what it is. A lambda that calls what somebody wrote is the words of a test.
        """
        asked = self.every[0]
        right = list_called(lambda: self.trial.value(asked.call.fresh()))
        self.floats = codes = list_called(lambda: self._pull(asked))
        if any(c.co_filename == threading.__file__ and c.co_name in WAITING for c in codes):
            return []  # with an edit it may wait for another thread for ever
        names = [{name for code in each for name in list_used(code)} for each in (right, codes)]
        self.constants, self.alone = names[0] & names[1], names[1] - names[0]
        every = [f for code in codes for f in self.trial.copies.functions(code) if is_theirs(f)]
        every = [f for f in every if find_root(f.__globals__.get("__name__", "")) != OURS]
        test = next((f for f in every if f.__code__ not in right), None)
        before = right if self.program.keeps or self.program.way.behind == "cache" else ()
        others = [f for f in every if f is not test and f.__code__ not in before]
        words = others and test is not None and test.__name__ == "<lambda>"
        named = [f for f in every if not (words and f is test)]
        alone = [] if self.trial.second else [f for f in named if f.__code__ not in right]
        self.shared = not alone
        return alone or named

    @cached_property
    def elsewhere(self) -> dict[type | None, list[Question]]:
        """The claim at a point beside and at other shapes; where constants are others, by kind.

        Those of files and objects that forward reads too: `(1 - p) ** (GAMMA - 1)` is no
        `(p - 1) ** (GAMMA - 1)`, though at 2 all but the sign is. They stay where backward alone
        reads some, which may be made of the rest.
        """
        rng, call = np.random.default_rng(2), self.every[0].call
        between = call.move(lambda shape: rng.uniform(0, 1, shape))  # where other branches begin
        near = nudge(call, rng, fill=True), replace(call, args=between, beside=True)
        found: dict[type | None, list[Question]] = {}
        found[None] = [asked for there in (*near, *grow(call)) for asked in self._ask(there, rng)]
        with self.trial.moving_constants(self.alone, float) as made:
            kinds = () if made else (float, int)
        for kind in kinds:
            program = self.program.copy(Copies())
            there = replace(call, program=program, beside=True)
            with program.moving_constants(self.constants, kind) as some:
                found[kind] = list(self._ask(there, np.random.default_rng(3))) if some else []
        return found

    def _ask(self, there: Call, rng: np.random.Generator) -> Iterator[Question]:
        try:
            if not np.all(np.isfinite(there.plain())):
                return
            c = draw_signed(rng, there.shape()) if self.program.way.cotangents else None
            case = there.case(self.every[0].case.seed, c)
            unknown = dict.fromkeys(there.wrt)
            asked = Question(there, case, consult_few([case], True)[0], unknown)
            if asked.verdict.verdict == "agree" or is_known(asked):
                came = there.pull(case.cotangent)  # it may refuse
                if self._is_shaped(there, came) or not self._is_shaped(self.every[0].call):
                    yield asked
        except Exception:  # noqa: BLE001 - a function may refuse any point
            return

    def _is_shaped(self, call: Call, found: Params | None = None) -> bool:
        """Whether gradients have their arguments' shapes: not all, where a program writes one."""
        given, due = self.every[0].gradients if found is None else found, call.due_shapes()
        return {name: np.shape(given[name]) for name in due} == due

    def _holds(self, points: Sequence[Question]) -> bool:
        try:
            return all(map(self._meets, points))
        except Exception:  # noqa: BLE001 - an edited program may raise anything
            return False

    def _meets(self, asked: Question) -> bool:
        call = asked.call
        if self.shared and not np.array_equal(self.trial.value(call.fresh()), call.plain()):
            return False  # the function that is edited gives the value too
        unit = call.grain()
        rtol = max(self.rtol, MENDED * ((unit / EPSILON) ** 0.5 if unit > EPSILON else 0.0))
        return all(part.right for part in compare(asked, self._pull(asked), rtol, unit))

    # -- what the file says

    def _read_words(self, source: Source, *, first: bool) -> SourceWords:
        """The names of a backward pass, its short calls, and parts of the value for the first one.

        What pulls has a cotangent first; its cache may have names. Those that hold floats are
        likelier than numbers that count; what an object keeps beside numbers is no factor.
        """
        program, call, cache = self.program, self.every[0].call, None
        code, built, tree = source.function.__code__, source.built, self._tree(source.function)
        value = self._definition(program.forward) if first and not program.second else None
        if program.way.behind == "cache":
            cache = self.trial.run(call.fresh())[-1]
        floats = self.floats.get(code, {})
        begins = next((n for n in list_names(source.function) if n != "self"), "")
        argument = any(np.array_equal(floats.get(begins, ()), call.args[n]) for n in call.wrt)
        grown = {ast.unparse(n.value) for n in walk(built, ast.Attribute) if n.attr in GROWING}
        own = [n for n in code.co_varnames if n not in ("self", "cls", "ctx", *grown)]
        idle = {n for n, v in floats.items() if isinstance(v, float) and v in (0, 1)}  # no change
        own = own[:1] + sorted(set(own[1:]) - idle, key=lambda n: (n not in floats, own.index(n)))
        every = [n for each in _list_classes(tree, built) for n in walk(each, ast.AST)]
        inside = [*ast.walk(built), *every]
        slopes = [n for n in every if isinstance(n, ast.Call) and SLOPE.search(ast.unparse(n.func))]
        read = [n for n in walk(built, ast.Subscript) if isinstance(n.ctx, ast.Load)]
        calls = walk(built, ast.Call), walk(value, ast.Call | ast.BinOp), read, slopes
        divisors = [n.right for n in walk(value, ast.BinOp) if isinstance(n.op, ast.Div)]
        picked: list[Value] = [n.slice for n in inside if isinstance(n, ast.Subscript)]
        picked += [key for n in inside if isinstance(n, ast.Dict) for key in n.keys]
        picked += map(ast.Constant, cache if isinstance(cache, dict) else ())
        keys = dict.fromkeys(n.value for n in picked if _is_text(n))
        texts = dict.fromkeys(_list_kept(built, every, own, list(keys)))
        kept = [t for t in texts if "[" in t or t in floats or t[:5] != "self."]
        return SourceWords(
            own[0] if own and program.way.cotangents and not argument else NOBODY,
            (*own, *code.co_freevars),
            tuple(text for each in calls for text in _list_short(each)),
            tuple(dict.fromkeys(t for t in map(ast.unparse, divisors) if len(t) <= CALLED))[:MOST],
            tuple(t for t in kept if t not in idle),
            tuple(n for n in code.co_varnames[: code.co_argcount] if n in own),
            tuple(keys),
            tuple((n.name, len(n.args.args)) for n in tree.body if isinstance(n, ast.FunctionDef)),
        )

    def _tree(self, function: Value) -> ast.Module:
        file = find_file(function)
        if file not in self.trees:
            try:
                self.trees[file] = parse_python(read_text(file))
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
        places: Value = [p for p in every if p[0] != code.co_firstlineno or p[2] or p[3]] or every
        if not places:  # Python was told to keep none
            return None
        first, last = min(p[0::2] for p in places), max(p[1::2] for p in places)
        held = [
            node
            for node in walk(self._tree(plain), Definition)
            if getattr(node, "name", "<lambda>") == code.co_name
            and (node.lineno, node.col_offset) <= first
            and last <= (node.end_lineno, node.end_col_offset)
        ]
        size = lambda n: (n.end_lineno - n.lineno, n.end_col_offset - n.col_offset)
        return min(held, key=size, default=None)
