"""The application: routes, JSON for other programs, what begins and ends with the server."""

import json
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gradcheck.batch.ledger import describe_trouble
from gradcheck.documents import WrittenFloat
from gradcheck.report.judgements import restrict
from gradcheck.web import pages, work
from gradcheck.web.guard import COOKIE, TERM, Guard, find_sender, practice_of, read_secret
from gradcheck.web.practice import Practice
from gradcheck.web.work import Busy, RanAway, WorkerFault

LOG = logging.getLogger("gradcheck.web")
DEEP = 12  # lists and objects in one another


class CheckRequest(BaseModel):
    """What other programs, and the pages' own script, send."""

    problem: str = ""
    part: str = ""
    answer: Any = None
    expression: str | None = None
    given: list[str] | None = None
    wrt: str = ""


async def check(request: Request) -> Response:
    """`{"problem", "part", "answer"}`: a line of `grade --json`."""
    asked, practice, sender = await _read_asked(request), practice_of(request), find_sender(request)
    problem = await practice.find(sender, asked.problem)
    part = problem.part(asked.part) if problem else None
    if problem is None or part is None:
        raise HTTPException(404, "there is no such problem, or no such part: name both")
    line = await practice.judge(sender, problem, part, asked.answer)
    return JSONResponse(restrict(line, practice.feedback))


async def understand(request: Request) -> Response:
    """`{"problem", "answer"}`: how an answer is read; `part` says to which, if there are several.

    With `expression` (and `wrt`, `given`) instead of `problem`: a function that somebody typed.
    """
    asked, practice, sender = await _read_asked(request), practice_of(request), find_sender(request)
    if asked.expression is not None:
        typed = asked.expression, (asked.given or [])[:20], asked.wrt, str(asked.answer or "")
        return JSONResponse(await practice.queue.ask(sender, work.understand_free, *typed))
    problem = await practice.find(sender, asked.problem)
    if problem is None:
        raise HTTPException(404, "there is no such problem")
    known = practice.asking(problem), asked.part or problem.parts[0].name, asked.answer
    return JSONResponse(await practice.queue.ask(sender, work.understand, *known))


async def _read_asked(request: Request) -> CheckRequest:
    """The object in the body; numbers as they were written."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "application/json is expected")
    try:
        found = json.loads(await request.body(), parse_float=WrittenFloat)
        json.dumps(found, ensure_ascii=False).encode()  # half a sign could be told to nobody
        deep = _measure_depth(found) > DEEP
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is no JSON") from None
    if not isinstance(found, dict):
        raise HTTPException(400, "the body is no object of JSON")
    if deep:
        raise HTTPException(400, f"lists nested more than {DEEP} deep")
    try:
        return CheckRequest.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise HTTPException(400, f"`{where}`: {first['msg']}") from None


def _measure_depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    nested = isinstance(value, dict | list)
    return 1 + max(map(_measure_depth, inner), default=0) if nested else 0


ROUTES = (
    Route("/", pages.sets),
    Route("/p/{id}", pages.problem, methods=["GET", "POST"]),
    Route("/free", pages.free),
    Route("/mistakes", pages.mistakes),
    Route("/name", pages.name, methods=["POST"]),
    Route("/api/check", check, methods=["POST"]),
    Route("/api/understand", understand, methods=["POST"]),
    Mount("/static", StaticFiles(packages=[("gradcheck.web", "static")])),
)


def make_application(practice: Practice) -> Starlette:

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await practice.open()
        yield
        await practice.close()

    app = Starlette(
        routes=ROUTES,
        middleware=[
            Middleware(Guard, broken=_explain_fault, hosts=practice.hosts),
            Middleware(
                SessionMiddleware,
                # names that somebody only said are nobody's once there are codes
                secret_key=read_secret(practice.directory) + ("+" if practice.roster else ""),
                session_cookie=COOKIE,
                max_age=TERM,
                https_only=practice.secure,
            ),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _refuse, RanAway: _give_up},
    )
    app.state.practice = practice
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    """No such page or method, nothing that can be read, or too much at a time."""
    assert isinstance(error, HTTPException)
    title, words = "There is nothing here", "Choose a problem from the list."
    if isinstance(error, Busy):
        title, words = "One moment", error.detail
    found = _reply(request, error.status_code, title, error.detail if _is_api(request) else words)
    found.headers.update(error.headers or {})
    return found


async def _give_up(*_: object) -> Response:
    return JSONResponse({"complaint": "this takes too long to be read", "column": 1})


def _reply(request: Request, status: int, title: str, words: str) -> Response:
    if _is_api(request):
        return JSONResponse({"error": words}, status)
    return pages.render_failure(request, status, title, words)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _explain_fault(request: Request, error: Exception) -> Response:
    """A fault of ours: to the page without its insides, to whoever runs the server with them."""
    what = error if isinstance(error, WorkerFault) else type(error).__name__
    status, words = 500, f"a fault of gradcheck itself: {what}"
    if isinstance(error, sqlite3.Error):
        status = 507
        path = request.app.state.practice.book.path
        words = f"the answer was not kept: {describe_trouble(error, path)}"
        LOG.error("%s", words)
    else:
        LOG.error("%s %s", request.method, request.url.path, exc_info=error)
    return _reply(request, status, "This went wrong", words)
