"""`gradcheck check`: is this derivative right? One answer, no file."""

import json
from collections.abc import Sequence

from rich.text import Text

from gradcheck.commands.screen import say, screen
from gradcheck.errors import GradcheckError
from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.problem.domain import check_value
from gradcheck.problem.draw import given_point
from gradcheck.problem.question import question
from gradcheck.report.classes import STYLES
from gradcheck.report.findings import findings
from gradcheck.report.judgements import line, told

CODES = {"right": 0, "wrong": 1, "invalid": 2, "missing": 2, "needs-review": 3}


def check_answer(
    expression: str, answer: str, given: Sequence[str], wrt: str | None, as_json: bool
) -> int:
    """Judge and diagnose one answer; the exit code of the command. Raises GradcheckError."""
    problem = question(expression, given, [wrt] if wrt else ())
    check_value(problem, given_point(problem))
    if len(problem.parts) > 1:
        names = ", ".join(problem.wrt)
        raise GradcheckError(
            f"by which of {names} is `{answer}` meant? - add --wrt {problem.wrt[0]}"
        )
    said = told(line(mark(key(problem), problem.parts[0], answer), problem.program.source), "full")
    if as_json:
        print(json.dumps(said, allow_nan=False))
        return CODES[said["verdict"]]
    out = screen()
    head = Text(said["verdict"], style=f"bold {STYLES[said['verdict']]}")
    head.append(f"  d/d{said['part']} of {problem.program.source}", style="not bold default")
    out.print(head, soft_wrap=True)
    if said["understood"]:
        say(out, f"understood  {said['understood']}")
    for words in findings(said, problem.program.source):
        say(out, words)
    for remark in said["remarks"] or ():
        say(out, remark, "dim")
    return CODES[said["verdict"]]
