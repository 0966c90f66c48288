"""What stands before every page: limits, headers, and no form from a stranger's page."""

import asyncio
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class Guard:
    """Middleware: bounded bodies, headers on every answer, and forms of our own pages only."""

    def __init__(self, app: ASGIApp, broken: Broken) -> None:
        """Around an application; `broken` answers where a fault of ours came out of it."""
        self.app, self.broken = app, broken

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
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
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        if scope["method"] not in ("GET", "HEAD") and not _own(headers):
            refusal = PlainTextResponse("this form came from another site", 403)
            await refusal(scope, receive, with_headers)
            return
        try:
            if int(headers.get("content-length") or 0) > BODY:
                raise _TooLarge
            await self.app(scope, _bounded(receive), with_headers)
        except (_TooLarge, ValueError):
            if started:
                raise
            words = f"at most {BODY // 1024} kB can be sent"
            await PlainTextResponse(words, 413)(scope, receive, with_headers)
        except asyncio.CancelledError:  # somebody ends the server, and does not wait any longer
            if started:
                raise
            await PlainTextResponse("the server was stopped", 503)(scope, receive, with_headers)
        except Exception as error:
            if started:
                raise
            response = self.broken(Request(scope), error)
            await response(scope, receive, with_headers)


def _own(headers: Headers) -> bool:
    """Whether a request comes from a page of this server, or from a program that is no browser."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def _bounded(receive: Receive) -> Receive:
    """The body as it comes, as long as it stays within the limit."""
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > BODY:
            raise _TooLarge
        return message

    return bounded


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches a host."""
    return host in loopbacks()


def loopbacks() -> Iterable[str]:
    """The names of this machine to itself."""
    return ("127.0.0.1", "::1", "localhost")
