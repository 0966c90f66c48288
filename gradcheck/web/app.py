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
from gradcheck.web.requests import COOKIE, TERM, secret

LOG = logging.getLogger("gradcheck.web")
ROUTES = (
    Route("/", pages.sets),
    Route("/p/{id}", pages.problem, methods=["GET", "POST"]),
    Route("/free", pages.free),
    Route("/mistakes", pages.mistakes),
    Route("/name", pages.name, methods=["POST"]),
    Route("/api/check", api.answered(api.check), methods=["POST"]),
    Route("/api/understand", api.answered(api.understand), methods=["POST"]),
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
                secret_key=secret(settings.directory),
                session_cookie=COOKIE,
                max_age=TERM,
                https_only=settings.secure,
            ),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _refused},
    )
    app.state.practice = practice
    return app


async def _refused(request: Request, error: Exception) -> Response:
    """No such page, or no such method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": "there is nothing here"}, status)
    return pages.failed(request, status, "There is nothing here", "Choose a problem from the list.")


def _broken(request: Request, error: Exception) -> Response:
    """A fault of ours: to the page without its insides, to whoever runs the server with them."""
    status, words = 500, f"a fault of gradcheck itself: {type(error).__name__}"
    if isinstance(error, sqlite3.Error):
        status = 507
        words = f"the answer was not kept: {trouble(error, request.app.state.practice.book.path)}"
        LOG.error("%s", words)
    else:
        LOG.error("%s %s", request.method, request.url.path, exc_info=error)
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": words}, status)
    return pages.failed(request, status, "This went wrong", words)
