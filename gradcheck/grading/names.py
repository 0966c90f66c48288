"""Values that a program names, as names in answers: `h = tanh(w*x)`, then `2*h*(1 - h**2)*x`.

So are gradients that are asked for themselves: where `wrt` has `z`, `X.T @ dz` answers for W.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.language.kinds import VOCABULARY
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.scalars import Scalar, Scalars
from gradcheck.ops import BY_SPELLING
from gradcheck.problem.record import Input, Point, Problem, is_training
from gradcheck.training.questions import balls_named, numbers_named
from gradcheck.values import Array

GRADIENT = "d"  # before the name of a value: its gradient's
NUMBERS = (np.ndarray, np.floating)
BACKWARD = frozenset({"grad", "backward", "recorded", "step"})


def with_named_values(problem: Problem, point: Point) -> Problem:
    """The problem as answers see it: values that its program names are inputs too.

    A declared input comes first. What is made of a gradient is no name: it would be the answer.
    """
    names = frozenset(assigned_names(problem))
    shapes = _shapes(problem, point) if names else {}
    more = {n: Input(n, None, shapes[n], requires_grad=False) for n in names & shapes.keys()}
    for name, part in gradients_named(problem).items():
        more[name] = Input(name, None, problem.inputs[part].shape, requires_grad=False)
    own = problem.select_inputs(problem.inputs)
    return replace(problem, inputs={**more, **own}) if more else problem


def gradients_named(problem: Problem) -> dict[str, str]:
    """The parts that are gradients of the program's own values, by what answers call them: `dz`."""
    if not problem.made:  # of most problems, at every point of a curve
        return {}
    taken = {*problem.inputs, *assigned_names(problem), *BY_SPELLING}
    if GRADIENT in taken:  # then `dz` is a product
        return {}
    names = {f"{GRADIENT}{part}": part for part in problem.made}
    return {name: part for name, part in names.items() if name not in taken}


def assigned_names(problem: Problem) -> Iterator[str]:
    """The names that a program assigns, but for those of functions and those made of gradients."""
    made = _names_of_gradients(problem.program.tree)
    for node in ast.walk(problem.program.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            function = BY_SPELLING.get(node.id, node.id) in VOCABULARY.functions
            declared = node.id in problem.inputs and node.id not in problem.made
            if not function and not declared and node.id not in made:
                yield node.id


def _names_of_gradients(tree: ast.AST) -> set[str]:
    """Names that are assigned from `.grad`, from `grad(...)`, or from such names."""
    found: set[str] = set(BACKWARD)
    while True:
        before = len(found)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.For | ast.AnnAssign):
                source = node.iter if isinstance(node, ast.For) else node.value
                if source is not None and _mentions(source, found):
                    found |= set(_targets(node))
        if len(found) == before:
            return found


def _mentions(source: ast.AST, names: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in names)
        or (isinstance(node, ast.Attribute) and node.attr in BACKWARD)
        for node in ast.walk(source)
    )


def _targets(node: ast.Assign | ast.AugAssign | ast.For | ast.AnnAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def _shapes(problem: Problem, point: Point) -> dict[str, tuple[int, ...]]:
    """The shapes of the numbers that a program's names have at its end."""
    try:
        if is_training(problem):
            return {name: np.shape(value) for name, value in numbers_named(problem, point).items()}
        inputs = {name: np.array(value, dtype=np.float64) for name, value in point.items()}
        found = problem.outcome_on("float", inputs).names
        return {name: value.shape for name, value in found.items() if isinstance(value, NUMBERS)}
    except GradcheckError:
        return {}


def program_values(problem: Problem, point: Point) -> dict[str, Array]:
    """The numbers that a program's names have at its end, as arbs at the precision that is set.

    Raises GradcheckError where the program does not run, or a comparison cannot be decided.
    """
    if is_training(problem):
        return {name: arbs(value) for name, value in balls_named(problem, point).items()}
    found = problem.outcome_on("ball", {n: balls(value) for n, value in point.items()}).names
    kinds = (Scalar, Scalars, *NUMBERS)
    return {name: arbs(value) for name, value in found.items() if isinstance(value, kinds)}
