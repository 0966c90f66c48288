"""A batch: every answer of every submission, judged in order; nothing stops it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gradcheck.errors import GradcheckError
from gradcheck.grading.judging import Judgement, judge
from gradcheck.grading.key import Key, NoKey, key
from gradcheck.grading.submissions import Submission
from gradcheck.problem import Problem, ProblemSet

REMEMBERED = 10_000  # judgements: students type the same answers


@dataclass(frozen=True)
class Doubtful:
    """A problem that is not graded because its own key is in doubt."""

    problem: str
    why: str


def prepare(sets: Sequence[ProblemSet]) -> tuple[dict[str, Key], list[Doubtful]]:
    """The keys of all problems by id, and those without one."""
    keys: dict[str, Key] = {}
    doubtful = []
    for problem in (p for s in sets for p in s.problems):
        if problem.id in keys:
            doubtful.append(Doubtful(problem.id, f"{problem.id}: the id is used in two files"))
            continue
        try:
            keys[problem.id] = key(problem)
        except NoKey as error:
            doubtful.append(Doubtful(problem.id, str(error)))
        except (GradcheckError, ValueError, ArithmeticError) as error:
            doubtful.append(Doubtful(problem.id, f"{problem.id}: {error}"))
    return keys, doubtful


def grade(keys: dict[str, Key], submissions: Iterable[Submission]) -> Iterator[Judgement]:
    """Every part of every problem for every student; the same answer is judged once."""
    known: dict[tuple[str, str, str], Judgement] = {}
    for submission in submissions:
        for name, ready in keys.items():
            given = submission.answers.get(name, {})
            for part in ready.problem.parts:
                answer = given.get(part.name, given.get("") if _single(ready.problem) else None)
                again = (name, part.name, f"{type(answer).__name__} {answer!r}")
                if again not in known:
                    if len(known) >= REMEMBERED:
                        known.clear()
                    known[again] = judge(ready, part, answer)
                yield replace(known[again], student=submission.student)


def _single(problem: Problem) -> bool:
    return len(problem.parts) == 1


def strangers(keys: dict[str, Key], submission: Submission) -> list[str]:
    """What a submission answers that was never asked."""
    found = []
    for name, given in submission.answers.items():
        if name not in keys:
            found.append(name)
            continue
        problem = keys[name].problem
        parts = {part.name for part in problem.parts} | ({""} if _single(problem) else set())
        found += [f"{name}.{part}".rstrip(".") for part in given if part not in parts]
    return found
