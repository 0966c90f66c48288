"""Problems and judgements for the tests of grading, each problem prepared once."""

from functools import cache

from gradcheck.errors import GradcheckError
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, find_variant, make_key
from gradcheck.grading.marking import Fault, find_faults
from gradcheck.problem import Problem, ProblemSet, load_text


@cache
def keyed(text: str) -> Key:
    return make_key(load_text(text).problems[0])


def scalar(program: str, x: float | str = 1.5) -> Key:
    return keyed(f"id: t\ninputs: {{x: {x}}}\nprogram: {program}\n")


def judged(ready: Key, answer: object, part: str | None = None, **how: bool) -> Judgement:
    """An answer to a part (the first one, if none is named)."""
    parts = ready.problem.parts
    named = parts[0] if part is None else ready.problem.part(part)
    assert named is not None
    return judge(ready, named, answer, **how)


# -- the self-tests of a whole set, as `gradcheck lint` runs them problem by problem ---------------


def self_test(problem_set: ProblemSet) -> list[Fault]:
    return [fault for problem in problem_set.problems for fault in _of(problem)]


def _of(problem: Problem) -> list[Fault]:
    if not problem.right and not problem.wrong:
        return []
    try:
        return find_faults(make_key(find_variant(problem, "")))
    except (GradcheckError, ValueError) as error:
        return [Fault(problem.id, "", None, "a key to judge by", str(error))]
