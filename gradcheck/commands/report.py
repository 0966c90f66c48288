"""`gradcheck report`: the pages, gradebooks and files of a graded batch, from its ledger alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from gradcheck.batch.ledger import NAME, Ledger, Unusable
from gradcheck.batch.marked import everything
from gradcheck.batch.outputs import grades, replaced, write_grades
from gradcheck.batch.results import write_pages
from gradcheck.batch.statistics import class_facts
from gradcheck.documents.table import workbook
from gradcheck.errors import GradcheckError
from gradcheck.report import gradebooks
from gradcheck.report.findings import Line
from gradcheck.report.graders import comments, gradescope
from gradcheck.report.judgements import told

DONE, FAILED = 0, 2
DAMAGED = "{}: {} judgements in the ledger are damaged - `gradcheck grade` makes them again"


@dataclass(frozen=True)
class Export:
    """A platform's own table: the column for the points, and whether empty comments are filled."""

    file: Path
    column: str = ""
    comments: bool = False


def report(directory: Path, form: str, out: Path | None, export: Export | None) -> int:
    """Write one form of what a ledger holds; the exit code of the command."""
    try:
        with closing(Ledger(_ledger(directory), readonly=True)) as ledger:
            if ledger.damaged:
                raise Unusable(DAMAGED.format(directory, ledger.damaged))
            where = _write(ledger, form, out or directory / _name(form), export)
            complete = ledger.fact("complete") == "yes"
    except (GradcheckError, OSError, sqlite3.Error) as error:
        click.echo(str(error), err=True)
        return FAILED
    if not complete:
        click.echo("the batch was stopped before its end: `gradcheck grade` goes on", err=True)
    click.echo(str(where))
    return DONE


def _ledger(directory: Path) -> Path:
    path = directory / NAME
    if not path.is_file():
        cure = f"`gradcheck grade ... -o {directory}` makes one"
        raise Unusable(f"{directory}: no graded batch is here - {cure}")
    return path


def _name(form: str) -> str:
    names = {"xlsx": "grades.xlsx", "canvas": "canvas.csv", "moodle": "moodle.csv"}
    return {"html": "", "csv": "grades.csv", "gradescope": "gradescope", **names}[form]


def _write(ledger: Ledger, form: str, out: Path, export: Export | None) -> Path:
    """One form of the results; where it is."""
    feedback = ledger.feedback()
    if form == "html":
        write_pages(ledger, out)
        return out / "index.html"
    if form == "csv" and export is None:
        write_grades(ledger, out)
    elif form == "xlsx" and export is None:
        out.write_bytes(workbook(grades(ledger)))
    elif export is not None and form not in gradebooks.PLATFORMS:
        words = f"--points goes with {', '.join(gradebooks.PLATFORMS)}, not with {form}"
        raise GradcheckError(words)
    elif form == "gradescope":
        _gradescope(ledger, out, feedback)
    else:
        _gradebook(ledger, form, out, export)
    return out


# -- other forms -----------------------------------------------------------------------------------


def _students(ledger: Ledger, feedback: str) -> Iterator[tuple[str, list[Line]]]:
    """Every student's name and lines."""
    for student in everything(ledger):
        yield student.name, [told(m.told(student.name), feedback) for m in student.judged]


def _sources(ledger: Ledger) -> dict[str, str]:
    return {id: about["program"] for id, about in ledger.problems().items()}


def _gradescope(ledger: Ledger, out: Path, feedback: str) -> None:
    """A results.json for each student."""
    from gradcheck.report.pages import page_name  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    sources = _sources(ledger)
    for name, lines in _students(ledger, feedback):
        with replaced(out / Path(page_name(name)).with_suffix(".json").name) as file:
            file.write(gradescope(lines, sources))


def _gradebook(ledger: Ledger, form: str, out: Path, export: Export | None) -> None:
    """The platform's own export with the points, or a new table where there is none."""
    facts = class_facts(ledger)
    points = {name: got for name, _, got, _ in facts.totals}
    if export is None:
        title = ledger.fact("title") or "gradcheck"
        with replaced(out) as file:
            file.write(gradebooks.fresh(form, title, points, facts.possible))
        return
    feedback = partial(_feedback, ledger) if export.comments else None
    whole = export.file.read_bytes()
    names = ledger.names()
    found = gradebooks.filled(whole, form, points, facts.possible, export.column, feedback, names)
    for words in found.notices:
        click.echo(words, err=True)
    out.write_bytes(found.content)


def _feedback(ledger: Ledger, student: str) -> str:
    """What a student is told in a cell: HTML, as the platform shows it."""
    level = ledger.feedback()
    (found,) = everything(ledger, between=(student, student))
    return comments([told(marked.told(student), level) for marked in found.judged])
