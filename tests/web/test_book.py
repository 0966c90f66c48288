"""Attempts: in the ledger before anybody is told, whoever is killed; the ledger of `grade -o`."""

import re
import sqlite3
import time
from collections import Counter
from contextlib import closing, suppress
from threading import Thread

import httpx2
import psutil
import pytest

from gradcheck.cli import main
from gradcheck.help import read_page
from gradcheck.web.practice import Book, run_in_thread
from tests.support.batches import expect, report
from tests.support.browser import running
from tests.support.practising import COURSE, RIGHT, WRONG, as_student, attempted, served


def post(client, problem, part, *answers, level="0"):
    for answer in answers:
        sent = {"part": part, "level": level, "answer": answer}
        page = client.post(f"/p/{problem}", data=sent)
    return page


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """What is left by a server that somebody without a name was at, then ada; and her page."""
    directory = tmp_path_factory.mktemp("visited")
    with served(directory) as client:
        post(client, "cubic", "x", RIGHT)
        post(client, "vector", "w", "0")
        as_student(client, "ada")
        post(client, "cubic", "x", WRONG, RIGHT, WRONG)
        for level in "0123":
            post(client, "two", "y", "2x", level=level)
        page, cookie = client.get("/").text, client.cookies["gradcheck_name"]
    return directory, page, cookie


def test_attempts_are_kept_of_who_has_a_name(visited):
    directory, page, _ = visited
    found = [(student, problem, verdict) for student, problem, _, verdict in attempted(directory)]
    cubic = [("ada", "cubic", verdict) for verdict in ("wrong", "right", "wrong")]
    assert found == [*cubic, ("ada", "two", "wrong")]
    assert re.search(r'class="solved"><a href="/p/cubic"', page)
    assert re.search(r'class="tried"><a href="/p/two"', page)
    assert "1 of 6" in page
    with closing(sqlite3.connect(directory / "results.sqlite")) as db:
        asked = "SELECT calls FROM questions WHERE problem = 'two' AND verdict = 'wrong'"
        assert db.execute(asked).fetchall() == [(1,)]


def test_attempts_make_the_report(visited):
    directory, *_ = visited
    out = directory / "grades.csv"
    done = expect(report(directory, "--as", "csv", "-o", out), 0)
    assert "stopped" not in done.output
    assert out.read_text().splitlines()[1].replace('"', "").startswith("ada,1,0,0,0,0,0,1,6")
    expect(report(directory), 0)
    assert len(list((directory / "students").iterdir())) == 1


def test_progress_outlives_the_server(visited):
    directory, _, cookie = visited
    assert (directory / "serve.secret").stat().st_mode & 0o077 == 0
    with served(directory) as client:
        page = client.get("/", headers={"cookie": f"gradcheck_name={cookie}"}).text
        assert "<bdi>ada</bdi>" in page
        assert 'class="solved"' in page


def test_who_is_deleted_as_the_help_says_is_gone_and_the_others_practise_on(tmp_path):
    for names in ("ada", "bob"), ("bob", "eve"):
        with served(tmp_path) as client:
            for name in names:
                as_student(client, name)
                post(client, "cubic", "x", RIGHT)
        said = re.search(r"<<'END'\n(.*?)\nEND\n", read_page("server", main), re.DOTALL)
        with closing(sqlite3.connect(tmp_path / "results.sqlite")) as db:
            db.executescript(said[1])
    assert {student for student, *_ in attempted(tmp_path)} == {"bob", "eve"}


def test_a_full_disk_is_called_that(tmp_path, monkeypatch):
    """The student learns that nothing was kept, and nobody is told of a fault of ours."""
    opened = Book.open.__wrapped__

    def small(book, course):
        opened(book, course)
        pages = book.ledger.db.execute("PRAGMA page_count").fetchone()[0]
        book.ledger.db.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(Book, "open", run_in_thread(small))
    with served(tmp_path) as client:
        as_student(client, "ada")
        long = " + ".join(["x"] * 400)
        found = post(client, "cubic", "x", long)
        asked = {"problem": "cubic", "part": "x", "answer": long}
        told = client.post("/api/check", json=asked)
    assert (found.status_code, told.status_code) == (507, 507)
    assert told.json() == {"error": "the answer was not kept: the disk is full"}
    assert "the disk is full" in found.text


def test_who_is_killed_takes_nothing_along(tmp_path):
    """Workers, then the server, with students at work: what was acknowledged is in the ledger."""
    (tmp_path / "course.yaml").write_text(COURSE)
    told: Counter[str] = Counter()

    def study(name):
        with httpx2.Client(base_url=address, timeout=30, follow_redirects=True) as client:
            client.post("/name", data={"name": name, "back": "/"})
            for k in range(1000):
                asked = {"problem": "cubic", "part": "x", "answer": f"{k}x"}
                try:
                    verdict = client.post("/api/check", json=asked).json()["verdict"]
                except (OSError, httpx2.HTTPError):
                    return  # the server is gone, perhaps in the midst of its reply
                assert verdict in ("wrong", "needs-review")
                told[name] += 1

    killed, deadline = 0, time.monotonic() + 60
    with running(tmp_path / "course.yaml", tmp_path / "out") as (address, server):
        students = [Thread(target=study, args=(name,)) for name in ("ada", "bob", "cy")]
        for each in students:
            each.start()
        while sum(told.values()) < 60 and time.monotonic() < deadline:
            of_server = psutil.Process(server.pid)
            with suppress(psutil.NoSuchProcess):  # one may end as it is looked at
                below = {*of_server.children(recursive=True)} - {*of_server.children()}
                for worker in below if killed < 3 and sum(told.values()) > 15 else ():
                    worker.kill()
                    killed += 1
            time.sleep(0.05)
        server.kill()
        for each in students:
            each.join()
    assert killed >= 2
    kept = Counter(student for student, *_ in attempted(tmp_path / "out"))
    assert sum(told.values()) >= 60
    assert all(count <= kept[name] <= count + 1 for name, count in told.items())
