"""A script in the checked language as a problem: a lesson as it is written.

Nothing is imported and nothing but the checked tree is run; every `print` is kept, every
`backward()` judged, and the gradients of the leaves are the answers.
"""

import re
from collections.abc import Collection
from pathlib import Path

from gradcheck.errors import Complaint, TextError
from gradcheck.language import Program, check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.leaves import leaves
from gradcheck.language.rules.classes import members
from gradcheck.problem.asked import ERROR
from gradcheck.problem.record import Part, Problem, ProblemSet

ENDING = ".py"
PATH = re.compile(r"[.\[]")


def script(file: Path) -> ProblemSet:
    """The one problem of a script; raises TextError or OSError."""
    text = file.read_bytes()
    try:
        return ProblemSet("", (problem_of(text.decode(), file.stem, str(file)),), str(file), text)
    except UnicodeDecodeError:
        raise TextError([Complaint("not a text in UTF-8", "save it as one", str(file))]) from None


def is_script(problem: Problem) -> bool:
    """Whether a problem was a script, whose error is its end and no answer."""
    return problem.file.endswith(ENDING)


def problem_of(source: str, name: str, file: str = "") -> Problem:
    """A text as a problem: asked are the gradients of its leaves, and the error it ends in."""
    if not source.strip():
        raise TextError([Complaint("an empty script", "write one", file)])
    program = check_program(source, declared=(), vocabulary=VOCABULARY, file=file)
    kept = frozenset(members(program.tree.body))
    read = [
        *(_part(f"{leaf}.grad", PATH.split(leaf)[:1], kept) for leaf in leaves(program)),
        _part(ERROR, (ERROR,), kept),
    ]
    return Problem(name, "", "", {}, program, (), tuple(read), file=file)


def _part(read: str, declared: Collection[str], kept: Collection[str]) -> Part:
    """What is read when the script has ended."""
    asked: Program = check_program(read, declared=declared, vocabulary=VOCABULARY, kept=kept)
    return Part(read, 1.0, asked)
