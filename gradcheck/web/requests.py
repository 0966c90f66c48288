"""What a request says of who sent it: a name that somebody typed, in a signed cookie, no more."""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

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
