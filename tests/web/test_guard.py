"""What the server lets in, and with which headers everything goes out."""

import asyncio
import re
import socket
import time

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from gradcheck.web.guard import Guard, Patient
from gradcheck.web.requests import TERM
from tests.support.practising import WRONG

OWN = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/p/cubic"), ("GET", "/free"), ("GET", "/none"), ("POST", "/api/check"),
     ("GET", "/static/style.css"), ("POST", "/p/cubic"), ("PUT", "/")],
)  # fmt: skip
def test_every_answer_has_the_headers(client, method, path):
    headers = client.request(method, path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-frame-options"] == "DENY"


def test_pages_have_nothing_that_the_policy_forbids(client):
    """No script or style inside, no handler, no address of another host."""
    answer = {"part": "x", "level": "3", "answer": WRONG}
    pages = [client.get(path).text for path in ("/", "/p/cubic", "/p/vector", "/free?f=x^2")]
    for page in [*pages, client.post("/p/cubic", data=answer).text]:
        assert not re.search(r"<script(?! src=\"/static/)|<style|\sstyle=|\son\w+=", page)
        assert not re.search(r"(?:src|href|action)=\"(?![/#])", page)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        (OWN, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_forms_of_other_sites_are_refused(client, headers, status):
    form = {"part": "x", "answer": WRONG}
    assert client.post("/p/cubic", data=form, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("192.168.7.4", 200),
        ("practice.example.edu", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_another_name_of_this_machine_is_refused(client, host, status):
    """A page of another site that points its name here reads nothing; --allow-host adds one."""
    assert client.get("/", headers={"host": host}).status_code == status


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
    """The client, which may take a name for one test."""
    yield client
    client.cookies.clear()


def test_the_name_is_signed_for_a_term(named, monkeypatch):
    page = named.post("/name", data={"name": " Ada  Lovelace ", "back": "/p/cubic"})
    assert page.url.path == "/p/cubic"
    assert "<bdi>Ada Lovelace</bdi>" in page.text
    cookie = page.history[0].headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    signed = named.cookies["gradcheck_name"]
    assert "Ada Lovelace" in named.get("/").text
    named.cookies.clear()
    forged = named.get("/", headers={"cookie": f"gradcheck_name={signed[:-2]}xx"})
    assert "ovelace" not in forged.text
    again = named.get("/", headers={"cookie": f"gradcheck_name={signed}"})
    assert "Ada Lovelace" in again.text
    later = time.time() + TERM + 1
    monkeypatch.setattr("time.time", lambda: later)
    assert "Ada Lovelace" not in named.get("/", headers={"cookie": f"gradcheck_name={signed}"}).text
    monkeypatch.undo()
    taken = named.post("/name", data={"name": "", "back": "/"})
    assert "Your name" in taken.text


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


def through(app, receive):
    """What Guard sends of a request whose body comes by `receive`."""
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    asyncio.run(asyncio.wait_for(Guard(app, broken=None)(scope, receive, send), 60))
    return sent


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("gradcheck.web.guard.BODY_SECONDS", 0.01)

    async def reading(scope, receive, send):
        while (await receive())["more_body"]:
            pass

    async def dripping():
        await asyncio.sleep(0.004)
        return {"type": "http.request", "body": b"x", "more_body": True}

    assert through(reading, dripping)[0]["status"] == 408


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_headers_that_do_not_come_are_not_waited_for(monkeypatch, sent):
    """The connection ends; another, whose headers come, is answered."""
    monkeypatch.setattr("gradcheck.web.guard.HEAD_SECONDS", 0.05)

    async def hello(scope, receive, send):
        await PlainTextResponse("hello")(scope, receive, send)

    async def whole():
        config = uvicorn.Config(hello, http=Patient, log_level="critical", lifespan="off")
        config.load()
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            task = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            address = listening.getsockname()
            reader, writer = await asyncio.open_connection(*address)
            writer.write(sent)
            ended = await asyncio.wait_for(reader.read(), 30)
            writer.close()
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answered = await asyncio.wait_for(reader.read(), 30)
            writer.close()
            server.should_exit = True
            await task
        return ended, answered

    ended, answered = asyncio.run(whole())
    assert ended == b""
    assert answered.endswith(b"hello")


def test_who_waits_when_the_server_is_stopped_is_told():
    """No traceback in the server's log: the reply says it."""
    sent = []

    async def waiting(scope, receive, send):
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    async def whole():
        headers = [(b"host", b"localhost")]
        scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
        task = asyncio.create_task(Guard(waiting, broken=None)(scope, None, send))
        await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(whole())
    assert sent[0]["status"] == 503
    assert sent[1]["body"] == b"the server was stopped"
