"""The pages of a batch: students' by the workers, slice by slice, the class's at the end."""

from contextlib import closing
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from gradcheck.batch.crew import Crew
from gradcheck.batch.executors import lanes
from gradcheck.batch.ledger import Ledger
from gradcheck.batch.marked import Marked, everything
from gradcheck.batch.outputs import FULL, only, says
from gradcheck.batch.statistics import ClassFacts
from gradcheck.report.judgements import told

SLICE = 250  # students whose pages are one task: 0.3 s
SECTIONS = 2_000  # problems with their answers that are remembered: students give the same ones
WORTH = 200  # students from which it is worth to ask the workers
PATTERN = "*-" + "?" * 16 + ".html"


def write_pages(ledger: Ledger, facts: ClassFacts, out: Path, crew: Crew | None = None) -> None:
    """`index.html` and a page a student; pages of students who are gone are taken away."""
    from gradcheck.report.pages import class_page, page_name  # noqa: PLC0415 - Jinja2 is slow

    (out / "students").mkdir(parents=True, exist_ok=True)
    names = sorted(name for name, *_ in facts.totals)
    slices = [names[k : k + SLICE] for k in range(0, len(names), SLICE)]
    tasks = [(ledger.path, out, each[0], each[-1]) for each in slices]
    if crew is None or len(names) < WORTH:
        crew = Crew(lanes(1))
    crew.everywhere(write_students, tasks)
    only(out / "students", map(page_name, names), PATTERN)
    says(out / "index.html", class_page(ledger.fact("title"), facts, ledger.notices()))


def write_students(path: Path, out: Path, first: str, last: str) -> None:
    """The pages of the students from one name to another, read from the ledger."""
    from gradcheck.report.pages import (  # noqa: PLC0415
        Section,
        Sections,
        page_name,
        student_page,
    )

    with closing(Ledger(path, readonly=True)) as ledger:
        feedback = ledger.fact("feedback") or FULL
        sections, title = Sections(ledger.problems()), ledger.fact("title")

        @lru_cache(maxsize=SECTIONS)
        def answered(id: str, judged: tuple[Marked, ...]) -> Section:
            return sections.section(id, [told(each.told(), feedback) for each in judged])

        for student in everything(ledger, between=(first, last)):
            problems = groupby(student.judged, key=lambda each: each.problem)
            own = [answered(id, tuple(judged)) for id, judged in problems]
            page = student_page(student.name, student.called, title, own)
            says(out / "students" / page_name(student.name), page)
