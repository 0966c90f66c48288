"""An answer marked as a teacher does: with its working, its slips, and what it follows from."""

from dataclasses import replace

from gradcheck.answers import Formula
from gradcheck.diagnosis import Diagnosis
from gradcheck.grading.follow import Among, alone, among, follow
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key
from gradcheck.grading.pieces import find_slip
from gradcheck.grading.working import find_broken, find_unread
from gradcheck.mistakes.row import VAGUE
from gradcheck.problem.record import Part
from gradcheck.values import Params, Value

RARE = 0.35  # of mistakes that are seen less often than a slip


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
    if judged.verdict == "right" and (fault := find_unread(formula.steps)):
        return replace(judged.conclude("invalid", str(fault)), score=0.0, understood="", tags=())
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
    told = replace(judged.conclude(judged.verdict, found.words), line=found.step.line)
    if judged.verdict == "right" and key.problem.chain == "strict" and found.chained:
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
