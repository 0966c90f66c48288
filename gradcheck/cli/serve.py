"""`gradcheck serve`: the sets as pages in a browser."""

import errno
import os
import socket
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from gradcheck.batch.ledger import lock_directory
from gradcheck.batch.roster import Roster, read_roster
from gradcheck.cli.group import command, to_directory, with_feedback
from gradcheck.cli.terminal import PATH, load_sets
from gradcheck.errors import GradcheckError
from gradcheck.problem.load import list_sets
from gradcheck.report.figures import pluralize

if TYPE_CHECKING:
    from gradcheck.web.practice import Practice

NEEDED = {"starlette": "starlette", "uvicorn": "uvicorn", "itsdangerous": "itsdangerous",
          "python_multipart": "python-multipart"}  # fmt: skip
LOOPBACK = ("127.0.0.1", "::1", "localhost")  # where nobody but this machine reaches
CONNECTIONS = 800  # at a time; a process may open 1,024 files, as a rule


SERVE_EXAMPLES = """gradcheck serve problems
gradcheck serve problems --port 8080 -o attempts --course roster.csv"""


@command(epilog=SERVE_EXAMPLES)
@click.argument("paths", nargs=-1, type=PATH)
@click.option("--host", default="127.0.0.1", show_default=True, help="Who may reach the pages.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@to_directory("Keep attempts in DIR, in the ledger that `gradcheck report` reads.")
@with_feedback("How much the hints tell of a mistake.")
@click.option(
    "--workers", type=click.IntRange(0), default=0, help="Processes that judge; 0: all cores."
)
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="A name of this server, for Host."
)
@click.option(
    "--course", type=PATH, metavar="FILE", help="A roster: who answers says the name and its code."
)
@click.option("--secure", is_flag=True, help="Behind https: the name is sent nowhere else.")
def serve(paths: tuple[Path, ...], host: str, port: int, **said: Any) -> None:
    """Practise in a browser: answers shown as they are understood, judged and diagnosed.

    Without PATHS the sets that come with gradcheck. Needs the extra `web`. The pages are for this
    machine alone unless --host says otherwise.
    """
    asked, read = SimpleNamespace(**said), load_sets(paths or tuple(list_sets()))
    if not hasattr(os, "fork"):
        raise GradcheckError("the pages need Linux or macOS, where a process can be copied")
    if lacking := ", ".join(name for module, name in NEEDED.items() if find_spec(module) is None):
        raise GradcheckError(f"{lacking} is not installed - pip install 'gradcheck[web]'")
    directory, roster = asked.directory, None
    if asked.course and not directory:
        raise click.UsageError("--course needs -o DIR: the codes are kept there, with the attempts")
    from gradcheck.batch.work import Course  # noqa: PLC0415
    from gradcheck.web.practice import Practice  # noqa: PLC0415
    from gradcheck.web.work import Queue  # noqa: PLC0415

    course = Course.of(read)
    for id in course.twice:
        click.echo(f"{id}: the id is used in two files - the first one is asked", err=True)
    if host not in LOOPBACK:
        risk = CODED if asked.course else NAMED
        click.echo(f"{host} is open to others: {risk} (then add --secure)", err=True)
    kept = f"attempts are kept in {directory}" if directory else "nothing is kept (see -o)"
    writing = nullcontext() if directory is None else lock_directory(directory)
    with writing, _open_socket(host, port) as listening:
        if asked.course:
            roster = _hand_out(asked.course, directory)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}/"
        click.echo(f"{address}  {pluralize(len(course.problems), 'problem')}; {kept}")
        queue = Queue(course.askings, processes=asked.workers)
        how = directory, asked.feedback, asked.secure, asked.hosts, roster
        _run(Practice(course, queue, *how), listening)


def _hand_out(course: Path, directory: Path) -> Roster:
    from gradcheck.web.guard import CODES, hand_out  # noqa: PLC0415

    roster = hand_out(read_roster(course), directory)
    count = pluralize(len(roster.codes), "student")
    click.echo(f"the codes of {count}, to be handed out: {directory / CODES}")
    return roster


def _run(practice: "Practice", listening: socket.socket) -> None:
    import uvicorn  # noqa: PLC0415

    from gradcheck.web.app import make_application  # noqa: PLC0415
    from gradcheck.web.guard import Patient  # noqa: PLC0415

    config = uvicorn.Config(
        make_application(practice),
        http=Patient,
        limit_concurrency=CONNECTIONS,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[listening])


def _open_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        cure = "choose another with --port" if error.errno == errno.EADDRINUSE else "see --host"
        raise GradcheckError(f"{host}:{port}: {error.strerror or error} - {cure}") from None


NAMED = (
    "there are no passwords, anybody may use any name - say --course ROSTER, or put it behind a "
    "proxy that speaks https and knows its students"
)
CODED = "codes can be read on their way - put it behind a proxy that speaks https"
