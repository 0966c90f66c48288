"""An answer marked as a teacher does: with its working, its slips, and what it follows from.

Of lines of working the last is the answer. Each is compared with the one before at every point, the
first one with the gradient; a derivative that is not yet taken is taken here, by the same slopes as
the closed form. A line that is not read is passed over, but not a link of a chain: only what is
proven different is named.

Follow-through: what the chain rule makes of a student's own wrong part is right. A part nearer to
the loss that is wrong is a cotangent to go on with: pushed through the rest of the program by the
closed form, it gives what this student should have got. Where a formula was typed for it, at every
point; numbers speak for the given point alone.
"""

import ast
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import sympy
from flint import arb

from gradcheck.answers import Formula, WorkingStep
from gradcheck.answers.operands import UNTAKEN
from gradcheck.answers.tokens import clip
from gradcheck.answers.tree import find_half_unit
from gradcheck.diagnosis import Diagnosis
from gradcheck.diagnosis.line import ask_once, trace
from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import (
    BITS,
    PROVEN,
    At,
    NoValue,
    Values,
    bare,
    compare,
    level_of,
    widen,
)
from gradcheck.grading.formula import Readings, box, list_names, make_budget, make_readings
from gradcheck.grading.judgement import FAILURES, Judgement, Witness
from gradcheck.grading.judging import ONE_POINT, judge
from gradcheck.grading.key import Key
from gradcheck.grading.pieces import find_slip
from gradcheck.grading.spots import Spot
from gradcheck.language.kinds import FORMULAS, KINDS
from gradcheck.language.program import RunOutcome, check_expression, run
from gradcheck.mistakes.row import VAGUE
from gradcheck.numbers.ball import arbs, balls, exact
from gradcheck.numbers.run import precision
from gradcheck.numbers.symbolic import write_out
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.symbolic import chain_gradients, find_gradients
from gradcheck.problem.model import list_mistake_ids
from gradcheck.problem.record import Part, Problem
from gradcheck.values import Params, Value

WRITTEN = 60  # operations of a program whose other forms are looked for
UNNAMED = "unnamed"  # of a set's own wrong answers: no mistake may be named
RARE = 0.35  # of mistakes that are seen less often than a slip
Inner = Callable[[Spot, int], arb]


def mark(key: Key, part: Part, answer: Value) -> Judgement:
    """Judge an answer to a part, which may be one `Among` others of the same student's.

    Of lines of working the last is the answer; the first that does not hold is named. Never raises
    on what a student typed.
    """
    typed = take_alone(answer)
    judged = judge(key, part, typed, diagnose=not isinstance(answer, Among))
    if judged.verdict == "wrong" and isinstance(answer, Among):
        judged = follow(key, part, answer, judged) or judge(key, part, typed)
    formula = judged.formula
    if judged.verdict not in ("right", "wrong") or judged.follows or formula is None:
        return judged
    key, part = key.ask(part)
    judged = _explain(key, part, formula, judged)
    unread = [step.fault for step in formula.steps if step.fault and step.chained]
    if judged.verdict == "right" and unread:  # its line is refused, and not just its end taken
        return replace(judged.conclude("invalid", str(unread[0])), understood="")
    return _explain_working(key, part, formula, judged) if formula.steps[1:] else judged


def mark_all(key: Key, given: Params) -> dict[str, Judgement]:
    """Judge the answers to several parts of one problem, by part."""
    asked = (part for part in key.problem.parts if part.name in given)
    return {p.name: mark(key, p, gather_among(key.problem, p.name, given)) for p in asked}


def _explain(key: Key, part: Part, formula: Formula, judged: Judgement) -> Judgement:
    """A wrong answer that was diagnosed; where no single mistake gives it, by the slip in it.

    Beside the slip stands the one misconception that gives the same answer, if there is one.
    """
    known = judged.diagnosis.hypotheses if judged.diagnosis else ()
    doubtful = not known or any(
        h.rank >= VAGUE
        or (h.with_ is not None and (h.with_.span != h.span or not key.looks(part)))  # or of arrays
        or (h.common <= RARE and not h.mistake.slip)
        for h in known
    )
    if judged.verdict != "wrong" or not doubtful or "narrower" in judged.tags:  # right so far
        return judged
    slip = find_slip(key, part, formula)
    others = [h for h in known if h.with_ is None and not h.mistake.slip]
    if slip and others:
        slip = Diagnosis((*slip.hypotheses, *others))
    return judged.attach(slip, key) if slip else judged


def _explain_working(key: Key, part: Part, formula: Formula, judged: Judgement) -> Judgement:
    """An answer with working, and the first of its lines that does not hold, if one is proven.

    The mistake is then the one in that line: of calculus while derivatives were taken, of algebra
    after that. Right in the end is right, but where chains are strict.
    """
    found = find_broken(key, part, formula)
    if found is None:
        return judged
    at, before, is_open, taken = found
    right = judged.verdict == "right"
    if right and before is None and at.label != formula.steps[-1].label:
        return judged
    said = _say_unequal(formula.text, at, before)
    told = replace(judged, remarks=(*judged.remarks, said), line=at.line)
    chained = at.chained or (before and "=" in formula.text[before.end : at.start])
    if right and key.problem.chain == "strict" and chained:
        return replace(told.conclude("wrong"), diagnosis=Diagnosis())
    if right and before is None:
        return replace(told, line=None)
    if right or is_open or at.tree is None:
        return told
    step = formula.piece(at.tree)
    there = _explain(key, part, step, judge(key, part, step)).diagnosis or Diagnosis()
    known = there.hypotheses
    if taken:
        known = tuple(h for h in known if h.mistake.slip or h.mistake.id == "false-law-of-algebra")
        there = Diagnosis(known)
    there = (None if known and not taken else find_slip(key, part, step)) or there
    return told.attach(there, key)


# -- lines of working ------------------------------------------------------------------------------


def _say_unequal(typed: str, step: WorkingStep, before: WorkingStep | None) -> str:
    said = [f"`{clip(' '.join(typed[s.start : s.end].split()), 60)}`" for s in (step, before) if s]
    first = "the derivative"
    if before is not None:
        same = before.line == step.line
        first = "what stands before it" if same else f"line {before.line}"
    return f"line {step.line}: {said[0]} is not equal to {', '.join([first, *said[1:]])}"


def find_broken(
    key: Key, part: Part, formula: Formula
) -> tuple[WorkingStep, WorkingStep | None, bool, bool] | None:
    """The first step that is proven not to be equal to the one before, and that one; or None.

    Before the first one is the gradient. Then whether a derivative in the step is yet to be taken,
    so that it is no answer by itself, and whether all had been taken before it.

    Of numbers and a formula that is meant at the given point, `f'(2) = 3x^2 = 3*4 = 12`: there a
    decimal is all that may have been rounded to it, in `2/3 = 0.667` and `5e^2 = 5*7.389`.
    """
    before: WorkingStep | None = None
    due: Sequence[At] = key.due(part.name)
    varied, taken, room = True, False, 0.0
    for step in formula.steps:
        if step.tree is None:
            continue
        try:
            ready, values, is_open = _evaluate_step(key, formula.text, step.tree)
            if before is None and _is_the_function(key, values):
                continue
            varies = is_open or ready.varies(key.scope)
            if not varies:
                _, values, _ = _evaluate_step(key, formula.text, step.tree, rounded=True)
            count = len(due) if varies and varied else 1
            own = ready.limit_tolerance(key.problem.tolerance)
            found = compare(values[:count], due[:count], max(own, room))
            if found.kind in PROVEN:
                return step, before, is_open, taken
        except FAILURES:
            continue
        before, due, varied, taken, room = step, values, varies, not is_open, own
    return None


def _is_the_function(key: Key, values: Sequence[At]) -> bool:
    """Whether a first line only repeats what is to be differentiated."""

    def value(spot: Spot, bits: int) -> Values:
        point = {name: balls(v) for name, v in spot.point.items()}
        return bare(arbs(ask_once(spot.problem.case(spot.point)).function("ball", point)))

    return compare(values, [partial(value, spot) for spot in key.spots]).kind == "equal"


class _Naming(ast.NodeTransformer):
    """A name in place of each derivative that is not yet taken, and what each of them is.

    If they are `rounded`, of each decimal, too.
    """

    def __init__(self, key: Key, rounded: bool) -> None:
        self.key, self.rounded, self.found = key, rounded, dict[str, Inner]()

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        half = find_half_unit(node) if self.rounded else None
        if half is None:
            return node
        return self._name(node, lambda *_: widen(exact(node.value), half, 0.0, arb(0)))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name(function), [inner, ast.Name(by)]) if function == UNTAKEN:
                return self._name(node, _differentiate(self.key, inner, by))
        return node

    def _name(self, node: ast.expr, value: Inner) -> ast.AST:
        name = f"piece_{len(self.found)}"
        self.found[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def _evaluate_step(
    key: Key, text: str, tree: ast.expr, *, rounded: bool = False
) -> tuple[Readings, list[At], bool]:
    """A step, as a function of the bits at every point, and whether it takes derivatives."""
    naming = _Naming(key, rounded)
    formula = Formula(text, ast.Expression(naming.visit(deepcopy(tree))), ())
    ready = make_readings({**key.shapes, **dict.fromkeys(naming.found, ())}, formula)

    def value(spot: Spot, bits: int) -> Values:
        known = spot.arbs(bits)  # no answer can read these names
        known |= {name: box([each(spot, bits)], ()) for name, each in naming.found.items()}
        return ready.at(spot)(bits)

    return ready, [partial(value, spot) for spot in key.spots], bool(naming.found)


def _differentiate(key: Key, body: ast.expr, variable: str) -> Inner:
    """The derivative of a formula by one of a problem's inputs, at a point, to so many bits."""
    inputs = key.problem.select_inputs(key.problem.inputs)
    program = check_expression(ast.Expression(body), declared=inputs, vocabulary=FORMULAS)
    names = inputs.keys() & list_names(program)
    if variable not in inputs or inputs[variable].shape:
        raise GradcheckError(f"`{variable}` is no single number of the problem")

    def function(kind: str, given: Params) -> Value:
        return run(program, given, KINDS[kind], make_budget(key.problem)).value

    def at(spot: Spot, bits: int) -> arb:
        known = {name: spot.given[name] for name in (*names, variable)}
        found: arb = find_gradients(Case(function, known, (variable,)), bits)[variable].item()
        return found

    return at


# -- follow-through --------------------------------------------------------------------------------

FOLLOWS = "follow-through"
SHARP = 0.01  # of the largest entry: how far rounded numbers may leave open what follows from them
WRONG = ("wrong", "needs-review")


@dataclass(frozen=True)
class Among:
    """An answer, and what its student answered to the parts nearer to the loss."""

    answer: Value
    beside: Params


def gather_among(problem: Problem, part: str, given: Params) -> Value:
    """An answer to a part with all that its judgement depends on; alone, if that is nothing else.

    `given` are the answers to all the problem's parts.
    """
    answer = given.get(part)
    names = problem.nearer(part) if problem.follow_through and answer is not None else ()
    beside = {name: given[name] for name in names if given.get(name) is not None}
    return Among(answer, beside) if beside else answer


def take_alone(answer: Value) -> Value:
    """An answer without the others that it may stand among."""
    return answer.answer if isinstance(answer, Among) else answer


def follow(key: Key, part: Part, answer: Among, judged: Judgement) -> Judgement | None:
    """The judgement of a wrong answer that follows from wrong parts nearer to the loss; else None.

    Nothing follows where there is no number at a point, or no shape that fits.
    """
    if judged.ready is None or judged.ready.plain:
        return None
    try:
        wrong = [w for name in answer.beside if (w := _find_wrong(key, name, answer.beside))]
        varies = judged.ready.varies(key.scope)
        for count in range(len(wrong), 0, -1):  # who got back on the track went on from earlier
            used = wrong[:count]
            own = [w.ready for w in (judged, *used) if w.ready]
            exact = all(ready.varies(key.scope) for ready in own)
            off = max(ready.limit_tolerance(key.problem.tolerance) for ready in own)
            if not (_fits_everywhere if exact else _fits_here)(key, judged, used, off):
                continue
            name = [each.part for each in used if not each.follows][-1]
            tags = (FOLLOWS,) if exact or not varies else (FOLLOWS, ONE_POINT)
            words = f"follows by the chain rule from the answer to `{name}`"
            return replace(judged.conclude("right", words, tags=tags), follows=name)
    except FAILURES:
        pass
    return None


def _find_wrong(key: Key, name: str, given: Params) -> Judgement | None:
    """The judgement of an answer that others may go on from; it may follow from another itself."""
    part = key.problem.part(name)
    if part is None:
        return None
    judged = judge(key, part, given[name], diagnose=False)
    if judged.verdict not in WRONG or judged.ready is None or judged.ready.plain:
        return None
    own = gather_among(key.problem, name, given)
    return (follow(key, part, own, judged) if isinstance(own, Among) else None) or judged


def _fits_everywhere(key: Key, own: Judgement, wrong: Sequence[Judgement], off: float) -> bool:
    """Whether a formula is what follows from formulas, at every point; nothing is no answer."""
    due = [partial(_go_on_from, key, own.part, wrong, spot) for spot in key.spots]
    mine = [partial(_answer_at, key, own, spot) for spot in key.spots]
    if compare(mine, due, off).kind != "equal":
        return False
    with precision(BITS[0]):
        found = (np.asarray(at(BITS[0]), dtype=object) for at in due)
        return not all(0 in ball for values in found for ball in values.flat)


def _fits_here(key: Key, own: Judgement, wrong: Sequence[Judgement], off: float) -> bool:
    """Whether an answer is what follows from others at the given point, as far as digits say."""
    spot, bits = key.spots[0], BITS[0]
    with precision(bits):
        due = np.asarray(_go_on_from(key, own.part, wrong, spot, bits, rounded=True), dtype=object)
        mine = np.asarray(_answer_at(key, own, spot, bits, rounded=True), dtype=object)
        level, pairs = level_of(due), zip(mine.flat, due.flat, strict=False)
        room = arb(0, off)  # of what is due
        if mine.shape != due.shape or not level > 0:
            return False
        return all(b.rad() <= SHARP * level and a.overlaps(b + b * room) for a, b in pairs)


def _answer_at(
    key: Key, judged: Judgement, spot: Spot, bits: int, *, rounded: bool = False
) -> Values:
    """What was answered, at a point; or balls, each of all that may have been rounded to it."""
    assert judged.ready is not None
    found = judged.ready.at(spot)(bits)
    if not rounded:
        return found
    numbers = np.asarray(found, dtype=object)
    noise, level = np.broadcast_to(key.noise(judged.part), numbers.shape), level_of(numbers)
    spread = np.frompyfunc(partial(widen, level=level), 3, 1)
    return np.asarray(spread(numbers, judged.ready.half_units, noise), dtype=object)


def _go_on_from(
    key: Key, part: str, wrong: Sequence[Judgement], spot: Spot, bits: int, *, rounded: bool = False
) -> Values:
    """What follows for a part from what was answered to others."""
    problem = key.problem
    try:
        found = [_answer_at(key, each, spot, bits, rounded=rounded) for each in wrong]
    except NoValue as error:
        raise GradcheckError(f"an answer to go on with has no value: {error}") from None
    cotangents = [(w.part, np.asarray(g, dtype=object)) for w, g in zip(wrong, found, strict=True)]
    if any(g.shape != problem.inputs[name].shape for name, g in cotangents):
        raise GradcheckError("an answer of another shape leads nowhere")
    runs: list[RunOutcome] = []

    def function(kind: str, inputs: Params) -> Value:
        runs.append(problem.outcome_on(kind, inputs))
        return runs[-1].value

    case = replace(problem.case(spot.point), function=function)
    return bare(chain_gradients(case, lambda: runs[-1].names, cotangents, bits)[part])


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


def find_faults(ready: Key) -> list[Fault]:
    """The self-tests of one prepared problem that do not come out.

    Every part of a right answer is right. A wrong one is wrong in at least one part, and the
    mistake is named wherever it is; `unnamed` stands for none: no mistake may be named.
    """
    found: list[Fault] = []
    for entry in ready.problem.right:
        said = mark_all(ready, entry).values()
        found += [_report_fault(each, "right") for each in said if each.verdict != "right"]
    known = {UNNAMED, *list_mistake_ids(), *(each.id for each in ready.problem.known_answers)}
    for entry, mistake in ready.problem.wrong:
        judged = list(mark_all(ready, entry).values())
        unknown = " (no mistake is called so: see `gradcheck mistakes`)"
        expected = f"wrong: {mistake}{'' if mistake in known else unknown}"
        wrong = [said for said in judged if said.verdict != "right"]
        off = [said for said in wrong if mistake not in _list_ids(said)] if wrong else judged[:1]
        found += [_report_fault(said, expected) for said in off]
    return found


def find_positive_form(ready: Key) -> tuple[str, str] | None:
    """A part and its gradient as who thinks of positive numbers writes it, where that is wrong.

    So is pi/(sqrt(L)*sqrt(g)) for 2*pi*sqrt(L/g), that has a value where both are negative.
    """
    case = ready.case(0)
    positive = all(v.shape == () and v > 0 for v in case.floats().values())
    line = trace(case) if positive and ready.run is None and case.rows is None else None
    whole = write_out(line.nodes[-1], WRITTEN) if line is not None else None
    if whole is None:
        return None
    form = sympy.expand_log(sympy.expand_power_base(whole, force=True), force=True)
    for part in ready.problem.parts if form != whole else ():
        text = str(sympy.diff(form, sympy.Symbol(part.name, real=True)))
        if judge(ready, part, text, diagnose=False).verdict == "wrong":
            return part.name, text
    return None


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
