"""`gradcheck help TOPIC`."""

import click
from rich.markdown import Markdown

from gradcheck.cli.screen import screen
from gradcheck.help import SECTIONS, read_page


def show_help(topic: str, group: click.Group) -> None:
    """Print a page: well set on a terminal, as it is in a pipe."""
    out, text = screen(), read_page(topic, group)
    if out.is_terminal:
        out.print(Markdown(text, code_theme="ansi_dark"))
    else:
        print(text, end="")


def list_topics(group: click.Group) -> None:
    """Print the topics by section, each with the title of its page."""
    for title, topics in SECTIONS.items():
        click.echo(f"\n{title}:")
        for topic in topics:
            heading = read_page(topic, group).partition("\n")[0].removeprefix("# ")
            click.echo(f"  {topic:16}{heading}")
