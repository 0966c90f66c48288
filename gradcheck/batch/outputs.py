"""The files of a graded batch, each replaced whole: results.jsonl, grades.csv, pages."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from markupsafe import Markup

from gradcheck.batch.graded import Answered, ClassFacts, class_facts, read_students
from gradcheck.batch.ledger import FULL, Ledger
from gradcheck.report.gradebooks import cells, figure
from gradcheck.report.judgements import restrict

SECTIONS = 2_000  # problems with their answers that are remembered: students give the same ones
PATTERN = "*-" + "?" * 16 + ".html"


def json_lines(ledger: Ledger, *, as_read: bool = False) -> Iterator[str]:
    """The lines of `--json`, in the order student, problem, part."""
    feedback = ledger.feedback()
    for student in read_students(ledger, as_read=as_read):
        yield from (json.dumps(restrict(line, feedback)) for line in student.lines)


def grades(ledger: Ledger) -> Iterator[list[str | float]]:
    """A header, then a row a student: points by problem, and how many answers need review."""
    about = ledger.problems()
    possible = sum(part["points"] for each in about.values() for part in each["parts"])
    yield ["student", *about, "total", "possible", "needs_review"]
    for student in read_students(ledger):
        own = student.points
        got = [own.get(id, 0.0) for id in about]
        yield [student.name, *got, sum(own.values()), possible, student.review]


def write_grades(ledger: Ledger, path: Path) -> None:
    """`grades.csv`."""
    with replace_file(path) as file:
        for row in grades(ledger):
            named = sum(isinstance(each, str) for each in row)
            written = [each if isinstance(each, str) else figure(each) for each in row]
            file.write(f"{cells(written, texts=named)}\r\n")


def write_results(ledger: Ledger, out: Path) -> ClassFacts:
    """`results.jsonl`, `grades.csv` and the pages; what is told of the class."""
    with replace_file(out / "results.jsonl") as file:
        file.writelines(f"{line}\n" for line in json_lines(ledger))
    write_grades(ledger, out / "grades.csv")
    return write_pages(ledger, out)


def write_pages(ledger: Ledger, out: Path) -> ClassFacts:
    """`index.html` and a page a student; the pages of students who are gone are taken away."""
    from gradcheck.report.pages import class_page, page_name, student_page  # noqa: PLC0415

    (out / "students").mkdir(parents=True, exist_ok=True)
    about, title = ledger.problems(), ledger.fact("title")
    section = _sections(about, ledger.feedback())
    worth = {id: sum(part["points"] for part in each["parts"]) for id, each in about.items()}
    written = set()
    for student in read_students(ledger):
        sections = [section(each) for each in student.answered]
        score = sum(student.points.values())
        possible = sum(worth[each.problem] for each in student.answered)
        page = student_page(student.name, student.called, title, sections, score, possible)
        update_file(out / "students" / page_name(student.name), page)
        written.add(page_name(student.name))
    for path in (out / "students").glob(PATTERN):
        if path.name not in written:
            path.unlink()
    facts = class_facts(ledger)
    update_file(out / "index.html", class_page(title, facts, ledger.notices()))
    return facts


def _sections(about: dict[str, dict[str, Any]], feedback: str) -> Callable[[Answered], Markup]:
    """What makes of a problem and a student's answers to it a section of a page."""
    from gradcheck.report.pages import problem_section  # noqa: PLC0415 - Jinja2 is slow
    from gradcheck.report.solutions import solve_again  # noqa: PLC0415

    @lru_cache(maxsize=SECTIONS)
    def section(answered: Answered) -> Markup:
        own = about[answered.problem]
        lines = [restrict(line, feedback) for line in answered.lines]
        wrong = feedback == FULL and any(line["verdict"] != "right" for line in lines)
        solution = solve_again(own, lines[0].get("variant") or {}) if wrong else None
        return problem_section(answered.problem, own, lines, solution)

    return section


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
