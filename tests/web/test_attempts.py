"""Attempts: in the ledger before anybody is told, whoever is killed; the ledger of `grade -o`."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

from gradcheck.cli import main
from gradcheck.web.book import Book, in_thread
from tests.support.batches import report
from tests.support.practising import COURSE, RIGHT, WRONG, served


def attempted(directory: Path):
    """Who tried what, and the verdict."""
    sql = (
        "SELECT student, problem, answer, verdict FROM attempts"
        " JOIN questions ON questions.number = question ORDER BY attempts.number"
    )
    with closing(sqlite3.connect(directory / "results.sqlite")) as db:
        return db.execute(sql).fetchall()


def as_ada(client):
    client.post("/name", data={"name": "ada", "back": "/"})


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """What is left by a server that somebody without a name was at, then ada; and her page."""
    directory = tmp_path_factory.mktemp("visited")
    with served(directory) as client:
        client.post("/p/cubic", data={"part": "x", "level": "0", "answer": RIGHT})
        client.post("/p/vector", data={"part": "w", "level": "0", "answer": "0"})
        as_ada(client)
        for answer in (WRONG, RIGHT, WRONG):
            client.post("/p/cubic", data={"part": "x", "level": "0", "answer": answer})
        for level in "0123":
            client.post("/p/two", data={"part": "y", "level": level, "answer": "2x"})
        page, cookie = client.get("/").text, client.cookies["gradcheck_name"]
    return directory, page, cookie


def test_attempts_are_kept_of_who_has_a_name(visited):
    """Each but those of hints; what was right once stays the answer."""
    directory, page, _ = visited
    found = [(student, problem, verdict) for student, problem, _, verdict in attempted(directory)]
    cubic = [("ada", "cubic", verdict) for verdict in ("wrong", "right", "wrong")]
    assert found == [*cubic, ("ada", "two", "wrong")]
    assert re.search(r'class="solved"><a href="/p/cubic"', page)
    assert re.search(r'class="tried"><a href="/p/two"', page)
    assert "1 of 5" in page


def test_hints_are_no_new_judgements(visited):
    with closing(sqlite3.connect(visited[0] / "results.sqlite")) as db:
        asked = "SELECT calls FROM questions WHERE problem = 'two' AND verdict = 'wrong'"
        assert db.execute(asked).fetchall() == [(1,)]


def test_attempts_make_the_report(visited):
    """What was never tried is missing."""
    directory, *_ = visited
    out = directory / "grades.csv"
    done = CliRunner().invoke(main, ["report", str(directory), "--as", "csv", "-o", str(out)])
    assert done.exit_code == 0
    assert "stopped" not in done.output
    assert out.read_text().splitlines()[1].replace('"', "").startswith("ada,1,0,0,0,0,1,5")
    assert CliRunner().invoke(main, ["report", str(directory)]).exit_code == 0
    assert len(list((directory / "students").iterdir())) == 1


def test_a_damaged_attempt_is_told(tmp_path):
    """Once the server has ended; while it runs, rows come and go."""
    with served(tmp_path) as client:
        as_ada(client)
        client.post("/p/cubic", data={"part": "x", "level": "0", "answer": WRONG})
    assert report(tmp_path).exit_code == 0
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as ledger:
        ledger.execute("UPDATE attempts SET student = 'bob'")
        ledger.commit()
    assert "damaged" in report(tmp_path).stderr


def test_progress_outlives_the_server(visited):
    directory, _, cookie = visited
    assert (directory / "serve.secret").stat().st_mode & 0o077 == 0
    with served(directory) as client:
        page = client.get("/", headers={"cookie": f"gradcheck_name={cookie}"}).text
        assert "<bdi>ada</bdi>" in page
        assert 'class="solved"' in page


def test_a_full_disk_is_called_that(tmp_path, monkeypatch):
    """The student learns that nothing was kept, and nobody is told of a fault of ours."""
    opened = Book.open.__wrapped__

    def small(book, course):
        opened(book, course)
        pages = book.ledger.db.execute("PRAGMA page_count").fetchone()[0]
        book.ledger.db.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(Book, "open", in_thread(small))
    with served(tmp_path) as client:
        as_ada(client)
        long = " + ".join(["x"] * 400)
        found = client.post("/p/cubic", data={"part": "x", "level": "0", "answer": long})
        asked = {"problem": "cubic", "part": "x", "answer": long}
        told = client.post("/api/check", json=asked)
    assert (found.status_code, told.status_code) == (507, 507)
    assert told.json() == {"error": "the answer was not kept: the disk is full"}
    assert "the disk is full" in found.text


def _server(directory: Path, course: Path) -> tuple[subprocess.Popen[str], str]:
    """A server of its own, and its address; the system chooses the port."""
    command = [sys.executable, "-m", "gradcheck", "serve", str(course), "-o", str(directory)]
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, process.stdout.readline().split()[0].rstrip("/")


def _asked(address: str, cookie: str, answer: str) -> str:
    body = json.dumps({"problem": "cubic", "part": "x", "answer": answer}).encode()
    headers = {"content-type": "application/json", "cookie": cookie}
    request = urllib.request.Request(f"{address}/api/check", body, headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)["verdict"]


def _named(address: str, name: str) -> str:
    """The cookie of a name."""
    opener = urllib.request.build_opener(_Stay)
    with opener.open(f"{address}/name", f"name={name}&back=/".encode(), timeout=30) as reply:
        return reply.headers["set-cookie"].split(";")[0]


class _Stay(urllib.request.HTTPErrorProcessor):
    """Follows no redirection."""

    def http_response(self, request, response):
        return response


def _workers(server: int) -> list[int]:
    """The nursery below the server's only child, and what was forked from it."""
    below = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, parent = path.parent.name, path.read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        below.setdefault(int(parent), []).append(int(pid))
    nurseries = [each for child in below.get(server, []) for each in below.get(child, [])]
    return nurseries + [worker for nursery in nurseries for worker in below.get(nursery, [])]


def test_who_is_killed_takes_nothing_along(tmp_path):
    """Workers, then the server, with students at work: what was acknowledged is in the ledger."""
    course = tmp_path / "course.yaml"
    course.write_text(COURSE)
    server, address = _server(tmp_path / "out", course)
    told: Counter[str] = Counter()

    def student(name: str) -> None:
        cookie = _named(address, name)
        for k in range(1000):
            try:
                verdict = _asked(address, cookie, f"{k}x")
            except (OSError, HTTPException):
                return  # the server is gone, perhaps in the midst of its reply
            assert verdict in ("wrong", "needs-review")
            told[name] += 1

    students = [Thread(target=student, args=(name,)) for name in ("ada", "bob", "cy")]
    try:
        for each in students:
            each.start()
        killed = 0
        deadline = time.monotonic() + 60
        while sum(told.values()) < 60 and time.monotonic() < deadline:
            for worker in _workers(server.pid) if killed < 3 and sum(told.values()) > 15 else ():
                os.kill(worker, signal.SIGKILL)
                killed += 1
            time.sleep(0.05)
    finally:
        server.kill()
        server.wait()
        assert server.stdout
        server.stdout.close()
        for each in students:
            each.join()
    assert killed >= 2
    kept = Counter(student for student, *_ in attempted(tmp_path / "out"))
    assert sum(told.values()) >= 60
    assert all(kept[name] >= count for name, count in told.items())
    assert all(kept[name] <= count + 1 for name, count in told.items())
