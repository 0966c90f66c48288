"""A judgement as the contract's line of JSON."""

import json
import math
from collections.abc import Mapping
from typing import Any

from gradcheck.diagnosis import Hypothesis, words
from gradcheck.grading.judgement import Judgement, Witness
from gradcheck.grading.key import Key
from gradcheck.grading.standing import Place, standing
from gradcheck.problem.record import Part

# What is told of a mistake where not everything is.
RETYPED = "retype"  # the verb of slips in the answer itself
CLASS = frozenset({"id", "with"})
PLACE = CLASS | {"in", "text", "start", "end", "answer_start", "answer_end", "line"}


def line(judgement: Judgement, source: str) -> dict[str, Any]:
    """All that there is to tell of an answer; None where there is nothing to say.

    `hints` are the remarks of the diagnosis: `told` makes them remarks, or leaves them out.
    """
    diagnosis, witness = judgement.diagnosis, judgement.witness
    return {
        "student": judgement.student,
        "problem": judgement.problem,
        "part": judgement.part,
        "answer": _plain(judgement.answer),
        "understood": judgement.understood or None,
        "verdict": judgement.verdict,
        "score": judgement.score,
        "points": judgement.points,
        "mistakes": None
        if diagnosis is None
        else [_told(judgement, h, source) for h in diagnosis.hypotheses],
        "certainty": None if diagnosis is None else diagnosis.certainty,
        "witness": None if witness is None else _witness(witness),
        "remarks": list(judgement.remarks),
        "hints": list(diagnosis.remarks) if diagnosis else [],
        "tags": list(judgement.tags) or None,
        "variant": dict(judgement.variant) or None,
        "follows": judgement.follows or None,
        "line": judgement.line,
    }


def told(full: Mapping[str, Any], feedback: str) -> dict[str, Any]:
    """A line with as much of the mistake as `feedback` allows: verdict, class, place or full."""
    line = dict(full)
    hints = line.pop("hints")
    if feedback != "full":
        hints = []  # they may tell the factor that is missing
    if feedback == "verdict":
        line |= {"mistakes": None, "certainty": None, "witness": None}
    elif feedback != "full" and line["mistakes"]:
        kept = CLASS if feedback == "class" else PLACE
        line["mistakes"] = [{k: m[k] for k in m if k in kept} for m in line["mistakes"]]
    line["remarks"] = [*line["remarks"], *hints] or None
    return line


def json_line(judgement: Judgement, source: str, feedback: str) -> str:
    """The contract's line of `grade --json`; `feedback` says how much of a mistake is told."""
    return json.dumps(told(line(judgement, source), feedback), allow_nan=False)


def _plain(value: Any) -> Any:
    """What was typed, as JSON can say it: other numbers and strange keys become texts."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int) else str(value)


def place_in_answer(key: Key, part: Part, line: Mapping[str, Any]) -> Place | None:
    """Where in a typed answer its mistake stands: a slip's own place, else the piece to blame."""
    mistakes, answer = line["mistakes"] or (), line["answer"]
    slips = ((m["start"], m["end"]) for m in mistakes if m.get("in") == "answer" and "start" in m)
    place = next(slips, None)
    if place is None and mistakes and isinstance(answer, str):
        place = standing(key, part, answer, line["line"])
    return place


def _told(judgement: Judgement, hypothesis: Hypothesis, source: str) -> dict[str, Any]:
    """One mistake that fits, and where: in the program, or `in` the answer."""
    if hypothesis.mistake.verb == RETYPED:
        said = _mistake(hypothesis, str(judgement.answer))
        said["text"] = said.get("text", hypothesis.texts["text"])
        return {"id": said.pop("id"), "in": "answer", **said}
    return _mistake(hypothesis, source) | _placed(judgement, hypothesis)


def _mistake(hypothesis: Hypothesis, source: str) -> dict[str, Any]:
    """One mistake that fits, its place in the program, and a second one made `with` it."""
    found: dict[str, Any] = {"id": hypothesis.mistake.id}
    if hypothesis.span is not None:
        start, end = hypothesis.span[-2:]
        found |= {"text": source[start:end], "start": start, "end": end}
    found["says"] = words(hypothesis, source)
    return found | ({"with": list(hypothesis.ids[1:])} if hypothesis.with_ else {})


def _placed(judgement: Judgement, hypothesis: Hypothesis) -> dict[str, Any]:
    """Where a mistake stands in an answer that is a program."""
    place = judgement.places.get(hypothesis.mistake.id)
    if place is None:
        return {}
    start, end = place
    line = line_of(judgement.answer, start)
    said = f"{words(hypothesis, '')} (line {line})"
    where = {"start": None, "end": None, "answer_start": start, "answer_end": end, "line": line}
    return {"says": said, **where}


def line_of(text: str, offset: int) -> int:
    """The line of a text, counted from 1, in which a character stands."""
    return text.count("\n", 0, offset) + 1


def _witness(witness: Witness) -> dict[str, Any]:
    found = {"at": witness.at, "yours": witness.yours, "expected": witness.expected}
    return found | ({"index": list(witness.index)} if witness.index else {})
