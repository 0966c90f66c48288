"""Lines of working: the last is the answer, and the first that no longer holds is found.

Each step is compared with the one before at every point, the first one with the gradient; a
derivative that is not yet taken is taken here, by the same slopes as the closed form. A step that
cannot be read is passed over: only what is proven different from the step before is named.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb

from gradcheck.answers import Formula, read_formula
from gradcheck.answers.complaint import clipped
from gradcheck.answers.definitions import defines
from gradcheck.answers.listing import is_list
from gradcheck.answers.piecewise import is_piecewise
from gradcheck.answers.words import vocabulary
from gradcheck.answers.working import PLAIN, Step, steps, untaken
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.equivalence import At, Values, compare
from gradcheck.grading.formulas.values import Readings, boxed, budget, readings
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import Key, Spot
from gradcheck.language import check_expression
from gradcheck.language.kinds import FORMULAS, KINDS
from gradcheck.language.running.run import run
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.problem.record import Input, Part, Problem

Inner = Callable[[Spot, int], arb]


@dataclass(frozen=True)
class Broken:
    """The first step that is not equal to the one before (None: to the gradient).

    `formula` says that it can be judged as an answer by itself, `taken` that all derivatives had
    been taken before it.
    """

    step: Step
    before: Step | None
    formula: bool
    taken: bool

    @property
    def words(self) -> str:
        """Which line, and how it and the one before are read."""
        said = f"line {self.step.line}: `{_brief(self.step)}` is not equal to "
        if self.before is None:
            return said + "the derivative"
        same = self.before.line == self.step.line
        where = "what stands before it" if same else f"line {self.before.line}"
        return f"{said}{where}, `{_brief(self.before)}`"


def _brief(step: Step) -> str:
    return clipped(" ".join(step.text.split()), 60)


def worked(key: Key, part: Part, answer: Any) -> list[Step]:
    """The steps of an answer that is given with working; none of one that is just an answer."""
    if not isinstance(answer, str) or part.form == "program" or part.name not in key.problem.wrt:
        return []
    if PLAIN.fullmatch(answer) or len(answer) > LONGEST or is_piecewise(answer):
        return []
    words = vocabulary(key.scope.inputs, FORMULAS.functions, ("pi", "e"))
    if defines(answer, words) or is_list(answer, words):
        return []
    found = _steps(key, part, answer)
    if len(found) > MOST:
        return []
    if len(found) < 2:
        last = "".join(step.text.strip() for step in found)
        return found if last != answer.strip() and _read(key.scope, answer) is None else []
    alone = _joined(found) or not _whole(key, answer) or _holds(key, part, found[-1])
    return found if alone else []


def _steps(key: Key, part: Part, answer: str) -> list[Step]:
    """The steps; a line that begins with a minus may go on with the one before, or be a step.

    What is right counts; else it goes on where other steps are told by equals signs.
    """
    found, other = steps(answer), steps(answer, minus=True)
    if found == other or _holds(key, part, found[-1]):
        return found
    return other if _joined(found) or _holds(key, part, other[-1]) else found


def _holds(key: Key, part: Part, step: Step) -> bool:
    """Whether a step is the gradient, with all derivatives taken."""
    try:
        read, open_ = _ready(key, part.name, step)
        due = [spot.gradient(part.name) for spot in key.spots]
        return not open_ and compare(read, due).kind == "equal"
    except FAILURES:
        return False


def final(key: Key, part: Part, answer: Any) -> Any:
    """The last step of an answer that is given with working; else the answer itself."""
    found = worked(key, part, answer)
    return found[-1].text.strip() if found else answer


def _joined(found: Sequence[Step]) -> bool:
    """Whether steps stand on one line, or lines are called by a name: there were equals signs."""
    return any(step.label for step in found) or len({s.line for s in found}) < len(found)


def _whole(key: Key, answer: str) -> bool:
    """Whether lines go on from one to the next: together they are a formula, alone they are not."""
    if _read(key.scope, answer) is None:
        return False
    lines = [each.strip() for each in answer.split("\n") if each.strip()]
    open_ended = any(each[:1] in SIGNS for each in lines[1:]) or any(
        each[-1:] in SIGNS for each in lines[:-1]
    )
    return open_ended or any(_read(key.scope, each) is None for each in lines)


LONGEST, MOST = 5_000, 40  # characters and steps of one answer's working
SIGNS = frozenset("+-*/^@,·")


def _read(problem: Problem, text: str) -> Formula | None:
    try:
        return read_formula(text, names=problem.inputs, functions=FORMULAS.functions)
    except TextError:
        return None


def unread(key: Key, part: Part, found: Sequence[Step]) -> TextError | None:
    """Why a step on a line with an equals sign is not read, though it is not made of words alone.

    Such a step is no step: its line is refused, and not just its end taken.
    """
    words = vocabulary(key.scope.inputs, FORMULAS.functions, ("pi", "e"))
    joined = [a for a, b in pairwise(found) if a.line == b.line]
    for step in joined:
        try:
            _ready(key, part.name, step)
        except TextError as error:
            known = (words.meaning(word) for word in re.findall(r"[^\W\d_]+", step.text))
            if re.search(r"\d", step.text) or any(m and m.kind == "name" for m in known):
                return error
        except FAILURES:
            continue
    return None


def broken(key: Key, part: Part, found: Sequence[Step]) -> Broken | None:
    """The first step that is proven not to be equal to the one before; None if all are."""
    before: Step | None = None
    due: Sequence[At] = [spot.gradient(part.name) for spot in key.spots]
    taken = False
    for step in found:
        try:
            read, open_ = _ready(key, part.name, step)
            if before is None and _is_the_function(key, read):
                continue
            if compare(read, due).kind in ("different", "shape"):
                return Broken(step, before, not open_, taken)
        except FAILURES:
            continue
        before, due, taken = step, read, not open_
    return None


def _is_the_function(key: Key, read: Sequence[At]) -> bool:
    """Whether a first line only repeats what is to be differentiated."""

    def value(spot: Spot) -> At:
        def at(bits: int) -> Values:
            point = {name: balls(v) for name, v in spot.point.items()}
            found = arbs(spot.problem.value_on("ball", point))
            return found if found.shape else found.item()

        return at

    return compare(read, [value(spot) for spot in key.spots]).kind == "equal"


def _ready(key: Key, part: str, step: Step) -> tuple[list[At], bool]:
    """A step as a function of the bits at every point, and whether derivatives were taken in it."""
    found = untaken(step.text, part)
    scope = key.scope
    more = {name: Input(name, None, (), requires_grad=False) for name in found.derivatives}
    widened = replace(scope, inputs={**scope.inputs, **more})
    formula = read_formula(found.text, names=widened.inputs, functions=FORMULAS.functions)
    ready = readings(widened, formula)
    inner = {name: _inner(key.problem, *each) for name, each in found.derivatives.items()}
    return [_at(spot, ready, inner) for spot in key.spots], bool(inner)


def _at(spot: Spot, ready: Readings, inner: Mapping[str, Inner]) -> At:
    """A step at a point, where its derivatives have values too."""

    def value(bits: int) -> Values:
        known = spot.arbs(bits)
        known |= {name: boxed([each(spot, bits)], ()) for name, each in inner.items()}
        try:
            return ready.at(spot)(bits)
        finally:
            for name in inner:
                del known[name]

    return value


def _inner(problem: Problem, text: str, variable: str) -> Inner:
    """A derivative that is not yet taken: of a formula, by one of the problem's inputs."""
    inputs = problem.given(problem.inputs)
    formula = read_formula(text, names=inputs, functions=FORMULAS.functions)
    return derivative(problem, formula, variable)


def derivative(problem: Problem, formula: Formula, variable: str) -> Inner:
    """The derivative of a formula by one of a problem's inputs, at a point, to so many bits."""
    inputs = problem.given(problem.inputs)
    program = check_expression(formula.tree, declared=inputs, vocabulary=FORMULAS)
    nodes = (node for node in ast.walk(program.tree) if isinstance(node, ast.Name))
    names = frozenset(node.id for node in nodes) & inputs.keys()
    if variable not in inputs or inputs[variable].shape:
        raise GradcheckError(f"`{variable}` is no single number of the problem")

    def at(spot: Spot, bits: int) -> arb:
        leaves = line.inputs({name: spot.given[name] for name in names}, {variable})
        value = run(program, leaves, KINDS["symbolic"], budget(problem)).value
        end = np.asarray(value, dtype=object).item()
        if not isinstance(end, Symbolic) or variable not in leaves:
            return arb(0)
        return line.gradient({end: arb(1)}).get(leaves[variable].item(), arb(0))

    return at
