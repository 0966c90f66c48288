"""`gradcheck serve`: the sets as pages in a browser."""

import errno
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from gradcheck.batch.lock import only_writer
from gradcheck.errors import GradcheckError
from gradcheck.problem import ProblemSet

NEEDED = {"starlette": "starlette", "uvicorn": "uvicorn", "itsdangerous": "itsdangerous",
          "python_multipart": "python-multipart"}  # fmt: skip
DONE, FAILED = 0, 2
CONNECTIONS = 800  # at a time; a process may open 1,024 files, as a rule


@dataclass(frozen=True)
class How:
    """The options of `gradcheck serve`."""

    host: str = "127.0.0.1"
    port: int = 8000
    directory: Path | None = None
    feedback: str = "full"
    workers: int = 0
    secure: bool = False
    hosts: tuple[str, ...] = ()


class Lacking(GradcheckError):
    """Packages that only the pages need."""


def serve(sets: Sequence[ProblemSet], how: How) -> int:
    """Serve until somebody stops it; the exit code of the command."""
    lacking = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if lacking:
        raise Lacking(f"{', '.join(lacking)} is not installed - pip install 'gradcheck[web]'")
    with ExitStack() as stack:
        if how.directory is not None:
            try:
                how.directory.mkdir(0o700, parents=True, exist_ok=True)
                stack.enter_context(only_writer(how.directory))
            except OSError as error:
                raise GradcheckError(f"{how.directory}: cannot be written: {error}") from None
        _run(sets, how)
    return DONE


def _run(sets: Sequence[ProblemSet], how: How) -> None:
    """Everything that needs the extra packages."""
    import uvicorn  # noqa: PLC0415

    from gradcheck.web.app import application  # noqa: PLC0415
    from gradcheck.web.course import Course  # noqa: PLC0415
    from gradcheck.web.guard import Patient, is_loopback  # noqa: PLC0415
    from gradcheck.web.pool import Pool  # noqa: PLC0415
    from gradcheck.web.practice import Practice, Settings  # noqa: PLC0415

    course = Course.of(sets)
    for id in course.twice:
        click.echo(f"{id}: the id is used in two files - the first one is asked", err=True)
    if not is_loopback(how.host):
        click.echo(OPEN.format(host=how.host), err=True)
    pool = Pool(course.askings, processes=how.workers)
    settings = Settings(how.directory, how.feedback, how.secure, how.hosts)
    app = application(Practice(course, pool, settings))
    kept = f"attempts are kept in {how.directory}" if how.directory else "nothing is kept (see -o)"
    with _listening(how.host, how.port) as listening:
        host = f"[{how.host}]" if ":" in how.host else how.host
        port = listening.getsockname()[1]
        click.echo(f"http://{host}:{port}/  {len(course.problems)} problems; {kept}")
        config = uvicorn.Config(
            app,
            http=Patient,
            limit_concurrency=CONNECTIONS,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """A socket at the address; raises GradcheckError where there cannot be one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        cure = "choose another with --port" if error.errno == errno.EADDRINUSE else "see --host"
        raise GradcheckError(f"{host}:{port}: {error.strerror or error} - {cure}") from None


OPEN = (
    "{host} is open to others: there are no passwords, anybody may use any name - "
    "put it behind a proxy that speaks https and knows its students (then add --secure)"
)
