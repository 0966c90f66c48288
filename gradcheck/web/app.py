"""The application: routes, and what begins and ends with the server."""

import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gradcheck.batch.ledger import trouble
from gradcheck.web import api, pages
from gradcheck.web.guard import Guard
from gradcheck.web.practice import Practice
from gradcheck.web.queue import Busy, RanAway, WorkerFault
from gradcheck.web.requests import COOKIE, TERM, secret

LOG = logging.getLogger("gradcheck.web")
ROUTES = (
    Route("/", pages.sets),
    Route("/p/{id}", pages.problem, methods=["GET", "POST"]),
    Route("/free", pages.free),
    Route("/mistakes", pages.mistakes),
    Route("/name", pages.name, methods=["POST"]),
    Route("/api/check", api.check, methods=["POST"]),
    Route("/api/understand", api.understand, methods=["POST"]),
    Mount("/static", StaticFiles(packages=[("gradcheck.web", "static")])),
)


def application(practice: Practice) -> Starlette:
    """The pages and the JSON of a course."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await practice.open()
        yield
        await practice.close()

    settings = practice.settings
    app = Starlette(
        routes=ROUTES,
        middleware=[
            Middleware(Guard, broken=_broken, hosts=settings.hosts),
            Middleware(
                SessionMiddleware,
                # names that somebody only said are nobody's once there are codes
                secret_key=secret(settings.directory) + ("" if settings.roster is None else "+"),
                session_cookie=COOKIE,
                max_age=TERM,
                https_only=settings.secure,
            ),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _refuse, Busy: _ask_to_wait, RanAway: _give_up},
    )
    app.state.practice = practice
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    """No such page or method, or nothing that can be read."""
    status, words = 500, "Choose a problem from the list."
    if isinstance(error, HTTPException):
        status = error.status_code
        words = error.detail if _is_api(request) else words
    return _reply(request, status, "There is nothing here", words)


async def _ask_to_wait(request: Request, _: Exception) -> Response:
    words = "Too many answers wait to be judged. Try again in a few seconds."
    found = _reply(request, 503, "One moment", words)
    found.headers["Retry-After"] = "5"
    return found


async def _give_up(*_: object) -> Response:
    return JSONResponse({"complaint": "this takes too long to be read", "column": 1})


def _reply(request: Request, status: int, title: str, words: str) -> Response:
    if _is_api(request):
        return JSONResponse({"error": words}, status)
    return pages.failure_page(request, status, title, words)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _broken(request: Request, error: Exception) -> Response:
    """A fault of ours: to the page without its insides, to whoever runs the server with them."""
    what = error if isinstance(error, WorkerFault) else type(error).__name__
    status, words = 500, f"a fault of gradcheck itself: {what}"
    if isinstance(error, sqlite3.Error):
        status = 507
        words = f"the answer was not kept: {trouble(error, request.app.state.practice.book.path)}"
        LOG.error("%s", words)
    else:
        LOG.error("%s %s", request.method, request.url.path, exc_info=error)
    return _reply(request, status, "This went wrong", words)
