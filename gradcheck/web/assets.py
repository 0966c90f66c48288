"""The style, the script and the sign of the pages: files of the package, and nothing else."""

import hashlib
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

KINDS = {
    "style.css": "text/css; charset=utf-8",
    "practice.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
YEAR = "public, max-age=31536000, immutable"


@cache
def content(name: str) -> bytes:
    """The bytes of a file."""
    return (files("gradcheck.web") / "static" / name).read_bytes()


@cache
def address(name: str) -> str:
    """Where a file is, with what tells its version."""
    return f"/static/{name}?{hashlib.sha256(content(name)).hexdigest()[:12]}"


async def serve(request: Request) -> Response:
    """One of the files; those alone."""
    name = request.path_params["name"]
    if name not in KINDS:
        return PlainTextResponse("there is no such file", 404)
    return Response(content(name), media_type=KINDS[name], headers={"Cache-Control": YEAR})
