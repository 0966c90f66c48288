"""What a directory holds of a graded batch: the workers write it while the class is counted."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from gradcheck.batch.crew import Crew, Task
from gradcheck.batch.executors import lanes
from gradcheck.batch.ledger import Ledger
from gradcheck.batch.marked import names
from gradcheck.batch.outputs import only, says, write_grades, write_lines
from gradcheck.batch.pages import write_students
from gradcheck.batch.statistics import ClassFacts, class_facts

SLICE = 250  # students whose pages are one task: 0.3 s
WORTH = 200  # students from which it is worth to ask the workers
PATTERN = "*-" + "?" * 16 + ".html"


def write_results(ledger: Ledger, out: Path, crew: Crew) -> ClassFacts:
    """`results.jsonl`, `grades.csv` and the pages; what is told of the class."""
    tables = {"results.jsonl": write_lines, "grades.csv": write_grades}
    tasks = [(_written, ledger.path, write, out / name) for name, write in tables.items()]
    return _done(ledger, out, crew, tasks)


def write_pages(ledger: Ledger, out: Path) -> None:
    """`index.html` and a page a student, by this process."""
    _done(ledger, out, Crew(lanes(1)), [])


def _written(path: Path, write: Callable[[Ledger, Path], None], out: Path) -> None:
    """A file that is written from the ledger at a path."""
    with closing(Ledger(path, readonly=True)) as ledger:
        write(ledger, out)


def _done(ledger: Ledger, out: Path, crew: Crew, tables: Sequence[Task]) -> ClassFacts:
    """The tables and all pages; those of students who are gone are taken away."""
    from gradcheck.report.pages import class_page, page_name  # noqa: PLC0415 - Jinja2 is slow

    (out / "students").mkdir(parents=True, exist_ok=True)
    everybody = names(ledger)
    slices = [everybody[k : k + SLICE] for k in range(0, len(everybody), SLICE)]
    tasks = [*tables, *((write_students, ledger.path, out, s[0], s[-1]) for s in slices)]
    if len(everybody) < WORTH:
        crew = Crew(lanes(1))
    facts = crew.everywhere(tasks, lambda: class_facts(ledger))
    only(out / "students", map(page_name, everybody), PATTERN)
    says(out / "index.html", class_page(ledger.fact("title"), facts, ledger.notices()))
    return facts
