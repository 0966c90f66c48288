"""What every command shares: help that ends with examples, errors that end with a sentence."""

import signal
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from gradcheck.errors import GradcheckError

F = TypeVar("F", bound=Callable[..., object])
MALFORMED = 2
STOPPED = 130  # as a shell says of what SIGINT ended
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


class Exemplified(click.Command):
    """A command whose help ends with examples, as they would be typed."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the epilog line by line, unwrapped."""
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
        """Nothing is loaded yet."""
        super().__init__(*given, **named)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, which its module calls so."""
        if cmd_name not in self.lazy:
            return None
        module = import_module(f"gradcheck.cli.{self.lazy[cmd_name][0]}")
        found: click.Command = getattr(module, cmd_name.replace("help", "help_"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with its line."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.lazy.items()])

    def __call__(self, *given: Any, **named: Any) -> Any:
        """The process is this command: a Ctrl-C ends it, wherever it arrives."""
        try:
            return self.main(*given, **named)
        except KeyboardInterrupt:  # before a command has begun, or when it has ended
            click.echo("stopped", err=True)
            sys.exit(STOPPED)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command of that name; of an unknown one the nearest is said."""
        if args and args[0] not in self.lazy:
            close = get_close_matches(args[0], self.lazy, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"No such command '{args[0]}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what nobody foresaw is our fault, and said to be."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except GradcheckError as error:
            click.echo(error, err=True)
            sys.exit(MALFORMED)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            sys.exit(STOPPED)
        except Exception as error:  # noqa: BLE001 - told as our own
            from gradcheck.cli.screen import BROKEN, REPORTED, fault_of  # noqa: PLC0415

            click.echo(fault_of(error), err=True)
            click.echo(REPORTED, err=True)
            sys.exit(BROKEN)


command = partial(click.command, cls=Exemplified)


def to_directory(help: str, *, required: bool = False) -> Callable[[F], F]:
    """The option -o: the directory for what is written."""
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("-o", "directory", type=kind, required=required, metavar="DIR", help=help)


def with_feedback(help: str) -> Callable[[F], F]:
    """The option --feedback: how much is told of a mistake."""
    kind = click.Choice(["verdict", "class", "place", "full"])
    return click.option("--feedback", type=kind, default="full", show_default=True, help=help)


as_json_lines = click.option(
    "--json", "as_json", is_flag=True, help="JSON Lines on standard output."
)
