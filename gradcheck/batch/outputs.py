"""The files of a graded batch, each replaced whole: results.jsonl, grades.csv, pages."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import IO, Any

from markupsafe import Markup

from gradcheck.batch.graded import Answered, ClassFacts, Student, class_facts, read_students
from gradcheck.batch.ledger import FULL, Ledger
from gradcheck.batch.pool import Pool
from gradcheck.report.gradebooks import cells, figure
from gradcheck.report.judgements import restrict

SECTIONS = 2_000  # problems with their answers that are remembered: students give the same ones
GROUP = 100  # students whose pages are one task: about 100 ms of work
PATTERNS = (f"*-{'?' * 16}.html", ".*.html.new")  # of pages, and of what was killed at one
About = Mapping[str, Mapping[str, Any]]


def json_lines(student: Student, feedback: str) -> Iterator[str]:
    """The lines of `--json`, in the order of problems and parts."""
    return (json.dumps(restrict(line, feedback)) for line in student.lines)


def grades_head(about: About) -> list[str | float]:
    """The first row of a gradebook."""
    return ["student", *about, "total", "possible", "needs_review"]


def grades_row(student: Student, about: About) -> list[str | float]:
    """A student's: points by problem, and how many answers need review."""
    own = student.points
    possible = sum(part["points"] for each in about.values() for part in each["parts"])
    got = [own.get(id, 0.0) for id in about]
    return [student.name, *got, sum(own.values()), possible, student.review]


def grades(ledger: Ledger) -> Iterator[list[str | float]]:
    """All rows of a gradebook."""
    about = ledger.problems()
    yield grades_head(about)
    yield from (grades_row(student, about) for student in read_students(ledger))


def write_row(file: IO[str], row: list[str | float]) -> None:
    """A row of `grades.csv`."""
    named = sum(isinstance(each, str) for each in row)
    written = [each if isinstance(each, str) else figure(each) for each in row]
    file.write(f"{cells(written, texts=named)}\r\n")


def write_grades(ledger: Ledger, path: Path) -> None:
    """`grades.csv`."""
    with replace_file(path) as file:
        for row in grades(ledger):
            write_row(file, row)


def write_results(ledger: Ledger, out: Path, printers: Pool | None = None) -> ClassFacts:
    """`results.jsonl`, `grades.csv` and the pages; what is told of the class."""
    about, feedback = ledger.problems(), ledger.feedback()
    with replace_file(out / "results.jsonl") as results, replace_file(out / "grades.csv") as table:
        write_row(table, grades_head(about))

        def write(student: Student) -> None:
            results.writelines(f"{line}\n" for line in json_lines(student, feedback))
            write_row(table, grades_row(student, about))

        return write_pages(ledger, out, printers, write)


def write_pages(
    ledger: Ledger,
    out: Path,
    printers: Pool | None = None,
    tell: Callable[[Student], None] | None = None,
) -> ClassFacts:
    """`index.html` and a page a student, written by a pool without limits, or here.

    The pages of students who are gone are taken away. `tell` hears of each student.
    """
    from gradcheck.report.pages import class_page, page_name  # noqa: PLC0415 - Jinja2 is slow

    folder = out / "students"
    folder.mkdir(parents=True, exist_ok=True)
    asked = []
    if printers is None:
        _write_students(ledger, folder)
    else:
        names = sorted(ledger.order())
        groups = (names[k : k + GROUP] for k in range(0, len(names), GROUP))
        submit = partial(printers.submit, _write_group, ledger.path, folder)
        asked = [submit(group[0], group[-1]) for group in groups]
    facts = class_facts(ledger, tell)
    for each in asked:
        if failed := each.result():
            raise OSError(*failed)
    written = {page_name(name) for name, *_ in facts.totals}
    for path in (path for pattern in PATTERNS for path in folder.glob(pattern)):
        if path.name not in written:
            path.unlink()
    update_file(out / "index.html", class_page(ledger.fact("title"), facts, ledger.notices()))
    return facts


def _write_group(path: Path, folder: Path, first: str, last: str) -> Sequence[Any]:
    """The pages of some students, by another process; why they cannot be written."""
    try:
        _write_students(_open_beside(path), folder, (first, last))
    except OSError as error:
        return error.errno, error.strerror, str(error.filename)
    return ()


@cache
def _open_beside(path: Path) -> Ledger:
    """A ledger that another process has opened, and checked."""
    return Ledger(path, readonly=True, known=True)


def _write_students(ledger: Ledger, folder: Path, between: tuple[str, str] | None = None) -> None:
    """A page a student."""
    from gradcheck.report.pages import page_name, student_page  # noqa: PLC0415

    worth, title, section = _page_facts(ledger)
    for student in read_students(ledger, between=between):
        sections = [section(each) for each in student.answered]
        score = sum(student.points.values())
        possible = sum(worth[each.problem] for each in student.answered)
        page = student_page(student.name, student.called, title, sections, score, possible)
        update_file(folder / page_name(student.name), page)


@lru_cache(maxsize=1)
def _page_facts(ledger: Ledger) -> tuple[Mapping[str, float], str, Callable[[Answered], Markup]]:
    """Points by problem, the title, and what makes a section of a page of a student's answers."""
    from gradcheck.report.pages import problem_section  # noqa: PLC0415
    from gradcheck.report.solutions import solve_again  # noqa: PLC0415

    about, feedback = ledger.problems(), ledger.feedback()

    @lru_cache(maxsize=SECTIONS)
    def section(answered: Answered) -> Markup:
        own = about[answered.problem]
        lines = [restrict(line, feedback) for line in answered.lines]
        wrong = feedback == FULL and any(line["verdict"] != "right" for line in lines)
        solution = solve_again(own, lines[0].get("variant") or {}) if wrong else None
        return problem_section(answered.problem, own, lines, solution)

    worth = {id: sum(part["points"] for part in each["parts"]) for id, each in about.items()}
    return worth, ledger.fact("title"), section


@contextmanager
def replace_file(path: Path) -> Iterator[IO[str]]:
    """A file that appears whole, or stays as it was."""
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def update_file(path: Path, text: str) -> None:
    """Have a file say a text; one that does already is left alone: replacing takes its time."""
    with suppress(OSError, ValueError):
        if path.stat().st_size == len(text.encode()) and path.read_text("utf-8") == text:
            return
    with replace_file(path) as file:
        file.write(text)
