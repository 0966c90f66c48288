"""Proof by repair: a verb of the ledger, or one place of a student's own text, is said otherwise.

If the program then gives the right numbers, that mistake was wrong with it.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

from gradcheck.diagnosis.edits import NOBODY, Edit, SourceWords, stages
from gradcheck.diagnosis.patterns import fill
from gradcheck.documents.document import Passage, where_is
from gradcheck.language.kinds import FORMULAS
from gradcheck.mistakes import Mistake, training
from gradcheck.mistakes.training import WRITTEN, Deposit
from gradcheck.ops import TABLE
from gradcheck.training.ledger import RIGHT, Holder
from gradcheck.training.run import Trace
from gradcheck.values import Numbers, Routine

Ways = Mapping[str, Routine]


def undo_verbs(run: Trace, full: int) -> Iterator[tuple[Mistake, Ways]]:
    """The verbs that take back one mistake each.

    `run` came out wrong; `full` gradients are added up in the fullest window of the reference.
    """
    windows, again = _look_at_deposits(run, full)
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


def _look_at_deposits(run: Trace, full: int) -> tuple[Mapping[int, int], set[int]]:
    """By numbers of deposits: how many gradients are added up there, `full` at most.

    And the deposits of backward calls on a value that has gone back before.
    """
    starts = [call.start for call in run.calls]
    repeated = {call.number for k, call in enumerate(run.calls) if call.start in starts[:k]}
    windows: dict[Holder, list[int]] = {}
    sizes, again, number = dict[int, int](), set[int](), count()
    for entry in run.entries:
        if entry.verb == "add":
            windows.setdefault(entry.leaf, []).append(k := next(number))
            again |= {k} if entry.event in repeated else set()
        else:
            window = windows.pop(entry.leaf, [])
            sizes |= dict.fromkeys(window, min(len(window), full))
    return sizes, again


# -- a student's own program with one place said otherwise -----------------------------------------

FIRST = (
    "step-upwards",
    "growing-total",
    "wrong-rate",
    "sign-error sum-for-mean mean-for-sum factor-two transposed operands-swapped",
    "power-dropped quotient-swapped mask-wrong coefficient-slip term-too-many",
    "wrong-variable counted-twice chain-factor-twice elementwise-for-matmul",
    "broadcast-not-summed summed-over-wrong-axis",
    "chain-factor-dropped",
)
"""In which order the changes of a text are tried; others come last."""
RANKS = {name: k for k, names in enumerate(FIRST) for name in names.split()}
EVERYWHERE = ("step-upwards", "wrong-rate")  # what is done in every step alike
MULTIPLES = {-1.0: "sign-error", 2.0: "factor-two", 0.5: "factor-two"}
CALLED = {
    "constant-factor-lost": "sum-for-mean",  # the divisors here are sizes
    "power-increased": "power-dropped",
    "another-name": "wrong-variable",
    "wrong-tensor-in-derivative": "wrong-variable",
}
SPELLED = FORMULAS.functions & TABLE.keys()
Change = tuple[str, dict[int, Numbers]]  # a name, and what stands in which nodes' place, by id
Rewriting = tuple[Mistake, ast.Module, tuple[int, int], str]
"""A program as it may have been meant, which statement is said otherwise, and how."""


def rewrite(source: str, numbers: Iterable[float], sizes: Sequence[str]) -> Iterator[Rewriting]:
    """The changes to a text, those of its order first.

    `numbers` may stand where others do, by `sizes` values may be divided.
    """
    passage, tree = Passage(source), ast.parse(source)
    nodes = list(ast.walk(tree))
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    names = (n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in called)
    words = SourceWords(NOBODY, tuple(dict.fromkeys(names)), divisors=tuple(sizes))
    for node in nodes:  # `np.mean(x)` for `mean(x)`: edits know functions by their modules
        match node:
            case ast.Call(func=ast.Name(id=name) as func) if name in SPELLED:
                named = ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load())
                node.func = ast.copy_location(named, func)
    for name, statement, cure in _moves(tree):
        row = WRITTEN.get(name, training.step_before_backward)
        yield row, tree, passage.span(where_is(statement)), cure
    innermost = {
        id(node): each
        for each in ast.walk(tree)
        if isinstance(each, ast.stmt)
        for node in ast.walk(each)
    }
    for name, places in _changes(tree, words, sorted(set(numbers))):
        old = innermost[next(iter(places))]
        new = fill(ast.Module([old], []), {}, places).body[0]
        cure = f"`{_line(new)}` in the place of `{_line(old)}`"
        row = WRITTEN.get(name, WRITTEN["small-slip"])
        yield row, fill(tree, {}, places), passage.span(where_is(old)), cure


def _changes(tree: ast.Module, words: SourceWords, numbers: Sequence[float]) -> Iterator[Change]:
    nodes = list(ast.walk(tree))
    steps = {id(n) for step in nodes if _is_rate(step) for n in ast.walk(step)}
    totals = {id(n) for n in nodes if _is_total(n, tree)}
    whole = ast.FunctionDef("program", ast.arguments([], [], None, [], [], None, []), tree.body, [])
    edits = list(chain(*stages(whole, words)))
    for node in nodes:
        if isinstance(node, ast.BinOp):
            edits += [Edit("another-name", node, ast.Name(v, ast.Load())) for v in words.names]
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            others = (ast.Constant(number) for number in numbers if number != node.value)
            edits += [Edit("coefficient-slip", node, other) for other in others]
    found = [(_name(edit, id(edit.old) in steps, id(edit.old) in totals), edit) for edit in edits]
    alike: dict[tuple[str, object], list[Edit]] = defaultdict(list)
    for name, edit in found:
        if name in EVERYWHERE:
            alike[name, _difference(edit)].append(edit)
    for (name, _), group in alike.items():
        if len(group) > 1:
            yield name, {id(edit.old): edit.new for edit in group}
    for name, edit in sorted(found, key=lambda each: RANKS.get(each[0], len(FIRST))):
        yield name, {id(edit.old): edit.new}


def _name(edit: Edit, in_step: bool, is_total: bool) -> str:
    """What an edit is called; of a number that is a multiple of the other, which multiple."""
    if is_total and edit.name == "another-name":
        return "growing-total"
    if in_step and edit.name == "sign-error":
        return "step-upwards"
    old, new = (getattr(node, "value", None) for node in (edit.old, edit.new))
    if isinstance(edit.old, ast.Constant) and isinstance(edit.new, ast.Constant):
        if in_step:
            return "wrong-rate"
        if isinstance(old, int | float) and isinstance(new, int | float) and old:
            return MULTIPLES.get(new / old, edit.name)
    return CALLED.get(edit.name, edit.name)


def _difference(edit: Edit) -> object:
    """What is the same of edits that say the same thing in different places."""
    old, new = edit.old, edit.new
    if isinstance(new, ast.Constant):
        return new.value
    same_left = getattr(old, "left", None) is getattr(new, "left", None)
    return type(old), type(new), type(getattr(new, "op", None)), same_left


def _is_rate(node: ast.AST) -> bool:
    """`w -= 0.1 * w.grad`, `w = w - lr * g`, a variable less a product; and `lr=0.1`."""
    match node:
        case ast.keyword(arg="lr"):
            return True
        case ast.AugAssign(op=ast.Add() | ast.Sub(), value=value):
            return "grad" in ast.unparse(value) or isinstance(value, ast.BinOp)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                value = value.func.value  # `(w + 0.1 * g).detach()`
            said = ast.unparse(value)
            stepped = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub)
            return stepped and name in said and "*" in said
    return False


def _is_total(node: ast.AST, tree: ast.Module) -> bool:
    """The `total` of `total.backward()` where that is added up turn by turn."""
    if not isinstance(node, ast.Name):
        return False
    name, text = node.id, ast.unparse(tree)
    calls = (n.func for n in ast.walk(tree) if isinstance(n, ast.Call))
    backs = [f for f in calls if isinstance(f, ast.Attribute) and f.attr == "backward"]
    grows = f"{name} = {name} + " in text or f"{name} += " in text
    return grows and any(f.value is node for f in backs)


# -- statements in another order -------------------------------------------------------------------


def _moves(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, str]]:
    """What is recorded at another moment of a turn, and steps that come after backward.

    A variable is recorded as it is then computed, too. The tree is changed while it is looked at.
    """
    inside = [getattr(n, name, None) for n in ast.walk(tree) for name in ("body", "orelse")]
    for body in [body for body in inside if isinstance(body, list) and body]:
        order = list(body)
        values = {ast.unparse(s.targets[0]): s.value for s in order if isinstance(s, ast.Assign)}
        for here, statement in enumerate(order):
            rest = [*order[:here], *order[here + 1 :]]
            records, ways, places = "record" in _called(statement), [statement], range(0)
            if records and isinstance(statement, ast.Expr):
                ways, places = [statement, _compute_anew(statement, values)], range(len(order))
            elif _is_step(statement):
                behind = (k + 1 for k, each in enumerate(rest) if "backward" in _called(each))
                first = next((k for k in behind if k > here), None)
                places = range(0) if first is None else range(first, first + 1)
            for said in ways:
                for k in places:
                    body[:] = [*rest[:k], said, *rest[k:]]
                    where = f"before `{_line(rest[k])}`" if k < len(rest) else "at the turn's end"
                    name = "recorded-late" if records else "step-before-backward"
                    yield name, statement, f"`{_line(said)}` {where}"
                    body[:] = order


def _compute_anew(record: ast.Expr, values: Mapping[str, ast.expr]) -> ast.stmt:
    """`record(loss=mean(r**2))` for `record(loss=loss)`."""
    given = [k.value for n in ast.walk(record) if isinstance(n, ast.Call) for k in n.keywords]
    anew = {id(v): values[ast.unparse(v)] for v in given if ast.unparse(v) in values}
    made: ast.stmt = fill(ast.Module([record], []), {}, anew).body[0]
    return made


def _is_step(node: ast.stmt) -> bool:
    """`optimizer.step()`, or a block in which variables are changed in place."""
    inside = isinstance(node, ast.With) and any(isinstance(n, ast.AugAssign) for n in node.body)
    called = _called(node)
    return (inside or "step" in called) and "backward" not in called


def _called(node: ast.AST) -> set[str]:
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    return {getattr(func, "attr", "") or getattr(func, "id", "") for func in calls}


def _line(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node)).partition("\n")[0]
    return text.replace("np.", "")
