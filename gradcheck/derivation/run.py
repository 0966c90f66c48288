"""A program's run in index notation: its steps, what is known of its values, and their names."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from gradcheck.closed_forms.again import jacobians, with_gradient
from gradcheck.closed_forms.derive import gradients, inlined
from gradcheck.closed_forms.facts import Facts, facts
from gradcheck.closed_forms.familiar import familiar
from gradcheck.closed_forms.index import Applied, Called, Named, Product, Sum
from gradcheck.closed_forms.printing import Printer
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Spelling, Step, read
from gradcheck.closed_forms.table import define
from gradcheck.closed_forms.values import Values
from gradcheck.engine.tape import Node
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language import executing
from gradcheck.language.running.run import Outcome
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.run import precision
from gradcheck.opinions.opinion import Array, estimate, pair
from gradcheck.opinions.tape import Tape, record
from gradcheck.problem.record import Point, Problem

COTANGENT = "cotangent"
BITS = 128


@dataclass(frozen=True)
class Derivation:
    """A run at a point: its steps, oldest first, and what its names stand for there."""

    problem: Problem
    steps: Sequence[Step]
    values: Mapping[str, Any]

    @cached_property
    def known(self) -> Facts:
        """What is known of the values that the program names."""
        hidden = {step.name: step for step in self.steps if step.hidden}
        named = (s for s in self.steps if not s.hidden and s.definition is not None)
        return facts({s.name: inlined(s.definition, hidden) for s in named if s.definition})

    @cached_property
    def printer(self) -> Printer:
        """How expressions are written here."""
        return Printer(_Sizes(self.steps).text, self.known.symmetric)

    @cached_property
    def gradients(self) -> Mapping[str, Sum]:
        """Every part's gradient in names of the program."""
        return _of_every_entry(self) if self.problem.has_rows else _of_one(self)

    def number(self, expression: Sum) -> Array:
        """What an expression comes to, in float64."""
        with precision(BITS):
            exact = {name: balls(np.asarray(value)) for name, value in self.values.items()}
            found = Values(exact)
            for name in _names_in(expression):
                if name not in exact:
                    found.names[name] = found.text(name, {})
            return np.asarray(estimate(arbs(found.of(expression))).value)


def derivation(problem: Problem, point: Point) -> Derivation:
    """A recorded run; NoText where an op of the program has no index form."""
    outcomes: list[Outcome] = []

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        outcomes.append(problem.outcome_on(kind, inputs))
        return outcomes[-1].value

    case = replace(problem.case(point), function=function, where=executing)
    tape = record(replace(case, wrt=tuple(case.inputs)))
    if tape is None:
        raise NoText("a value that depends on no input")
    steps = steps_of(problem, tape, outcomes[-1].names)
    return Derivation(problem, steps, values(problem, point))


def steps_of(problem: Problem, tape: Tape, variables: Mapping[str, Any]) -> list[Step]:
    """The steps of a recorded run, in the program's names."""
    names, source = _names(tape, variables), problem.program.source
    spelling = Spelling(names, partial(_text, source), partial(_array, names, source))
    return familiar(list(read(tape, define, spelling).values()))


def _names_in(expression: Sum) -> Iterator[str]:
    """The names of tensors in an expression."""
    for product in expression.products:
        for factor in product.factors:
            if isinstance(factor, Named):
                yield factor.name
            parts = (factor,) if isinstance(factor, Sum) else ()
            for part in factor.parts if isinstance(factor, Applied | Called) else parts:
                yield from _names_in(part)


def _of_one(run: Derivation) -> dict[str, Sum]:
    """The gradients of one number, or of a value with its cotangent."""
    steps, end = list(run.steps), run.steps[-1]
    shown = Named(COTANGENT, end.axes)
    seed = Product(factors=(shown,)) if any(n != 1 for n in end.shape) else Product()
    found = gradients(steps, Sum((seed,), end.axes))
    hidden = {step.name: step for step in steps if step.hidden}
    wanted = [step.name for step in steps if step.name in run.problem.wrt]
    return {name: run.known.said(inlined(found[name], hidden)) for name in wanted}


def _of_every_entry(run: Derivation) -> dict[str, Sum]:
    """A Jacobian by each input, or the blocks of a Hessian."""
    whole, wrt = {"": list(run.steps)}, run.problem.wrt
    if run.problem.order == 2:
        whole = {name: with_gradient(run.steps, name) for name in wrt}
    found = {}
    for first, recorded in whole.items():
        hidden = {step.name: step for step in recorded if step.hidden}
        for name, g in jacobians(recorded).items():
            if name in wrt[wrt.index(first) if first else 0 :]:
                part = pair(first, name) if first else name
                found[part] = run.known.said(inlined(g, hidden))
    return found


def _names(tape: Tape, variables: Mapping[str, Any]) -> dict[Any, str]:
    """The program's names of nodes, and (by their bytes) of arrays that are constants.

    Two constants may have the same bytes at a point: neither is known by them.
    """
    names: dict[Any, str] = {}
    for name, value in variables.items():
        if isinstance(value, Tensor) and value.requires_grad:
            names.setdefault(value._step(), name)
        elif isinstance(value, Tensor | np.ndarray) and np.ndim(value):
            known = np.asarray(bare(value)).tobytes()
            names[known] = "" if known in names else name
    return {node: name for node, name in names.items() if name not in tape.leaves}


SIZE = re.compile(r"[A-Za-z_]\w*(\.shape\[\d+\]|\.size)?")


def _text(source: str, node: Node, i: int) -> str:
    """`X.shape[0]`, a name or `sqrt(3)` where the program writes a number so; else nothing."""
    if node.span is None:
        return ""
    try:
        tree = ast.parse(source[slice(*node.span)].strip(), mode="eval").body
    except SyntaxError:
        return ""
    side = (tree.left, tree.right)[i] if isinstance(tree, ast.BinOp) and i < 2 else None
    text = "" if side is None else ast.unparse(side)
    return text if SIZE.fullmatch(text) or (side is not None and _is_constant(side)) else ""


def _array(names: Mapping[Any, str], source: str, node: Node, i: int, value: Any) -> str:
    """The name of a constant array; else its text in the call that it is given to."""
    if not value.ndim:
        return ""
    if known := names.get(value.tobytes()):
        return known
    if node.span is None:
        return ""
    try:
        tree = ast.parse(source[slice(*node.span)].strip(), mode="eval").body
        whole = ast.parse(source)
    except SyntaxError:
        return ""
    match tree:
        case ast.Call(func=ast.Name(), args=given):
            sides: Sequence[ast.expr] = given
        case ast.BinOp(left=left, right=right):
            sides = (left, right)
        case _:
            return ""
    if i >= len(sides):
        return ""
    stores = [n.id for n in ast.walk(whole) if isinstance(n, ast.Name) and _is_stored(n)]
    read = {n.id for n in ast.walk(sides[i]) if isinstance(n, ast.Name)}
    return "" if any(stores.count(name) > 1 for name in read) else ast.unparse(sides[i])


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _is_constant(side: ast.expr) -> bool:
    """Whether a text is a function of plain numbers, `sqrt(3)`."""
    called = {id(n.func) for n in ast.walk(side) if isinstance(n, ast.Call)}
    names = [n for n in ast.walk(side) if isinstance(n, ast.Name)]
    return bool(called) and all(id(n) in called for n in names)


def values(problem: Problem, point: Point) -> dict[str, Any]:
    """What the names of a text mean at a point: inputs, the program's values, the cotangent."""
    floats = {name: np.array(value, dtype=np.float64) for name, value in point.items()}
    own = problem.outcome_on("float", {name: value.copy() for name, value in floats.items()})
    values = {n: v for n, v in own.names.items() if isinstance(v, np.ndarray | np.number | float)}
    if problem.cotangent is not None:
        values[COTANGENT] = np.array(problem.cotangent, dtype=np.float64)
    return values | {name: value[()] for name, value in floats.items()}


class _Sizes:
    """Products of sizes as people write them: `Y.size` where one tensor has them all."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._wholes = {
            tuple(sorted(step.sizes)): step.name
            for step in reversed(steps)
            if not step.hidden and len(step.shape) > 1
        }

    def text(self, names: Sequence[str]) -> str:
        """The text of a product of sizes."""
        whole = self._wholes.get(tuple(sorted(names)))
        if whole is not None:
            return f"{whole}.size"
        return names[0] if len(names) == 1 else f"({'*'.join(names)})"
