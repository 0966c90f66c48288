"""What a worker of the practice pages does: judge, say how an answer is read, draw a problem."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gradcheck.batch.collect import about
from gradcheck.batch.pool import item
from gradcheck.batch.work import Asking, judge_chunk, prepare_here, problem_of, ready
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.judging import how_read
from gradcheck.grading.key import Key, draw_for, key
from gradcheck.grading.marking import mark
from gradcheck.opinions.opinion import NotScalar
from gradcheck.practice import next_problem
from gradcheck.problem import Problem
from gradcheck.problem.draw import Draw, given_point
from gradcheck.problem.load import question
from gradcheck.report.figures import mathml
from gradcheck.report.judgements import line, place_in_answer, restrict
from gradcheck.report.steps import solve_again
from gradcheck.web.drawing import draw_problem, name_rule, trace_answer

Said = dict[str, Any]


# -- about a problem of the sets -------------------------------------------------------------------


def prepare(asking: Asking) -> Said:
    """Why a problem cannot be asked, empty if it can; what its page shows, and which mistakes."""
    asking = replace(asking, draw=variant(asking, ""))  # as somebody without a name has it
    why = prepare_here(asking)
    if why:
        return {"why": why}
    found = ready(asking)
    made = () if found.run is not None else found.mistaken.made
    shows = sorted({each.mistake.id for each in made})
    return {"why": "", "shows": shows, "draw": asking.draw, "drawn": draw_problem(found)}


def variant(asking: Asking, student: str) -> Draw:
    """Which of the choices of a problem a student has; empty where there are none."""
    return draw_for(problem_of(asking), student)


def compose(mistake: str, seed: int) -> Said:
    """The text of a problem that is made for a mistake, and its id; empty where there is none."""
    found = next_problem(mistake, seed)
    return {"text": found.text.decode(), "id": found.problems[0].id} if found else {"text": ""}


def judge(asking: Asking, part: str, answer: str) -> tuple[str, float, float, str]:
    """The judgement of an answer, as `packed`: what `JudgedAnswer` has."""
    return next(judge_chunk(asking, [(0, part, answer)]))


def understand(asking: Asking, part: str, answer: Any) -> Said:
    found = ready(asking)
    with item():
        return _complain_or(_read, found, part, answer)


def draw(asking: Asking) -> Said:
    """What the page of a problem shows besides its text: no stranger's work, so without limits."""
    return draw_problem(ready(asking))


def solve(asking: Asking, variant: Said) -> Said:
    """The worked solution, each value with its rule in words; nothing where no formula says it."""
    found = solve_again(about(problem_of(asking)), variant)
    if found is None:
        return {}
    forward = [(*step, name_rule(step[1])) for step in found.forward]
    return {"forms": found.forms, "forward": forward, "backward": found.backward}


def see(asking: Asking, judged: Said) -> Said:
    """An answer's own curve, and where in it the mistake stands."""
    found = ready(asking)
    with item():
        return _see(found, judged)


# -- about a function that somebody typed ----------------------------------------------------------


@item()
def free(expression: str, given: Sequence[str], wrt: str, answer: str) -> Said:
    """A typed function, drawn; and an answer to its derivative, judged, if there is one."""
    found = _complain_or(_try_typed, expression, tuple(given), wrt, answer)
    return {"complaint": found} if "complaint" in found else found


@item()
def understand_free(expression: str, given: Sequence[str], wrt: str, answer: str) -> Said:
    """How a typed function is read, or an answer to its derivative."""
    return _complain_or(_read_typed, expression, given, wrt, answer)


def _question(expression: str, given: Sequence[str], wrt: str) -> Problem:
    return question(expression, given, (wrt,) if wrt else ())


@lru_cache(maxsize=64)
def _key(expression: str, given: tuple[str, ...], wrt: str) -> Key:
    return key(_question(expression, given, wrt))


def _try_typed(expression: str, given: tuple[str, ...], wrt: str, answer: str) -> Said:
    found = _key(expression, given, wrt)
    parts, source = found.problem.parts, found.problem.program.source
    names = [each.name for each in parts]
    said: Said = {"program": source, "mathml": mathml(source), "part": names[0], "parts": names}
    said["drawn"] = draw_problem(found)
    if answer.strip() and len(parts) == 1:
        said["line"] = restrict(line(mark(found, parts[0], answer), source), "full")
        said |= _see(found, said["line"])
    return said


def _read_typed(expression: str, given: Sequence[str], wrt: str, answer: str) -> Said:
    problem = _question(expression, given, wrt)
    if answer:
        return _read(Key(problem, (given_point(problem),), ()), problem.parts[0].name, answer)
    source = problem.program.source
    return {"understood": source, "mathml": mathml(source)}


# -- about either ----------------------------------------------------------------------------------


def _see(found: Key, judged: Said) -> Said:
    part = found.problem.part(judged["part"])
    place = None if part is None else place_in_answer(found, part, judged)
    return {"curve": trace_answer(found, judged["part"], judged["answer"]), "place": place}


def _read(found: Key, name: str, answer: Any) -> Said:
    part = found.problem.part(name)
    if part is None:
        return {"complaint": f"there is no part {name}", "column": 1}
    understood, notes = how_read(found, part, answer)
    return {"understood": understood, "mathml": mathml(understood), "notes": list(notes)}


def _complain_or(do: Callable[..., Said], *given: Any) -> Said:
    """What is said, or what is wrong with something that was typed, and where."""
    try:
        return do(*given)
    except TextError as error:
        first = error.complaints[0]
        words = f"{first.message} - {first.cure}" if first.cure else first.message
        place = {"column": first.column or 1, "line": first.line or 1, "width": max(first.width, 1)}
        return {"complaint": words, **place, "source": first.source}
    except (GradcheckError, NotScalar) as error:
        return {"complaint": str(error), "column": 1, "source": ""}
