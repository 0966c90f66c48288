"""A point of a problem: what has a value there, as arbs, and the gradients that are due.

Answers may use the names of the program's own values (`h = tanh(w*x)`, then `2*h*(1 - h**2)*x`),
and gradients that are asked for themselves: where `wrt` has `z`, `X.T @ dz` answers for W.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import At, Values, bare
from gradcheck.language.program import find_assignments
from gradcheck.numbers.ball import Scalar, Scalars, arbs, balls, middle
from gradcheck.numbers.run import precision
from gradcheck.opinions.symbolic import find_gradients
from gradcheck.ops import BY_SPELLING
from gradcheck.problem import draw
from gradcheck.problem.record import Point, Problem, is_training
from gradcheck.training import questions
from gradcheck.training.questions import NUMBERS
from gradcheck.values import Array

LOOK = 128  # bits, for a look at floats
GRADIENT = "d"  # before the name of a value: its gradient's
BACKWARD = frozenset({"grad", "backward", "recorded", "step"})


class _Known(dict[str, Array]):
    """The inputs at a point; what a program makes of them is found when it is first looked up."""

    def __init__(self, spot: "Spot", bits: int) -> None:
        self.balls = {name: balls(value) for name, value in spot.given.items()}  # with their keys
        super().__init__({name: arbs(value) for name, value in self.balls.items()})
        self.spot, self.bits = spot, bits

    def __missing__(self, name: str) -> Array:
        part = list_gradients(self.spot.problem).get(name)
        if part is None:
            self.update({**list_values(self.spot.problem, self.spot.point), **self})
        else:
            self[name] = np.asarray(self.spot.gradient(part)(self.bits), dtype=object)
        if name not in self:
            words = f"`{name}` has no value at a point: the program assigns it nowhere"
            raise GradcheckError(words)
        return self[name]


@dataclass(frozen=True, eq=False)
class Spot:
    """A point of a problem; its arbs and gradients are remembered for the next answer."""

    problem: Problem
    point: Point
    inputs: dict[int, _Known] = field(default_factory=dict)
    gradients: dict[int, Mapping[str, Array]] = field(default_factory=dict)

    def arbs(self, bits: int) -> _Known:
        """All values here, at the precision that is set."""
        if bits not in self.inputs:
            self.inputs[bits] = _Known(self, bits)
        return self.inputs[bits]

    def find_values(self, names: Iterable[str], bits: int) -> dict[str, Array]:
        """Inputs, with what tells that two are equal, and values of the program."""
        known = self.arbs(bits)
        return {name: known.balls.get(name, known[name]) for name in names}

    @cached_property
    def given(self) -> Point:
        return self.problem.select_inputs(self.point)

    @cached_property
    def floats(self) -> dict[str, float]:
        """The single numbers here, for a quick look."""
        known, problem = dict(self.given), self.problem
        with suppress(GradcheckError), precision(LOOK):
            known |= self.find_values((*list_answerable(problem), *list_gradients(problem)), LOOK)
        return {name: middle(arbs(v).item()) for name, v in known.items() if not np.shape(v)}

    def gradient(self, part: str) -> At:
        """The part's gradient here, as a function of the number of bits: a bare arb of a number."""

        def at(bits: int) -> Values:
            if bits not in self.gradients:
                self.gradients[bits] = find_gradients(self.problem.case(self.point), bits)
            return bare(self.gradients[bits][part])

        return at

    @cached_property
    def inside(self) -> bool:
        """Whether the point lies in the program's domain and at no kink."""
        return draw.look(self.problem, self.point) is not None


# -- what a program names --------------------------------------------------------------------------


def list_gradients(problem: Problem) -> dict[str, str]:
    """The parts that are gradients of the program's own values, by what answers call them: `dz`."""
    if not problem.made:  # of most problems, at every point of a curve
        return {}
    taken = {*problem.inputs, *list_answerable(problem), *BY_SPELLING}
    if GRADIENT in taken:  # then `dz` is a product
        return {}
    names = {f"{GRADIENT}{part}": part for part in problem.made}
    return {name: part for name, part in names.items() if name not in taken}


def list_answerable(problem: Problem) -> Iterator[str]:
    """The names that a program assigns, but for functions, counters and what gradients make."""
    made, counters, flows = set(BACKWARD), set[str](), list[tuple[set[str], set[str]]]()
    for node in ast.walk(problem.program.tree):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        source = node.iter if isinstance(node, ast.For) else getattr(node, "value", None)
        if targets[0] is not None and source is not None:
            flows.append((set().union(*map(_find_words, targets)), _find_words(source)))
        if isinstance(node, ast.For):
            counters |= _find_words(node.target)
    while more := {name for names, read in flows if read & made for name in names} - made:
        made |= more
    for name in find_assignments(problem.program.tree):
        declared = name in problem.inputs and name not in problem.made
        if not declared and name not in made | counters:
            yield name


def _find_words(piece: ast.AST) -> set[str]:
    nodes = list(ast.walk(piece))
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & BACKWARD
    return read | {node.id for node in nodes if isinstance(node, ast.Name)}


def list_shapes(problem: Problem, point: Point) -> dict[str, tuple[int, ...]]:
    """The shapes of the numbers that a program's names have at its end."""
    names, found = frozenset(list_answerable(problem)), dict[str, tuple[int, ...]]()
    with suppress(GradcheckError):
        found = questions.list_shapes(problem, point) if names else {}
    return {name: shape for name, shape in found.items() if name in names}


def list_values(problem: Problem, point: Point) -> dict[str, Array]:
    """The numbers that a program's names have at its end, as arbs at the precision that is set.

    Raises GradcheckError where the program does not run, or a comparison cannot be decided.
    """
    if is_training(problem):
        found = questions.read_balls(problem, point)
        return {name: arbs(value) for name, value in found.items()}
    named = problem.outcome_on("ball", {n: balls(value) for n, value in point.items()}).names
    kinds = (Scalar, Scalars, *NUMBERS)
    return {name: arbs(value) for name, value in named.items() if isinstance(value, kinds)}
