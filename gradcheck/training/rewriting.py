"""What a program was meant to say: its text with one small change, or one change in every place."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from gradcheck.diagnosis.edits import Edit, SourceWords, fill, stages
from gradcheck.documents.passage import Passage, where_is
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import WRITTEN

SWAPPED = {
    "mean": ("sum", "mean-for-sum"),
    "sum": ("mean", "sum-for-mean"),
    "sin": ("cos", ""),
    "cos": ("sin", ""),
    "maximum": ("minimum", ""),
    "minimum": ("maximum", ""),
}
MULTIPLES = {-1.0: "sign-error", 2.0: "factor-two", 0.5: "factor-two"}
RANKS = {
    name: k
    for k, names in enumerate(
        (
            "sign-error sum-for-mean mean-for-sum factor-two transposed operands-swapped",
            "power-dropped power-increased mask-wrong coefficient-slip term-too-many",
            "another-name counted-twice chain-factor-twice elementwise-for-matmul",
            "constant-factor-lost broadcast-not-summed summed-over-wrong-axis",
            "chain-factor-dropped",
        )
    )
    for name in names.split()
}
"""In which order the edits of a backward pass are tried; others come last."""
CALLED = {
    "constant-factor-lost": "sum-for-mean",
    "power-increased": "power-dropped",
    "another-name": "wrong-variable",
    "wrong-tensor-in-derivative": "wrong-variable",
}
NOBODY = "?"  # a program has no cotangent
Replaced = Mapping[int, ast.AST | None]  # the new nodes, by the identities of the old
Change = tuple[str, ast.AST, Replaced]  # the mistake, where, what instead


@dataclass(frozen=True)
class Rewriting:
    """A program as it may have been meant, and the statement that is said otherwise."""

    mistake: Mistake
    tree: ast.Module
    span: tuple[int, int]
    old: str
    new: str


def rewritings(source: str, numbers: Iterable[float], sizes: Sequence[str]) -> Iterator[Rewriting]:
    """The changes to a text, those of a loop first.

    `numbers` may stand where others do, by `sizes` values may be divided.
    """
    tree, passage = ast.parse(source), Passage(source)
    statements = _statements(tree)
    for statement, new in _moved_records(tree):
        span = passage.span(where_is(statement))
        yield Rewriting(WRITTEN["recorded-late"], tree, span, _line(statement), new)
    for name, node, replaced in _changes(tree, sorted(set(numbers)), tuple(sizes)):
        old = statements[id(node)]
        new = _line(fill(ast.Module([old], []), {}, replaced).body[0])
        row = WRITTEN[name if name in WRITTEN else "small-slip"]
        changed = fill(tree, {}, replaced)
        yield Rewriting(row, changed, passage.span(where_is(old)), _line(old), new)


def _changes(
    tree: ast.Module, numbers: Sequence[float], sizes: tuple[str, ...]
) -> Iterator[Change]:
    steps = [each for each in ast.walk(tree) if _is_step(each)]
    yield from _upwards(steps)
    yield from _totals(tree)
    yield from _rates(tree, steps, numbers)
    yield from _other_calls(tree)
    inside = {id(n) for step in steps for n in ast.walk(step)}
    whole = ast.FunctionDef("program", ast.arguments([], [], None, [], [], None, []), tree.body, [])
    found = chain(*stages(whole, SourceWords(NOBODY, _variables(tree), divisors=sizes)))
    values = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign)}
    for edit in sorted(found, key=lambda edit: _rank(edit, values)):
        up = edit.name == "sign-error" and id(edit.old) in inside
        yield "step-upwards" if up else _name(edit), edit.old, {id(edit.old): edit.new}


def _rank(edit: Edit, values: Collection[int]) -> int:
    """Its turn; what a part of a value lacks, and no whole one, comes last."""
    lacks = isinstance(edit.new, ast.BinOp | ast.Call) and edit.old in ast.walk(edit.new)
    last = lacks and edit.name in ("chain-factor-dropped", "path-dropped", "broadcast-not-summed")
    return len(RANKS) if last and id(edit.old) not in values else RANKS.get(edit.name, len(RANKS))


def _name(edit: Edit) -> str:
    """What an edit is called; of a number that is a multiple of the other, which multiple."""
    match edit.old, edit.new:
        case ast.Constant(value=int() | float() as old), ast.Constant(
            value=int() | float() as new
        ) if old:
            return MULTIPLES.get(new / old, edit.name)
    return CALLED.get(edit.name, edit.name)


def _is_step(node: ast.AST) -> bool:
    """`w -= 0.1 * w.grad`, `w = w - lr * g`: a variable less a product."""
    match node:
        case ast.AugAssign(op=ast.Add() | ast.Sub(), value=value):
            return "grad" in ast.unparse(value) or isinstance(value, ast.BinOp)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return (
                _signed(value) is not None
                and name in ast.unparse(value)
                and "*" in ast.unparse(value)
            )
    return False


def _signed(value: ast.AST) -> ast.BinOp | None:
    match value:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return value
        case ast.Call(func=ast.Attribute(value=inner)):  # `(w + 0.1 * g).detach()`
            return _signed(inner)
    return None


def _upwards(steps: Sequence[ast.AST]) -> Iterator[Change]:
    """Every step the other way, and then each."""
    turned: dict[int, ast.AST] = {}
    for step in steps:
        node = step if isinstance(step, ast.AugAssign) else _signed(step.value)  # type: ignore[attr-defined]
        match node:
            case ast.AugAssign(target=target, op=op, value=value):
                turned[id(node)] = ast.AugAssign(target, _other(op), value)
            case ast.BinOp(left=left, op=op, right=right):
                turned[id(node)] = ast.BinOp(left, _other(op), right)
    if turned:
        yield "step-upwards", steps[0], turned
    for step, (old, new) in zip(steps, turned.items(), strict=False):
        yield "step-upwards", step, {old: new}


def _other(op: ast.operator) -> ast.operator:
    return ast.Sub() if isinstance(op, ast.Add) else ast.Add()


def _totals(tree: ast.Module) -> Iterator[Change]:
    """`total.backward()` of what is added up turn by turn."""
    for body in bodies(tree):
        sums = [node for node in body if _adds_up(node)]
        targets, names = set(map(_target, sums)), [n for n in map(_target, body) if n]
        for node in (n for statement in body for n in ast.walk(statement)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=total) as held, attr="backward")
                ):
                    for other in names if total in targets else ():
                        alone = ast.Name(other, ast.Load())
                        yield "growing-total", node, {id(held): alone}
        for node in sums:
            if isinstance(node, ast.AugAssign):
                yield "growing-total", node, {id(node): ast.Assign([node.target], node.value)}


def _target(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
    return ""


def _adds_up(node: ast.stmt) -> bool:
    match node:
        case ast.AugAssign(target=ast.Name(), op=ast.Add()):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.Add()) as value):
            return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))
    return False


def _rates(
    tree: ast.Module, steps: Sequence[ast.AST], numbers: Sequence[float]
) -> Iterator[Change]:
    """Another number in every step, and in each; or as `lr=`."""
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg == "lr"]
    found = [n for each in (*steps, *nodes) for n in ast.walk(each) if _is_number(n)]
    for number in numbers:
        others = {id(n): ast.Constant(number) for n in found if n.value != number}  # type: ignore[attr-defined]
        if others:
            yield "wrong-rate", next(n for n in found if id(n) in others), others
        for node in found if len(others) > 1 else ():
            if id(node) in others:
                yield "wrong-rate", node, {id(node): others[id(node)]}


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _other_calls(tree: ast.Module) -> Iterator[Change]:
    """`sum(x)` for `mean(x)`, `x` for `tanh(x)`, and a variable where an expression stands."""
    variables = _variables(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) as func) if name in SWAPPED:
                other, called = SWAPPED[name]
                yield called, node, {id(func): ast.Name(other, ast.Load())}
            case ast.Call(func=ast.Name(), args=[inner]):
                yield "function-too-many", node, {id(node): inner}
            case ast.BinOp():
                for name in variables:
                    yield "wrong-variable", node, {id(node): ast.Name(name, ast.Load())}


def _variables(tree: ast.Module) -> tuple[str, ...]:
    """The names that are read or given a value, and not called."""
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = (n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called)
    return tuple(dict.fromkeys(names))


# -- statements in another order -------------------------------------------------------------------


def _moved_records(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """What is recorded at another moment of a turn; a variable as it is then computed.

    The tree is changed while it is looked at.
    """
    for body in bodies(tree):
        values = {name: s.value for s in body if (name := _target(s))}  # type: ignore[attr-defined]
        for statement in [each for each in body if _is_record(each)]:
            anew = {
                id(k.value): values[ast.unparse(k.value)]
                for k in statement.value.keywords  # type: ignore[attr-defined]
                if ast.unparse(k.value) in values
            }
            fresh = fill(ast.Module([statement], []), {}, anew).body[0]
            rest, order = [each for each in body if each is not statement], list(body)
            for said in (statement, fresh):
                for k in range(len(rest) + 1):
                    body[:] = [*rest[:k], said, *rest[k:]]
                    where = (
                        f"before `{_line(rest[k])}" if k < len(rest) else "at the end of `the turn"
                    )
                    yield statement, f"{_line(said)}` {where}"
                    body[:] = order


def _is_record(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="record"))):
            return True
    return False


def bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """The statements of every block of a tree."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body


def _statements(tree: ast.Module) -> dict[int, ast.stmt]:
    """The innermost statement of every node, by the node's identity."""
    found: dict[int, ast.stmt] = {}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt):
            found |= {id(node): statement for node in ast.walk(statement)}
    return found


def _line(node: ast.AST) -> str:
    """The first line of a statement."""
    return _text(node).partition("\n")[0]


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node))
