"""An answer marked as a teacher does: with its working, its slips, and what it follows from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradcheck.answers.working import Step
from gradcheck.diagnosis import Diagnosis
from gradcheck.grading.follow import Among, alone, among, followed
from gradcheck.grading.judgement import Judgement, said
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key
from gradcheck.grading.on_top import on_top
from gradcheck.grading.repair import repaired
from gradcheck.grading.scoring import share
from gradcheck.grading.working import broken, final, unread, worked
from gradcheck.mistakes.row import VAGUE
from gradcheck.problem.record import Part

RARE = 0.35  # of mistakes that are seen less often than a slip


def mark(key: Key, part: Part, answer: Any, student: str = "") -> Judgement:
    """Judge an answer to a part, which may be one `Among` others of the same student's.

    Of lines of working the last is the answer; the first that does not hold is named. Never raises
    on what a student typed.
    """
    typed = alone(answer)
    lines = worked(key, part, typed)
    last = lines[-1].text.strip() if lines else typed
    beside = isinstance(answer, Among)
    judged = judge(key, part, last, student, diagnose=not beside)
    if judged.verdict == "wrong":
        last_of = _beside(key, answer, last) if beside else None
        follows = followed(key, part, last_of, judged) if last_of else None
        judged = follows or _diagnosed(key, part, lines[-1] if lines else None, judged, last_of)
    if not lines:
        return judged
    if judged.verdict == "right" and (fault := unread(key, part, lines)):
        return replace(
            said(judged, "invalid", str(fault)), answer=typed, score=0.0, understood="", tags=()
        )
    if len(lines) > 1 and judged.verdict in ("right", "wrong") and not judged.follows:
        judged = _along(key, part, lines, judged)
    return replace(judged, answer=typed)


def mark_all(key: Key, given: Mapping[str, Any]) -> dict[str, Judgement]:
    """Judge the answers to several parts of one problem, by part."""
    asked = (part for part in key.problem.parts if part.name in given)
    return {p.name: mark(key, p, among(key.problem, p.name, given)) for p in asked}


def _beside(key: Key, answer: Among, last: Any) -> Among:
    """An answer and those that it stands among, without their working."""
    parts = {name: key.problem.part(name) for name in answer.beside}
    return Among(
        last, {n: final(key, p, answer.beside[n]) for n, p in parts.items() if p is not None}
    )


def _diagnosed(
    key: Key, part: Part, step: Step | None, judged: Judgement, among: Among | None
) -> Judgement:
    """A wrong answer explained: by what was done since the last wrong part, or from the program."""
    since = on_top(key, part, among) if among else None
    if since is not None:
        diagnosis, name = since
        words = f"held against what follows from the answer to `{name}`"
        return _with(key, replace(judged, remarks=(*judged.remarks, words)), diagnosis)
    if among:
        judged = judge(key, part, judged.answer, judged.student)
    return _explained(key, part, step, judged)


def _explained(key: Key, part: Part, step: Step | None, judged: Judgement) -> Judgement:
    """A wrong answer that was diagnosed; where no single mistake gives it, by the slip made in it.

    `step` is the one of its lines that it is.
    """
    if judged.verdict != "wrong" or (judged.diagnosis and not _doubtful(judged.diagnosis)):
        return judged
    slip = repaired(key, part, *((step.text, step.start) if step else (judged.answer,)))
    return judged if slip is None else _with(key, judged, _beside_the_slip(judged, slip))


def _doubtful(found: Diagnosis) -> bool:
    """Whether what was found may as well be a slip in the answer: the simpler story."""
    return not found.hypotheses or any(
        h.with_ is not None or h.mistake.common <= RARE or h.mistake.rank >= VAGUE
        for h in found.hypotheses
    )


def _beside_the_slip(judged: Judgement, slip: Diagnosis) -> Diagnosis:
    """The slip, and the one misconception that gives the same answer, if there is one."""
    known = judged.diagnosis.hypotheses if judged.diagnosis else ()
    others = [h for h in known if h.with_ is None and not h.mistake.slip]
    return Diagnosis("torn", (*slip.hypotheses, *others)) if others else slip


def _with(key: Key, judged: Judgement, diagnosis: Diagnosis) -> Judgement:
    """The same verdict, explained otherwise."""
    left = share(key.problem.credit, judged.tags, diagnosis)
    return replace(judged, diagnosis=diagnosis, score=judged.points * left)


def _along(key: Key, part: Part, lines: Sequence[Step], judged: Judgement) -> Judgement:
    """An answer with working, and the first of its lines that does not hold, if one is proven.

    The mistake is then the one in that line: of calculus while derivatives were taken, of algebra
    after that. Right in the end is right.
    """
    found = broken(key, part, lines)
    if found is None:
        return judged
    if judged.verdict == "right" and found.before is None:
        after = lines[lines.index(found.step) + 1 :]
        chained = any(step.line == found.step.line for step in after)
        return replace(judged, remarks=(*judged.remarks, found.words)) if chained else judged
    told = replace(judged, line=found.step.line, remarks=(*judged.remarks, found.words))
    if judged.verdict == "right" or not found.formula:
        return told
    step = found.step
    text = step.text.strip()
    there = None if found.taken else _explained(key, part, step, judge(key, part, text)).diagnosis
    slip = there or repaired(key, part, step.text, step.start)
    return _with(key, told, slip or Diagnosis("unnamed"))
