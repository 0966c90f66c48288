"""`gradcheck generate`: a problem set by rule and level, on standard output."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import click

from gradcheck.errors import GradcheckError
from gradcheck.mistakes import CATALOGUE
from gradcheck.practice import exercises
from gradcheck.practice.writing import listed
from gradcheck.problem.load import misspelled

DONE, FAILED = 0, 2


@dataclass(frozen=True)
class How:
    """The options of `gradcheck generate`."""

    rules: str = ""
    level: int | None = None
    count: int = 10
    reveals: str = ""
    seed: int = 0


def generate(how: How) -> int:
    """Print a set of problems; the exit code of the command. Raises GradcheckError."""
    names = [name.strip() for name in how.rules.split(",") if name.strip()]
    _check(how.reveals)
    found = list(islice(exercises(names, how.level, how.seed, how.reveals), how.count))
    click.echo(listed(_title(names, how), [each.entry for each in found]), nl=False)
    if len(found) < how.count:
        click.echo(f"{len(found)} problems: there are no more of this kind", err=True)
    return DONE if found else FAILED


def _check(mistake: str) -> None:
    """Raise GradcheckError for a mistake that is not in the catalogue."""
    known = {row.id for row in CATALOGUE} | {"brackets-missing"}
    if mistake and mistake not in known:
        hint = misspelled(mistake) or "see `gradcheck mistakes`"
        raise GradcheckError(f"no mistake is called {mistake} - {hint}")


def _title(names: Sequence[str], how: How) -> str:
    """What the set is called."""
    about = ", ".join(names) or "all rules"
    level = f", level {how.level}" if how.level else ""
    shows = f", to reveal {how.reveals}" if how.reveals else ""
    return f'"Practice: {about}{level}{shows}"'
