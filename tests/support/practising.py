"""A server with a small course, for the tests of its pages."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from gradcheck.problem import load_text
from gradcheck.web.app import make_application
from gradcheck.web.book import Course
from gradcheck.web.practice import Practice, Settings
from gradcheck.web.work import Queue, QueueLimits

COURSE = r"""
title: Practice
problems:
- id: cubic
  title: A cubic and a sine of $x$
  prompt: |
    Differentiate **by hand**: $\frac{x^3}{1}$ and `sin`.

    - first
    - then
  inputs: {x: 2.0}
  program: x**3 + 2*sin(x)
- id: vector
  inputs: {w: [1.0, 2.0], c: {value: [3.0, 4.0], requires_grad: false}}
  program: sum(c * w**2)
- id: two
  inputs: {x: 2.0, y: 3.0}
  program: x**2*y
- id: backward
  inputs: {x: 2.0}
  program: |
    (x**2).backward()
    (x**3).backward()
  ask: {x.grad: x.grad}
- id: write
  inputs: {x: 2.0}
  program: |
    y = x**2
    y.backward()
  ask: {x.grad: {form: program, read: x.grad}}
"""
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
    app = make_application(Practice(found, queue, Settings(directory, **settings)))
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
