"""JSON for other programs, and for the pages' own script."""

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gradcheck.documents import WrittenFloat
from gradcheck.report.judgements import restrict
from gradcheck.web import work
from gradcheck.web.practice import find_part
from gradcheck.web.requests import practice_of, sender_of, student_of

DEEP = 12  # lists and objects in one another


async def check(request: Request) -> Response:
    """`{"problem", "part", "answer"}`: a line of `grade --json`."""
    asked, practice = await _read_object(request), practice_of(request)
    sender, student = sender_of(request), student_of(request)
    problem = await practice.find(sender, student, _text(asked, "problem"))
    part = find_part(problem, _text(asked, "part")) if problem else None
    if problem is None or part is None:
        raise HTTPException(404, "there is no such problem, or no such part: name both")
    line = await practice.judge(sender, student, problem, part, asked.get("answer"))
    return JSONResponse(restrict(line, practice.settings.feedback))


async def understand(request: Request) -> Response:
    """`{"problem", "answer"}`: how an answer is read; `part` says to which, if there are several.

    With `expression` (and `wrt`, `given`) instead of `problem`: a function that somebody typed.
    """
    asked, practice = await _read_object(request), practice_of(request)
    sender = sender_of(request)
    answer = asked.get("answer")
    if "expression" in asked:
        given = asked.get("given") or []
        if not (isinstance(given, list) and all(isinstance(each, str) for each in given)):
            raise HTTPException(400, "`given` is expected to be a list of texts such as `x=2`")
        typed = _text(asked, "expression"), given[:20], _text(asked, "wrt"), str(answer or "")
        return JSONResponse(await practice.queue.ask(sender, work.understand_free, *typed))
    problem = await practice.find(sender, student_of(request), _text(asked, "problem"))
    if problem is None:
        raise HTTPException(404, "there is no such problem")
    part = _text(asked, "part") or problem.parts[0].name
    known = practice.asking(problem), part, answer
    return JSONResponse(await practice.queue.ask(sender, work.understand, *known))


async def _read_object(request: Request) -> dict[str, Any]:
    """The object in the body; numbers as they were written."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "application/json is expected")
    try:
        found = json.loads(await request.body(), parse_float=WrittenFloat)
        deep = _depth(found) > DEEP
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is no JSON") from None
    if not isinstance(found, dict):
        raise HTTPException(400, "an object is expected")
    if deep:
        raise HTTPException(400, f"lists nested more than {DEEP} deep")
    return found


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    nested = isinstance(value, dict | list)
    return 1 + max(map(_depth, inner), default=0) if nested else 0


def _text(asked: dict[str, Any], name: str) -> str:
    value = asked.get(name, "")
    if not isinstance(value, str):
        raise HTTPException(400, f"`{name}` is expected to be a text")
    return value
