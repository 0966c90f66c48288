"""What stands before every page: limits, headers, and no form from a stranger's page."""

import asyncio
import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from math import prod
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import urlsplit

import h11
import numpy as np
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from gradcheck.batch.roster import Roster
from gradcheck.report.gradebooks import write_table
from gradcheck.web.work import Sender

if TYPE_CHECKING:
    from gradcheck.web.practice import Practice

HEAD_SECONDS = 10.0  # from a connection, or the first byte of a request, to its last header
BODY_SECONDS = 20.0  # for a body to come
YEAR = "public, max-age=31536000, immutable"  # of files whose address tells their version
BODY = 64 * 1024
"""Bytes: the longest program of a student has 20,000 characters, in up to three bytes each."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all, browsers hide the origin of our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


Broken = Callable[[Request, Exception], Response]


class Patient(H11Protocol):
    """HTTP, for whoever sends headers within some seconds."""

    due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on, or no longer where all headers have come."""
        if self.due is None and self.conn.their_state is h11.IDLE:
            self._wait()
        super().data_received(data)
        if self.due is not None and self.conn.their_state is not h11.IDLE:
            self.due.cancel()
            self.due = None

    def _wait(self) -> None:
        self.due = self.loop.call_later(HEAD_SECONDS, self.transport.close)


class Guard:
    """Middleware: our own host and forms only, bounded bodies, headers on every answer."""

    def __init__(self, app: ASGIApp, broken: Broken, hosts: Sequence[str] = ()) -> None:
        """Around an application; `broken` answers where a fault of ours came out of it.

        `hosts` are names of this server besides its addresses.
        """
        self.app, self.broken = app, broken
        self.hosts = frozenset(name.lower() for name in (*hosts, "localhost", gethostname()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                fixed = scope["path"].startswith("/static/") and message["status"] == 200
                headers["Cache-Control"] = YEAR if fixed else "no-store"
            await send(message)

        try:
            if reply := self._refuse(scope):
                await reply(scope, receive, with_headers)
            else:
                await self.app(scope, await _read(scope, receive), with_headers)
        except (Exception, asyncio.CancelledError) as error:
            if started:
                raise
            response = self._reply(scope, error)
            await response(scope, receive, with_headers)

    def _refuse(self, scope: Scope) -> Response | None:
        """What is said to who asks for another host, or from another site."""
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            words = "this server has another name - start it with --allow-host NAME"
            return PlainTextResponse(words, 421)
        if scope["method"] not in ("GET", "HEAD") and not _is_own(headers):
            return PlainTextResponse("this form came from another site", 403)
        return None

    def _reply(self, scope: Scope, error: BaseException) -> Response:
        match error:
            case HTTPException():
                return PlainTextResponse(error.detail, error.status_code)
            case TimeoutError():
                words = f"what is sent must come within {BODY_SECONDS:g} seconds"
                return PlainTextResponse(words, 408)
            case Exception():
                return self.broken(Request(scope), error)
        return PlainTextResponse("the server was stopped", 503)

    def _is_ours(self, written: str) -> bool:
        """Whether a request's Host is ours: a name that others point at this machine is not.

        An address always is: no page of another site has one.
        """
        name = ""
        with suppress(ValueError):  # no address, or nothing that a browser says
            name = urlsplit(f"//{written}").hostname or "" if written.isprintable() else ""
            return bool(ip_address(name))
        return name in self.hosts


def _is_own(headers: Headers) -> bool:
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


async def _read(scope: Scope, receive: Receive) -> Receive:
    """The body, as long as it stays within its limits, and then whatever else comes."""
    if scope["method"] in ("GET", "HEAD"):
        return receive
    read: list[Message] = []
    size = 0
    async with asyncio.timeout(BODY_SECONDS):
        while not read or read[-1].get("more_body"):
            read.append(await receive())
            size += len(read[-1].get("body", b""))
            if size > BODY:
                raise HTTPException(413, f"at most {BODY // 1024} kB can be sent")

    async def replay() -> Message:
        return read.pop(0) if read else await receive()

    return replay


# -- who asks, and what was answered ---------------------------------------------------------------


COOKIE, TERM = "gradcheck_name", 120 * 86_400  # seconds after which a name is asked for again
SECRET, CODES = "serve.secret", "codes.csv"
CODE = 5  # bytes of a code: eight letters, of which nobody guesses one at a try a second


def practice_of(request: Request) -> "Practice":
    found: Practice = request.app.state.practice
    return found


def find_sender(request: Request) -> Sender:
    """Who asks from which address: the name in the cookie, or none; of a roster a student of it."""
    name = request.scope.get("session", {}).get("name", "")
    roster = practice_of(request).roster
    known = roster is None or name in roster.called
    return Sender(request.client.host if request.client else "", name if known else "")


def read_secret(directory: Path | None) -> str:
    """What signs names: kept in a file of the directory that nobody else may read.

    So names outlive the server.
    """
    if directory is None:
        return secrets.token_hex(32)
    path = directory / SECRET
    try:
        with _open_own(path, os.O_EXCL) as file:
            file.write(found := secrets.token_hex(32))
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    return found


def _open_own(path: Path, how: int) -> TextIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")


def hand_out(roster: Roster, directory: Path) -> Roster:
    """The roster with a code for everybody; those that were not given are the same every time.

    All stand in a file of the directory, to be handed out.
    """
    key = bytes.fromhex(read_secret(directory))
    codes = {student: given or _make_code(key, student) for student, given in roster.codes.items()}
    with _open_own(directory / CODES, os.O_TRUNC) as file:
        rows = [(student, roster.called[student], code) for student, code in codes.items()]
        file.write(write_table([("student", "name", "code"), *rows]))
    return replace(roster, codes=codes)


def _make_code(key: bytes, student: str) -> str:
    found = hmac.digest(key, f"code of {student}".encode(), hashlib.sha256)
    return base64.b32encode(found[:CODE]).decode()


def has_code(roster: Roster, student: str, code: str) -> bool:
    known = roster.codes.get(student, "").upper()
    return bool(known) and hmac.compare_digest(known.encode(), code.strip().upper().encode())


CELLS = 48  # entries of the largest grid


def name_cell(index: Sequence[int]) -> str:
    return "-".join(["cell", *map(str, index)])


def has_grid(shape: Sequence[int]) -> bool:
    """Whether an answer of a shape may be typed entry by entry."""
    return len(shape) in (1, 2) and 0 < prod(shape) <= CELLS


def read_answer(form: Mapping[str, Any], shape: Sequence[int]) -> Any:
    """What was answered: the formula; the grid where that is empty; None where nothing was typed.

    The last line ends of a text field are no part of an answer.
    """
    text = str(form.get("answer", "")).replace("\r\n", "\n")
    if text.strip() or not has_grid(shape):
        return text if text.strip() else None
    typed = [str(form.get(name_cell(index), "")).strip() for index in np.ndindex(*shape)]
    return np.array(typed, dtype=object).reshape(shape).tolist() if any(typed) else None
