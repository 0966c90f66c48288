"""`gradcheck report`: the pages, gradebooks and files of a graded batch, from its ledger alone."""

from pathlib import Path

from gradcheck.batch.ledger import Ledger
from gradcheck.batch.outputs import FULL, only, replaced, write_results
from gradcheck.batch.statistics import ClassFacts, class_facts
from gradcheck.report.judgements import told


def write_pages(ledger: Ledger, facts: ClassFacts, directory: Path) -> None:
    """Everything that a directory holds beside its ledger."""
    feedback = ledger.fact("feedback") or FULL
    write_results(ledger, directory, feedback)
    write_html(ledger, facts, directory, feedback)


def write_html(ledger: Ledger, facts: ClassFacts, directory: Path, feedback: str) -> None:
    """`index.html` and a page a student; pages of students who are gone are taken away."""
    from gradcheck.report.pages import (  # noqa: PLC0415 - Jinja2 is loaded for pages alone
        class_page,
        grouped,
        page_name,
        spread,
        student_page,
    )

    below = directory / "students"
    below.mkdir(parents=True, exist_ok=True)
    about, title = ledger.problems(), ledger.fact("title")
    written = []
    for student in ledger.everything():
        lines = [told(marked.told(student.name), feedback) for marked in student.judged]
        problems = grouped(lines, about)
        page = student_page(
            student=student.name,
            called=student.called,
            title=title,
            problems=problems,
            score=sum(p["score"] for p in problems),
            possible=sum(p["points"] for p in problems),
        )
        written.append(page_name(student.name))
        with replaced(below / written[-1]) as file:
            file.write(page)
    only(below, written, "*-" + "?" * 16 + ".html")
    totals = [got for _, _, got, _ in facts.totals]
    with replaced(directory / "index.html") as file:
        file.write(
            class_page(
                title=title,
                facts=facts,
                mean=sum(totals) / len(totals) if totals else 0.0,
                spread=spread(totals, facts.possible),
                notices=ledger.notices(),
            )
        )
