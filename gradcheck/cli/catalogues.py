"""What there is to look up: ops, mistakes, the schema of problem files, pages of help.

MkDocs calls the functions `on_...` while it builds the pages of help as a site.
"""

from typing import TYPE_CHECKING, Any

import click

from gradcheck.cli.group import command
from gradcheck.help import PROMISED, SECTIONS, TOPICS, fill_lists, read_page

if TYPE_CHECKING:
    from rich.console import RenderableType


@command(epilog="gradcheck ops")
def ops() -> None:
    """List the functions that have a derivative, with their domains and kinks."""
    from gradcheck.report.catalogues import make_ops_table  # noqa: PLC0415

    _print(make_ops_table())


@command(epilog="gradcheck mistakes")
def mistakes() -> None:
    """List the mistakes that can be named, with an example each."""
    from gradcheck.report.catalogues import make_mistakes_page  # noqa: PLC0415

    _print(make_mistakes_page())


@command(epilog="gradcheck schema > problem-schema.json")
def schema() -> None:
    """Print the JSON Schema of problem files, for editors."""
    import json  # noqa: PLC0415

    from gradcheck.problem.model import make_schema as form  # noqa: PLC0415

    click.echo(json.dumps(form(), indent=2))


@command(name="help", epilog="gradcheck help answers")
@click.argument("topic", required=False, type=click.Choice(TOPICS), metavar="TOPIC")
@click.pass_context
def help_(ctx: click.Context, topic: str | None) -> None:
    """Read about a topic; without one, list the topics."""
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    if topic is not None:
        _show_page(read_page(topic, group))
        return
    click.echo(ctx.find_root().get_help())
    for title, topics in SECTIONS.items():
        click.echo(f"\n{title}:")
        for each in topics:
            heading = read_page(each, group).partition("\n")[0].removeprefix("# ")
            click.echo(f"  {each:16}{heading}")


def _show_page(text: str) -> None:
    from rich.markdown import Markdown  # noqa: PLC0415

    from gradcheck.cli.terminal import open_screen  # noqa: PLC0415

    if open_screen().is_terminal:
        _print(Markdown(text, code_theme="ansi_dark"))
    else:
        print(text, end="")


def _print(shown: "RenderableType") -> None:
    from gradcheck.cli.terminal import open_screen  # noqa: PLC0415

    open_screen().print(shown)


def on_config(config: Any) -> Any:
    """Give MkDocs the pages in the order of their sections."""
    config.nav = [
        {"gradcheck": "index.md"},
        *({title: [f"{topic}.md" for topic in topics]} for title, topics in SECTIONS.items()),
    ]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the lists of a page; the API is written out from its docstrings."""
    from gradcheck.cli import main  # noqa: PLC0415

    api = "\n\n".join(f"::: {home}.{name}" for home, names in PROMISED.items() for name in names)
    return fill_lists(markdown, main, lambda: api)
