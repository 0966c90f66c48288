"""Whether a problem's program has a value at its point at all; if not, where it is lost."""

from math import prod

import numpy as np

from gradcheck.documents.document import where_is
from gradcheck.engine.autograd import tensor
from gradcheck.engine.recording import watching
from gradcheck.engine.tensor import bare
from gradcheck.errors import Complaint, TextError
from gradcheck.language import executing
from gradcheck.ops.row import Interval, Op
from gradcheck.problem.record import Point, Problem
from gradcheck.values import Value


def check_value(problem: Problem, point: Point) -> None:
    """Raise TextError where the program fails at the point, or where it loses a finite value."""
    lost: list[tuple[Op, tuple[int, int] | None]] = []

    def look(row: Op, y: Value) -> Value:
        if not lost and not np.all(np.isfinite(y)):
            lost.append((row, executing()))
        return y

    inputs = {
        name: tensor(np.array(value, dtype=np.float64), requires_grad=name in problem.wrt)
        for name, value in point.items()
    }
    with watching(disturb=look):
        value = bare(problem.value_on("tensor", inputs))
    if value is None:
        raise without_value(problem)
    if isinstance(value, str | bytes | dict | set):
        words = f"the value is of the type {type(value).__name__}, not a number or an array of them"
        raise _refusal(problem, words, LAST)
    _check_shape(problem, np.shape(value))
    if not np.all(np.isfinite(np.asarray(value, dtype=np.float64))):
        row, span = lost[0] if lost else (None, None)
        words = f"{row.name if row else 'the program'} has no finite value here"
        cure = "choose inputs at which the program has a finite value"
        domain = row.domain if row is not None else None
        if isinstance(domain, Interval) and domain != Interval(-np.inf, np.inf):
            cure = f"choose inputs that keep its argument between {domain.low:g} and"
            cure += f" {domain.high:g}"
        raise _refusal(problem, words, cure, span or (0, 1))


def _check_shape(problem: Problem, shape: tuple[int, ...]) -> None:
    """Whether a value of that shape is one number, or it is said which are asked for."""
    due = shape if problem.cotangent is None else problem.cotangent.shape
    if due != shape:
        words = f"{problem.id}: the cotangent has the shape {due}, the value {shape}"
        cure = "give one number for each entry of the value"
        raise TextError([Complaint(words, cure, problem.file, problem.line, 1)])
    if problem.cotangent is None and prod(shape) != 1 and not problem.jacobian:
        words = f"the value has the shape {shape}: which sum of its entries is meant?"
        cure = "add `cotangent:` with a number for each entry, or end with `(...).sum()`"
        if not problem.file:
            cure = "write sum(...) around it, or ask for one entry"
        elif problem.order == 1:
            cure += "; `jacobian: true` asks for all of them"
        raise _refusal(problem, words, cure)


LAST = "let the last line be an expression: the value"


def without_value(problem: Problem) -> TextError:
    """That the program's last line has no value."""
    return _refusal(problem, "the program ends without a value", LAST)


def _refusal(
    problem: Problem, words: str, cure: str, span: tuple[int, int] | None = None
) -> TextError:
    """A complaint at a span of the program's text, or at its last line."""
    passage, where = problem.program.passage, where_is(problem.program.tree.body[-1])
    if span is not None:
        line = passage.source.count("\n", 0, span[0]) + 1
        text, first = passage.lines[line - 1], passage.starts[line - 1]
        left, right = (len(text[: place - first].encode()) for place in span)
        where = (line, line, left, right)
    return TextError([passage.complaint(words, cure, where)])
