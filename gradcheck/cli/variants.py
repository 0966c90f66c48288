"""`gradcheck variants`: every student's own sheet, and a table of who has which numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from gradcheck.batch.outputs import replaced
from gradcheck.batch.submissions.tables import read_roster
from gradcheck.cli.files import named, sets
from gradcheck.cli.group import EXISTING, command, to_directory
from gradcheck.errors import GradcheckError
from gradcheck.grading.variants import variant_for
from gradcheck.problem import Problem
from gradcheck.problem.variants import possible
from gradcheck.report.gradebooks import cells
from gradcheck.report.pages import page_name
from gradcheck.report.sheets import Sheet, sheet_markdown, sheets_page

ALL, TABLE = "all.html", "variants.csv"


VARIANTS_EXAMPLE = "gradcheck variants problems/variants.yaml --students roster.csv -o sheets"


@command(epilog=VARIANTS_EXAMPLE)
@named
@click.option("--students", type=EXISTING, required=True, metavar="ROSTER", help="Who they are.")
@to_directory("Where the sheets go.", required=True)
def variants(paths: tuple[Path, ...], students: Path, directory: Path) -> None:
    """Write each student's sheet, with numbers of their own, as HTML and Markdown.

    ROSTER has a column `student` (and `name`, what people call them). Numbers are drawn from the
    name: `gradcheck grade` finds the same ones. Exit code 0: written, 2: it cannot be.
    """
    read = sets(paths)
    problems = [problem for each in read for problem in each.problems]
    title = next((each.title for each in read if each.title), "")
    expected = read_roster(students).called
    if not expected:
        raise GradcheckError(f"{students}: nobody is on this roster - one row a student is due")
    sheets = [_sheet(problems, name, called) for name, called in sorted(expected.items())]
    try:
        _write(title, sheets, directory)
    except OSError as error:
        raise GradcheckError(f"{directory}: cannot be written: {error.strerror}") from None
    for k, problem in enumerate(problems):
        if problem.choices:
            click.echo(_shares(problem, [sheet.problems[k].variant for sheet in sheets]))
    click.echo(f"{len(sheets)} sheets: {directory / ALL}, and {TABLE} says who has which numbers")


def _sheet(problems: Sequence[Problem], name: str, called: str) -> Sheet:
    return Sheet(name, called, [variant_for(problem, name) for problem in problems])


def _write(title: str, sheets: Sequence[Sheet], out: Path) -> None:
    """Each sheet as HTML and Markdown, all of them for the printer, and the table."""
    out.mkdir(parents=True, exist_ok=True)
    for sheet in sheets:
        name = page_name(sheet.name)
        with replaced(out / name) as file:
            file.write(sheets_page(title, [sheet]))
        with replaced((out / name).with_suffix(".md")) as file:
            file.write(sheet_markdown(title, sheet))
    with replaced(out / ALL) as file:
        file.write(sheets_page(title, sheets))
    with replaced(out / TABLE) as file:
        file.write(cells(["student", "problem", "input", "value"]) + "\r\n")
        for sheet in sheets:
            file.writelines(f"{row}\r\n" for row in _rows(sheet))


def _rows(sheet: Sheet) -> list[str]:
    return [
        cells([sheet.name, problem.id, name, str(value)], texts=3)
        for problem in sheet.problems
        for name, value in problem.variant.items()
    ]


def _shares(problem: Problem, drawn: Sequence[Mapping[str, object]]) -> str:
    """How many different variants were drawn, and how many students share one."""
    counted = Counter(str(each) for each in drawn)
    most = max(counted.values())
    shared = "nobody shares one" if most == 1 else f"at most {most} share one"
    return f"{problem.id}: {len(counted)} of {possible(problem):,} variants, {shared}"
