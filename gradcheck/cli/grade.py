"""A class: `grade` judges it, `mark` gives points by hand, `report` writes gradebooks and pages."""

import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from gradcheck.batch.collect import Rules
from gradcheck.batch.graded import (
    GROUP,
    Change,
    ClassFacts,
    changes,
    collect_facts,
    dump_lines,
    list_grades,
    prepare_pages,
    read_students,
    replace_file,
    write_grades,
    write_results,
)
from gradcheck.batch.ledger import NAME, Ledger, Unusable, describe_trouble, lock_directory
from gradcheck.batch.pool import OPEN, Cluster, Limits, Nursery, Pool
from gradcheck.batch.roster import Roster, read_names, read_roster
from gradcheck.batch.submissions import AS_THEY_ARE, read_mapping, read_submissions
from gradcheck.batch.work import Batch, Progress, count_jobs
from gradcheck.cli.group import (
    EXISTING,
    FINE,
    FOUND,
    IN_DOUBT,
    MALFORMED,
    STOPPED,
    as_json_lines,
    command,
    to_directory,
    with_feedback,
)
from gradcheck.cli.terminal import PATH, check_id, load_sets, open_screen, show_judged
from gradcheck.documents.table import write_workbook
from gradcheck.errors import GradcheckError
from gradcheck.problem import ProblemSet
from gradcheck.problem.draw import list_spellings
from gradcheck.report import gradebooks
from gradcheck.report.figures import escape_controls
from gradcheck.report.judgements import STYLES, VERDICTS
from gradcheck.report.tables import TextTable

GAP = 3  # blanks between columns of numbers
SHOWN = ("right", "wrong", "invalid", "needs-review")
CONSULTED = "consulting the three opinions on every problem"
MANY = 10  # students, beyond whom the points stand in the pages only, where there are any
KEPT = "what was judged before is kept: the same command goes on from there"
GRADE_EXAMPLES = """gradcheck grade problems/chain-rule.yaml ada.yaml --json
gradcheck grade problems/chain-rule.yaml download.zip --names canvas -o graded"""
REPORT_EXAMPLES = """gradcheck report graded
gradcheck report graded --as canvas --points export.csv"""
READABLE = click.Path(exists=True, allow_dash=True, path_type=Path)
TIME = click.DateTime([f"%Y-%m-%d{each}" for each in ("T%H:%M", " %H:%M", "T%H:%M%z", " %H:%M%z")])
ATTEMPT = click.Choice(["last", "first", "best"])
LATE = "Who is later loses what the set says under `late:`. With `+01:00` of that zone."
COUNTS = "Which of a student's answers to a problem counts."
PLATFORM = "Pages, or what a learning platform reads."
TLS = "With --scheduler: the authority, the certificate and the key (PEM)."


@command(epilog=GRADE_EXAMPLES)
@click.argument("problems", type=PATH)
@click.argument("answers", nargs=-1, required=True, type=READABLE)
@as_json_lines
@with_feedback("How much is told about a mistake.")
@click.option("--fail-under", type=float, metavar="F", help="Exit 1 if a student has less than F.")
@to_directory("Keep the batch in DIR, with pages and grades; a stopped run goes on where it was.")
@click.option("--jobs", type=click.IntRange(0), metavar="N", help="Processes; 0: all cores.")
@click.option("--scheduler", default="", metavar="ADDRESS", help="Judge on a Dask cluster.")
@click.option("--tls", nargs=3, type=EXISTING, metavar="CA CERT KEY", help=TLS)
@click.option("--roster", type=EXISTING, metavar="FILE", help="Table of who is expected.")
@click.option("--attempt", type=ATTEMPT, default="last", show_default=True, help=COUNTS)
@click.option("--due", type=TIME, metavar="TIME", help=LATE)
@click.option("--mapping", type=EXISTING, metavar="FILE", help="What a form's columns mean.")
@click.option("--names", default="", metavar="NAMES", help="canvas, moodle or a pattern of names.")
@click.option("--anonymous", is_flag=True, help="The page of the class names nobody.")
@click.option("--diff", is_flag=True, help="Say who gains or loses what, against the last time.")
@click.option("--only", "students", multiple=True, metavar="STUDENT", help="Only this student.")
@click.option("--problem", "ids", multiple=True, metavar="ID", help="Only this problem.")
def grade(problems: Path, answers: tuple[Path, ...], **said: Any) -> None:
    """Judge and diagnose answers: right, or wrong with a witness and the name of the mistake.

    ANSWERS are YAML or JSON files, one a student, directories or zip archives of them, notebooks,
    or tables (CSV, .xlsx); `-` is a YAML or JSON text from standard input. Exit code 0: all graded,
    1: a student is under the threshold, 2: malformed problems, 3: some answers need review.
    """
    nursery = click.get_current_context().with_resource(closing(Nursery()))
    asked, read = SimpleNamespace(**said), load_sets((problems,))
    if asked.tls and not asked.scheduler:
        raise click.UsageError("--tls goes with --scheduler")
    for id in asked.ids:
        check_id(id, [problem.id for each in read for problem in each.problems])
    with _explain_ending(asked.directory), _open_ledger(asked.directory) as ledger:
        facts = _grade_class(read, answers, asked, ledger, nursery)
        if asked.as_json:
            for student in read_students(ledger, as_read=asked.directory is None):
                for line in dump_lines(student):
                    print(line)
        else:
            _show(ledger, facts, asked.directory)
        if asked.diff:
            _show_changes(changes(ledger), open_screen(stderr=asked.as_json))
        sys.exit(_find_code(ledger, facts, asked.fail_under))


def _grade_class(
    sets: Sequence[ProblemSet],
    answers: tuple[Path, ...],
    asked: SimpleNamespace,
    ledger: Ledger,
    nursery: Nursery,
) -> ClassFacts:
    err, jobs = open_screen(stderr=True), count_jobs(asked.jobs, kept=asked.directory is not None)
    pattern = read_names(asked.names) if asked.names else None
    meant = read_mapping(asked.mapping) if asked.mapping else AS_THEY_ARE
    expected = read_roster(asked.roster) if asked.roster else Roster()
    if asked.scheduler and not asked.tls:
        _notice(err, OPEN.format(asked.scheduler))
    pool = None if asked.scheduler else Pool(jobs, Limits(), nursery, sticky=True)
    with closing(pool or Cluster(asked.scheduler, asked.tls)) as executor:
        batch = Batch(ledger, executor)
        batch.prepare(sets, asked.ids)
        read = read_submissions(answers, pattern, meant, expected, batch.problems)
        rules = Rules(asked.students, asked.ids, asked.attempt, asked.due)
        with nullcontext() if asked.as_json else err.status(CONSULTED):
            batch.collect(read, expected, rules)
        ledger.know("feedback", asked.feedback)
        ledger.know("anonymous", "yes" if asked.anonymous else "no")
        ledger.know("title", next((s.title for s in sets if s.title), ""))
        for words, _ in ledger.notices():
            _notice(err, words)
        if asked.directory and len(ledger.order()) > GROUP:
            nursery.learn("pages", prepare_pages, ledger.problems(), asked.feedback)
        follow(batch.judge(), err, silent=asked.as_json)
    if asked.directory is None:
        return collect_facts(ledger)
    ledger.save()
    with closing(Pool(jobs, None, nursery)) as printers:
        return write_results(ledger, asked.directory, printers)


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


@contextmanager
def _explain_ending(directory: Path | None) -> Iterator[None]:
    """What ends a batch before its end is told in a sentence, and what is kept of it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, sqlite3.Error) as error:
        why = describe_trouble(error, directory and directory / NAME)
        where = getattr(error, "filename", None) or directory or "the batch"
        words = f"{where}: cannot be written: {why}"
        raise Unusable(f"{words} - {KEPT}" if directory else words) from None
    except ValueError as error:
        raise GradcheckError(str(error)) from None
    except KeyboardInterrupt:
        click.echo(f"stopped - {KEPT if directory else 'nothing was kept (see -o)'}", err=True)
        sys.exit(STOPPED)


@contextmanager
def _open_ledger(directory: Path | None) -> Iterator[Ledger]:
    with (
        lock_directory(directory) if directory else nullcontext(),
        closing(Ledger(directory / NAME if directory else None)) as ledger,
    ):
        yield ledger


def _find_code(ledger: Ledger, facts: ClassFacts, low: float | None) -> int:
    if facts.verdicts["needs-review"] or any(grave for _, grave in ledger.notices()):
        return IN_DOUBT
    if not facts.totals:
        return MALFORMED
    under = low is not None and not all(got >= low for _, _, got, _ in facts.totals)
    return FOUND if under else FINE


# -- what is shown ---------------------------------------------------------------------------------


def _notice(err: Console, words: str) -> None:
    err.print(Text(escape_controls(words)), style="yellow", soft_wrap=True)


def _show(ledger: Ledger, facts: ClassFacts, directory: Path | None) -> None:
    out = open_screen()
    if directory is None:
        about = ledger.problems()
        for student in read_students(ledger, as_read=True):
            for line in student.lines:
                place = f"{escape_controls(student.name)}  {line['problem']}.{line['part']}  "
                points = f"  {line['score']:g} of {line['points']:g}"
                show_judged(out, line, about[line["problem"]]["program"], place, points)
    if not facts.totals:
        out.print("nobody was graded: no answers could be read")
    elif directory is None or len(facts.totals) <= MANY:
        sums = {name: got for name, _, got, _ in facts.totals}
        order = ledger.order() if directory is None else sorted(sums)
        table = TextTable(("student", "points"), right=("points",), gap=GAP)
        for name in (name for name in order if name in sums):
            table.add(escape_controls(name), f"{sums[name]:g} of {facts.possible:g}")
        out.print(table)
    if len(facts.totals) > 1:
        _show_class(facts, out)
    if directory is not None:
        out.print(Text(f"the class: {directory / 'index.html'}"), soft_wrap=True)


def _show_class(facts: ClassFacts, out: Console) -> None:
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
            text = escape_controls(" ".join(str(line["answer"]).split()))
            words = f"  {count}x  {line['problem']}.{line['part']}  {text}"
            out.print(Text(words if len(words) <= 80 else f"{words[:77]}..."), soft_wrap=True)


def _show_changes(found: Iterable[Change], out: Console) -> None:
    changed = same = 0
    for each in found:
        if each.before == each.after:
            same += 1
            continue
        if not changed:
            out.print()
        changed += 1
        both = each.before, each.after
        was, now = ("{} {:g} of {:g}".format(*said) if said[0] else "nothing" for said in both)
        head = f"{escape_controls(each.student)}  {each.problem}.{each.part}"
        out.print(Text(f"{head}  {was} -> {now}  ({each.why})"), soft_wrap=True)
    again = f"; judged again, with the same points: {same:,}" if same else ""
    has = "judgement has" if changed < 2 else "judgements have"
    out.print(f"\n{f'{changed:,}' if changed else 'no'} {has} changed{again}")


# -- gradebooks and pages of what was graded -------------------------------------------------------


def _write_fresh(form: str, ledger: Ledger, out: Path) -> None:
    facts = collect_facts(ledger)
    addresses = {student: name for name, student in ledger.names().items() if "@" in name}
    known = addresses if form == "moodle" else {}
    points = {known.get(name, name): got for name, _, got, _ in facts.totals}
    with replace_file(out) as file:
        title = ledger.fact("title") or "gradcheck"
        file.write(gradebooks.write_gradebook(form, title, points, facts.possible))


def _write_gradescope(ledger: Ledger, out: Path) -> None:
    from gradcheck.report.pages import name_page  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    sources = {id: about["program"] for id, about in ledger.problems().items()}
    for student in read_students(ledger):
        with replace_file(out / Path(name_page(student.name)).with_suffix(".json").name) as file:
            file.write(gradebooks.write_gradescope(student.lines, sources))


def _fill_in(  # noqa: PLR0917 - the options
    ledger: Ledger, form: str, out: Path, export: Path, column: str, comments: bool
) -> None:
    """The platform's own export with the points, and with comments where they are asked for."""

    def feedback(student: str) -> str:
        (found,) = read_students(ledger, between=(student, student))
        return gradebooks.write_comments(found.lines)

    facts = collect_facts(ledger)
    points = {name: got for name, _, got, _ in facts.totals}
    say = feedback if comments else None
    whole, names = export.read_bytes(), ledger.names()
    found = gradebooks.fill(whole, form, points, facts.possible, column, say, names)
    for words in found.notices:
        click.echo(words, err=True)
    out.write_bytes(found.content)


FORMS: Mapping[str, tuple[str, Callable[[Ledger, Path], object]]] = {
    "html": ("", write_results),
    "canvas": ("canvas.csv", partial(_write_fresh, "canvas")),
    "moodle": ("moodle.csv", partial(_write_fresh, "moodle")),
    "gradescope": ("gradescope", _write_gradescope),
    "csv": ("grades.csv", lambda ledger, out: write_grades(collect_facts(ledger), out)),
    "xlsx": (
        "grades.xlsx",
        lambda ledger, out: out.write_bytes(write_workbook(list_grades(collect_facts(ledger)))),
    ),
}
FORM = click.Choice([*FORMS])
graded = click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))


@command(epilog=REPORT_EXAMPLES)
@graded
@click.option("--as", "form", type=FORM, default="html", show_default=True, help=PLATFORM)
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="Where to.")
@click.option("--points", "export", type=EXISTING, metavar="FILE", help="A platform's own export.")
@click.option("--column", default="", metavar="NAME", help="The export's column for the points.")
@click.option("--comments", is_flag=True, help="Fill the export's empty feedback cells too.")
def report(directory: Path, form: str, out: Path | None, export: Path | None, **said: Any) -> None:
    """Render a graded batch again, from its ledger alone.

    With --points, the gradebook that Canvas or Moodle exported comes back with the points in it and
    every other cell as it was; --comments fills Moodle's empty feedback cells too. Exit code 0:
    written, 2: it cannot be.
    """
    if export is not None and form not in gradebooks.PLATFORMS:
        words = f"--points goes with {', '.join(gradebooks.PLATFORMS)}, not with {form}"
        raise GradcheckError(words)
    path, (name, write) = _find_ledger(directory), FORMS[form]
    if export is not None and form == "csv":  # not the batch's own
        name = f"filled{export.suffix}"
    out = out or directory / name
    with _explain_ending(directory), closing(Ledger(path, readonly=True)) as ledger:
        if export is None:
            write(ledger, out)
        else:
            _fill_in(ledger, form, out, export, **said)
        if ledger.fact("complete") != "yes":
            click.echo("the batch was stopped before its end: `gradcheck grade` goes on", err=True)
    click.echo(str(out / "index.html" if form == "html" else out))


def _find_ledger(directory: Path) -> Path:
    path = directory / NAME
    if not path.is_file():
        cure = f"`gradcheck grade ... -o {directory}` makes one"
        raise Unusable(f"{directory}: no graded batch is here - {cure}")
    return path


# -- marks by hand ---------------------------------------------------------------------------------


@command(epilog='gradcheck mark graded --student ada --problem p --points 2 --note "sign agreed"')
@graded
@click.option("--student", required=True, metavar="S", help="Who: by any name of the roster.")
@click.option("--problem", required=True, metavar="P", help="At which problem.")
@click.option("--part", default="", metavar="Q", help="At which part, where there are several.")
@click.option("--points", type=click.FloatRange(0), metavar="N", help="What is given.")
@click.option("--note", default="", metavar="TEXT", help="Why: the student is told.")
@click.option("--undo", is_flag=True, help="Let the judgement count again.")
def mark(directory: Path, **said: Any) -> None:
    """Give points by hand: they count whatever is graded again, and are shown with their note.

    Exit code 0: marked, 2: it cannot be.
    """
    asked, points = SimpleNamespace(**said), said["points"]
    _find_ledger(directory)
    if asked.undo == (points is not None):
        raise GradcheckError("say either --points N or --undo")
    with _explain_ending(directory), _open_ledger(directory) as ledger:
        who = _find_student(ledger, asked.student)
        part, possible = _find_part(ledger, asked.problem, asked.part)
        place, words = f"{who}: {asked.problem}.{part}", "the judgement counts again"
        if points is None:
            if not ledger.take_mark_back(who, asked.problem, part):
                raise GradcheckError(f"{place} has no mark by hand")
        elif not points <= possible:
            raise GradcheckError(f"{place} is worth {possible:g} points, not {points:g}")
        else:
            ledger.set_mark(who, asked.problem, part, points, asked.note)
            words = f"{points:g} of {possible:g}"
        ledger.save()
        write_results(ledger, directory)
    click.echo(f"{place}: {words}")


def _find_student(ledger: Ledger, name: str) -> str:
    known = {**ledger.names(), **{student: student for student in ledger.order()}}
    for each in list_spellings(name):
        if each in known:
            return known[each]
    raise GradcheckError(f"no student of the batch goes by `{name}`")


def _find_part(ledger: Ledger, problem: str, part: str) -> tuple[str, float]:
    about = ledger.problems()
    check_id(problem, about)
    parts = {each["name"]: each["points"] for each in about[problem]["parts"]}
    named = part or (next(iter(parts)) if len(parts) == 1 else "")
    if named not in parts:
        raise GradcheckError(f"say which part with --part: {', '.join(parts)}")
    return named, parts[named]
