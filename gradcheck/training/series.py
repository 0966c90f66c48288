"""What a training program records, run as it is and with a mistake of the training loop in it."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.language import check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import TRAINING
from gradcheck.problem.record import Part, Point, Problem
from gradcheck.training.ledger import RIGHT, LedgerVerbs
from gradcheck.training.outputs import Output, departs, same
from gradcheck.training.trace import trace

COUNTER = "_counter"


@dataclass(frozen=True, eq=False)
class Series:
    """What `record(name=...)` noted in a run, call by call; and with a mistake that changes it.

    `counter` is what the program's loop `variable` was at each call, or None where no loop counts
    the calls: no loop over a range, or its variable does not always grow.
    """

    name: str
    right: Output
    variable: str = ""
    counter: tuple[float, ...] | None = None
    mistake: Mistake | None = None
    wrong: Output = None

    @property
    def parting(self) -> int | None:
        """The first call whose entry the mistake changes."""
        return None if self.mistake is None else departs(self.wrong, self.right)


def series(problem: Problem, point: Point, together: int) -> tuple[Series, ...]:
    """Every recorded series, with the first mistake that changes it."""
    counted, variables = _with_loop_variables(problem)
    names = [name for name in variables if _is_reached(counted, point, name, together)]
    both = [*names, *(name + COUNTER for name in names if variables[name])]
    right = _run(counted, point, both, RIGHT, together)
    found = {name: _series(name, variables[name], right) for name in names}
    for row, verbs in _wrong_verbs():
        if all(each.mistake for each in found.values()):
            break
        try:
            wrong = _run(counted, point, names, verbs, together)
        except GradcheckError:
            continue
        for name, each in found.items():
            if each.mistake is None and not same(wrong[name], each.right):
                found[name] = replace(each, mistake=row, wrong=wrong[name])
    return tuple(found.values())


def _series(name: str, variable: str, right: Mapping[str, Output]) -> Series:
    steps = right[name + COUNTER] if variable else None
    if not isinstance(steps, np.ndarray) or np.any(np.diff(steps) <= 0):
        return Series(name, right[name])
    return Series(name, right[name], variable, tuple(steps.tolist()))


def _wrong_verbs() -> Iterator[tuple[Mistake, LedgerVerbs]]:
    """Each way of saying one verb of the ledger wrong every time, in the catalogue's order."""
    for row in TRAINING:
        if hasattr(RIGHT, row.verb):
            for way in row.wrong():
                yield row, replace(RIGHT, **{row.verb: way})


def _is_reached(problem: Problem, point: Point, name: str, together: int) -> bool:
    """Whether a run ever comes to a call that records this."""
    try:
        return bool(_run(problem, point, [name], RIGHT, together))
    except GradcheckError:
        return False


def _run(
    problem: Problem, point: Point, names: Sequence[str], verbs: LedgerVerbs, together: int
) -> Mapping[str, Output]:
    """What one run records under these names."""
    words = replace(VOCABULARY, attributes=VOCABULARY.attributes | set(names))
    asks = [
        check_program(f"recorded.{name}", declared=("recorded",), vocabulary=words)
        for name in names
    ]
    parts = tuple(Part(name, 1.0, ask) for name, ask in zip(names, asks, strict=True))
    return trace(replace(problem, parts=parts), point, verbs, together=together).values


# -- the loop that counts --------------------------------------------------------------------------


def _with_loop_variables(problem: Problem) -> tuple[Problem, dict[str, str]]:
    """The problem recording its loop variables too, and the variable of each series ("": none)."""
    text, variables = problem.program.source, dict[str, str]()
    passage = problem.program.passage
    calls = list(_calls(problem.program.tree.body, ""))
    for call, variable in calls:
        for keyword in call.keywords:
            name = keyword.arg or ""
            variables[name] = variable if variables.get(name, variable) == variable else ""
    for call, variable in reversed(calls):
        after = passage.offset(call.func.end_lineno or 1, call.func.end_col_offset or 0)
        start = text.index("(", after) + 1
        names = [keyword.arg or "" for keyword in call.keywords]
        notes = [f"{name}{COUNTER}={variable}, " for name in names if variables[name]]
        text = text[:start] + "".join(notes) + text[start:]
    program = check_program(text, declared=tuple(problem.inputs), vocabulary=VOCABULARY)
    return replace(problem, program=program), variables


def _calls(body: Sequence[ast.stmt], variable: str) -> Iterator[tuple[ast.Call, str]]:
    """Every call of `record`, with the variable of the innermost loop over a range around it."""
    for node in body:
        match node:
            case ast.For(target=target, iter=over):
                yield from _calls(node.body, _variable(target, over))
            case ast.While():
                yield from _calls(node.body, "")
            case ast.If():
                yield from _calls([*node.body, *node.orelse], variable)
            case ast.With():
                yield from _calls(node.body, variable)
            case ast.Expr(value=ast.Call(func=ast.Name(id="record")) as call):
                yield call, variable


def _variable(target: ast.expr, over: ast.expr) -> str:
    match target, over:
        case ast.Name(id=name), ast.Call(func=ast.Name(id="range")):
            return name
    return ""
