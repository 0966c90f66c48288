"""What every command shares: help that ends with examples, errors that end with a sentence."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from gradcheck.errors import OURS, GradcheckError

F = TypeVar("F", bound=Callable[..., object])
FINE, FOUND, MALFORMED, IN_DOUBT = 0, 1, 2, 3
"""The exit codes: nothing to mend; wrong, a finding; unreadable; a dissent, a review."""
BROKEN = 70  # a fault of our own: sysexits' EX_SOFTWARE
STOPPED = 130  # as a shell says of what SIGINT ended
REPORTED = "please report it with the files; GRADCHECK_TRACEBACK=1 shows where it happened"
LONGEST = 300  # characters of an error that is no sentence of ours


class Exemplified(click.Command):
    """A command whose help ends with examples, as they would be typed."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            formatter.write_paragraph()
            with formatter.section("Example"):
                for line in self.epilog.splitlines():
                    formatter.write(f"  {line}\n")


class Careful(Exemplified, click.Group):
    """Commands that end with a sentence, whatever happens: no traceback reaches a user.

    Each is loaded when it is asked for, so that --help answers at once: `lazy` has the module of
    each command and what it does in a line.
    """

    def __init__(self, *given: Any, lazy: Mapping[str, tuple[str, str]], **named: Any) -> None:
        super().__init__(*given, **named)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        module = import_module(f"gradcheck.cli.{self.lazy[cmd_name][0]}")
        found: click.Command = getattr(module, cmd_name.replace("help", "help_"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.lazy.items()])

    def __call__(self, *given: Any, **named: Any) -> Any:
        """The process is this command: a Ctrl-C ends it, wherever it arrives."""
        try:
            return self.main(*given, **named)
        except KeyboardInterrupt:  # before a command has begun, or when it has ended
            click.echo("stopped", err=True)
            sys.exit(STOPPED)
        except OSError as error:  # of --help, for which there is no disk
            click.echo(explain(error)[1], err=True)
            sys.exit(MALFORMED)
        finally:
            if not given:  # else it is called by somebody's own process, which goes on
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command of that name; of an unknown one the nearest is said."""
        if args and args[0] not in self.lazy:
            hint = suggest(args[0], self.lazy)
            raise click.UsageError(f"No such command '{args[0]}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what nobody foresaw is our fault, and said to be."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            sys.exit(STOPPED)
        except Exception as error:  # noqa: BLE001 - told as our own
            from gradcheck.report.figures import escape_controls  # noqa: PLC0415

            code, words = explain(error)
            click.echo(escape_controls(words), err=True)
            sys.exit(code)


def open_streams() -> None:
    """Make standard streams that take every sign, and a width that is one, whatever is set."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # whoever called has closed it
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - until the end
        elif mode == "w" and getattr(stream, "errors", "") in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")
    if not os.environ.get("COLUMNS", "1").strip("0").isdecimal():
        del os.environ["COLUMNS"]  # of 0 rich would print nothing


def explain(error: Exception, *theirs: type[Exception]) -> tuple[int, str]:
    """The exit code of an error, and what is said: of ours, and `theirs`, what it says itself.

    A fault of our own is raised where somebody asks to see where it happened.
    """
    if isinstance(error, (GradcheckError, *theirs)):
        return MALFORMED, str(error)
    if isinstance(error, OSError) and (error.filename or error.errno == errno.ENOSPC):
        return MALFORMED, f"{error.filename or 'standard output'}: {error.strerror}"
    if os.environ.get("GRADCHECK_TRACEBACK"):
        raise error
    words = " ".join(str(error).split())[:LONGEST]
    return BROKEN, f"{OURS}: {type(error).__name__}: {words}\n{REPORTED}"


def suggest(name: str, known: Collection[str]) -> str:
    """The known name that is nearly meant, as click would ask."""
    close = get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


# -- options ---------------------------------------------------------------------------------------

command = partial(click.command, cls=Exemplified)
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
as_json_lines = click.option(
    "--json", "as_json", is_flag=True, help="JSON Lines on standard output."
)


def to_directory(help: str, *names: str, required: bool = False) -> Callable[[F], F]:
    """The option -o: the directory for what is written."""
    kind = click.Path(file_okay=False, path_type=Path)
    names = names or ("-o", "directory")
    return click.option(*names, type=kind, required=required, metavar="DIR", help=help)


def with_feedback(help: str) -> Callable[[F], F]:
    """The option --feedback: how much is told of a mistake."""
    from gradcheck.report.judgements import LEVELS  # noqa: PLC0415 - of the commands that grade

    kind = click.Choice(LEVELS)
    return click.option("--feedback", type=kind, default=LEVELS[-1], show_default=True, help=help)
