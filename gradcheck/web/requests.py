"""What a request says of who sent it: a name that somebody typed, in a signed cookie, no more."""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from gradcheck.web.pool import Sender

if TYPE_CHECKING:
    from gradcheck.web.practice import Practice


COOKIE, TERM = "gradcheck_name", 120 * 86_400  # seconds after which a name is asked for again
SECRET = "serve.secret"


def practice_of(request: Request) -> "Practice":
    """The server's state."""
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
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(found := secrets.token_hex(32))
    return found


CELLS = 48  # entries of the largest grid


def cell(index: Sequence[int]) -> str:
    """The name of a grid's field."""
    return "-".join(["cell", *map(str, index)])


def has_grid(shape: Sequence[int]) -> bool:
    """Whether an answer of a shape may be typed entry by entry."""
    size = 1
    for length in shape:
        size *= length
    return len(shape) in (1, 2) and 0 < size <= CELLS


def answer_of(form: Mapping[str, Any], shape: Sequence[int]) -> Any:
    """What was answered: the formula; the grid where that is empty; None where nothing was typed.

    The last line ends of a text field are no part of an answer.
    """
    text = str(form.get("answer", "")).replace("\r\n", "\n")
    if text.strip() or not has_grid(shape):
        return text if text.strip() else None
    return _cells(form, shape, ()) if any(_typed_cells(form)) else None


def _typed_cells(form: Mapping[str, Any]) -> Iterator[str]:
    """What stands in the cells of a grid, but for empty ones."""
    for name, value in form.items():
        if name.startswith("cell-") and str(value).strip():
            yield str(value)


def _cells(form: Mapping[str, Any], shape: Sequence[int], place: tuple[int, ...]) -> Any:
    if not shape:
        return str(form.get(cell(place), "")).strip()
    return [_cells(form, shape[1:], (*place, k)) for k in range(shape[0])]
