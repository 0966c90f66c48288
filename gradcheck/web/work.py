"""What a worker of the practice pages does: judge, say how an answer is read, draw a problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from gradcheck.batch.work import Asking, Chunk, judged, prepared, problem_of, ready
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, key
from gradcheck.grading.marking import mark
from gradcheck.grading.reading import how_read
from gradcheck.grading.variants import draw_for
from gradcheck.opinions.opinion import NotScalar
from gradcheck.practice import next_problem
from gradcheck.problem import Problem
from gradcheck.problem.draw import given_point
from gradcheck.problem.question import question
from gradcheck.problem.variants import Draw
from gradcheck.report.judgements import line, place_in_answer, told
from gradcheck.report.mathml import mathml
from gradcheck.web.course import DRAWN
from gradcheck.web.drawing import drawn, traced

FREE = 64  # functions that somebody typed, kept by each worker
JUNK = "0.1234567"  # wrong everywhere, as a number and in a formula: makes every mistake once
Said = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """The tasks, by the problems that may be asked about; everything in and out is JSON."""

    askings: Mapping[str, Asking]

    @classmethod
    def of(cls, sets: Sequence[Sequence[Any]]) -> "Work":
        """From the text of each set, its file, and the ids of its problems."""
        return cls({id: Asking(text.encode(), file, id) for text, file, ids in sets for id in ids})

    def prepare(self, id: str) -> str:
        """Why a problem cannot be asked; empty if it can, and everything about it is known."""
        asking = self.anybodys(id)
        why = prepared(asking)
        if not why:
            found = ready(asking)
            for part in found.problem.parts:
                judge(found, part, JUNK)
                if part.name in found.problem.inputs:
                    judge(found, part, f"{part.name} + {JUNK}")
        return why

    def shows(self, id: str) -> list[str]:
        """The mistakes that can be seen in a problem that was prepared."""
        asking = self.anybodys(id)
        found = None if prepared(asking) else ready(asking)
        made = () if found is None or found.run is not None else found.mistaken.made
        return sorted({each.mistake.id for each in made})

    def anybodys(self, id: str) -> Asking:
        """A problem, as somebody without a name has it."""
        return replace(self.asking(id), draw=tuple(self.variant(id, "")))

    def warm(self, task: str, given: Sequence[Any]) -> None:
        """Prepare what a task is about, so that the answer's time is the answer's alone."""
        if task == "variant":
            self.variant(*given)
        elif task in ("judge", "understand", "draw", "seen", "compose"):
            asking = self.asking(given[0])
            if asking.problem:
                prepared(asking)

    def asking(self, id: str) -> Asking:
        """A problem of the sets, a variant of it, or one that is made for a mistake."""
        id, _, numbers = id.partition(DRAWN)
        found = self.askings[id] if id in self.askings else _made(id)
        return replace(found, draw=tuple(map(int, numbers.split(",")))) if numbers else found

    def variant(self, id: str, student: str) -> Draw:
        """Which of the choices of a problem a student has; empty where there are none."""
        return draw_for(problem_of(self.askings[id]), student)

    def compose(self, id: str) -> str:
        """The text of a problem that is made for a mistake; empty where there is none."""
        return self.asking(id).text.decode()

    # -- about a problem of the sets -----------------------------------------------------------

    def judge(self, id: str, part: str, answer: str) -> Said:
        """The judgement of an answer, as `packed`."""
        found = judged(Chunk(self.asking(id), [(0, part, answer)]))[0]
        return {"verdict": found.verdict, "score": found.score, "line": found.line}

    def understand(self, id: str, part: str, answer: Any) -> Said:
        """How an answer is read."""
        return _understood(ready(self.asking(id)), part, answer)

    def draw(self, id: str) -> Said:
        """What the page of a problem shows besides its text."""
        return drawn(ready(self.asking(id)))

    def seen(self, id: str, judged: Said) -> Said:
        """An answer's own curve, and where in it the mistake stands."""
        return _seen(ready(self.asking(id)), judged)

    # -- about a function that somebody typed --------------------------------------------------

    def free(self, expression: str, given: Sequence[str], wrt: str, answer: str) -> Said:
        """A typed function, drawn; and an answer to its derivative, judged, if there is one."""
        try:
            found = _free(expression, tuple(given), wrt)
        except TextError as error:
            return {"complaint": _complaint(error)}
        except (GradcheckError, NotScalar) as error:
            return {"complaint": {"complaint": str(error), "source": ""}}
        problem = found.problem
        part = problem.parts[0]
        said: Said = {
            "program": problem.program.source,
            "mathml": mathml(problem.program.source),
            "part": part.name,
            "parts": [each.name for each in problem.parts],
            "drawn": drawn(found),
        }
        if answer.strip() and len(problem.parts) == 1:
            source = problem.program.source
            said["line"] = told(line(mark(found, part, answer), source), "full")
            said |= _seen(found, said["line"])
        return said

    def understand_free(self, expression: str, given: Sequence[str], wrt: str, answer: str) -> Said:
        """How a typed function is read, or an answer to its derivative."""
        try:
            problem = _question(expression, tuple(given), wrt)
            if not answer:
                source = problem.program.source
                return {"understood": source, "mathml": mathml(source)}
            return _understood(
                Key(problem, (given_point(problem),), ()), problem.parts[0].name, answer
            )
        except TextError as error:
            return _complaint(error)
        except GradcheckError as error:
            return {"complaint": str(error), "column": 1}


def _question(expression: str, given: tuple[str, ...], wrt: str) -> Problem:
    return question(expression, given, (wrt,) if wrt else ())


@lru_cache(maxsize=FREE)
def _made(id: str) -> Asking:
    """The problem of `next.sign-error.7`, the same on every machine; an empty one where none is."""
    _, mistake, seed = id.split(".")
    found = next_problem(mistake, int(seed))
    return Asking(found.text, found.file, found.problems[0].id) if found else Asking(b"", "", "")


@lru_cache(maxsize=FREE)
def _free(expression: str, given: tuple[str, ...], wrt: str) -> Key:
    """The key to a typed function."""
    return key(_question(expression, given, wrt))


def _seen(found: Key, judged: Said) -> Said:
    """What is seen of a judged answer: its curve, and where in it the mistake stands."""
    part = found.problem.part(judged["part"])
    place = None if part is None else place_in_answer(found, part, judged)
    return {"curve": traced(found, judged["part"], judged["answer"]), "place": place}


def _understood(found: Key, name: str, answer: Any) -> Said:
    """How an answer to a part is read, or why it cannot be."""
    part = found.problem.part(name)
    if part is None:
        return {"complaint": f"there is no part {name}", "column": 1}
    try:
        understood, notes = how_read(found, part, answer)
    except TextError as error:
        return _complaint(error)
    except GradcheckError as error:
        return {"complaint": str(error), "column": 1}
    return {"understood": understood, "mathml": mathml(understood), "notes": list(notes)}


def _complaint(error: TextError) -> Said:
    """The first complaint, with the place in what was typed."""
    first = error.complaints[0]
    words = f"{first.message} - {first.cure}" if first.cure else first.message
    place = {"column": first.column or 1, "line": first.line or 1, "width": max(first.width, 1)}
    return {"complaint": words, **place, "source": first.source}
