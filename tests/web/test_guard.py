"""What the server lets in, and with which headers everything goes out."""

import asyncio
import csv
import re
import socket
import stat
import time
from pathlib import Path

import pytest
import uvicorn
import yaml
from starlette.responses import PlainTextResponse

from gradcheck.batch.ledger import Ledger
from gradcheck.batch.roster import Roster, read_roster
from gradcheck.web.guard import CODES, TERM, Guard, Patient, hand_out, has_code
from tests.support.practising import RIGHT, WRONG, attempted, served

SITES = yaml.safe_load(Path(__file__).with_name("sites.yaml").read_text())


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/p/cubic"), ("GET", "/free"), ("GET", "/none"), ("POST", "/api/check"),
     ("GET", "/static/style.css"), ("POST", "/p/cubic"), ("PUT", "/")],
)  # fmt: skip
def test_every_answer_has_the_headers(client, method, path):
    headers = client.request(method, path).headers
    policy = headers["content-security-policy"]
    assert ("default-src 'none'" in policy, "unsafe" in policy) == (True, False)
    names = ("x-content-type-options", "referrer-policy", "x-frame-options")
    assert [headers[name] for name in names] == ["nosniff", "same-origin", "DENY"]
    assert ("immutable" in headers["cache-control"]) == (path == "/static/style.css")


def test_pages_have_nothing_that_the_policy_forbids(client):
    """No script or style inside, no handler, no address of another host."""
    answer = {"part": "x", "level": "3", "answer": WRONG}
    pages = [client.get(path).text for path in ("/", "/p/cubic", "/p/vector", "/free?f=x^2")]
    for page in [*pages, client.post("/p/cubic", data=answer).text]:
        assert not re.search(r"<script(?! src=\"/static/)|<style|\sstyle=|\son\w+=", page)
        assert not re.search(r"(?:src|href|action)=\"(?![/#])", page)


@pytest.mark.parametrize(("headers", "status"), SITES)
def test_other_sites_are_refused(client, headers, status):
    """Their forms, and what they read where they point their own name here."""
    form = {"part": "x", "answer": WRONG}
    assert client.post("/p/cubic", data=form, headers=headers).status_code == status
    assert "host" not in headers or client.get("/", headers=headers).status_code == status


@pytest.mark.parametrize("path", ["/p/cubic", "/api/check", "/api/understand", "/name"])
def test_a_body_has_its_bound(client, path):
    large = b"answer=" + b"x" * 70_000
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post(path, content=large, headers=form).status_code == 413
    pieces = (large[k : k + 1000] for k in range(0, len(large), 1000))  # of no stated length
    headers = {"content-type": "application/json"} if "api" in path else form
    assert client.post(path, content=pieces, headers=headers).status_code == 413


@pytest.fixture
def named(client):
    yield client
    client.cookies.clear()


def test_the_name_is_signed_for_a_term(named, monkeypatch):
    def shown_to(cookie):
        return "Ada Lovelace" in named.get("/", headers={"cookie": f"gradcheck_name={cookie}"}).text

    page = named.post("/name", data={"name": " Ada  Lovelace ", "back": "/p/cubic"})
    assert page.url.path == "/p/cubic"
    assert "<bdi>Ada Lovelace</bdi>" in page.text
    cookie = page.history[0].headers["set-cookie"].lower()
    assert ("httponly" in cookie, "samesite=lax" in cookie) == (True, True)
    signed = named.cookies["gradcheck_name"]
    named.cookies.clear()
    assert shown_to(signed)
    assert not shown_to(f"{signed[:-2]}xx")
    later = time.time() + TERM + 1
    monkeypatch.setattr("time.time", lambda: later)
    assert not shown_to(signed)
    monkeypatch.undo()
    assert "Your name" in named.post("/name", data={"name": "", "back": "/"}).text


def test_a_name_that_grade_refuses_is_refused(named):
    """One rule for names: nobody is another student here than in a batch."""
    found = named.post("/name", data={"name": "Ada L\u202eovelace", "back": "/"})
    assert found.status_code == 400
    assert "the character U+202E in a student&#39;s name" in found.text
    assert "Your name" in named.get("/").text


@pytest.mark.parametrize(
    "back", ["//evil.example", "http://evil.example", "/\\evil.example", "javascript:1"]
)
def test_nobody_is_sent_elsewhere(client, back):
    reply = client.post("/name", data={"name": "", "back": back}, follow_redirects=False)
    assert reply.headers["location"] == "/"


def guarded(app, receive=None, method="POST", *, stopped=False):
    """What Guard sends of a request whose body comes by `receive`, or of a server that stops."""
    sent = []

    async def send(message):
        sent.append(message)

    async def whole():
        headers = [(b"host", b"localhost")]
        scope = {"type": "http", "method": method, "path": "/", "headers": headers}
        task = asyncio.create_task(Guard(app, broken=None)(scope, receive, send))
        await asyncio.sleep(0)
        if stopped:
            task.cancel()
        await asyncio.wait_for(task, 60)

    asyncio.run(whole())
    return sent


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("gradcheck.web.guard.BODY_SECONDS", 0.01)

    async def reading(scope, receive, send):
        while (await receive())["more_body"]:
            pass

    async def dripping():
        await asyncio.sleep(0.004)
        return {"type": "http.request", "body": b"x", "more_body": True}

    assert guarded(reading, dripping)[0]["status"] == 408


def test_who_waits_when_the_server_is_stopped_is_told():
    async def waiting(scope, receive, send):
        await asyncio.Event().wait()

    sent = guarded(waiting, method="GET", stopped=True)
    assert (sent[0]["status"], sent[1]["body"]) == (503, b"the server was stopped")


HELLO = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_headers_that_do_not_come_are_not_waited_for(monkeypatch, sent):
    """The connection ends; another, whose headers come, is answered."""
    monkeypatch.setattr("gradcheck.web.guard.HEAD_SECONDS", 0.05)

    async def hello(scope, receive, send):
        await asyncio.sleep(0.1)  # an answer may take longer than headers
        await PlainTextResponse("hello")(scope, receive, send)

    async def whole():
        config = uvicorn.Config(hello, http=Patient, log_level="critical", lifespan="off")
        config.load()
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            task = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            told = []
            for each in (sent, HELLO):
                reader, writer = await asyncio.open_connection(*listening.getsockname())
                writer.write(each)
                told.append(await asyncio.wait_for(reader.read(), 30))
                writer.close()
            server.should_exit = True
            await task
        return told

    ended, answered = asyncio.run(whole())
    assert (ended, answered[-5:]) == (b"", b"hello")


ROSTER = "student,name,email,code\nada,Ada Lovelace,ada@example.org,\nbob,Bob,,rosebud\n"


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text(ROSTER)
    return hand_out(read_roster(path), tmp_path)


def code_of(directory, student):
    with (directory / CODES).open(newline="") as file:
        return {row["student"]: row["code"] for row in csv.DictReader(file)}[student]


def test_codes_are_kept_for_nobody_else(roster, tmp_path):
    """The same ones the next time; a given one stays; the file is its owner's alone."""
    made = code_of(tmp_path, "ada")
    assert len(made) == 8
    assert code_of(tmp_path, "bob") == "rosebud"
    assert hand_out(read_roster(tmp_path / "roster.csv"), tmp_path).codes["ada"] == made
    assert stat.S_IMODE((tmp_path / CODES).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["ada", "ADA", " ada ", "Ada@example.org"])
def test_any_name_of_the_roster_with_its_code(roster, tmp_path, name):
    assert roster.student(name.strip()) == "ada"
    assert has_code(roster, "ada", f" {code_of(tmp_path, 'ada').lower()} ")


@pytest.mark.parametrize(
    ("name", "code"), [("ada", ""), ("ada", "rosebud"), ("eve", ""), ("eve", "rosebud"), ("", "")]
)
def test_nobody_is_somebody_else(roster, name, code):
    """Not with no code, not with another's, and not by a name that is not on the roster."""
    assert not has_code(roster, roster.student(name), code)


def test_answers_are_kept_under_a_name_with_its_code(roster, tmp_path):
    """A name alone is refused, and so is a cookie from before there were codes."""
    with served(tmp_path) as before:
        before.post("/name", data={"name": "bob"})
    with served(tmp_path, roster=roster) as client:
        assert 'name="code"' in client.get("/").text
        client.cookies.update(before.cookies)
        assert "You are <b>" not in client.get("/").text
        refused = client.post("/name", data={"name": "ada", "code": "guess"})
        assert (refused.status_code, "do not belong together" in refused.text) == (400, True)
        client.post("/p/cubic", data={"part": "x", "answer": RIGHT})
        known = {"name": "ada", "code": code_of(tmp_path, "ada")}
        client.app.state.practice.guessed.add("ada")  # by somebody at this moment
        assert "in a moment" in client.post("/name", data=known).text
        client.app.state.practice.guessed.clear()
        client.post("/name", data=known)
        client.post("/p/cubic", data={"part": "x", "answer": RIGHT})
    with served(tmp_path, roster=Roster(), feedback="class") as left:  # she is not in the course
        left.cookies.update(client.cookies)
        assert "You are <b>" not in left.get("/").text
    assert [(who, verdict) for who, _, _, verdict in attempted(tmp_path)] == [("ada", "right")]
    assert Ledger(tmp_path / "results.sqlite").feedback() == "class", "reports tell no more"
