"""A server with a small course, for the tests of its pages."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from gradcheck.batch.work import Course
from gradcheck.problem import load_text
from gradcheck.web.app import make_application
from gradcheck.web.practice import Practice
from gradcheck.web.work import Queue, QueueLimits
from tests.support.sets import set_of

COURSE = set_of("course")
WRONG = "3x^2 - 2cos x"
RIGHT = "3x^2 + 2cos x"
QUICK = QueueLimits(quick=0.3, slow=0.6)


def course(text: str = COURSE) -> Course:
    return Course.of([load_text(text.encode(), "course.yaml")])


@contextmanager
def served(
    directory: Path | None = None, text: str = COURSE, limits: QueueLimits = QUICK, **settings: Any
) -> Iterator[TestClient]:
    found = course(text)
    queue = Queue(found.askings, processes=1, limits=limits)
    app = make_application(Practice(found, queue, directory, **settings))
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def attempted(directory: Path) -> list[tuple[str, ...]]:
    sql = (
        "SELECT student, problem, answer, verdict FROM attempts"
        " JOIN questions ON questions.number = question ORDER BY attempts.number"
    )
    with closing(sqlite3.connect(directory / "results.sqlite")) as db:
        return db.execute(sql).fetchall()


def as_student(client: TestClient, name: str) -> None:
    client.post("/name", data={"name": name, "back": "/"})
