"""`gradcheck generate`: a problem set by rule and level, on standard output."""

import sys
from collections.abc import Sequence
from itertools import islice

import click

from gradcheck.cli.group import command
from gradcheck.errors import GradcheckError
from gradcheck.mistakes import CATALOGUE
from gradcheck.practice import exercises
from gradcheck.practice.drawing import listed
from gradcheck.problem.section import misspelled
from gradcheck.report.figures import counted

DONE, FAILED = 0, 2


GENERATE_EXAMPLES = """gradcheck generate --rules chain,product --level 2 --count 5
gradcheck generate --reveals missing-inner-derivative > practice.yaml"""


@command(epilog=GENERATE_EXAMPLES)
@click.option("--rules", default="", metavar="NAMES", help="power, sum, product, chain, ...")
@click.option("--level", type=click.IntRange(1, 3), help="1: the rule alone, 3: several in one.")
@click.option("--count", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N")
@click.option("--reveals", default="", metavar="MISTAKE-ID", help="Each must show this mistake.")
@click.option("--seed", type=int, default=0, metavar="N", help="Another seed, other problems.")
def generate(rules: str, level: int | None, count: int, reveals: str, seed: int) -> None:
    """Write a set of practice problems, solved and with self-tests, to standard output.

    Without --rules all of them in turn, without --level from easy to hard. Exit code 0: written,
    2: there is no such rule or mistake.
    """
    names = [name.strip() for name in rules.split(",") if name.strip()]
    _check(reveals)
    found = list(islice(exercises(names, level, seed, reveals), count))
    click.echo(listed(_title(names, level, reveals), [each.entry for each in found]), nl=False)
    if len(found) < count:
        click.echo(f"{counted(len(found), 'problem')}: there are no more of this kind", err=True)
    sys.exit(DONE if found else FAILED)


def _check(mistake: str) -> None:
    """Raise GradcheckError for a mistake that is not in the catalogue."""
    known = {row.id for row in CATALOGUE} | {"brackets-missing"}
    if mistake and mistake not in known:
        hint = misspelled(mistake) or "see `gradcheck mistakes`"
        raise GradcheckError(f"no mistake is called {mistake} - {hint}")


def _title(names: Sequence[str], at: int | None, reveals: str) -> str:
    about = ", ".join(names) or "all rules"
    level = f", level {at}" if at else ""
    shows = f", to reveal {reveals}" if reveals else ""
    return f'"Practice: {about}{level}{shows}"'
