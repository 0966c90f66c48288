"""An answer marked as a teacher does: with its working, its slips, and what it follows from.

Of lines of working the last is the answer. Each is compared with the one before at every point, the
first one with the gradient; a derivative that is not yet taken is taken here, by the same slopes as
the closed form. A line that is not read is passed over, but not a link of a chain: only what is
proven different is named.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from flint import arb

from gradcheck.answers import Formula, WorkingStep
from gradcheck.answers.operands import UNTAKEN
from gradcheck.answers.tokens import clip
from gradcheck.diagnosis import Diagnosis
from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import At, Values, compare
from gradcheck.grading.follow import Among, alone, among, follow
from gradcheck.grading.formula import box, budget, readings
from gradcheck.grading.judgement import FAILURES, Judgement, Witness
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key
from gradcheck.grading.pieces import find_slip
from gradcheck.grading.spots import Spot
from gradcheck.language import check_expression
from gradcheck.language.kinds import FORMULAS, KINDS
from gradcheck.language.program import copy_tree
from gradcheck.language.run import run
from gradcheck.mistakes.row import VAGUE
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.problem.model import mistake_ids
from gradcheck.problem.record import Input, Part
from gradcheck.values import Params, Value

UNNAMED = "unnamed"  # of a set's own wrong answers: no mistake may be named
RARE = 0.35  # of mistakes that are seen less often than a slip
Inner = Callable[[Spot, int], arb]


def mark(key: Key, part: Part, answer: Value, student: str = "") -> Judgement:
    """Judge an answer to a part, which may be one `Among` others of the same student's.

    Of lines of working the last is the answer; the first that does not hold is named. Never raises
    on what a student typed.
    """
    typed = alone(answer)
    judged = judge(key, part, typed, student, diagnose=not isinstance(answer, Among))
    if judged.verdict == "wrong" and isinstance(answer, Among):
        judged = follow(key, part, answer, judged) or judge(key, part, typed, student)
    formula = judged.formula
    if judged.verdict not in ("right", "wrong") or judged.follows or formula is None:
        return judged
    judged = _explain(key, part, formula, judged)
    if len(formula.steps) < 2:
        return judged
    unread = [step.fault for step in formula.steps if step.fault and step.chained]
    if judged.verdict == "right" and unread:  # its line is refused, and not just its end taken
        return replace(
            judged.conclude("invalid", str(unread[0])), score=0.0, understood="", tags=()
        )
    return _explain_working(key, part, formula, judged)


def mark_all(key: Key, given: Params) -> dict[str, Judgement]:
    """Judge the answers to several parts of one problem, by part."""
    asked = (part for part in key.problem.parts if part.name in given)
    return {p.name: mark(key, p, among(key.problem, p.name, given)) for p in asked}


def _explain(key: Key, part: Part, formula: Formula, judged: Judgement) -> Judgement:
    """A wrong answer that was diagnosed; where no single mistake gives it, by the slip in it.

    Beside the slip stands the one misconception that gives the same answer, if there is one.
    """
    known = judged.diagnosis.hypotheses if judged.diagnosis else ()
    doubtful = not known or any(
        h.rank >= VAGUE
        or (h.with_ is not None and h.with_.span != h.span)  # two mistakes at two places
        or (h.common <= RARE and not h.mistake.slip)
        for h in known
    )
    if judged.verdict != "wrong" or not doubtful or "narrower" in judged.tags:  # right so far
        return judged
    slip = find_slip(key, part, formula)
    others = [h for h in known if h.with_ is None and not h.mistake.slip]
    if slip and others:
        slip = Diagnosis("torn", (*slip.hypotheses, *others))
    return judged.attach(slip, key.problem.credit) if slip else judged


def _explain_working(key: Key, part: Part, formula: Formula, judged: Judgement) -> Judgement:
    """An answer with working, and the first of its lines that does not hold, if one is proven.

    The mistake is then the one in that line: of calculus while derivatives were taken, of algebra
    after that. Right in the end is right, but where chains are strict.
    """
    found = find_broken(key, part, formula)
    if found is None:
        return judged
    said = _say_unequal(formula.text, found.step, found.before)
    told = replace(judged.conclude(judged.verdict, said), line=found.step.line)
    chained = found.step.chained or (found.before is not None and found.before.chained)
    if judged.verdict == "right" and key.problem.chain == "strict" and chained:
        return replace(told, verdict="wrong", score=0.0, diagnosis=Diagnosis("unnamed"))
    if judged.verdict == "right" and found.before is None:
        return replace(told, line=None) if found.step.chained else judged
    if judged.verdict == "right" or not found.formula:
        return told
    assert found.step.tree is not None
    step = replace(formula.piece(found.step.tree), tokens=(), steps=())
    there = None
    if not found.taken:
        there = _explain(key, part, step, judge(key, part, step)).diagnosis
    there = there or find_slip(key, part, step) or Diagnosis("unnamed")
    return told.attach(there, key.problem.credit)


# -- lines of working ------------------------------------------------------------------------------


class Broken(NamedTuple):
    """The first step that is not equal to the one before (None: to the gradient).

    `formula` says that it can be judged as an answer by itself, `taken` that all derivatives had
    been taken before it.
    """

    step: WorkingStep
    before: WorkingStep | None
    formula: bool
    taken: bool


def _say_unequal(typed: str, step: WorkingStep, before: WorkingStep | None) -> str:
    """Which line, and how it and the one before are read."""
    said = [f"`{clip(' '.join(typed[s.start : s.end].split()), 60)}`" for s in (step, before) if s]
    first = "the derivative"
    if before is not None:
        same = before.line == step.line
        first = "what stands before it" if same else f"line {before.line}"
    return f"line {step.line}: {said[0]} is not equal to {', '.join([first, *said[1:]])}"


def find_broken(key: Key, part: Part, formula: Formula) -> Broken | None:
    """The first step that is proven not to be equal to the one before; None if all are."""
    before: WorkingStep | None = None
    due: Sequence[At] = key.due(part.name)
    taken = False
    for step in formula.steps:
        if step.tree is None:
            continue
        try:
            values, open_ = _evaluate_step(key, formula.text, step.tree)
            if before is None and _is_the_function(key, values):
                continue
            if compare(values, due).kind in ("different", "shape"):
                return Broken(step, before, not open_, taken)
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
                self.found[name] = _differentiate(self.key, inner, by)
                return ast.copy_location(ast.Name(name, ast.Load()), node)
        return node


def _evaluate_step(key: Key, text: str, tree: ast.expr) -> tuple[list[At], bool]:
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


def _differentiate(key: Key, body: ast.expr, variable: str) -> Inner:
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


# -- a set tests itself ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """A self-test that does not come out: what was expected of an answer, and what came.

    Of an answer that is not right, `witness` says where, and what is right there.
    """

    problem: str
    part: str
    answer: Value
    expected: str
    came: str
    witness: Witness | None = None


def faults(ready: Key) -> list[Fault]:
    """The self-tests of one prepared problem that do not come out.

    Every part of a right answer is right. A wrong one is wrong in at least one part, and the
    mistake is named wherever it is; `unnamed` stands for none: no mistake may be named.
    """
    found: list[Fault] = []
    for entry in ready.problem.right:
        said = mark_all(ready, entry).values()
        found += [_report_fault(each, "right") for each in said if each.verdict != "right"]
    known = {UNNAMED, *mistake_ids(), *(each.id for each in ready.problem.known_answers)}
    for entry, mistake in ready.problem.wrong:
        judged = list(mark_all(ready, entry).values())
        unknown = " (no mistake is called so: see `gradcheck mistakes`)"
        expected = f"wrong: {mistake}{'' if mistake in known else unknown}"
        wrong = [said for said in judged if said.verdict != "right"]
        off = [said for said in wrong if mistake not in _list_ids(said)] if wrong else judged[:1]
        found += [_report_fault(said, expected) for said in off]
    return found


def _report_fault(said: Judgement, expected: str) -> Fault:
    return Fault(said.problem, said.part, said.answer, expected, _say_what_came(said), said.witness)


def _list_ids(said: Judgement) -> tuple[str, ...]:
    if said.verdict != "wrong" or said.diagnosis is None:
        return ()
    if said.diagnosis.certainty == UNNAMED:
        return (UNNAMED,)
    found = (*said.diagnosis.hypotheses, *said.diagnosis.beneath)
    return tuple(hypothesis.mistake.id for hypothesis in found)


def _say_what_came(said: Judgement) -> str:
    named = ", ".join(id for id in _list_ids(said) if id != UNNAMED)
    if named or said.verdict != "wrong":
        return f"{said.verdict}: {named}" if named else "; ".join((said.verdict, *said.remarks))
    remarks = said.diagnosis.remarks if said.diagnosis else ()
    return "; ".join(("wrong, unnamed", *said.remarks, *remarks))
