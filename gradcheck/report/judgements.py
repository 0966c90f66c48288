"""A judgement as the contract's line of JSON, and that in words."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.diagnosis import Diagnosis, Hypothesis, write_words
from gradcheck.errors import underline
from gradcheck.grading.judgement import Judgement, Witness
from gradcheck.grading.key import Key
from gradcheck.grading.pieces import Place, locate_blame
from gradcheck.mistakes import CATALOGUE
from gradcheck.problem.record import Part
from gradcheck.report.figures import format_index, plain

if TYPE_CHECKING:
    from gradcheck.grading.marking import Fault

LEVELS = ("verdict", "class", "place", "full")
"""How much is told of a mistake."""
RETYPED = "retype"  # the verb of slips in the answer itself
CLASS = frozenset({"id", "with"})
PLACE = CLASS | {"in", "text", "start", "end", "answer_start", "answer_end", "line"}


def make_line(judgement: Judgement, source: str) -> dict[str, Any]:
    """All that there is to tell of an answer; None where there is nothing to say.

    `hints` are the remarks of the diagnosis: `restrict` makes them remarks, or leaves them out.
    """
    wrong, witness = judgement.verdict == "wrong", judgement.witness
    diagnosis = (judgement.diagnosis or Diagnosis()) if wrong else None
    return {
        "student": "",
        "problem": judgement.problem,
        "part": judgement.part,
        "answer": strip_value(judgement.answer),
        "understood": judgement.understood or None,
        "verdict": judgement.verdict,
        "score": judgement.score,
        "points": judgement.points,
        "mistakes": None
        if diagnosis is None
        else [_make_record(judgement, h, source) for h in diagnosis.hypotheses],
        "certainty": None if diagnosis is None else diagnosis.certainty,
        "witness": None if witness is None else _describe_witness(witness),
        "remarks": list(judgement.remarks),
        "hints": list(diagnosis.remarks) if diagnosis else [],
        "tags": list(judgement.tags) or None,
        "variant": dict(judgement.variant) or None,
        "follows": judgement.follows or None,
        "line": judgement.line,
        "same": None,
    }


def restrict(full: Mapping[str, Any], feedback: str) -> dict[str, Any]:
    """A line with as much of the mistake as `feedback` allows: verdict, class, place or full."""
    line = {key: value for key, value in full.items() if key != "hints"}
    hints = full["hints"] if feedback == "full" else ()  # the factor that is missing, say
    if feedback == "verdict":
        line |= {"mistakes": None, "certainty": None, "witness": None}
    elif feedback != "full" and line["mistakes"]:
        kept = CLASS if feedback == "class" else PLACE
        line["mistakes"] = [{k: m[k] for k in m if k in kept} for m in line["mistakes"]]
    line["remarks"] = [*line["remarks"], *hints] or None
    return line


def strip_value(value: Any) -> Any:
    """What was typed, as JSON can say it: other numbers and strange keys become texts."""
    if isinstance(value, dict):
        return {str(key): strip_value(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return strip_value(value.tolist())
    if isinstance(value, list | tuple):
        return [strip_value(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int) else str(value)


def locate_mistake(key: Key, part: Part, line: Mapping[str, Any]) -> Place | None:
    """Where in a typed answer its mistake stands: a slip's own place, else the piece to blame."""
    mistakes, answer = line["mistakes"] or (), line["answer"]
    for mistake in mistakes:
        if "answer_start" in mistake:
            return mistake["answer_start"], mistake["answer_end"]
    wanted = mistakes and isinstance(answer, str)
    return locate_blame(key, part, answer, line["line"]) if wanted else None


def _make_record(judgement: Judgement, hypothesis: Hypothesis, source: str) -> dict[str, Any]:
    """One mistake that fits, where in the problem's program, and what was made `with` it.

    The place of a slip, and of a mistake in an answer that is a program, is in the answer.
    """
    typed = hypothesis.mistake.verb == RETYPED
    source = str(judgement.answer) if typed else source
    span = hypothesis.span and hypothesis.span[-2:]
    start, end = span or (None, None)
    text, says = span and source[slice(*span)], write_words(hypothesis, source)
    id = hypothesis.mistake.id
    found = {"id": id, "text": text, "start": start, "end": end, "says": says}
    if hypothesis.with_:
        found["with"] = list(hypothesis.ids[1:])
    place = span if typed else judgement.places.get(id)
    if typed:
        found |= {"in": "answer", "text": hypothesis.texts["text"]}
    elif place:
        found["line"] = judgement.answer.count("\n", 0, place[0]) + 1
        found["says"] = f"{write_words(hypothesis, '')} (line {found['line']})"
    if place:
        found |= {"start": None, "end": None, "answer_start": place[0], "answer_end": place[1]}
    return found


def _describe_witness(witness: Witness) -> dict[str, Any]:
    found = {"at": witness.at, "yours": witness.yours, "expected": witness.expected}
    return found | ({"index": list(witness.index)} if witness.index else {})


SLIPS = frozenset(row.id for row in CATALOGUE if row.slip)  # twice a slip is two slips
Line = Mapping[str, Any]


def merge_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines of a student's parts of one problem, where a mistake that parts share is said once.

    Of a part that other mistakes would explain too, only the shared one is left; every part but the
    first says `"same"`, and which part that is.
    """
    found = list(lines)
    shared = Counter(id for line in lines for id in _list_ids(line))
    free = set(range(len(found)))
    for id, _ in shared.most_common():
        where = [k for k in sorted(free) if id in _list_ids(lines[k])]
        if len(where) > 1:
            free -= set(where)
            for k in where:
                found[k] = _narrow(lines[k], id, "" if k == where[0] else found[where[0]]["part"])
    return found


def _list_ids(line: Line) -> Mapping[str, None]:
    """The misconceptions that explain a wrong part, each on its own, the likeliest first."""
    told = line.get("mistakes") or () if line["verdict"] == "wrong" else ()
    alone = (m["id"] for m in told if not m.get("with") and m["id"] not in SLIPS)
    return dict.fromkeys(alone)


def _narrow(line: Line, id: str, first: str) -> Line:
    mistakes = [m for m in line["mistakes"] if m["id"] == id and not m.get("with")]
    several = len(line["mistakes"]) > len(mistakes)
    certainty = "unique" if several and not line["hints"] else line["certainty"]
    words = [f"the same mistake as in `{first}`"] if first else []
    said = {"mistakes": mistakes, "certainty": certainty, "same": first or None}
    return {**line, **said, "hints": [*line["hints"], *words]}


# -- in words --------------------------------------------------------------------------------------


VERDICTS = ("right", "wrong", "invalid", "missing", "needs-review")
STYLES = {
    "right": "green",
    "wrong": "red",
    "invalid": "yellow",
    "missing": "dim",
    "needs-review": "magenta",
}
LONGEST_VALUE = 40
TYPED = 60  # characters of an answer in a line
BEYOND = "a number beyond 1e308"  # a gradient has a value at every point
SEVERAL = "several mistakes give just this answer:"
NONE = "no mistake of the catalogue gives this answer"
# Tags that say enough: of such answers no mistake is missed.
SPEAKING = frozenset({"narrower", "failed", "stopped", "one-point"})


def list_findings(line: Line, source: str) -> list[str]:
    """What is found of an answer that is not simply right: the witness, then the mistakes."""
    mistakes, witness = line["mistakes"] or [], format_witness(line["witness"])
    lines = [witness] if witness else []
    lines += [SEVERAL] if len(mistakes) > 1 else []
    for mistake in mistakes:
        name = format_mistake(mistake)
        lines.append(f"{name}: {mistake['says']}" if "says" in mistake else name)
        lines += _underline(line, mistake, source)
    return [*lines, NONE] if is_unnamed(line) else lines


def format_witness(witness: Line | None) -> str:
    """`at x = 0.7: yours 1.31, expected -2.08`."""
    if witness is None:
        return ""
    at = ", ".join(_point(name, value) for name, value in witness["at"].items())
    entry = f" in entry {format_index(witness['index'])}" if witness.get("index") else ""
    yours, expected = _format_apart(witness["yours"], witness["expected"])
    if yours == expected:
        return f"at {at}{entry}: {expected}, but for digits that a float does not hold"
    return f"at {at}{entry}: yours {yours}, expected {expected}"


def is_unnamed(line: Line) -> bool:
    """Whether an answer is wrong, and nothing says why."""
    return line["certainty"] == "unnamed" and not SPEAKING & set(line["tags"] or ())


def format_mistake(mistake: Mapping[str, Any]) -> str:
    """`sign-error`, or `sign-error and constant-kept` for two made together."""
    return " and ".join([mistake["id"], *mistake.get("with", ())])


def _underline(line: Line, mistake: Mapping[str, Any], source: str) -> list[str]:
    if "answer_start" in mistake:
        own = (mistake["answer_start"], mistake["answer_end"])
        number = [f"  line {mistake['line']}:"] if "line" in mistake else []
        return [*number, *underline(str(line["answer"]), own, indent="    ")]
    span = (mistake["start"], mistake["end"]) if mistake.get("start") is not None else None
    return underline(source, span, indent="    ")


def _format_apart(yours: float | None, expected: float | None) -> tuple[str, str]:
    """Two numbers in as many digits as tell them apart, if any do."""
    mine, due = (
        [missing if value is None else plain(value, digits) for digits in (10, 17)]
        for value, missing in ((yours, "no value"), (expected, BEYOND))
    )
    return (mine[0], due[0]) if mine[0] != due[0] else (mine[1], due[1])


def _point(name: str, value: Any) -> str:
    """`x = 0.7`, or `X of shape (5, 3)` where the numbers are too many to be read."""
    text = f"{name} = {value}"
    return text if len(text) <= LONGEST_VALUE else f"{name} of shape {np.shape(value)}"


def format_fault(fault: "Fault") -> str:
    """A self-test that does not come out."""
    typed = str(fault.answer)
    answer = repr(fault.answer) if "\n" not in typed else f"`{typed[:TYPED].splitlines()[0]} ...`"
    expected = f"expected {fault.expected}, came {fault.came}"
    where = format_witness(asdict(fault.witness) if fault.witness else None)
    return f"self-test: {fault.part} answered {answer}: {expected}{where and f' - {where}'}"
