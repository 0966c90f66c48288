"""`gradcheck grade`: submissions judged, kept in a ledger if a directory is named, and shown."""

import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from gradcheck.batch.cluster import OPEN, Cluster
from gradcheck.batch.collect import Rules
from gradcheck.batch.graded import Change, ClassFacts, changes, class_facts, read_students
from gradcheck.batch.ledger import NAME, Ledger, trouble
from gradcheck.batch.lock import only_writer
from gradcheck.batch.outputs import json_lines, write_results
from gradcheck.batch.pool import Limits, Nursery, Pool
from gradcheck.batch.roster import Roster, read_names, read_roster
from gradcheck.batch.run import Batch, Progress, count_jobs
from gradcheck.batch.submissions import AS_THEY_ARE, read_mapping, submissions
from gradcheck.cli.files import PATH, sets, unknown_problem
from gradcheck.cli.group import (
    EXISTING,
    STOPPED,
    as_json_lines,
    command,
    to_directory,
    with_feedback,
)
from gradcheck.cli.screen import screen, show_judged
from gradcheck.errors import GradcheckError
from gradcheck.report.findings import STYLES, VERDICTS, visible
from gradcheck.report.judgements import restrict
from gradcheck.report.rows import TextTable

GAP = 3  # blanks between columns of numbers
SHOWN = ("right", "wrong", "invalid", "needs-review")


def follow(steps: Iterable[Progress], err: Console, *, silent: bool) -> None:
    """Run a batch to its end; a terminal shows how far it is."""
    columns = (
        TextColumn("judging"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    start = time.monotonic()
    with Bar(*columns, console=err, transient=True, disable=silent or not err.is_terminal) as bar:
        task = bar.add_task("")
        for step in steps:
            rate = step.done / max(time.monotonic() - start, 1e-9)
            shown = (v for v in SHOWN if step.verdicts.get(v))
            counts = ", ".join(f"{step.verdicts[v]:,} {v.removeprefix('needs-')}" for v in shown)
            words = f"{rate:,.0f}/s  {counts}"
            bar.update(task, completed=step.done, total=step.total, description=words)


GRADED, UNDER, MALFORMED, REVIEW = 0, 1, 2, 3
CONSULTED = "consulting the three opinions on every problem"
MANY = 10  # students, beyond whom the points stand in the pages only, where there are any


GRADE_EXAMPLES = """gradcheck grade problems/chain-rule.yaml ada.yaml --json
gradcheck grade problems/chain-rule.yaml download.zip --names canvas -o graded"""


@command(epilog=GRADE_EXAMPLES)
@click.argument("problems", type=PATH)
@click.argument(
    "answers",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)
@as_json_lines
@with_feedback("How much is told about a mistake.")
@click.option("--fail-under", type=float, metavar="F", help="Exit 1 if a student has less than F.")
@to_directory("Keep the batch in DIR, with pages and grades; a stopped run goes on where it was.")
@click.option("--jobs", type=click.IntRange(0), metavar="N", help="Processes; 0: all cores.")
@click.option("--scheduler", default="", metavar="ADDRESS", help="Judge on a Dask cluster.")
@click.option(
    "--tls",
    nargs=3,
    type=EXISTING,
    metavar="CA CERT KEY",
    help="With --scheduler: the authority, the certificate and the key (PEM).",
)
@click.option("--roster", type=EXISTING, metavar="FILE", help="Table of who is expected.")
@click.option(
    "--attempt",
    type=click.Choice(["last", "first", "best"]),
    default="last",
    show_default=True,
    help="Which of a student's answers to a problem counts.",
)
@click.option(
    "--due",
    type=click.DateTime(["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]),
    metavar="TIME",
    help="Who is later loses what the set says under `late:`.",
)
@click.option("--mapping", type=EXISTING, metavar="FILE", help="What a form's columns mean.")
@click.option("--names", default="", metavar="NAMES", help="canvas, moodle or a pattern of names.")
@click.option("--anonymous", is_flag=True, help="The page of the class names nobody.")
@click.option("--diff", is_flag=True, help="Say who gains or loses what, against the last time.")
@click.option("--only", "students", multiple=True, metavar="STUDENT", help="Only this student.")
@click.option("--problem", "ids", multiple=True, metavar="ID", help="Only this problem.")
def grade(  # noqa: PLR0917 - click gives them by name
    problems: Path,
    answers: tuple[Path, ...],
    as_json: bool,
    feedback: str,
    fail_under: float | None,
    directory: Path | None,
    jobs: int | None,
    scheduler: str,
    tls: tuple[Path, Path, Path] | None,
    roster: Path | None,
    attempt: str,
    due: datetime | None,
    mapping: Path | None,
    names: str,
    anonymous: bool,
    diff: bool,
    students: tuple[str, ...],
    ids: tuple[str, ...],
) -> None:
    """Judge and diagnose answers: right, or wrong with a witness and the name of the mistake.

    ANSWERS are YAML or JSON files, one a student, directories or zip archives of them, notebooks,
    or tables (CSV, .xlsx); `-` is a YAML or JSON text from standard input. Exit code 0: all graded,
    1: a student is under the threshold, 2: malformed problems, 3: some answers need review.
    """
    nursery = click.get_current_context().with_resource(closing(Nursery()))
    jobs = count_jobs(jobs, kept=directory is not None)
    read, err = sets((problems,)), screen(stderr=True)
    with _telling(directory, err), _open_ledger(directory) as ledger:
        pattern = read_names(names) if names else None
        meant = read_mapping(mapping) if mapping else AS_THEY_ARE
        expected = read_roster(roster) if roster else Roster()
        known = [problem.id for each in read for problem in each.problems]
        for id in ids:
            if id not in known:
                raise unknown_problem(id, known)
        if scheduler and not tls:
            _notice(err, OPEN.format(scheduler))
        pool = None if scheduler else Pool(jobs, Limits(), nursery, sticky=True)
        with closing(pool or Cluster(scheduler, tls)) as executor:
            batch = Batch(ledger, executor)
            with nullcontext() if as_json else err.status(CONSULTED):
                batch.prepare(read, ids)
            if not batch.problems:
                for why in batch.doubts.values():
                    _notice(err, f"not graded: {why}")
                sys.exit(MALFORMED)
            ledger.know("feedback", feedback)
            ledger.know("anonymous", "yes" if anonymous else "no")
            ledger.know("title", next((s.title for s in read if s.title), ""))
            handed_in = submissions(answers, pattern, meant, expected, batch.problems)
            batch.collect(handed_in, expected, Rules(students, ids, attempt, due))
            for words, _ in ledger.notices():
                _notice(err, words)
            follow(batch.judge(), err, silent=as_json)
            if directory is None:
                facts = class_facts(ledger)
            else:
                ledger.save()
                with closing(Pool(jobs, None, nursery)) as printers:
                    facts = write_results(ledger, directory, printers)
        if as_json:
            for student in read_students(ledger, as_read=directory is None):
                for line in json_lines(student, feedback):
                    print(line)
        else:
            _show(ledger, facts, directory, feedback, diff=diff)
        sys.exit(_code(ledger, facts, fail_under))


@contextmanager
def _telling(directory: Path | None, err: Console) -> Iterator[None]:
    """What ends a batch before its end is told in a sentence, and what is kept of it."""
    try:
        yield
    except (GradcheckError, ValueError) as error:
        _notice(err, str(error))
        sys.exit(MALFORMED)
    except (OSError, sqlite3.Error) as error:
        kept = " - what was judged before is kept: the same command goes on from there"
        why = trouble(error, directory and directory / NAME)
        where = directory or "the batch"
        _notice(err, f"{where}: cannot be written: {why}{kept if directory else ''}")
        sys.exit(MALFORMED)
    except KeyboardInterrupt:
        kept = "what was judged is kept: the same command goes on from there"
        _notice(err, f"stopped - {kept if directory else 'nothing was kept (see -o)'}")
        sys.exit(STOPPED)


@contextmanager
def _open_ledger(directory: Path | None) -> Iterator[Ledger]:
    """The ledger of a directory, locked; or one in memory."""
    with (
        only_writer(directory) if directory else nullcontext(),
        closing(Ledger(directory / NAME if directory else None)) as ledger,
    ):
        yield ledger


def _code(ledger: Ledger, facts: ClassFacts, low: float | None) -> int:
    if facts.verdicts["needs-review"] or any(grave for _, grave in ledger.notices()):
        return REVIEW
    under = low is not None and any(got < low for _, _, got, _ in facts.totals)
    return UNDER if under else GRADED


# -- what is shown ---------------------------------------------------------------------------------


def _notice(err: Console, words: str) -> None:
    err.print(Text(visible(words)), style="yellow", soft_wrap=True)


def _show(
    ledger: Ledger, facts: ClassFacts, directory: Path | None, feedback: str, *, diff: bool
) -> None:
    """The answers and tables; of a batch that is kept the tables."""
    out = screen()
    if directory is None:
        _show_answers(ledger, out, feedback)
    if not facts.totals:
        out.print("nobody was graded: no answers could be read")
    elif directory is None or len(facts.totals) <= MANY:
        sums = {name: got for name, _, got, _ in facts.totals}
        order = ledger.order() if directory is None else sorted(sums)
        table = TextTable(("student", "points"), right=("points",), gap=GAP)
        for student in order:
            if student in sums:
                table.add(visible(student), f"{sums[student]:g} of {facts.possible:g}")
        out.print(table)
    if len(facts.totals) > 1:
        _show_class(facts, out)
    if diff:
        _show_changes(changes(ledger), out)
    if directory is not None:
        out.print(Text(f"the class: {directory / 'index.html'}"), soft_wrap=True)


def _show_class(facts: ClassFacts, out: Console) -> None:
    """How the class did: the problems, the mistakes, and wrong answers without a known mistake."""
    out.print()
    heads = [verdict.removeprefix("needs-") for verdict in VERDICTS]
    table = TextTable(("problem", *heads), right=heads, gap=GAP)
    for id, each in facts.problems.items():
        counts = ((each.verdicts[v], STYLES[v]) for v in VERDICTS)
        table.add(id, *(Text(str(n), style=style if n else "dim") for n, style in counts))
    out.print(table)
    if facts.mistakes:
        out.print()
        table = TextTable(("mistake", "answers"), right=("answers",), gap=GAP)
        for id, count in sorted(facts.mistakes.items(), key=lambda each: (-each[1], each[0])):
            table.add(id, str(count))
        out.print(table)
    if facts.unnamed:
        out.print("\nwrong, and no mistake of the catalogue gives it")
        for count, line in facts.unnamed[:5]:
            words = f"  {count}x  {line['problem']}.{line['part']}  {_brief(line['answer'])}"
            out.print(Text(words), soft_wrap=True)


def _show_changes(found: Iterable[Change], out: Console) -> None:
    """Who gains or loses what, and why; how many were judged again to the same end."""
    changed = same = 0
    for each in found:
        if not each.counts:
            same += 1
            continue
        if not changed:
            out.print()
        changed += 1
        was, now = (
            "nothing" if line is None else "{verdict} {score:g} of {points:g}".format_map(line)
            for line in (each.before, each.after)
        )
        if each.before is None or each.after is None:
            why = "new" if each.before is None else "no longer handed in"
        else:
            why = "the problem or its rubric changed" if each.same_answer else "another answer"
        head = f"{visible(each.student)}  {each.problem}.{each.part}"
        out.print(Text(f"{head}  {was} -> {now}  ({why})"), soft_wrap=True)
    again = f"; {same:,} answers were judged again, with the same points" if same else ""
    has = "judgement has" if changed < 2 else "judgements have"
    out.print(f"\n{f'{changed:,}' if changed else 'no'} {has} changed{again}")


def _brief(value: object) -> str:
    text = visible(" ".join(str(value).split()))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _show_answers(ledger: Ledger, out: Console, feedback: str) -> None:
    """Every answer: its verdict, and unless it is missing what was understood and found."""
    about = ledger.problems()
    for student in read_students(ledger, as_read=True):
        for line in (restrict(each, feedback) for each in student.lines):
            verdict, tags = line["verdict"], line["tags"]
            place = f"{visible(student.name)}  {line['problem']}.{line['part']}  "
            head = Text.assemble((place, "bold"), (verdict, f"bold {STYLES[verdict]}"))
            head.append(f" ({', '.join(tags)})" if tags else "", style="bold dim")
            head.append(f"  {line['score']:g} of {line['points']:g}", style="dim")
            out.print(head, soft_wrap=True)
            if verdict != "missing":
                show_judged(out, line, about[line["problem"]]["program"])
