"""What a request says of who sent it: a name that somebody typed, in a signed cookie, no more.

Of a course each name has a code, and nobody is who does not know it.
"""

import base64
import csv
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from starlette.requests import Request

from gradcheck.batch.roster import NoName, Roster, student_name
from gradcheck.web.queue import Sender

if TYPE_CHECKING:
    from gradcheck.web.practice import Practice


COOKIE, TERM = "gradcheck_name", 120 * 86_400  # seconds after which a name is asked for again
SECRET, CODES = "serve.secret", "codes.csv"
CODE = 5  # bytes of a code: eight letters, of which nobody guesses one at a try a second


def practice_of(request: Request) -> "Practice":
    found: Practice = request.app.state.practice
    return found


def student_of(request: Request) -> str:
    """The name in the cookie, or nothing."""
    found = request.scope.get("session", {}).get("name", "")
    return found if isinstance(found, str) else ""


def sender_of(request: Request) -> Sender:
    """Whose turn it is: the student's, at an address."""
    return Sender(request.client.host if request.client else "", student_of(request))


def secret(directory: Path | None) -> str:
    """What signs names: kept in a file of the directory that nobody else may read.

    So names outlive the server.
    """
    if directory is None:
        return secrets.token_hex(32)
    path = directory / SECRET
    try:
        with _open_own(path, os.O_EXCL) as file:
            file.write(found := secrets.token_hex(32))
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    return found


def _open_own(path: Path, how: int) -> TextIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")


def hand_out(roster: Roster, directory: Path) -> Roster:
    """The roster with a code for everybody; those that were not given are the same every time.

    All stand in a file of the directory, to be handed out.
    """
    key = bytes.fromhex(secret(directory))
    codes = {student: given or _make_code(key, student) for student, given in roster.codes.items()}
    with _open_own(directory / CODES, os.O_TRUNC) as file:
        rows = [(each, roster.called[each], codes[each]) for each in codes]
        csv.writer(file).writerows([("student", "name", "code"), *rows])
    return replace(roster, codes=codes)


def _make_code(key: bytes, student: str) -> str:
    found = hmac.digest(key, f"code of {student}".encode(), hashlib.sha256)
    return base64.b32encode(found[:CODE]).decode()


def admit(roster: Roster | None, name: str, code: str) -> str:
    """The student of a name; NoName where there is none, or the code is another's.

    Without a roster anybody is who they say.
    """
    student = student_name(name)
    if roster is None:
        return student
    student = roster.student(student)
    known = roster.codes.get(student, "").upper()
    if not known or not hmac.compare_digest(known.encode(), code.strip().upper().encode()):
        raise NoName("this name and this code do not belong together: ask for your code again")
    return student


CELLS = 48  # entries of the largest grid


def cell(index: Sequence[int]) -> str:
    """The name of a grid's field."""
    return "-".join(["cell", *map(str, index)])


def has_grid(shape: Sequence[int]) -> bool:
    """Whether an answer of a shape may be typed entry by entry."""
    return len(shape) in (1, 2) and 0 < prod(shape) <= CELLS


def answer_of(form: Mapping[str, Any], shape: Sequence[int]) -> Any:
    """What was answered: the formula; the grid where that is empty; None where nothing was typed.

    The last line ends of a text field are no part of an answer.
    """
    text = str(form.get("answer", "")).replace("\r\n", "\n")
    if text.strip() or not has_grid(shape):
        return text if text.strip() else None
    typed = [str(form.get(cell(index), "")).strip() for index in np.ndindex(*shape)]
    return np.array(typed, dtype=object).reshape(shape).tolist() if any(typed) else None
