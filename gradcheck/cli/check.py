"""`gradcheck check`: is this derivative right? One answer, no file."""

import json
import re
import sys
from itertools import pairwise

import click

from gradcheck.answers.tokens import count_levels, tokenize
from gradcheck.cli.group import command
from gradcheck.cli.terminal import open_screen, show_judged
from gradcheck.errors import GradcheckError
from gradcheck.grading.key import make_key
from gradcheck.grading.marking import mark
from gradcheck.problem.draw import check_value, draw_given_point
from gradcheck.problem.load import make_question
from gradcheck.report.judgements import make_line, restrict

CODES = {"right": 0, "wrong": 1, "invalid": 2, "missing": 2, "needs-review": 3}
LIST = re.compile(r"(?:[^=\[(]*=)?\s*[\[(⟨<](?P<inner>.*)[\])⟩>]\s*(?:\^?T|ᵀ)?", re.DOTALL)
COMMA = re.compile(r"(?<!\d),|,(?!\d)|;")
WORST = (0, 3, 1, 2)  # the exit code of several parts is the last of these


@command(
    epilog="gradcheck check 'x**3 + 2*sin(x)' '3x^2 - 2cos x'",
    context_settings={  # an answer may begin with a minus, and have an h in it
        "ignore_unknown_options": True,
        "help_option_names": ["--help"],
    },
)
@click.argument("expression")
@click.argument("answer")
@click.argument("given", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--wrt", metavar="NAME", help="By which input, where there are several.")
@click.option("--json", "as_json", is_flag=True, help="The line of `grade --json`.")
def check(
    expression: str, answer: str, given: tuple[str, ...], wrt: str | None, as_json: bool
) -> None:
    """Judge one derivative without a file: right, or why not.

    ANSWER is typed mathematics or numbers, of several inputs in a list: `[2xy, x^2]`; an input
    without a value is drawn. Exit code 0: right, 1: wrong, 2: unreadable, 3: needs review.
    """
    problem = make_question(expression, given, [wrt] if wrt else ())
    check_value(problem, draw_given_point(problem))
    names = [part.name for part in problem.parts]
    answers = [answer] if len(names) == 1 else split_answers(answer)
    if len(answers) != len(names):
        known = ", ".join(names)
        cure = f"add --wrt {names[0]}, or give one for each: `[..., ...]`"
        raise GradcheckError(f"by which of {known} is `{answer}` meant? - {cure}")
    held, source = make_key(problem), problem.program.source
    codes = []
    for part, each in zip(problem.parts, answers, strict=True):
        said = restrict(make_line(mark(held, part, each), source), "full")
        if as_json:
            print(json.dumps(said, allow_nan=False))
        else:
            show_judged(open_screen(), said, source, after=f"  d/d{part.name} of {source}")
        codes.append(CODES[said["verdict"]])
    sys.exit(max(codes, key=WORST.index))


def split_answers(answer: str) -> list[str]:
    """The answers in `[2xy, x^2]`, `(2xy, x^2)` or `∇f = 2xy, x^2`."""
    found = LIST.fullmatch(answer)
    inner = found["inner"] if found else answer
    tokens, _ = tokenize(inner)
    outside = [t for t, level in zip(tokens, count_levels(tokens), strict=True) if level == 0]
    commas = [token.end for token in outside if COMMA.match(inner, token.start)]
    return [inner[a : b - 1].strip() for a, b in pairwise([0, *commas, len(inner) + 1])]
