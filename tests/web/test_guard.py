"""What the server lets in, and with which headers everything goes out."""

import asyncio
import re

import pytest

from gradcheck.web.guard import Guard
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


def test_the_name_is_signed(named):
    page = named.post("/name", data={"name": " Ada  L\u202eovelace ", "back": "/p/cubic"})
    assert page.url.path == "/p/cubic"
    assert "<bdi>Ada L ovelace</bdi>" in page.text
    cookie = page.history[0].headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    signed = named.cookies["gradcheck_name"]
    assert "Ada L ovelace" in named.get("/").text
    named.cookies.clear()
    forged = named.get("/", headers={"cookie": f"gradcheck_name={signed[:-2]}xx"})
    assert "ovelace" not in forged.text
    again = named.get("/", headers={"cookie": f"gradcheck_name={signed}"})
    assert "Ada L ovelace" in again.text
    taken = named.post("/name", data={"name": "", "back": "/"})
    assert "Your name" in taken.text


@pytest.mark.parametrize(
    "back", ["//evil.example", "http://evil.example", "/\\evil.example", "javascript:1"]
)
def test_nobody_is_sent_elsewhere(client, back):
    reply = client.post("/name", data={"name": "", "back": back}, follow_redirects=False)
    assert reply.headers["location"] == "/"


def test_who_waits_when_the_server_is_stopped_is_told():
    """No traceback in the server's log: the reply says it."""
    sent = []

    async def waiting(scope, receive, send):
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    async def whole():
        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        task = asyncio.create_task(Guard(waiting, broken=None)(scope, None, send))
        await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(whole())
    assert sent[0]["status"] == 503
    assert sent[1]["body"] == b"the server was stopped"
