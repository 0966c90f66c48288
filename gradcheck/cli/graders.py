"""A grader's commands: judge a class's answers; render what was judged."""

import sys
from pathlib import Path
from typing import Any

import click

from gradcheck.cli.files import PATH, sets
from gradcheck.cli.group import EXISTING, as_json_lines, command, to_directory, with_feedback

graded = click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
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
@click.option("--diff", is_flag=True, help="Say who gains or loses what, against the last time.")
@click.option("--only", "students", multiple=True, metavar="STUDENT", help="Only this student.")
@click.option("--problem", "ids", multiple=True, metavar="ID", help="Only this problem.")
def grade(
    problems: Path,
    answers: tuple[Path, ...],
    students: tuple[str, ...],
    ids: tuple[str, ...],
    **how: Any,
) -> None:
    """Judge and diagnose answers: right, or wrong with a witness and the name of the mistake.

    ANSWERS are YAML or JSON files, one a student, directories or zip archives of them, notebooks,
    or tables (CSV, .xlsx); `-` is a YAML or JSON text from standard input. Exit code 0: all graded,
    1: a student is under the threshold, 2: malformed problems, 3: some answers need review.
    """
    from gradcheck.batch.crew import count_jobs  # noqa: PLC0415
    from gradcheck.batch.workers import foresee  # noqa: PLC0415

    if not how["scheduler"]:
        foresee()
    how["jobs"] = count_jobs(how["jobs"], kept=how["directory"] is not None)
    read = sets((problems,))
    from gradcheck.batch.collect import Chosen  # noqa: PLC0415
    from gradcheck.commands.grade import How, grade_all  # noqa: PLC0415

    sys.exit(grade_all(read, answers, How(**how, chosen=Chosen(students, ids))))


@command(epilog='gradcheck mark graded --student ada --problem p --points 2 --note "sign agreed"')
@graded
@click.option("--student", required=True, metavar="S", help="Who: by any name of the roster.")
@click.option("--problem", required=True, metavar="P", help="At which problem.")
@click.option("--part", default="", metavar="Q", help="At which part, where there are several.")
@click.option("--points", type=click.FloatRange(0), metavar="N", help="What is given.")
@click.option("--note", default="", metavar="TEXT", help="Why: the student is told.")
@click.option("--undo", is_flag=True, help="Let the judgement count again.")
def mark(directory: Path, **how: Any) -> None:
    """Give points by hand: they count whatever is graded again, and are shown with their note.

    Exit code 0: marked, 2: it cannot be.
    """
    from gradcheck.commands import mark as marking  # noqa: PLC0415

    sys.exit(marking.mark(directory, marking.How(**how)))


REPORT_EXAMPLES = """gradcheck report graded
gradcheck report graded --as canvas --points export.csv"""


@command(epilog=REPORT_EXAMPLES)
@graded
@click.option(
    "--as",
    "form",
    type=click.Choice(["html", "canvas", "moodle", "gradescope", "csv", "xlsx"]),
    default="html",
    show_default=True,
    help="Pages, or what a learning platform reads.",
)
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="Where to.")
@click.option("--points", "export", type=EXISTING, metavar="FILE", help="A platform's own export.")
@click.option("--column", default="", metavar="NAME", help="The export's column for the points.")
@click.option("--comments", is_flag=True, help="Fill the export's empty feedback cells too.")
def report(directory: Path, form: str, out: Path | None, export: Path | None, **how: Any) -> None:
    """Render a graded batch again, from its ledger alone.

    With --points, the gradebook that Canvas or Moodle exported comes back with the points in it and
    every other cell as it was; --comments fills Moodle's empty feedback cells too. Exit code 0:
    written, 2: it cannot be.
    """
    from gradcheck.commands import report as rendering  # noqa: PLC0415

    given = rendering.Export(export, **how) if export else None
    sys.exit(rendering.report(directory, form, out, given))
