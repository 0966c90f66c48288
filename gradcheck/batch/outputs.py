"""The files of a graded batch, each replaced whole: results.jsonl, grades.csv, pages."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from markupsafe import Markup

from gradcheck.batch.ledger import FULL, Ledger, trouble
from gradcheck.batch.marked import Marked, everything, names
from gradcheck.batch.statistics import ClassFacts, class_facts, points
from gradcheck.batch.workers import Nursery, Worker
from gradcheck.report.gradebooks import cells, figure
from gradcheck.report.judgements import restrict


def json_lines(ledger: Ledger, *, as_read: bool = False) -> Iterator[str]:
    """The lines of `--json`, in the order student, problem, part."""
    feedback = ledger.feedback()
    for student in everything(ledger, as_read=as_read):
        for marked in student.judged:
            yield json.dumps(restrict(marked.to_record(student.name), feedback))


def write_lines(ledger: Ledger, path: Path) -> None:
    """`results.jsonl`: the lines of `--json`."""
    with replace_file(path) as file:
        file.writelines(f"{line}\n" for line in json_lines(ledger))


def write_grades(ledger: Ledger, path: Path) -> None:
    """A row a student: points by problem, total, possible, and how many answers need review."""
    with replace_file(path) as file:
        for row in grades(ledger):
            named = sum(isinstance(each, str) for each in row)
            written = [each if isinstance(each, str) else figure(each) for each in row]
            file.write(f"{cells(written, texts=named)}\r\n")


def grades(ledger: Ledger) -> Iterator[list[str | float]]:
    """The header, then a row a student."""
    about = ledger.problems()
    possible = sum(part["points"] for each in about.values() for part in each["parts"])
    yield ["student", *about, "total", "possible", "needs_review"]
    for student in everything(ledger):
        own = points(student)
        review = sum(marked.verdict == "needs-review" for marked in student.judged)
        got = [own.get(id, 0.0) for id in about]
        yield [student.name, *got, sum(own.values()), possible, review]


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


def says(path: Path, text: str) -> None:
    """Have a file say a text; one that does already is left alone: replacing takes its time."""
    with suppress(OSError, ValueError):
        if path.stat().st_size == len(text.encode()) and path.read_text("utf-8") == text:
            return
    with replace_file(path) as file:
        file.write(text)


def only(directory: Path, names: Iterable[str], pattern: str) -> None:
    """Take away the files of a pattern that are not among the names."""
    kept = frozenset(names)
    for path in directory.glob(pattern):
        if path.name not in kept:
            path.unlink()


SLICE = 250  # students whose pages are one task: 0.3 s
WORTH = 200  # students from which it is worth to start processes
SECTIONS = 2_000  # problems with their answers that are remembered: students give the same ones
PATTERN = "*-" + "?" * 16 + ".html"


def write_results(ledger: Ledger, out: Path, nursery: Nursery | None, jobs: int) -> ClassFacts:
    """`results.jsonl`, `grades.csv` and the pages; what is told of the class."""
    write = (write_lines, out / "results.jsonl"), (write_grades, out / "grades.csv")
    tasks: list[tuple[Any, ...]] = [(_table, ledger.path, *each) for each in write]
    return _write(ledger, out, tasks, nursery, jobs)


def write_pages(ledger: Ledger, out: Path) -> None:
    """`index.html` and a page a student."""
    _write(ledger, out, [], None, 1)


def _write(
    ledger: Ledger, out: Path, tasks: list[tuple[Any, ...]], nursery: Nursery | None, jobs: int
) -> ClassFacts:
    """The tables and all pages; those of students who are gone are taken away."""
    from gradcheck.report.pages import class_page, page_name  # noqa: PLC0415 - Jinja2 is slow

    (out / "students").mkdir(parents=True, exist_ok=True)
    everybody = names(ledger)
    slices = [everybody[k : k + SLICE] for k in range(0, len(everybody), SLICE)]
    tasks += [(_students, ledger.path, out, s[0], s[-1]) for s in slices]
    if jobs < 2 or len(everybody) < WORTH:
        for task, *given in tasks:
            task(*given)
    else:
        with ExitStack() as stack:
            workers = [stack.enter_context(closing(Worker(nursery))) for _ in range(jobs)]
            for done in [workers[k % jobs].submit(_try, *each) for k, each in enumerate(tasks)]:
                if why := done.result():
                    raise OSError(why)
    facts = class_facts(ledger)
    only(out / "students", map(page_name, everybody), PATTERN)
    says(out / "index.html", class_page(ledger.fact("title"), facts, ledger.notices()))
    return facts


def _try(task: Callable[..., None], path: Path, *given: Any) -> str:
    """Do a task in another process; why it could not write, or an empty text."""
    try:
        task(path, *given)
    except (OSError, sqlite3.Error) as error:
        return trouble(error, path)
    return ""


def _table(path: Path, write: Callable[[Ledger, Path], None], out: Path) -> None:
    """A file that is written from the ledger at a path."""
    with closing(Ledger(path, readonly=True, checked=True)) as ledger:
        write(ledger, out)


def _students(path: Path, out: Path, first: str, last: str) -> None:
    """The pages of the students from one name to another, read from the ledger."""
    from gradcheck.report.pages import page_name, problem_section, student_page  # noqa: PLC0415
    from gradcheck.report.solutions import solve_again  # noqa: PLC0415

    with closing(Ledger(path, readonly=True, checked=True)) as ledger:
        feedback, about, title = ledger.feedback(), ledger.problems(), ledger.fact("title")

        @lru_cache(maxsize=SECTIONS)
        def section(id: str, judged: tuple[Marked, ...]) -> Markup:
            lines = [restrict(each.to_record(), feedback) for each in judged]
            wrong = feedback == FULL and any(line["verdict"] != "right" for line in lines)
            own = lines[0].get("variant") or {}
            return problem_section(
                id, about[id], lines, solve_again(about[id], own) if wrong else None
            )

        worth = {id: sum(part["points"] for part in each["parts"]) for id, each in about.items()}
        for student in everything(ledger, between=(first, last)):
            problems = groupby(student.judged, key=lambda each: each.problem)
            sections = [section(id, tuple(judged)) for id, judged in problems]
            score = sum(each.score for each in student.judged)
            possible = sum(worth[id] for id in {each.problem for each in student.judged})
            page = student_page(student.name, student.called, title, sections, score, possible)
            says(out / "students" / page_name(student.name), page)
