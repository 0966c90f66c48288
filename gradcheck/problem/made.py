"""Problems differentiated by values that their own program assigns, `wrt: [z, W]`.

The gradient by such a value is the gradient by what is added to it where it is assigned, at zero:
an input like any other, so that each opinion forms its own view of it.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.language import Program, check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.program import assignments
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import Input, Problem

NUMBERS = (np.ndarray, np.floating, int, float, Fraction)


def assigned(program: Program) -> Mapping[str, bool]:
    """The names that a program assigns, and whether it does so once, outside of any block."""
    count = Counter(_stored(program.tree))
    plain = {name for name, _ in assignments(program.tree)}
    return {name: name in plain and often == 1 for name, often in count.items()}


def _stored(tree: ast.AST) -> Iterator[str]:
    """The names that are assigned, as often as they are, as a whole or entry by entry."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Subscript) and isinstance(node.ctx, ast.Store):
            target = node.value if isinstance(node, ast.Subscript) else node
            yield from (each.id for each in [target] if isinstance(each, ast.Name))


def shapes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """The shapes of the program's values at the given point; none where it has no such point."""
    problem = replace(problem, wrt=tuple(name for name in problem.wrt if name in problem.inputs))
    try:
        inputs = {n: np.array(v, dtype=np.float64) for n, v in given_point(problem).items()}
        found = problem.outcome_on("float", inputs).names
    except GradcheckError:
        return {}
    return {n: np.asarray(v).shape for n, v in found.items() if isinstance(v, NUMBERS)}


def with_made(problem: Problem, made: Mapping[str, tuple[int, ...]]) -> Problem:
    """The problem with an input of zeros for each value, by name and shape, of its program."""
    passage = problem.program.passage
    program = check_program(
        passage.source,
        declared=[*problem.inputs, *made],
        vocabulary=VOCABULARY,
        file=passage.file,
        line=passage.line,
        column=passage.column,
        moved=made,
        valued=True,
    )
    zeros = {name: np.full(shape, Fraction(0), dtype=object) for name, shape in made.items()}
    more = {n: Input(n, z, z.shape, requires_grad=True, made=True) for n, z in zeros.items()}
    return replace(problem, program=program, inputs={**problem.inputs, **more})
