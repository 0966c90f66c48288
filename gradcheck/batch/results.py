"""What a directory holds of a graded batch: tables for programs, pages for people."""

from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from gradcheck.batch.ledger import Ledger
from gradcheck.batch.marked import Marked, everything, names
from gradcheck.batch.outputs import only, says, write_grades, write_lines
from gradcheck.batch.statistics import ClassFacts, class_facts
from gradcheck.batch.workers import all_done
from gradcheck.report.judgements import told

SLICE = 250  # students whose pages are one task: 0.3 s
WORTH = 200  # students from which it is worth to start processes
SECTIONS = 2_000  # problems with their answers that are remembered: students give the same ones
PATTERN = "*-" + "?" * 16 + ".html"


def write_results(ledger: Ledger, out: Path, jobs: int) -> ClassFacts:
    """`results.jsonl`, `grades.csv` and the pages; what is told of the class."""
    write = (write_lines, out / "results.jsonl"), (write_grades, out / "grades.csv")
    return _write(ledger, out, jobs, [(_table, ledger.path, *each) for each in write])


def write_pages(ledger: Ledger, out: Path) -> None:
    """`index.html` and a page a student."""
    _write(ledger, out, 1, [])


def _write(ledger: Ledger, out: Path, jobs: int, tasks: list[tuple[object, ...]]) -> ClassFacts:
    """The tables and all pages; those of students who are gone are taken away."""
    from gradcheck.report.pages import class_page, page_name  # noqa: PLC0415 - Jinja2 is slow

    (out / "students").mkdir(parents=True, exist_ok=True)
    everybody = names(ledger)
    slices = [everybody[k : k + SLICE] for k in range(0, len(everybody), SLICE)]
    tasks += [(_students, ledger.path, out, s[0], s[-1]) for s in slices]
    all_done(tasks, jobs if len(everybody) >= WORTH else 1)
    facts = class_facts(ledger)
    only(out / "students", map(page_name, everybody), PATTERN)
    says(out / "index.html", class_page(ledger.fact("title"), facts, ledger.notices()))
    return facts


def _table(path: Path, write: Callable[[Ledger, Path], None], out: Path) -> None:
    """A file that is written from the ledger at a path."""
    with closing(Ledger(path, readonly=True, checked=True)) as ledger:
        write(ledger, out)


def _students(path: Path, out: Path, first: str, last: str) -> None:
    """The pages of the students from one name to another, read from the ledger."""
    from gradcheck.report.pages import (  # noqa: PLC0415
        Section,
        Sections,
        page_name,
        student_page,
    )

    with closing(Ledger(path, readonly=True, checked=True)) as ledger:
        feedback = ledger.feedback()
        sections, title = Sections(ledger.problems()), ledger.fact("title")

        @lru_cache(maxsize=SECTIONS)
        def answered(id: str, judged: tuple[Marked, ...]) -> Section:
            return sections.section(id, [told(each.told(), feedback) for each in judged])

        for student in everything(ledger, between=(first, last)):
            problems = groupby(student.judged, key=lambda each: each.problem)
            own = [answered(id, tuple(judged)) for id, judged in problems]
            page = student_page(student.name, student.called, title, own)
            says(out / "students" / page_name(student.name), page)
