"""The pages of a batch: students' by the workers, slice by slice, the class's at the end."""

from contextlib import closing
from pathlib import Path

from gradcheck.batch.crew import Crew
from gradcheck.batch.executors import lanes
from gradcheck.batch.ledger import Ledger
from gradcheck.batch.marked import everything
from gradcheck.batch.outputs import FULL, only, replaced
from gradcheck.batch.statistics import ClassFacts
from gradcheck.report.judgements import told

SLICE = 100  # students whose pages are one task: 0.2 s
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
    with replaced(out / "index.html") as file:
        file.write(class_page(ledger.fact("title"), facts, ledger.notices()))


def write_students(path: Path, out: Path, first: str, last: str) -> None:
    """The pages of the students from one name to another, read from the ledger."""
    from gradcheck.report.pages import page_name, student_page  # noqa: PLC0415

    with closing(Ledger(path, readonly=True)) as ledger:
        feedback = ledger.fact("feedback") or FULL
        about, title = ledger.problems(), ledger.fact("title")
        for student in everything(ledger, between=(first, last)):
            lines = [told(marked.told(student.name), feedback) for marked in student.judged]
            with replaced(out / "students" / page_name(student.name)) as file:
                file.write(student_page(student.name, student.called, title, lines, about))
