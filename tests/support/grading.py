"""Problems and judgements for the tests of grading, each problem prepared once."""

from functools import cache

from gradcheck.grading.judgement import Judgement
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, key
from gradcheck.problem import load_text


@cache
def keyed(text: str) -> Key:
    return key(load_text(text).problems[0])


def scalar(program: str, x: float | str = 1.5) -> Key:
    return keyed(f"id: t\ninputs: {{x: {x}}}\nprogram: {program}\n")


def judged(ready: Key, answer: object, part: str | None = None, **how: bool) -> Judgement:
    """An answer to a part (the first one, if none is named)."""
    parts = ready.problem.parts
    named = parts[0] if part is None else ready.problem.part(part)
    assert named is not None
    return judge(ready, named, answer, **how)
