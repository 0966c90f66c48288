"""A student's program with its lines in another order: how a step in the wrong place is undone."""

import ast
from collections.abc import Iterator, Sequence

from gradcheck.documents.passage import where_is
from gradcheck.language import Program

Span = tuple[int, int]


def step_after_backward(program: Program) -> Iterator[tuple[str, Span]]:
    """The program with a step moved behind the backward call that follows it, and that step."""
    lines = program.source.split("\n")
    for body in _bodies(program.tree):
        for k, step in enumerate(body):
            later = [each for each in body[k + 1 :] if _goes_back(each)]
            if later and _steps(step) and not _goes_back(step) and _alone(step, body):
                yield _moved(lines, step, later[0]), program.passage.span(where_is(step))


def _bodies(tree: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield body


def _steps(node: ast.stmt) -> bool:
    """`optimizer.step()`, or a block in which variables are changed in place."""
    inside = isinstance(node, ast.With) and any(isinstance(n, ast.AugAssign) for n in node.body)
    return inside or _calls(node, "step")


def _goes_back(node: ast.stmt) -> bool:
    return _calls(node, "backward")


def _calls(node: ast.stmt, method: str) -> bool:
    """Whether a statement calls a method of that name."""
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr == method for func in calls)


def _alone(node: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    """Whether nothing else of a block stands on the lines of a statement."""
    others = (each for each in body if each is not node)
    return all(_last(each) < node.lineno or each.lineno > _last(node) for each in others)


def _moved(lines: Sequence[str], step: ast.stmt, back: ast.stmt) -> str:
    first, last, behind = step.lineno - 1, _last(step), _last(back)
    order = [*lines[:first], *lines[last:behind], *lines[first:last], *lines[behind:]]
    return "\n".join(order)


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
