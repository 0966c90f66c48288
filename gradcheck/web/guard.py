"""What stands before every page: limits, headers, and no form from a stranger's page."""

import asyncio
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from socket import gethostname
from urllib.parse import urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0  # from a connection, or the first byte of a request, to its last header
BODY_SECONDS = 20.0  # for a body to come
YEAR = "public, max-age=31536000, immutable"  # of files whose address tells their version
BODY = 64 * 1024
"""Bytes: the longest program of a student has 20,000 characters, in up to three bytes each."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
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


class _TooLarge(Exception):
    """A body beyond the limit."""


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
        if self.conn.their_state is not h11.IDLE:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self.due = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self.due is not None:
            self.due.cancel()
            self.due = None


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
        if not self._known(headers.get("host", "")):
            words = "this server has another name - start it with --allow-host NAME"
            return PlainTextResponse(words, 421)
        if scope["method"] not in ("GET", "HEAD") and not _own(headers):
            return PlainTextResponse("this form came from another site", 403)
        return None

    def _reply(self, scope: Scope, error: BaseException) -> Response:
        match error:
            case _TooLarge():
                return PlainTextResponse(f"at most {BODY // 1024} kB can be sent", 413)
            case TimeoutError():
                words = f"what is sent must come within {BODY_SECONDS:g} seconds"
                return PlainTextResponse(words, 408)
            case Exception():
                return self.broken(Request(scope), error)
        return PlainTextResponse("the server was stopped", 503)

    def _known(self, written: str) -> bool:
        """Whether a request's Host is ours: a name that others point at this machine is not.

        An address always is: no page of another site has one.
        """
        name = urlsplit(f"//{written}").hostname or "" if written.isprintable() else ""
        try:
            ip_address(name)
        except ValueError:
            return name in self.hosts
        return True


def _own(headers: Headers) -> bool:
    """Whether a request comes from a page of this server, or from a program that is no browser."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


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
                raise _TooLarge

    async def replay() -> Message:
        return read.pop(0) if read else await receive()

    return replay
