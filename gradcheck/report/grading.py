"""`gradcheck grade`, from answer files to the terminal."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from gradcheck.diagnosis import Hypothesis
from gradcheck.grading.batch import grade, prepare, strangers
from gradcheck.grading.judging import Judgement
from gradcheck.grading.submissions import Submission, Unreadable, read_submissions
from gradcheck.problem import ProblemSet
from gradcheck.report.figures import plain
from gradcheck.report.underline import underlined

GRADED, UNDER, MALFORMED, REVIEW = 0, 1, 2, 3
STYLES = {
    "right": "green",
    "wrong": "red",
    "invalid": "yellow",
    "missing": "dim",
    "needs-review": "magenta",
}
LEVELS = ("verdict", "class", "place", "full")


def grade_all(
    sets: Sequence[ProblemSet],
    files: Sequence[Path],
    as_json: bool,
    feedback: str,
    fail_under: float | None,
) -> int:
    """Judge every answer file and print the findings; the exit code of the command."""
    out, err = Console(highlight=False), Console(stderr=True, highlight=False)
    with err.status("consulting the three opinions on every problem"):
        keys, doubtful = prepare(sets)
    for entry in doubtful:
        err.print(f"not graded: {entry.why}", markup=False, style="yellow")
    if not keys:
        return MALFORMED
    read = read_submissions(files)
    for failed in (r for r in read if isinstance(r, Unreadable)):
        err.print(failed.why, markup=False, style="yellow")
    submissions = [r for r in read if isinstance(r, Submission)]
    for submission in submissions:
        for name in strangers(keys, submission):
            err.print(f"{submission.file}: `{name}` was not asked", markup=False, style="yellow")
    sources = {name: ready.problem.program.source for name, ready in keys.items()}
    judgements: list[Judgement] = []
    with Progress(console=err, transient=True, disable=as_json or len(submissions) < 20) as bar:
        task = bar.add_task(
            "grading", total=len(submissions) * sum(len(k.problem.parts) for k in keys.values())
        )
        for judgement in grade(keys, submissions):
            judgements.append(judgement)
            bar.advance(task)
            source = sources[judgement.problem]
            if as_json:
                print(json_line(judgement, source, feedback), flush=True)
            else:
                _show(out, judgement, source, feedback)
    totals = _totals(judgements)
    if not as_json:
        out.print(_table(totals))
    if (
        doubtful
        or len(submissions) < len(read)
        or any(j.verdict == "needs-review" for j in judgements)
    ):
        return REVIEW
    low = fail_under is not None and any(got < fail_under for got, _ in totals.values())
    return UNDER if low else GRADED


def _show(out: Console, judgement: Judgement, source: str, feedback: str) -> None:
    """One answer: the verdict, what was understood, the witness, the mistake under the program."""
    head = Text(f"{judgement.student}  {judgement.problem}.{judgement.part}  ", style="bold")
    head.append(judgement.verdict, style=STYLES[judgement.verdict])
    if judgement.tags:
        head.append(f" ({', '.join(judgement.tags)})", style="dim")
    head.append(f"  {judgement.score:g} of {judgement.points:g}", style="not bold dim")
    out.print(head)
    if judgement.verdict == "missing":
        return
    if judgement.understood:
        out.print(Text(f"  understood  {judgement.understood}"))
    if feedback != "verdict":
        for line in _witness(judgement) + _named(judgement, source, feedback):
            out.print(Text(f"  {line}"))
    for remark in judgement.remarks:
        out.print(Text("  " + remark.replace("\n", "\n  "), style="dim"))


def _witness(judgement: Judgement) -> list[str]:
    witness = judgement.witness
    if witness is None:
        return []
    at = ", ".join(f"{name} = {_short(value)}" for name, value in witness.at.items())
    entry = f" in entry [{', '.join(map(str, witness.index))}]" if witness.index else ""
    yours = "no value" if witness.yours is None else plain(witness.yours)
    expected = "no value" if witness.expected is None else plain(witness.expected)
    return [f"at {at}{entry}: yours {yours}, expected {expected}"]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _named(judgement: Judgement, source: str, feedback: str) -> list[str]:
    diagnosis = judgement.diagnosis
    if diagnosis is None:
        return []
    several = len(diagnosis.hypotheses) > 1
    lines = ["several mistakes give just this answer:"] if several else []
    for hypothesis in diagnosis.hypotheses:
        lines.append(f"{hypothesis.mistake.id}: {_says(hypothesis, source, feedback)}".rstrip(": "))
        if feedback in ("place", "full"):
            lines += underlined(source, hypothesis.span, indent="    ")
    if diagnosis.certainty == "unnamed":
        lines.append("no mistake of the catalogue gives this answer")
    return [*lines, *diagnosis.remarks]


def _says(hypothesis: Hypothesis, source: str, feedback: str) -> str:
    if feedback != "full":
        return ""
    return hypothesis.mistake.says.replace("{text}", _text(hypothesis, source))


def _text(hypothesis: Hypothesis, source: str) -> str:
    span = hypothesis.span
    return source[span[0] : span[1]] if span else "the expression"


def json_line(judgement: Judgement, source: str, feedback: str) -> str:
    """The contract's line of `grade --json`."""
    diagnosis = judgement.diagnosis
    line: dict[str, Any] = {
        "student": judgement.student,
        "problem": judgement.problem,
        "part": judgement.part,
        "answer": judgement.answer,
        "understood": judgement.understood,
        "verdict": judgement.verdict,
        "score": judgement.score,
        "points": judgement.points,
    }
    if diagnosis is not None and feedback != "verdict":
        line["mistakes"] = [_mistake(h, source, feedback) for h in diagnosis.hypotheses]
        line["certainty"] = diagnosis.certainty
    witness = judgement.witness
    if witness is not None:
        line["witness"] = {"at": witness.at, "yours": witness.yours, "expected": witness.expected}
        if witness.index:
            line["witness"]["index"] = list(witness.index)
    remarks = [*judgement.remarks, *(diagnosis.remarks if diagnosis else ())]
    if remarks:
        line["remarks"] = remarks
    if judgement.tags:
        line["tags"] = list(judgement.tags)
    return json.dumps(line, ensure_ascii=False, default=str)


def _mistake(hypothesis: Hypothesis, source: str, feedback: str) -> dict[str, Any]:
    found: dict[str, Any] = {"id": hypothesis.mistake.id}
    if feedback in ("place", "full") and hypothesis.span is not None:
        start, end = hypothesis.span
        found |= {"text": source[start:end], "start": start, "end": end}
    if feedback == "full":
        found["says"] = _says(hypothesis, source, feedback)
    return found


def _totals(judgements: Sequence[Judgement]) -> dict[str, tuple[float, float]]:
    totals: dict[str, tuple[float, float]] = {}
    for judgement in judgements:
        got, worth = totals.get(judgement.student, (0.0, 0.0))
        totals[judgement.student] = (got + judgement.score, worth + judgement.points)
    return totals


def _table(totals: dict[str, tuple[float, float]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("student", style="bold")
    table.add_column("points", justify="right")
    for student, (got, worth) in totals.items():
        table.add_row(student, f"{got:g} of {worth:g}")
    return table
