"""A judgement as the contract's line of JSON."""

import json
import math
from typing import Any

from gradcheck.diagnosis import Hypothesis, words
from gradcheck.grading.judging import Judgement, Witness


def json_line(judgement: Judgement, source: str, feedback: str) -> str:
    """The contract's line of `grade --json`; `feedback` says how much of a mistake is told."""
    line: dict[str, Any] = {
        "student": judgement.student,
        "problem": judgement.problem,
        "part": judgement.part,
        "answer": _plain(judgement.answer),
        "understood": judgement.understood,
        "verdict": judgement.verdict,
        "score": judgement.score,
        "points": judgement.points,
    }
    diagnosis = judgement.diagnosis if feedback != "verdict" else None
    if diagnosis is not None:
        line["mistakes"] = [
            _mistake(h, source, feedback) | _placed(judgement, h, feedback)
            for h in diagnosis.hypotheses
        ]
        line["certainty"] = diagnosis.certainty
    if judgement.witness is not None and feedback != "verdict":
        line["witness"] = _witness(judgement.witness)
    remarks = [*judgement.remarks, *(diagnosis.remarks if diagnosis else ())]
    if remarks:
        line["remarks"] = remarks
    if judgement.tags:
        line["tags"] = list(judgement.tags)
    return json.dumps(line, allow_nan=False)


def _plain(value: Any) -> Any:
    """What was typed, as JSON can say it: other numbers and strange keys become texts."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int) else str(value)


def _mistake(hypothesis: Hypothesis, source: str, feedback: str) -> dict[str, Any]:
    """One mistake that fits, its place in the program, and a second one made `with` it."""
    found: dict[str, Any] = {"id": hypothesis.mistake.id}
    if feedback in ("place", "full") and hypothesis.span is not None:
        start, end = hypothesis.span[-2:]
        found |= {"text": source[start:end], "start": start, "end": end}
    if feedback == "full":
        found["says"] = words(hypothesis, source)
    return found | ({"with": list(hypothesis.ids[1:])} if hypothesis.with_ else {})


def _placed(judgement: Judgement, hypothesis: Hypothesis, feedback: str) -> dict[str, Any]:
    """Where a mistake stands in an answer that is a program."""
    place = judgement.places.get(hypothesis.mistake.id)
    if place is None or feedback not in ("place", "full"):
        return {}
    start, end = place
    line = line_of(judgement.answer, start)
    said = {"says": f"{words(hypothesis, '')} (line {line})"} if feedback == "full" else {}
    where = {"start": None, "end": None, "answer_start": start, "answer_end": end, "line": line}
    return {**said, **where}


def line_of(text: str, offset: int) -> int:
    """The line of a text, counted from 1, in which a character stands."""
    return text.count("\n", 0, offset) + 1


def _witness(witness: Witness) -> dict[str, Any]:
    found = {"at": witness.at, "yours": witness.yours, "expected": witness.expected}
    return found | ({"index": list(witness.index)} if witness.index else {})
