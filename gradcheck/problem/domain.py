"""Whether a problem's program has a value at its point at all; if not, where it is lost."""

import numpy as np

from gradcheck.documents.passage import where_is
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
        raise TextError([_complaint(problem, _last(problem), words, _LAST)])
    _check_cotangent(problem, np.shape(value))
    if problem.cotangent is None and np.size(value) != 1 and not problem.jacobian:
        words = f"the value has the shape {np.shape(value)}: which sum of its entries is meant?"
        cure = "add `cotangent:` with a number for each entry, or end with `(...).sum()`"
        if not problem.file:
            cure = "write sum(...) around it, or ask for one entry"
        elif problem.order == 1:
            cure += "; `jacobian: true` asks for all of them"
        raise TextError([_complaint(problem, _last(problem), words, cure)])
    if not np.all(np.isfinite(np.asarray(value, dtype=np.float64))):
        row, span = lost[0] if lost else (None, None)
        name = row.name if row else "the program"
        raise TextError([_complaint(problem, span, f"{name} has no finite value here", _cure(row))])


def without_value(problem: Problem) -> TextError:
    """That the program's last line has no value."""
    return TextError(
        [_complaint(problem, _last(problem), "the program ends without a value", _LAST)]
    )


def _check_cotangent(problem: Problem, shape: tuple[int, ...]) -> None:
    """Raise TextError where there is a cotangent of another shape than the value."""
    came = None if problem.cotangent is None else problem.cotangent.shape
    if came in (None, shape):
        return
    words = f"{problem.id}: the cotangent has the shape {came}, the value {shape}"
    cure = "give one number for each entry of the value"
    raise TextError([Complaint(words, cure, problem.file, problem.line, 1)])


_LAST = "let the last line be an expression: the value"


def _last(problem: Problem) -> tuple[int, int]:
    """Where the program's last line stands."""
    return problem.program.passage.span(where_is(problem.program.tree.body[-1]))


def _cure(row: Op | None) -> str:
    """Inputs inside the op's domain, where the row states one."""
    domain = row.domain if row is not None else None
    if isinstance(domain, Interval) and domain != Interval(-np.inf, np.inf):
        return f"choose inputs that keep its argument between {domain.low:g} and {domain.high:g}"
    return "choose inputs at which the program has a finite value"


def _complaint(problem: Problem, span: tuple[int, int] | None, words: str, cure: str) -> Value:
    """A complaint at a span of the program's text, as a line and a column of the file."""
    passage = problem.program.passage
    start, end = span or (0, 1)
    line = passage.source.count("\n", 0, start) + 1
    first = passage.starts[line - 1]
    width = len(passage.lines[line - 1][start - first : end - first].encode())
    left = len(passage.lines[line - 1][: start - first].encode())
    return passage.complaint(words, cure, (line, line, left, left + width))
