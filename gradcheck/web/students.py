"""Who is practising: a name that somebody typed, in a signed cookie, and nothing else."""

import os
import secrets
import unicodedata
from pathlib import Path

from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

COOKIE = "gradcheck_name"
LONGEST = 80
YEAR = 365 * 86_400
SECRET = "serve.secret"


class Names:
    """Signs names and reads them again."""

    def __init__(self, directory: Path | None) -> None:
        """The secret is kept in the directory, so that names outlive the server."""
        self.signed = URLSafeSerializer(_secret(directory), salt="gradcheck-name")

    def of(self, request: Request) -> str:
        """The name in a request's cookie; empty where there is none of ours."""
        try:
            found = self.signed.loads(request.cookies.get(COOKIE, ""))
        except BadSignature:
            return ""
        return found if isinstance(found, str) else ""

    def put(self, response: Response, name: str, secure: bool) -> None:
        """Give a name, or take it away where it is empty."""
        if not name:
            response.delete_cookie(COOKIE)
            return
        value = self.signed.dumps(name)
        response.set_cookie(
            COOKIE, value, max_age=YEAR, httponly=True, samesite="lax", secure=secure
        )


def plain_name(typed: str) -> str:
    """A name as it is kept: composed letters, single spaces, nothing invisible."""
    text = unicodedata.normalize("NFC", typed)
    seen = "".join(c if c.isprintable() and unicodedata.category(c) != "Cf" else " " for c in text)
    return " ".join(seen.split())[:LONGEST].strip()


def _secret(directory: Path | None) -> str:
    """What signs names: kept in a file of the directory that nobody else may read."""
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
