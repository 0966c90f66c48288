"""The pages: the sets, a problem, a function of one's own, the mistakes made, the name."""

import asyncio
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gradcheck.batch.roster import NoName, normalize_name
from gradcheck.problem import Problem
from gradcheck.problem.record import Part
from gradcheck.report.judgements import LEVELS, format_mistake, restrict
from gradcheck.report.pages import load_templates
from gradcheck.web import work
from gradcheck.web.drawing import plot
from gradcheck.web.guard import find_sender, has_code, has_grid, name_cell, practice_of, read_answer
from gradcheck.web.practice import Practice, find_made, name_like, name_next

GUESS = 1.0  # seconds that a wrong code takes: none is to be guessed
FULL = LEVELS.index("full")
NOTHING = {
    **dict.fromkeys(("line", "level", "more", "empty", "place", "curve", "given_up", "solution")),
    "typed": "",
}


@cache
def find_address(name: str) -> str:
    """Where a file of the pages is, with what tells its version."""
    content = (files("gradcheck.web") / "static" / name).read_bytes()
    return f"/static/{name}?{hashlib.sha256(content).hexdigest()[:12]}"


@cache
def make_environment() -> Environment:
    found = load_templates("gradcheck.web")
    found.filters |= {
        "named": lambda mistake: format_mistake(mistake).replace("-", " ").capitalize()
    }
    found.globals |= {"asset": find_address, "cell": name_cell}
    return found


def render_page(request: Request, name: str, status: int = 200, **more: Any) -> HTMLResponse:
    course = practice_of(request).roster is not None
    student, path = find_sender(request).name, request.url.path
    known = {"student": student, "path": path, "course": course, **more}
    text = make_environment().get_template(name).render(known)
    return HTMLResponse(text, status)


def render_failure(request: Request, status: int, title: str, words: str) -> HTMLResponse:
    return render_page(request, "failed.html", status, title=title, words=words)


async def sets(request: Request) -> Response:
    """All sets, with what the student has done."""
    practice = practice_of(request)
    marks = await practice.book.marks(find_sender(request).name)
    listed = [
        (each.title or each.file, [(p, find_state(p, marks)) for p in own])
        for each, own in practice.course.sets
        if own
    ]
    return render_page(request, "sets.html", listed=listed)


def find_state(problem: Problem, marks: Mapping[tuple[str, str], str]) -> str:
    """`solved`, `tried`, or nothing yet."""
    verdicts = [marks.get((problem.id, part.name)) for part in problem.parts]
    if all(verdict == "right" for verdict in verdicts):
        return "solved"
    return "tried" if any(verdicts) else ""


async def problem(request: Request) -> Response:
    """One problem; with POST, an answer to one of its parts judged."""
    practice, sender = practice_of(request), find_sender(request)
    student, found = sender.name, await practice.find(sender, request.path_params["id"])
    if found is None:
        return render_failure(request, 404, "There is no such problem", "Choose one from the list.")
    if why := (await practice.queue.prepare(found.id)).get("why"):
        return render_failure(request, 404, "This problem cannot be asked", why)
    given: dict[str, Any] = {part.name: dict(NOTHING) for part in found.parts}
    for attempt in await practice.book.history(student):
        if attempt.problem == found.id and attempt.part in given:
            given[attempt.part]["typed"] = attempt.said["answer"]
    if request.method == "POST":
        form = await request.form(max_files=0, max_fields=200)
        if (who := str(form.get("who", student))) != student:  # the term is over, or another tab
            title, now = "Nothing was judged", f"you are {student or 'without a name'} now"
            words = f"This page was opened by {who or 'nobody'}, and {now}: load it again."
            return render_failure(request, 409, title, words)
        part = found.part(str(form.get("part", "")))
        if part is None:
            return render_failure(request, 404, "There is no such part", "Go back and try again.")
        given[part.name] |= await _judge_form(request, found, part, form)
    marks = await practice.book.marks(student)
    drawn = await practice.draw_page(sender, found)
    lines = [each["line"] for each in given.values() if each["line"]]
    fresh = {(found.id, line["part"]): line["verdict"] for line in lines}
    solved = find_state(found, marks | fresh) == "solved"
    before, after = practice.course.beside(found.id)
    return render_page(
        request,
        "problem.html",
        problem=found,
        parts=[_describe_part(found, part, given[part.name], drawn, marks) for part in found.parts],
        drawn=drawn,
        solved=solved,
        open=solved or not found.programs,
        lines=lines,
        again=name_like(found.id),
        before=before,
        after=after,
    )


async def _judge_form(
    request: Request, problem: Problem, part: Part, form: FormData
) -> dict[str, Any]:
    practice, sender = practice_of(request), find_sender(request)
    answer = read_answer(form, _find_shape(problem, part))
    if answer is None:
        return {"typed": "", "empty": True}
    asked, most = str(form.get("level", "0")), LEVELS.index(practice.feedback)
    level = min({"1": 1, "2": 2, "3": 3, "solution": FULL}.get(asked, 0), most)
    full = await practice.judge(sender, problem, part, answer)
    told = {"typed": answer, "line": restrict(full, LEVELS[level]), "level": level}
    if full["verdict"] in ("right", "wrong"):
        judged = {key: full[key] for key in ("part", "answer", "mistakes", "line")}
        told |= await practice.ask(sender, {}, work.see, practice.asking(problem), judged)
    if level < LEVELS.index("place"):
        told["place"] = None
    told["more"] = _find_more(full, level, most)
    told["given_up"] = most == FULL and full["verdict"] == "wrong" and not told["more"]
    if told["given_up"] and asked == "solution":
        drawn = practice.asking(problem), full.get("variant") or {}
        told["solution"] = await practice.ask(sender, {}, work.solve, *drawn)
    return told


def _find_more(full: Mapping[str, Any], level: int, most: int) -> int:
    """The next level of hints that tells more of a wrong answer; 0 where none does.

    That there is no name for a mistake is told at once, with all remarks.
    """
    told = [restrict(full, name) for name in LEVELS]
    if full["verdict"] != "wrong":
        return 0
    if not full["mistakes"]:
        return most if told[most]["remarks"] != told[level]["remarks"] else 0
    return next((k for k in range(level + 1, most + 1) if told[k] != told[level]), 0)


def _find_shape(problem: Problem, part: Part) -> tuple[int, ...]:
    """The shape of an answer that is a gradient by an input; of any other nothing is said."""
    entry = problem.inputs.get(part.name)
    return entry.shape if entry is not None and part.ask is None else ()


def _describe_part(
    problem: Problem, part: Part, given: Any, drawn: Mapping[str, Any], marks: Mapping[Any, str]
) -> dict[str, Any]:
    shape, answer = _find_shape(problem, part), given["typed"]
    curves = (drawn.get("curves") or {}).get(part.name)
    return {
        **given,
        "name": part.name,
        "program": part.form == "program",
        "asked": part.ask.source if part.ask else "",
        "shape": shape,
        "grid": has_grid(shape),
        "cells": answer if isinstance(answer, list) else None,
        "typed": answer if isinstance(answer, str) else "",
        "mark": marks.get((problem.id, part.name), ""),
        "next": name_next(given["line"]) if given["line"] else "",
        "plot": plot(part.name, curves, given["curve"]) if given["curve"] and curves else "",
    }


async def free(request: Request) -> Response:
    """A function of one's own, and an answer to its derivative: no account, no file."""
    query = request.query_params
    asked = {field: query.get(field, "").strip() for field in ("f", "wrt", "at", "answer")}
    said: Any = None
    if asked["f"]:
        given = [each for each in asked["at"].replace(";", "\n").splitlines() if each.strip()]
        other = {"complaint": "this takes too long to be looked at", "source": ""}
        typed = asked["f"], given[:20], asked["wrt"], asked["answer"]
        said = await practice_of(request).ask(find_sender(request), other, work.free, *typed)
    curves = said["drawn"]["curves"].get(said["part"]) if said and said.get("drawn") else None
    picture = plot(said["part"], curves, said.get("curve")) if curves else ""
    return render_page(request, "free.html", asked=asked, said=said, plot=picture)


async def mistakes(request: Request) -> Response:
    """The mistakes that the student has made, and which are settled."""
    practice, student = practice_of(request), find_sender(request).name
    level = practice.feedback
    history = await practice.book.history(student) if level != "verdict" else ()
    tried = {each.problem for each in history}
    shows = {id: (await practice.queue.prepare(id)).get("shows", ()) for id in tried}
    problems = practice.course.problems
    made = [
        (each, restrict(last.said, level), problems.get(last.problem))
        for each in find_made(student, history, shows)
        for last in each.attempts[-1:]
    ]
    return render_page(request, "mistakes.html", made=made, told=level != "verdict")


async def name(request: Request) -> Response:
    """Give or take away the student's name; of a course it takes the code that goes with it."""
    form = await request.form(max_files=0, max_fields=10)
    back = str(form.get("back", "/"))
    if not back.startswith("/") or back.startswith(("//", "/\\")):
        back = "/"
    request.session.clear()
    if typed := str(form.get("name", "")).strip():
        try:
            code = str(form.get("code", ""))
            request.session["name"] = await _admit(practice_of(request), typed, code)
        except NoName as error:
            return render_failure(request, 400, "This name cannot be used", str(error))
    return RedirectResponse(back, 303)


async def _admit(practice: Practice, name: str, code: str) -> str:
    """The student of a name; NoName where there is none, or the code is another's.

    Guesses that come side by side are no faster: a name is left alone after a wrong code.
    """
    roster, student = practice.roster, normalize_name(name)
    if roster is None:  # anybody is who they say
        return student
    student = roster.student(student)
    if student in practice.guessed:
        raise NoName("a wrong code was just given for this name: try again in a moment")
    if not has_code(roster, student, code):
        practice.guessed.add(student)
        await asyncio.sleep(GUESS)
        practice.guessed.discard(student)
        raise NoName("this name and this code do not belong together: ask for your code again")
    return student
