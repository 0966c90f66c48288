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
from pathlib import Path
from threading import Thread

from click.testing import CliRunner

from gradcheck.cli import main
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


def test_attempts_make_the_report(tmp_path):
    """Each is kept; what was right once stays the answer; what was never tried is missing."""
    with served(tmp_path) as client:
        as_ada(client)
        for answer in (WRONG, RIGHT, WRONG):
            client.post("/p/cubic", data={"part": "x", "level": "0", "answer": answer})
        client.post("/p/two", data={"part": "y", "level": "3", "answer": "2x"})
        page = client.get("/").text
        assert re.search(r'class="solved"><a href="/p/cubic"', page)
        assert re.search(r'class="tried"><a href="/p/two"', page)
        assert "1 of 5" in page
    assert [row[3] for row in attempted(tmp_path)] == ["wrong", "right", "wrong", "wrong"]
    out = tmp_path / "grades.csv"
    done = CliRunner().invoke(main, ["report", str(tmp_path), "--as", "csv", "-o", str(out)])
    assert done.exit_code == 0
    assert "stopped" not in done.output
    assert out.read_text().splitlines()[1].replace('"', "").startswith("ada,1,0,0,0,0,1,5")
    assert CliRunner().invoke(main, ["report", str(tmp_path)]).exit_code == 0
    assert len(list((tmp_path / "students").iterdir())) == 1


def test_hints_are_no_new_judgements(tmp_path):
    with served(tmp_path) as client:
        as_ada(client)
        for level in "0123":
            client.post("/p/cubic", data={"part": "x", "level": level, "answer": WRONG})
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as db:
        asked = "SELECT calls FROM questions WHERE verdict = 'wrong'"
        assert db.execute(asked).fetchall() == [(1,)]
        assert db.execute("SELECT COUNT(*) FROM attempts").fetchone() == (1,)


def test_progress_outlives_the_server(tmp_path):
    with served(tmp_path) as client:
        as_ada(client)
        client.post("/p/cubic", data={"part": "x", "level": "0", "answer": RIGHT})
        cookie = client.cookies["gradcheck_name"]
    assert (tmp_path / "serve.secret").stat().st_mode & 0o077 == 0
    with served(tmp_path) as client:
        page = client.get("/", headers={"cookie": f"gradcheck_name={cookie}"}).text
        assert "<bdi>ada</bdi>" in page
        assert 'class="solved"' in page


def test_without_a_name_nothing_is_kept(tmp_path):
    with served(tmp_path) as client:
        client.post("/p/cubic", data={"part": "x", "level": "0", "answer": RIGHT})
    assert attempted(tmp_path) == []


def test_a_ledger_of_the_first_version_is_brought_up_to_date(tmp_path):
    with served(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as db:
        db.executescript("DROP TABLE attempts; PRAGMA user_version = 1;")
    with served(tmp_path) as client:
        as_ada(client)
        client.post("/p/cubic", data={"part": "x", "level": "0", "answer": RIGHT})
    assert len(attempted(tmp_path)) == 1


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
    """The processes below the server's only child."""
    below = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, parent = path.parent.name, path.read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        below.setdefault(int(parent), []).append(int(pid))
    return [worker for nursery in below.get(server, []) for worker in below.get(nursery, [])]


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
            except OSError:
                return  # the server is gone
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
