"""JSON for other programs, and for the pages' own script."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gradcheck.documents import WrittenFloat
from gradcheck.report.judgements import told
from gradcheck.web import work
from gradcheck.web.pool import Busy, RanAway, WorkerFault
from gradcheck.web.requests import practice_of, sender_of, student_of

SOON = {"Retry-After": "5"}


class _Refused(Exception):
    """A request that cannot be answered, and what is said of it."""

    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words


def answered(handler: Any) -> Any:
    """A handler whose refusals are JSON too."""

    async def careful(request: Request) -> Response:
        try:
            return JSONResponse(await handler(request, await _asked(request)))
        except _Refused as error:
            return JSONResponse({"error": error.words}, error.status)
        except Busy:
            words = "too many answers wait to be judged: try again in a few seconds"
            return JSONResponse({"error": words}, 503, SOON)
        except RanAway:
            return JSONResponse({"complaint": "this takes too long to be read", "column": 1})
        except WorkerFault as error:
            return JSONResponse({"error": f"a fault of gradcheck itself: {error}"}, 500)

    return careful


async def check(request: Request, asked: dict[str, Any]) -> Any:
    """`{"problem", "part", "answer"}`: a line of `grade --json`."""
    practice = practice_of(request)
    sender, student = sender_of(request), student_of(request)
    problem = await practice.find(sender, student, _text(asked, "problem"))
    posed = practice.posed(problem, _text(asked, "part")) if problem else None
    if posed is None:
        raise _Refused(404, "there is no such problem, or no such part: name both")
    line = await practice.judge(sender, student, posed, asked.get("answer"))
    return told(line, practice.settings.feedback)


async def understand(request: Request, asked: dict[str, Any]) -> Any:
    """`{"problem", "answer"}`: how an answer is read; `part` says to which, if there are several.

    With `expression` (and `wrt`, `given`) instead of `problem`: a function that somebody typed.
    """
    practice, sender = practice_of(request), sender_of(request)
    answer = asked.get("answer")
    if "expression" in asked:
        given = asked.get("given") or []
        if not (isinstance(given, list) and all(isinstance(each, str) for each in given)):
            raise _Refused(400, "`given` is expected to be a list of texts such as `x=2`")
        typed = _text(asked, "expression"), given[:20], _text(asked, "wrt"), str(answer or "")
        return await practice.pool.ask(sender, work.understand_free, *typed)
    problem = await practice.find(sender, student_of(request), _text(asked, "problem"))
    if problem is None:
        raise _Refused(404, "there is no such problem")
    part = _text(asked, "part") or problem.parts[0].name
    return await practice.pool.ask(sender, work.understand, practice.asking(problem), part, answer)


async def _asked(request: Request) -> dict[str, Any]:
    """The object in the body; numbers as they were written."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise _Refused(415, "application/json is expected")
    try:
        found = json.loads(await request.body(), parse_float=WrittenFloat)
    except (ValueError, RecursionError):
        raise _Refused(400, "the body is no JSON") from None
    if not isinstance(found, dict):
        raise _Refused(400, "an object is expected")
    if _depth(found) > 12:
        raise _Refused(400, "lists nested more than 12 deep")
    return found


def _depth(value: Any) -> int:
    """How deep lists and objects are nested."""
    level, found = [value], 0
    while level:
        found += 1
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [x for each in inner for x in each if isinstance(x, dict | list)]
        if found > 50:
            break
    return found


def _text(asked: dict[str, Any], name: str) -> str:
    value = asked.get(name, "")
    if not isinstance(value, str):
        raise _Refused(400, f"`{name}` is expected to be a text")
    return value
