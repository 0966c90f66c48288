"""Which mistakes a student has made, and which have gone.

Attempts: in the ledger before anybody is told, whoever is killed; the ledger of `grade -o`.
"""

import json
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
from gradcheck.practice import next_problem
from gradcheck.web.practice import ORDER, Attempt, Book, find_made, run_in_thread
from tests.support.batches import expect, grade, lines, made, report
from tests.support.browser import running
from tests.support.practising import COURSE, RIGHT, WRONG, as_student, attempted, served
from tests.support.sets import set_of

SHOWS = {"other": ["sign-error", "term-lost"]}


def attempt(problem, verdict, *mistakes, certainty="unique"):
    told = {"answer": "", "mistakes": [{"id": id} for id in mistakes], "certainty": certainty}
    return Attempt(problem, "x", verdict, json.dumps(told), "")


SIGN, LOST = attempt("p", "wrong", "sign-error"), attempt("p", "wrong", "term-lost")
TORN = attempt("p", "wrong", "sign-error", "term-lost", certainty="torn")
CONSISTENT = attempt("p", "wrong", "sign-error", certainty="torn")
UNNAMED = attempt("p", "wrong", certainty="unnamed")
MENDED, OTHER = attempt("p", "right"), attempt("other", "right")


@pytest.mark.parametrize(
    ("history", "states"),
    [
        ([], {}),
        ([TORN, CONSISTENT, UNNAMED, MENDED], {}),
        ([SIGN], {"sign-error": "open"}),
        ([SIGN, LOST], {"sign-error": "open", "term-lost": "open"}),
        ([SIGN, MENDED], {"sign-error": "corrected"}),
        ([SIGN, MENDED, SIGN], {"sign-error": "open"}),
        ([SIGN, OTHER], {"sign-error": "gone"}),
        ([OTHER, SIGN], {"sign-error": "open"}),
        ([SIGN, attempt("blind", "right")], {"sign-error": "open"}),
        ([SIGN, attempt("next.sign-error.7", "right")], {"sign-error": "gone"}),
        ([SIGN, attempt("next.term-lost.7", "right")], {"sign-error": "open"}),
        ([LOST, OTHER, SIGN], {"sign-error": "open", "term-lost": "gone"}),
    ],
)
def test_a_mistake_has_gone_where_it_would_have_shown(history, states):
    found = find_made("ada", history, SHOWS)
    assert {each.id: each.state for each in found} == states
    order = [ORDER.index(each.state) for each in found]
    assert order == sorted(order)


def test_the_page_tells_what_is_left_and_what_has_gone(tmp_path):
    """Made, corrected, and shown no more in the problem that the page offers."""
    with served(tmp_path) as client:
        assert "Type your name above" in client.get("/mistakes").text
        as_student(client, "ada")
        assert "No mistake of yours" in client.get("/mistakes").text
        for answer, state in ((WRONG, "not yet corrected"), (RIGHT, "not yet tried elsewhere")):
            client.post("/p/cubic", data={"part": "x", "level": "0", "answer": answer})
            page = client.get("/mistakes").text
            assert "Sign error" in page
            assert state in page
        seed = int(re.search(r'href="/p/next\.sign-error\.(\d+)"', page)[1])
        [right] = next_problem("sign-error", seed).problems[0].right
        [(part, answer)] = right.items()
        client.post(f"/p/next.sign-error.{seed}", data={"part": part, "answer": answer})
        page = client.get("/mistakes").text
        assert '<li class="gone">' in page
        assert "next.sign-error" not in page
    assert report(tmp_path).exit_code == 0, "a problem that was made is in the ledger"
    assert len(list(tmp_path.glob("students/*.html"))) == 1


def test_no_more_is_told_than_the_server_may(tmp_path, reticent):
    assert "Sign error" in tried(reticent)
    with served(tmp_path, feedback="verdict") as client:
        assert "No mistake is named" in tried(client)


def tried(client):
    """The page of mistakes, which never says all, after a wrong answer of ada's."""
    as_student(client, "ada")
    client.post("/p/cubic", data={"part": "x", "level": "3", "answer": WRONG})
    page = client.get("/mistakes").text
    assert "the wrong way round" not in page
    return page


# -- what the pages ask and judge is what `gradcheck grade` asks and judges of the same student


OWN = set_of("own-numbers")
WAVE = "15 cos(3x)"
ANSWERS = {"ada": ("3z", "z"), "bob": ("2z", None), "cy": ("z^2", None)}
"""What each answers to z, and what of theirs `9 x^5` follows from then."""


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    directory = tmp_path_factory.mktemp("graded")
    files = {
        f"answers/{name}.yaml": f"student: {name}\nanswers:\n  wave: {WAVE}\n"
        f"  chain: {{z: {z}, x: 9 x^5}}\n"
        for name, (z, _) in ANSWERS.items()
    }
    made(directory, {"set.yaml": OWN, **files})
    found = lines(grade(directory / "set.yaml", directory / "answers", "--json").stdout)
    return {(each["student"], each["problem"], each["part"]): each for each in found}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(tmp_path_factory.mktemp("served"), OWN) as found:
        yield found


def asked(client, problem, part, answer):
    given = {"problem": problem, "part": part, "answer": answer}
    return client.post("/api/check", json=given).json()


def test_every_student_has_numbers_of_their_own(graded, client):
    """Those of `grade`; the title, the prompt, the values and the judgement are theirs."""
    told = {name: graded[name, "wave", "x"] for name in ANSWERS}
    assert len({str(each["variant"]) for each in told.values()}) > 1
    for name, line in told.items():
        as_student(client, name)
        a, b = line["variant"]["a"], line["variant"]["b"]
        page = client.get("/p/wave").text
        assert f"A wave of {b}</h1>" in page
        assert f"Differentiate {a} sin({b} x)." in page
        own = asked(client, "wave", "x", f"{a}*{b} cos({b}x)")
        assert (own["verdict"], own["variant"]) == ("right", line["variant"])
        other = asked(client, "wave", "x", WAVE)
        assert (other["verdict"], other["witness"]) == (line["verdict"], line["witness"])
    assert "A wave of b<" in client.get("/").text


@pytest.mark.parametrize("name", ["ada", "bob"])
def test_what_follows_from_a_wrong_part_is_right(graded, client, name):
    z, follows = ANSWERS[name]
    line = graded[name, "chain", "x"]
    assert line["follows"] == follows
    as_student(client, name)
    assert asked(client, "chain", "x", "9 x^5")["verdict"] == "wrong", "it stands alone"
    asked(client, "chain", "z", z)
    own = asked(client, "chain", "x", "9 x^5")
    assert (own["verdict"], own["follows"]) == (line["verdict"], line["follows"])


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
