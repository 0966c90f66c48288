"""An answer that is a program: run, read, compared at several points, and repaired to explain it.

What it leaves at its end is held against what the reference leaves, at the given point and at
others, so that numbers copied into a program are not an answer. What is wrong with it is proven by
repair: a verb of the ledger, or one place of the text, is said otherwise, and it gives the right
numbers. Else its ledger is that of the reference with a mistake in it.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice, product

import numpy as np

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.diagnosis.edits import (
    MODULES,
    NOBODY,
    Edit,
    SourceWords,
    list_names_within,
    list_stages,
)
from gradcheck.diagnosis.patterns import fill
from gradcheck.documents.document import Passage, locate_node
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language.grammar import list_targets
from gradcheck.language.kinds import FORMULAS
from gradcheck.language.program import Program, parse_python
from gradcheck.mistakes import Mistake, training
from gradcheck.mistakes.training import WRITTEN, Deposit
from gradcheck.ops import TABLE
from gradcheck.problem.record import Part
from gradcheck.training.ledger import RIGHT, LedgerEntry, LoopVerbs, find_statement
from gradcheck.training.outputs import (
    FACTOR,
    Comparison,
    Output,
    Span,
    compare_values,
    flatten,
    is_near,
    is_same,
    join_alike,
    list_entries,
)
from gradcheck.training.preparing import Reference
from gradcheck.training.run import STEPS, LoopRun, read_program, read_tree, run_program
from gradcheck.values import Numbers, Routine

Ways = Mapping[str, Routine]


def undo_verbs(run: LoopRun, full: int) -> Iterator[tuple[Mistake, Ways]]:
    """The verbs that take back one mistake each.

    `run` came out wrong; `full` gradients are added up in the fullest window of the reference.
    """
    windows = {number: min(size, full) for number, size in run.ledger.windows.items()}
    starts = [call.start for call in run.calls]
    events = [entry.event for entry in run.entries if entry.event is not None]
    again = {number for number, event in enumerate(events) if starts[event] in starts[:event]}
    add = RIGHT["deposit"]

    def weigh(factor: Callable[[int], float]) -> Ways:
        return {"deposit": lambda d: add(replace(d, g=d.g * factor(windows.get(d.number, full))))}

    def afresh_after(verb: str) -> Ways:
        return {"deposit": lambda d: d.g if d.last == verb else add(d)}

    def once(d: Deposit) -> Numbers:
        return d.held if d.number in again and d.held is not None else add(d)

    kept: Ways = {"clear": lambda c: c.last != "add"}
    yield training.missing_zero_grad, afresh_after("step")
    yield training.overwritten_grad, kept
    yield training.unscaled_accumulation, weigh(lambda n: 1 / full)
    yield training.unscaled_accumulation, weigh(lambda n: 1 / n)
    yield training.scaled_twice, weigh(lambda n: full)
    yield training.scaled_twice, weigh(lambda n: n)
    yield training.partial_window, weigh(lambda n: full / n)
    yield training.partial_window, weigh(lambda n: n / full)
    yield training.zeroed_before_step, {**kept, **afresh_after("held back")}
    yield training.counted_twice, {"deposit": once}


# -- a student's own program with one place said otherwise -----------------------------------------

FIRST = (
    "step-upwards memory-shared",
    "growing-total",
    "wrong-rate",
    "sign-error sum-for-mean mean-for-sum factor-two transposed operands-swapped",
    "power-dropped function-misread quotient-swapped mask-wrong coefficient-slip term-too-many",
    "wrong-variable counted-twice chain-factor-twice elementwise-for-matmul",
    "broadcast-not-summed summed-over-wrong-axis",
    "chain-factor-dropped",
)
"""In which order the changes of a text are tried; others come last."""
RANKS = {name: k for k, names in enumerate(FIRST) for name in names.split()}
ZERO = re.compile(r"-?0(\.0*)?\b(?!\.)|(np\.|torch\.)?zeros")
SHARING = (ast.Name, ast.Attribute, ast.Subscript)  # values that may lie in another's memory
SIZED = ("shape", "size", "ndim")
EVERYWHERE = ("step-upwards", "wrong-rate")  # what is done in every step alike
MULTIPLES = {-1.0: "sign-error", 2.0: "factor-two", 0.5: "factor-two"}
CALLED = {
    "constant-factor-lost": "sum-for-mean",  # the divisors here are sizes
    "power-increased": "power-dropped",
    "another-name": "wrong-variable",
    "wrong-tensor-in-derivative": "wrong-variable",
}
SPELLED = FORMULAS.functions & TABLE.keys()
ROWS = WRITTEN | {"step-before-backward": training.step_before_backward}
Change = tuple[str, dict[int, Numbers], ast.stmt, str]
"""A name, what stands in which places (by id), the statement that is said otherwise, and how."""
Rewriting = tuple[Mistake, ast.Module, tuple[int, int], str]
"""A program as it may have been meant, which statement is said otherwise, and how."""


def rewrite(
    source: str, numbers: Iterable[float], sizes: Sequence[str], suspects: frozenset[str]
) -> Iterator[Rewriting]:
    """The changes to a text, each once: those of its order, of where `suspects` are set, others.

    `numbers` may stand where others do, by `sizes` values may be divided.
    """
    passage, tree = Passage(source), parse_python(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {id(call.func) for call in calls}
    read = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called)
    names = dict.fromkeys(node.id for node in read if node.id not in MODULES)
    for call in calls:  # `np.mean(x)` for `mean(x)`: edits know functions by their modules
        if isinstance(call.func, ast.Name) and call.func.id in SPELLED:
            named = ast.Attribute(ast.Name("np", ast.Load()), call.func.id, ast.Load())
            call.func = ast.copy_location(named, call.func)
    words = SourceWords(NOBODY, tuple(names), divisors=tuple(sizes))
    tried = {ast.unparse(tree)}
    edits = _edit(tree, words, sorted(set(numbers)), suspects)
    for name, places, old, cure in chain(_reorder(tree), edits):
        changed = fill(tree, {}, places)
        text = ast.unparse(ast.fix_missing_locations(changed))
        if text not in tried:
            tried.add(text)
            new = _write_line(fill(ast.Module([old], []), {}, places).body[0])
            said = cure or f"`{new}` in the place of `{_write_line(old)}`"
            row = ROWS.get(name, ROWS["small-slip"])
            yield row, changed, passage.span(locate_node(old)), said


def _find_names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _edit(
    tree: ast.Module, words: SourceWords, numbers: Sequence[float], suspects: frozenset[str]
) -> Iterator[Change]:
    nodes = list(ast.walk(tree))
    steps, totals = (set(map(id, find(tree))) for find in (_list_rates, _list_totals))
    whole = ast.FunctionDef("program", ast.arguments([], [], None, [], [], None, []), tree.body, [])
    clone = "clone" if "torch" in _find_names(tree) else "copy"
    within = {id(inner): name for n in nodes for inner, name in list_names_within(n)}
    sized = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr in SIZED}
    edits = [e for e in chain(*list_stages(whole, words))
             if id(e.old) not in sized or e.name == "another-name"]  # fmt: skip
    due = list[Edit]()
    for node in nodes:
        match node:
            case ast.Assign() | ast.AugAssign() if isinstance(node.value, SHARING):
                own = ast.Call(ast.Attribute(node.value, clone, ast.Load()), [], [])
                edits.append(Edit("memory-shared", node.value, own))
            case ast.BinOp():
                edits += [Edit("another-name", node, ast.Name(v, ast.Load())) for v in words.names]
            case ast.Constant(value) if type(value) in (int, float):
                others = (ast.Constant(number) for number in numbers if number != value)
                called = within.get(id(node), "coefficient-slip")  # an axis, an index
                due += [Edit(called, node, other) for other in others]
    named = [(_name_edit(e, id(e.old) in steps, id(e.old) in totals), e) for e in due + edits]
    alike = defaultdict[tuple[str, object], list[Edit]](list)
    for name, edit in named:
        if name in EVERYWHERE:
            alike[name, _find_difference(edit)].append(edit)
    groups = [(name, group) for (name, _), group in alike.items() if len(group) > 1]
    named.sort(key=lambda each: RANKS.get(each[0], len(FIRST)))
    groups += [(name, [edit]) for name, edit in named]
    statements = [node for node in nodes if isinstance(node, ast.stmt)]
    innermost = {id(node): each for each in statements for node in ast.walk(each)}
    found = [(name, innermost[id(group[0].old)], group) for name, group in groups]
    found.sort(key=lambda change: suspects.isdisjoint(list_targets(change[1])))
    for name, old, group in found:
        yield name, {id(edit.old): edit.new for edit in group}, old, ""


def _name_edit(edit: Edit, in_step: bool, is_total: bool) -> str:
    """What an edit is called; of a number that is a multiple of the other, which multiple."""
    if is_total and edit.name == "another-name":
        return "growing-total"
    if in_step and edit.name == "sign-error":
        return "step-upwards"
    match edit.old, edit.new:
        case ast.Constant(), ast.Constant() if in_step:
            return "wrong-rate"
        case ast.Constant(int() | float() as old), ast.Constant(int() | float() as new) if old:
            return MULTIPLES.get(new / old, edit.name)
    return CALLED.get(edit.name, edit.name)


def _find_difference(edit: Edit) -> object:
    old, new = edit.old, edit.new
    if isinstance(new, ast.Constant):
        return new.value
    same_left = getattr(old, "left", None) is getattr(new, "left", None)
    return type(old), type(new), type(getattr(new, "op", None)), same_left


def _list_rates(tree: ast.Module) -> Iterator[ast.AST]:
    """What makes a step as long as it is, and turns it: `- 0.1 * g` of `w = w - 0.1 * g`, `lr=0.1`.

    What is added to a sum that begins at zero is no step.
    """
    assigned = [n for n in ast.walk(tree) if isinstance(n, ast.Assign)]
    sums = {n for a in assigned if ZERO.match(ast.unparse(a.value)) for n in list_targets(a)}
    for node in ast.walk(tree):
        match node:
            case ast.keyword("lr"):
                yield from ast.walk(node)
            case ast.AugAssign(ast.Name() | ast.Attribute(), ast.Add() | ast.Sub()):
                if not list_targets(node) & sums:
                    yield from (node, *_list_factors(node.value))
            case ast.Assign([ast.Name(name)], value):
                while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                    value = value.func.value  # `(w + 0.1 * g).detach()`
                if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
                    sides = [s for s in (value.left, value.right) if name not in _find_names(s)]
                    if len(sides) == 1 and name not in sums:
                        yield from (value, *_list_factors(sides[0]))


def _list_factors(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, ast.UnaryOp):
        yield from _list_factors(node.operand)
    elif isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Sub):
        yield from (*_list_factors(node.left), *_list_factors(node.right))


def _list_totals(tree: ast.Module) -> Iterator[ast.AST]:
    """Each `total` of `total.backward()` where that is added up turn by turn."""
    text = ast.unparse(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name) as total, "backward")):
                if f"{name} = {name} + " in text or f"{name} += " in text:
                    yield total


# -- statements in another order -------------------------------------------------------------------


def _reorder(tree: ast.Module) -> Iterator[Change]:
    """What is recorded at another moment of a turn, and steps that come after backward.

    A variable is recorded as it is then computed, too.
    """
    inside = [getattr(n, name, None) for n in ast.walk(tree) for name in ("body", "orelse")]
    for body in [body for body in inside if isinstance(body, list) and body]:
        values = {ast.unparse(s.targets[0]): s.value for s in body if isinstance(s, ast.Assign)}
        for here, moved in enumerate(body):
            rest, ways, places = [*body[:here], *body[here + 1 :]], [moved], list[int]()
            name = "recorded-late" if "record" in _find_called(moved) else "step-before-backward"
            if name == "recorded-late" and isinstance(moved, ast.Expr):
                ways, places = [moved, _compute_anew(moved, values)], [*range(len(body))]
            elif name != "recorded-late" and _is_step(moved):
                back = (k for k in range(here, len(rest)) if "backward" in _find_called(rest[k]))
                places = [k + 1 for k in islice(back, 1)]
            for said, k in product(ways, places):
                where = f"before `{_write_line(rest[k])}`" if rest[k:] else "at the turn's end"
                made = {id(body): [*rest[:k], said, *rest[k:]]}
                yield name, made, moved, f"`{_write_line(said)}` {where}"


def _compute_anew(record: ast.Expr, values: Mapping[str, ast.expr]) -> ast.stmt:
    """`record(loss=mean(r**2))` for `record(loss=loss)`."""
    given = [k.value for n in ast.walk(record) if isinstance(n, ast.Call) for k in n.keywords]
    anew = {id(v): values[ast.unparse(v)] for v in given if ast.unparse(v) in values}
    made: ast.stmt = fill(ast.Module([record], []), {}, anew).body[0]
    return made


def _is_step(node: ast.stmt) -> bool:
    """`optimizer.step()`, or a block in which variables are changed in place."""
    inside = isinstance(node, ast.With) and any(isinstance(n, ast.AugAssign) for n in node.body)
    called = _find_called(node)
    return (inside or "step" in called) and "backward" not in called


def _find_called(node: ast.AST) -> set[str]:
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    return {getattr(func, "attr", "") or getattr(func, "id", "") for func in calls}


def _write_line(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node)).partition("\n")[0]
    return text.replace("np.", "")


# -- an answer, run and compared -------------------------------------------------------------------

SHARE = 8  # a repair has this part of the allowance: a mistake does not make a program slow
FEWEST, LONGER = 200, 4  # steps that it may take, and how often as many as there were
LENIENT = 1e-9  # programs differ in the order of their operations
ABSENT = "a program is due: its text, in YAML after a `|`"
ONLY_HERE = "these are the right numbers at the given point only"
COPIED = "one-point"  # what is said of such an answer in a word
LONGEST_REMARK = 2_000
NOTES = 2
REWRITINGS, SPENT = 600, 30_000  # that are tried, and operations or steps that they may take
# A verdict stands whatever happens to its explanation.
FAILURES = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError)
COUNTED = {
    "add": "gradients that come to {leaf}",
    "clear": "clearings of `.grad` of {leaf}",
    "step": "steps that move {leaf}",
}

Named = Mapping[Mistake, Span | None]  # a mistake that was made, and where


@dataclass(frozen=True)
class ProgramAnswer:
    """A program as the answer to a part; `elsewhere` gives the reference at further points."""

    part: Part
    program: Program
    elsewhere: Callable[[], Sequence[Reference]]
    steps: int = STEPS  # that a repair may take

    def run(self, reference: Reference, **how: Numbers) -> LoopRun:
        return run_program(reference.problem, self.program, self.part, reference.point, **how)

    def compare(self, reference: Reference, run: LoopRun) -> Comparison:
        if run.failed:
            tag = "stopped" if run.stopped else "failed"
            return Comparison("wrong", remarks=(run.failed[:LONGEST_REMARK],), tags=(tag,))
        due = reference.trace.values[self.part.name]
        yours = _join(run.values[self.part.name], due)
        _, numbers, largest = flatten(due)
        room = LENIENT / FACTOR * (np.abs(numbers) + 1e-3 * largest)
        if isinstance(yours, list) != isinstance(due, list):  # a list and an array may be one
            mine, theirs = list_entries(yours), list_entries(due)
            if mine is not None and theirs is not None:
                yours, due = [*mine], [*theirs]
        what = f"`{self.part.ask.source}`" if self.part.ask else "the answer"
        noise = reference.noise[self.part.name] + room
        found = compare_values(yours, due, noise, np.zeros(flatten(yours).numbers.size), what=what)
        return replace(found, remarks=(*found.remarks, *_find_departure(self.part, found)))

    def verdict(self, reference: Reference, here: LoopRun) -> Comparison:
        """Right where the numbers are right at every point."""
        found = self.compare(reference, here)
        for other in self.elsewhere() if found.verdict == "right" else ():
            run = self.run(other)
            if run.stopped:
                return Comparison("needs-review", remarks=(f"at another point: {run.failed}",))
            beyond = self.compare(other, run)
            if beyond.verdict != "right":
                tags, point = ((), None) if run.failed else (beyond.tags, other.point)
                remarks = ONLY_HERE, *beyond.remarks
                return replace(beyond, remarks=remarks, tags=(*tags, COPIED), point=point)
        alone = found.verdict == "right" and not self.elsewhere()
        return replace(found, tags=(*found.tags, COPIED)) if alone else found

    def repair(self, reference: Reference, ways: Ways | None = None) -> LoopVerbs | None:
        """The verbs with which it gives the right numbers at every point, within its share.

        LoopVerbs that come to nothing else at the first point mend nothing.
        """
        first = LoopVerbs(ways)
        for each in (reference, *self.elsewhere()):
            verbs = first if each is reference else LoopVerbs(ways)
            how = {"share": SHARE, "steps": self.steps, "watched": ways is not None}
            found = self.compare(each, self.run(each, verbs=verbs, **how))
            if found.verdict != "right" or (ways and not first.differed):
                return None
        return first


def judge_program(
    reference: Reference,
    part: Part,
    answer: Numbers,
    elsewhere: Callable[[], Sequence[Reference]],
    *,
    diagnose: bool = True,
) -> Comparison:
    """Judge a program, `elsewhere` giving the reference at further points.

    Never raises on what a student typed.
    """
    if not isinstance(answer, str) or not answer.strip():
        return Comparison("invalid", remarks=(ABSENT,))
    try:
        program = read_program(reference.problem, answer)
    except TextError as error:
        return Comparison("invalid", remarks=(str(error),))
    reply = ProgramAnswer(part, program, elsewhere)
    here = reply.run(reference)
    found = reply.verdict(reference, here)
    if found.verdict == "wrong" and diagnose:
        found = _explain(found, reply, reference, here)
    count = sum(bool(line.strip()) for line in program.passage.lines)
    lines = f"{count} lines" if count != 1 else "one line"
    return replace(found, understood=f"a program of {lines}")


def _join(yours: Output, due: Output) -> Output:
    """Tuples and lists of numbers as arrays, where arrays are due."""
    if isinstance(yours, list) and isinstance(due, list) and len(yours) == len(due):
        return [*map(_join, yours, due)]
    return join_alike(yours) if isinstance(yours, list) and isinstance(due, np.ndarray) else yours


def _find_departure(part: Part, found: Comparison) -> Iterator[str]:
    read: Numbers = part.ask.tree.body[-1] if part.ask else None
    read, index = getattr(read, "value", None), found.index
    if isinstance(read, ast.List) and index and index[0] < len(read.elts):
        read, index = read.elts[index[0]], index[1:]
    match read, index:
        case ast.Attribute(ast.Name("recorded"), name), (k,) if found.yours is not None:
            some = f"{name} 0 agrees; " if k == 1 else f"{name} 0 to {k - 1} agree; "
            yield f"{some if k else ''}{name} {k} is {found.yours:.6g} for {found.expected:.6g}"


# -- what was wrong with it ----------------------------------------------------------------------


def _explain(
    found: Comparison, reply: ProgramAnswer, reference: Reference, here: LoopRun
) -> Comparison:
    """A wrong program with its diagnosis, and where in its text each mistake was made."""
    try:
        reply = replace(reply, steps=FEWEST + LONGER * here.ledger.done)
        named, cure = _find_repairs(reply, reference, here)
        named = named or _find_replays(reference, here)
        remarks = tuple(dict.fromkeys((*cure, *_list_remarks(reference, here))))
    except FAILURES as error:
        named, remarks = {}, (f"the diagnosis failed: {error}",)
    hypotheses = tuple(Hypothesis(mistake, None) for mistake in named)
    places = {mistake.id: place for mistake, place in named.items() if place is not None}
    return replace(found, diagnosis=Diagnosis(hypotheses, remarks), places=places)


def _find_repairs(
    reply: ProgramAnswer, reference: Reference, here: LoopRun
) -> tuple[Named, tuple[str, ...]]:
    """The mistakes without which the program gives the right numbers at every point.

    All verbs of the ledger that mend it, or else the first change of its text, with that.
    """
    if reply.run(reference, share=SHARE).stopped:
        return {}, ()
    named = dict[Mistake, Span | None]()
    for mistake, ways in undo_verbs(here, reference.trace.ledger.fullest):
        if mistake not in named and (verbs := reply.repair(reference, ways)):
            named[mistake] = find_statement(reply.program, verbs.differed[0][1])
    absent = here.ended and here.failed  # what is read: no change of a text gives it a name
    if named or here.stopped or absent:
        return named, ()
    values = (vars(node).get("value", "") for node in ast.walk(reference.problem.program.tree))
    known = [float(value) for value in values if type(value) in (int, Fraction)]
    numbers = [int(number) if number.is_integer() else number for number in known]
    many = min(REWRITINGS, SPENT // max(here.ledger.spent, here.ledger.done, 1))
    sizes, suspects = _list_sizes(reference), _find_suspects(reply, reference, here)
    found = rewrite(reply.program.source, numbers, sizes, suspects)
    for mistake, tree, span, cure in islice(found, many):
        with suppress(TextError, TypeError, ValueError):
            program = read_tree(reference.problem, tree)
            if replace(reply, program=program).repair(reference):
                return {mistake: span}, (f"every number is right with {cure}",)
    return {}, ()


def _find_suspects(reply: ProgramAnswer, reference: Reference, here: LoopRun) -> frozenset[str]:
    """The variables on which every entry hangs that is wrong, and none that is right.

    One slip explains all entries of a list only if it was made there.
    """
    asked: Numbers = reply.part.ask.tree.body[-1] if reply.part.ask else None
    read = asked.value.elts if isinstance(getattr(asked, "value", None), ast.List) else []
    values = (list_entries(run.values[reply.part.name]) or () for run in (here, reference.trace))
    mine, due = values
    used = defaultdict[str, set[str]](set)
    for node in ast.walk(reply.program.tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for name in list_targets(node):
                used[name] |= _find_names(node.value)

    def find_below(node: ast.AST) -> set[str]:
        found = _find_names(node)
        while not (more := found.union(*map(used.__getitem__, found))) <= found:
            found = more
        return found

    if not len(read) == len(mine) == len(due):
        return frozenset()
    below = [(find_below(node), is_near(x, y)) for node, x, y in zip(read, mine, due, strict=True)]
    wrong = [names for names, right in below if not right]
    common = set.intersection(*wrong) if wrong else set[str]()
    return frozenset(common.difference(*(names for names, right in below if right)))


def _list_sizes(reference: Reference) -> list[str]:
    found: dict[int, str] = {}
    for name, value in reference.point.items():
        if np.ndim(value):
            found.setdefault(len(value), f"len({name})")
        found.setdefault(int(np.size(value)), f"{name}.size")
    return [text for size, text in found.items() if size > 1]


def _find_replays(reference: Reference, here: LoopRun) -> Named:
    """The mistakes that add and step the same when they are made in the reference."""
    mine = _moves(here.entries) if here.ended else []
    if not mine or is_same(mine, _moves(reference.trace.entries)):
        return {}
    fits = reference.find_cheapest(lambda made: is_same(mine, _moves(made.entries)))
    return dict.fromkeys(replay.mistake for replay in fits)


def _moves(entries: Sequence[LedgerEntry]) -> list[Output]:
    """What was added and stepped, in order, up to the last step that moves something."""
    moves = [(e.verb, e.amount) for e in entries if e.amount is not None and np.any(e.amount)]
    last = max((k + 1 for k, (verb, _) in enumerate(moves) if verb == "step"), default=0)
    return [amount for _, amount in moves[:last]]


def _list_remarks(reference: Reference, here: LoopRun) -> Iterator[str]:
    """How often the ledger's verbs were said, where that is not as often as is due; warnings."""
    came, due = (
        Counter((entry.verb, entry.leaf.name) for entry in run.entries)
        for run in (here, reference.trace)
    )
    went_back = here.ended and not here.stopped and any(verb == "add" for verb, _ in came)
    for (verb, leaf), wanted in due.items() if went_back else ():
        if came[verb, leaf] != wanted:
            words = COUNTED[verb].format(leaf=leaf)
            yield f"{came[verb, leaf]} {words}, {wanted} in a program that is right"
    yield from (f"PyTorch warns: {note}" for note in here.notes[:NOTES])
