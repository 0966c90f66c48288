"""Expression problems in the lessons' own form: the value goes back, and `.grad` is read."""

import ast
from dataclasses import replace
from functools import cache

from gradcheck.grading.key import Key, key
from gradcheck.language import check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.problem import Problem, is_training
from gradcheck.problem.record import Part
from tests.support.shipped import PROBLEMS, prepared


@cache
def expressions() -> dict[str, Problem]:
    """The shipped problems that end in the value that is differentiated by inputs, by id."""
    return {id: p for id, p in PROBLEMS.items() if not is_training(p) and _has_the_form(p)}


def _has_the_form(problem: Problem) -> bool:
    """It ends in a value, and asks for inputs alone: a value of its own keeps no `.grad`."""
    own = any(given.made for given in problem.inputs.values())
    last = problem.program.tree.body[-1]
    return isinstance(last, ast.Expr) and not own and not problem.has_rows


def backward_form(problem: Problem) -> Problem:
    """The same problem: its last line in `(...).backward()`, its parts read from `.grad`."""
    lines = problem.program.source.rstrip("\n").split("\n")
    first = problem.program.tree.body[-1].lineno - 1
    cotangent = problem.cotangent
    given = "" if cotangent is None else f"array({cotangent.astype(float).tolist()})"
    value = "\n".join(lines[first:]).strip()
    text = "\n".join([*lines[:first], f"({value}).backward({given})", ""])
    parts = tuple(
        Part(name, part.weight, check_program(name, declared=(part.name,), vocabulary=VOCABULARY))
        for part in problem.parts
        for name in [f"{part.name}.grad"]
    )
    program = check_program(text, declared=tuple(problem.inputs), vocabulary=VOCABULARY)
    return replace(problem, program=program, parts=parts, cotangent=None, right=(), wrong=())


@cache
def both_keys(id: str) -> tuple[Key, Key]:
    problem = expressions()[id]
    return prepared(problem), key(backward_form(problem))
