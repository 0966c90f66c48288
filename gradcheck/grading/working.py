"""Lines of working: the last is the answer, and the first that no longer holds is found.

Each step is compared with the one before at every point, the first one with the gradient; a
derivative that is not yet taken is taken here, by the same slopes as the closed form. A line that
is not read is passed over, but not a link of a chain: only what is proven different is named.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from gradcheck.answers import Formula, WorkingStep
from gradcheck.answers.characters import clip
from gradcheck.answers.operands import UNTAKEN
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.equivalence import At, Values, compare
from gradcheck.grading.formula import box, budget, readings
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import Key
from gradcheck.grading.spots import Spot
from gradcheck.language import check_expression
from gradcheck.language.kinds import FORMULAS, KINDS
from gradcheck.language.program import copy_tree
from gradcheck.language.run import run
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.problem.record import Input, Part

Inner = Callable[[Spot, int], arb]


@dataclass(frozen=True)
class Broken:
    """The first step that is not equal to the one before (None: to the gradient).

    `formula` says that it can be judged as an answer by itself, `taken` that all derivatives had
    been taken before it.
    """

    typed: str
    step: WorkingStep
    before: WorkingStep | None
    formula: bool
    taken: bool

    @property
    def chained(self) -> bool:
        """Whether an equals sign claims what does not hold."""
        return self.step.chained or (self.before is not None and self.before.chained)

    @property
    def words(self) -> str:
        """Which line, and how it and the one before are read."""
        first = "the derivative"
        if self.before is not None:
            same = self.before.line == self.step.line
            where = "what stands before it" if same else f"line {self.before.line}"
            first = f"{where}, {self._quote(self.before)}"
        return f"line {self.step.line}: {self._quote(self.step)} is not equal to {first}"

    def _quote(self, step: WorkingStep) -> str:
        return f"`{clip(' '.join(self.typed[step.start : step.end].split()), 60)}`"


def find_unread(steps: Sequence[WorkingStep]) -> TextError | None:
    """Why a link of a chain is not read: its line is refused, and not just its end taken."""
    return next((step.fault for step in steps if step.fault and step.chained), None)


def find_broken(key: Key, part: Part, formula: Formula) -> Broken | None:
    """The first step that is proven not to be equal to the one before; None if all are."""
    before: WorkingStep | None = None
    due: Sequence[At] = key.due(part.name)
    taken = False
    for step in formula.steps:
        if step.tree is None:
            continue
        try:
            values, open_ = _values_of(key, formula.text, step.tree)
            if before is None and _is_the_function(key, values):
                continue
            if compare(values, due).kind in ("different", "shape"):
                return Broken(formula.text, step, before, not open_, taken)
        except FAILURES:
            continue
        before, due, taken = step, values, not open_
    return None


def _is_the_function(key: Key, values: Sequence[At]) -> bool:
    """Whether a first line only repeats what is to be differentiated."""

    def value(spot: Spot) -> At:
        def at(bits: int) -> Values:
            point = {name: balls(v) for name, v in spot.point.items()}
            found = arbs(spot.problem.value_on("ball", point))
            return found if found.shape else found.item()

        return at

    return compare(values, [value(spot) for spot in key.spots]).kind == "equal"


class _Naming(ast.NodeTransformer):
    """A name in place of each derivative that is not yet taken, and what each of them is."""

    def __init__(self, key: Key) -> None:
        self.key, self.found = key, dict[str, Inner]()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name(function), [inner, ast.Name(by)]) if function == UNTAKEN:
                name = f"derivative_{len(self.found)}"
                self.found[name] = _derivative(self.key, inner, by)
                return ast.copy_location(ast.Name(name, ast.Load()), node)
        return node


def _values_of(key: Key, text: str, tree: ast.expr) -> tuple[list[At], bool]:
    """A step as a function of the bits at every point, and whether derivatives were taken in it."""
    naming, scope = _Naming(key), key.scope
    formula = Formula(text, ast.Expression(naming.visit(copy_tree(tree))), ())
    more = {name: Input(name, None, (), requires_grad=False) for name in naming.found}
    ready = readings(replace(scope, inputs={**scope.inputs, **more}), formula)

    def step_at(spot: Spot) -> At:
        def value(bits: int) -> Values:
            known = spot.arbs(bits)  # no answer can read these names
            known |= {name: box([each(spot, bits)], ()) for name, each in naming.found.items()}
            return ready.at(spot)(bits)

        return value

    return list(map(step_at, key.spots)), bool(naming.found)


def _derivative(key: Key, body: ast.expr, variable: str) -> Inner:
    """The derivative of a formula by one of a problem's inputs, at a point, to so many bits."""
    inputs = key.problem.select_inputs(key.problem.inputs)
    program = check_expression(ast.Expression(body), declared=inputs, vocabulary=FORMULAS)
    nodes = (node for node in ast.walk(program.tree) if isinstance(node, ast.Name))
    names = frozenset(node.id for node in nodes) & inputs.keys()
    if variable not in inputs or inputs[variable].shape:
        raise GradcheckError(f"`{variable}` is no single number of the problem")

    def at(spot: Spot, bits: int) -> arb:
        leaves = line.inputs({name: spot.given[name] for name in names}, {variable})
        value = run(program, leaves, KINDS["symbolic"], budget(key.problem)).value
        end = np.asarray(value, dtype=object).item()
        if not isinstance(end, Symbolic) or variable not in leaves:
            return arb(0)
        return line.gradient({end: arb(1)}).get(leaves[variable].item(), arb(0))

    return at
