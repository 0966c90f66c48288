"""`gradcheck grade`, from answer files to the terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradcheck.diagnosis import Hypothesis, words
from gradcheck.grading.batch import grade, prepare, strangers
from gradcheck.grading.judging import Judgement
from gradcheck.grading.key import Key
from gradcheck.grading.scoring import totals
from gradcheck.grading.submissions import Submission, Unreadable, latest, read_submissions
from gradcheck.problem import ProblemSet
from gradcheck.report.figures import plain
from gradcheck.report.judgements import json_line, line_of
from gradcheck.report.underline import underlined

GRADED, UNDER, MALFORMED, REVIEW = 0, 1, 2, 3
STYLES = {
    "right": "green",
    "wrong": "red",
    "invalid": "yellow",
    "missing": "dim",
    "needs-review": "magenta",
}
LONGEST_VALUE = 40
BEYOND = "a number beyond 1e308"  # a gradient has a value at every point
# Tags that say enough: of such answers no mistake is missed.
SPEAKING = frozenset({"narrower", "failed", "stopped", "one-point"})


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
        _notice(err, f"not graded: {entry.why}")
    if not keys:
        return MALFORMED
    ungraded = frozenset(entry.problem for entry in doubtful)
    submissions, all_readable = _submissions(files, keys, ungraded, err)
    said = []
    for judgement in grade(keys, submissions):
        said.append(judgement)
        source = keys[judgement.problem].problem.program.source
        if as_json:
            print(json_line(judgement, source, feedback), flush=True)
        else:
            _show(out, judgement, source, feedback)
    sums = totals([(j.student, j.score, j.points) for j in said])
    if not as_json:
        out.print(_table(sums))
    if doubtful or not all_readable or any(j.verdict == "needs-review" for j in said):
        return REVIEW
    low = fail_under is not None and any(got < fail_under for got, _ in sums.values())
    return UNDER if low else GRADED


def _submissions(
    files: Sequence[Path], keys: dict[str, Key], ungraded: frozenset[str], err: Console
) -> tuple[list[Submission], bool]:
    """The submissions that count, and whether all files could be read; notices on the way."""
    read = read_submissions(files)
    for failed in (r for r in read if isinstance(r, Unreadable)):
        _notice(err, failed.why)
    submissions, notices = latest([r for r in read if isinstance(r, Submission)])
    for notice in notices:
        _notice(err, notice)
    for submission in submissions:
        for name in strangers(keys, submission):
            why = "is not graded" if name in ungraded else "was not asked"
            _notice(err, f"{submission.file}: `{name}` {why}")
    return submissions, not any(isinstance(r, Unreadable) for r in read)


def _notice(err: Console, words: str) -> None:
    err.print(words, markup=False, style="yellow", soft_wrap=True)


def _show(out: Console, judgement: Judgement, source: str, feedback: str) -> None:
    """One answer: the verdict, what was understood, the witness, the mistake under the program."""
    head = Text(f"{judgement.student}  {judgement.problem}.{judgement.part}  ", style="bold")
    head.append(judgement.verdict, style=STYLES[judgement.verdict])
    if judgement.tags:
        head.append(f" ({', '.join(judgement.tags)})", style="dim")
    head.append(f"  {judgement.score:g} of {judgement.points:g}", style="not bold dim")
    out.print(head, soft_wrap=True)
    if judgement.verdict == "missing":
        return
    if judgement.understood:
        out.print(Text(f"  understood  {judgement.understood}"), soft_wrap=True)
    if feedback != "verdict":
        for line in _witness(judgement) + _named(judgement, source, feedback):
            out.print(Text(f"  {line}"), soft_wrap=True)
    for remark in judgement.remarks:
        out.print(Text("  " + remark.replace("\n", "\n  "), style="dim"), soft_wrap=True)


def _witness(judgement: Judgement) -> list[str]:
    """`at x = 0.7: yours 1.31, expected -2.08`."""
    witness = judgement.witness
    if witness is None:
        return []
    at = ", ".join(f"{name} = {_short(value)}" for name, value in witness.at.items())
    entry = f" in entry [{', '.join(map(str, witness.index))}]" if witness.index else ""
    yours, expected = _apart(witness.yours, witness.expected)
    return [f"at {at}{entry}: yours {yours}, expected {expected}"]


def _apart(yours: float | None, expected: float | None) -> tuple[str, str]:
    """Two numbers in as many digits as tell them apart."""
    mine, due = _number(yours, 10), _number(expected, 10)
    if expected is None:
        return mine, BEYOND
    return (mine, due) if mine != due else (_number(yours, 17), _number(expected, 17))


def _number(value: float | None, digits: int) -> str:
    return "no value" if value is None else plain(value, digits)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def _named(judgement: Judgement, source: str, feedback: str) -> list[str]:
    """The mistakes that give just this answer, each with its place."""
    diagnosis = judgement.diagnosis
    if diagnosis is None:
        return []
    several = len(diagnosis.hypotheses) > 1
    lines = ["several mistakes give just this answer:"] if several else []
    for hypothesis in diagnosis.hypotheses:
        name = " and ".join(hypothesis.ids)
        lines.append(f"{name}: {words(hypothesis, source)}" if feedback == "full" else name)
        if feedback in ("place", "full"):
            lines += _underlined(judgement, hypothesis, source)
    if diagnosis.certainty == "unnamed" and not SPEAKING & set(judgement.tags):
        lines.append("no mistake of the catalogue gives this answer")
    return [*lines, *diagnosis.remarks]


def _underlined(judgement: Judgement, hypothesis: Hypothesis, source: str) -> list[str]:
    """The line in which a mistake stands: of the problem's program, or of the student's own."""
    own = judgement.places.get(hypothesis.mistake.id)
    if own is not None:
        line = line_of(judgement.answer, own[0])
        return [f"  line {line}:", *underlined(judgement.answer, own, indent="    ")]
    return underlined(source, hypothesis.span[-2:] if hypothesis.span else None, indent="    ")


def _table(sums: dict[str, tuple[float, float]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("student", style="bold")
    table.add_column("points", justify="right")
    for student, (got, worth) in sums.items():
        table.add_row(Text(student), f"{got:g} of {worth:g}")
    return table
