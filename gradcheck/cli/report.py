"""`gradcheck report` and `mark`: what is made of a graded batch, and points by hand."""

import sqlite3
from contextlib import closing
from pathlib import Path

import click

from gradcheck.batch.graded import class_facts, read_students
from gradcheck.batch.ledger import NAME, Ledger, Unusable
from gradcheck.batch.lock import only_writer
from gradcheck.batch.outputs import grades, replace_file, write_grades, write_pages, write_results
from gradcheck.cli.files import unknown_problem
from gradcheck.cli.group import EXISTING, command
from gradcheck.documents.table import workbook
from gradcheck.errors import GradcheckError
from gradcheck.problem.variants import plain
from gradcheck.report import gradebooks
from gradcheck.report.gradebooks import comments as comments_of
from gradcheck.report.gradebooks import gradescope
from gradcheck.report.judgements import restrict

NAMES = {
    "html": "",
    "canvas": "canvas.csv",
    "moodle": "moodle.csv",
    "gradescope": "gradescope",
    "csv": "grades.csv",
    "xlsx": "grades.xlsx",
}
graded = click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
REPORT_EXAMPLES = """gradcheck report graded
gradcheck report graded --as canvas --points export.csv"""


@command(epilog=REPORT_EXAMPLES)
@graded
@click.option(
    "--as",
    "form",
    type=click.Choice([*NAMES]),
    default="html",
    show_default=True,
    help="Pages, or what a learning platform reads.",
)
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="Where to.")
@click.option("--points", "export", type=EXISTING, metavar="FILE", help="A platform's own export.")
@click.option("--column", default="", metavar="NAME", help="The export's column for the points.")
@click.option("--comments", is_flag=True, help="Fill the export's empty feedback cells too.")
def report(  # noqa: PLR0917 - click gives them by name
    directory: Path, form: str, out: Path | None, export: Path | None, column: str, comments: bool
) -> None:
    """Render a graded batch again, from its ledger alone.

    With --points, the gradebook that Canvas or Moodle exported comes back with the points in it and
    every other cell as it was; --comments fills Moodle's empty feedback cells too. Exit code 0:
    written, 2: it cannot be.
    """
    try:
        with closing(Ledger(_ledger(directory), readonly=True)) as ledger:
            out = out or directory / NAMES[form]
            where = _write(ledger, form, out, export, column, comments)
            complete = ledger.fact("complete") == "yes"
    except (OSError, sqlite3.Error) as error:
        raise Unusable(str(error)) from None
    if not complete:
        click.echo("the batch was stopped before its end: `gradcheck grade` goes on", err=True)
    click.echo(str(where))


def _ledger(directory: Path) -> Path:
    path = directory / NAME
    if not path.is_file():
        cure = f"`gradcheck grade ... -o {directory}` makes one"
        raise Unusable(f"{directory}: no graded batch is here - {cure}")
    return path


def _write(  # noqa: PLR0917 - the options
    ledger: Ledger, form: str, out: Path, export: Path | None, column: str, comments: bool
) -> Path:
    if form == "html":
        write_pages(ledger, out)
        return out / "index.html"
    if export is not None and form not in gradebooks.PLATFORMS:
        words = f"--points goes with {', '.join(gradebooks.PLATFORMS)}, not with {form}"
        raise GradcheckError(words)
    if form == "gradescope":
        _gradescope(ledger, out)
    elif export is not None:
        _fill_in(ledger, form, out, export, column, comments)
    elif form == "csv":
        write_grades(ledger, out)
    elif form == "xlsx":
        out.write_bytes(workbook(grades(ledger)))
    else:
        facts = class_facts(ledger)
        points = {name: got for name, _, got, _ in facts.totals}
        with replace_file(out) as file:
            title = ledger.fact("title") or "gradcheck"
            file.write(gradebooks.fresh(form, title, points, facts.possible))
    return out


# -- other forms -----------------------------------------------------------------------------------


def _gradescope(ledger: Ledger, out: Path) -> None:
    from gradcheck.report.pages import page_name  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    sources = {id: about["program"] for id, about in ledger.problems().items()}
    for student in read_students(ledger):
        lines = [restrict(line, ledger.feedback()) for line in student.lines]
        with replace_file(out / Path(page_name(student.name)).with_suffix(".json").name) as file:
            file.write(gradescope(lines, sources))


def _fill_in(  # noqa: PLR0917 - the options
    ledger: Ledger, form: str, out: Path, export: Path, column: str, comments: bool
) -> None:
    """The platform's own export with the points, and with comments where they are asked for."""

    def feedback(student: str) -> str:
        (found,) = read_students(ledger, between=(student, student))
        return comments_of([restrict(line, ledger.feedback()) for line in found.lines])

    facts = class_facts(ledger)
    points = {name: got for name, _, got, _ in facts.totals}
    say = feedback if comments else None
    whole, names = export.read_bytes(), ledger.names()
    found = gradebooks.fill(whole, form, points, facts.possible, column, say, names)
    for words in found.notices:
        click.echo(words, err=True)
    out.write_bytes(found.content)


# -- marks by hand ---------------------------------------------------------------------------------


@command(epilog='gradcheck mark graded --student ada --problem p --points 2 --note "sign agreed"')
@graded
@click.option("--student", required=True, metavar="S", help="Who: by any name of the roster.")
@click.option("--problem", required=True, metavar="P", help="At which problem.")
@click.option("--part", default="", metavar="Q", help="At which part, where there are several.")
@click.option("--points", type=click.FloatRange(0), metavar="N", help="What is given.")
@click.option("--note", default="", metavar="TEXT", help="Why: the student is told.")
@click.option("--undo", is_flag=True, help="Let the judgement count again.")
def mark(  # noqa: PLR0917 - click gives them by name
    directory: Path,
    student: str,
    problem: str,
    part: str,
    points: float | None,
    note: str,
    undo: bool,
) -> None:
    """Give points by hand: they count whatever is graded again, and are shown with their note.

    Exit code 0: marked, 2: it cannot be.
    """
    path = _ledger(directory)
    if undo == (points is not None):
        raise GradcheckError("say either --points N or --undo")
    with only_writer(directory), closing(Ledger(path)) as ledger:
        who = _student(ledger, student)
        named, possible = _part(ledger, problem, part)
        place = f"{who}: {problem}.{named}"
        if points is None:
            if not ledger.take_mark_back(who, problem, named):
                raise GradcheckError(f"{place} has no mark by hand")
            words = f"{place}: the judgement counts again"
        else:
            if points > possible:
                raise GradcheckError(f"{place} is worth {possible:g} points, not {points:g}")
            ledger.set_mark(who, problem, named, points, note)
            words = f"{place}: {points:g} of {possible:g}"
        ledger.save()
        write_results(ledger, directory)
    click.echo(words)


def _student(ledger: Ledger, name: str) -> str:
    students = ledger.order()
    found = name if name in students else ledger.names().get(plain(name), "")
    if found not in students:
        raise GradcheckError(f"no student of the batch goes by `{name}`")
    return found


def _part(ledger: Ledger, problem: str, part: str) -> tuple[str, float]:
    about = ledger.problems()
    if problem not in about:
        raise unknown_problem(problem, about)
    parts = {each["name"]: each["points"] for each in about[problem]["parts"]}
    named = part or (next(iter(parts)) if len(parts) == 1 else "")
    if named not in parts:
        raise GradcheckError(f"say which part with --part: {', '.join(parts)}")
    return named, parts[named]
