"""What there is to look up: ops, mistakes, the schema of problem files, pages of help."""

from typing import TYPE_CHECKING

import click

from gradcheck.cli.group import command
from gradcheck.help import TOPICS

if TYPE_CHECKING:
    from rich.console import RenderableType


@command(epilog="gradcheck ops")
def ops() -> None:
    """List the functions that have a derivative, with their domains and kinks."""
    from gradcheck.report.catalogues import ops_table  # noqa: PLC0415

    _print(ops_table())


@command(epilog="gradcheck mistakes")
def mistakes() -> None:
    """List the mistakes that can be named, with an example each."""
    from gradcheck.report.catalogues import mistakes_page  # noqa: PLC0415

    _print(mistakes_page())


@command(epilog="gradcheck schema > problem-schema.json")
def schema() -> None:
    """Print the JSON Schema of problem files, for editors."""
    import json  # noqa: PLC0415

    from gradcheck.problem.model import schema as form  # noqa: PLC0415

    click.echo(json.dumps(form(), indent=2))


@command(name="help", epilog="gradcheck help answers")
@click.argument("topic", required=False, type=click.Choice(TOPICS), metavar="TOPIC")
@click.pass_context
def help_(ctx: click.Context, topic: str | None) -> None:
    """Read about a topic; without one, list the topics."""
    from gradcheck.cli.help import list_topics, show_help  # noqa: PLC0415

    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    if topic is None:
        click.echo(ctx.find_root().get_help())
        list_topics(group)
    else:
        show_help(topic, group)


def _print(shown: "RenderableType") -> None:
    from gradcheck.cli.screen import screen  # noqa: PLC0415

    screen().print(shown)
