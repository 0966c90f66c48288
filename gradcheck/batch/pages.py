"""The pages of students, slice by slice: what a worker does at the end of a batch."""

from contextlib import closing
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from gradcheck.batch.ledger import Ledger
from gradcheck.batch.marked import Marked, everything
from gradcheck.batch.outputs import says
from gradcheck.report.judgements import told

SECTIONS = 2_000  # problems with their answers that are remembered: students give the same ones


def write_students(path: Path, out: Path, first: str, last: str) -> None:
    """The pages of the students from one name to another, read from the ledger."""
    from gradcheck.report.pages import (  # noqa: PLC0415
        Section,
        Sections,
        page_name,
        student_page,
    )

    with closing(Ledger(path, readonly=True)) as ledger:
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
