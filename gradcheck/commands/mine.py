"""`gradcheck mine`: what stands behind the answers that no mistake of the catalogue gives."""

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click
from rich.text import Text

from gradcheck.batch.ledger import NAME, Ledger
from gradcheck.batch.mining import Group, mined
from gradcheck.commands.screen import screen
from gradcheck.errors import GradcheckError
from gradcheck.report.findings import visible

DONE, FAILED = 0, 2
SHOWN = 3  # spellings of one group


def mine(directory: Path, as_json: bool) -> int:
    """Show the groups of a batch; the exit code of the command."""
    if not (directory / NAME).is_file():
        click.echo(f"{directory}: no graded batch is here - `gradcheck grade` makes one", err=True)
        return FAILED
    try:
        with closing(Ledger(directory / NAME, readonly=True)) as ledger:
            groups = mined(ledger)
    except (GradcheckError, sqlite3.Error) as error:
        click.echo(str(error), err=True)
        return FAILED
    if as_json:
        for group in groups:
            print(json.dumps(asdict(group) | {"count": group.count}))
        return DONE
    out = screen()
    for group in groups:
        for line in _told(group):
            out.print(line, soft_wrap=True)
    if not groups:
        out.print("every wrong answer has a name")
    return DONE


def _told(group: Group) -> list[Text]:
    """How many, to what, the answers, and the program that they are the derivative of."""
    head = Text(f"{group.count}x  {group.problem}.{group.part}", style="bold")
    head.append(f"  {' '.join(group.program.split())}", style="not bold dim")
    texts = sorted(group.answers, key=lambda text: (-group.answers[text], text))
    more = f"  (and {len(texts) - SHOWN} other spellings)" if len(texts) > SHOWN else ""
    lines = [head, Text(f"  {visible('  =  '.join(texts[:SHOWN]))}{more}")]
    if group.proposed:
        lines.append(Text(f"  as if the program were  {group.proposed}"))
    return lines
