"""`gradcheck solve lesson.py`: a script in the checked language, judged as a problem is.

Nothing is imported and nothing but the checked tree is run; every `print` is shown, every
`backward()` judged, and the gradients of the leaves are the answers.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from gradcheck.commands.screen import screen
from gradcheck.errors import Complaint, GradcheckError, TextError
from gradcheck.language import Program, check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.leaves import leaves
from gradcheck.problem import Problem
from gradcheck.problem.record import Part
from gradcheck.report.training import training_line, training_report
from gradcheck.training import Reference, prepared
from gradcheck.training.trace import ERROR

AGREE, ENDED, MALFORMED, DISSENT = 0, 1, 2, 3
ENDING = ".py"


def solve_scripts(files: Sequence[Path], as_json: bool, with_steps: bool) -> int:
    """Judge each script and show it; the gravest exit code of all.

    0: every backward call agrees, 1: a script ends in an error, 2: one cannot be read, 3: dissent.
    """
    out, err = screen(), screen(stderr=True)
    return max((_solved(file, as_json, with_steps, out, err) for file in files), default=AGREE)


def _solved(file: Path, as_json: bool, with_steps: bool, out: Console, err: Console) -> int:
    try:
        problem = script(file)
        asked = prepared(problem)
    except UnicodeDecodeError:
        err.print(f"{file}: not a text in UTF-8", markup=False, soft_wrap=True)
        return MALFORMED
    except (GradcheckError, OSError) as error:
        err.print(str(error), markup=False, soft_wrap=True)
        return MALFORMED
    if as_json:
        print(_line(problem, asked), flush=True)
    else:
        out.print(training_report(problem, asked, with_steps))
    if asked.trace.error is not None:
        err.print(str(asked.trace.error), markup=False, soft_wrap=True)
    if asked.verdict == "dissent":
        return DISSENT
    return AGREE if asked.trace.error is None else ENDED


def script(file: Path) -> Problem:
    """A script as a problem without inputs; raises TextError, OSError or UnicodeDecodeError."""
    return problem_of(file.read_text(encoding="utf-8"), file.stem, str(file))


def problem_of(source: str, name: str, file: str = "") -> Problem:
    """A text as a problem: asked are the gradients of its leaves, and the error it ends in."""
    if not source.strip():
        raise TextError([Complaint("an empty script", "write one", file)])
    program = check_program(source, declared=(), vocabulary=VOCABULARY, file=file)
    own = leaves(program)
    parts = tuple(_part(f"{leaf}.grad", own) for leaf in own)
    return Problem(name, "", "", {}, program, (), (*parts, _part(ERROR, (ERROR,))), file=file)


def _part(read: str, declared: Sequence[str]) -> Part:
    """What is read when the script has ended."""
    asked: Program = check_program(read, declared=declared, vocabulary=VOCABULARY)
    return Part(read, 1.0, asked)


def _line(problem: Problem, asked: Reference) -> str:
    """The line of `--json`: that of a problem, with what was printed and the error."""
    error = asked.trace.error
    line = json.loads(training_line(problem, asked))
    line |= {"printed": asked.trace.printed, "error": None if error is None else str(error)}
    return json.dumps(line, ensure_ascii=False, allow_nan=False)
