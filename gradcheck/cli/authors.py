"""An author's commands: test a problem, write each student's sheet, generate practice."""

import sys
from pathlib import Path
from typing import Any

import click

from gradcheck.cli.files import named, problems, sets
from gradcheck.cli.group import EXISTING, command, to_directory


@command(epilog="gradcheck lint problems/chain-rule.yaml")
@named
@click.option("--self-tests-only", is_flag=True, help="Only run the right: and wrong: entries.")
def lint(paths: tuple[Path, ...], self_tests_only: bool) -> None:
    """Say which mistakes a problem could never reveal or tell apart, and run its self-tests.

    Exit code 0: clean, 1: findings, 2: malformed.
    """
    chosen = problems(paths)
    from gradcheck.commands.lint import lint_all  # noqa: PLC0415

    sys.exit(lint_all(chosen, self_tests_only))


VARIANTS_EXAMPLE = "gradcheck variants problems/variants.yaml --students roster.csv -o sheets"


@command(epilog=VARIANTS_EXAMPLE)
@named
@click.option("--students", type=EXISTING, required=True, metavar="ROSTER", help="CSV of students.")
@to_directory("Where the sheets go.", required=True)
def variants(paths: tuple[Path, ...], students: Path, directory: Path) -> None:
    """Write each student's sheet, with numbers of their own, as HTML and Markdown.

    ROSTER has a column `student` (and `name`, what people call them). Numbers are drawn from the
    name: `gradcheck grade` finds the same ones. Exit code 0: written, 2: it cannot be.
    """
    read = sets(paths)
    from gradcheck.commands import variants as sheets  # noqa: PLC0415

    sys.exit(sheets.write_variants(read, students, directory))


GENERATE_EXAMPLES = """gradcheck generate --rules chain,product --level 2 --count 5
gradcheck generate --reveals missing-inner-derivative > practice.yaml"""


@command(epilog=GENERATE_EXAMPLES)
@click.option("--rules", default="", metavar="NAMES", help="power, sum, product, chain, ...")
@click.option("--level", type=click.IntRange(1, 3), help="1: the rule alone, 3: several in one.")
@click.option("--count", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N")
@click.option("--reveals", default="", metavar="MISTAKE-ID", help="Each must show this mistake.")
@click.option("--seed", type=int, default=0, metavar="N", help="Another seed, other problems.")
def generate(**how: Any) -> None:
    """Write a set of practice problems, solved and with self-tests, to standard output.

    Without --rules all of them in turn, without --level from easy to hard. Exit code 0: written,
    2: there is no such rule or mistake.
    """
    from gradcheck.commands import generate as generating  # noqa: PLC0415

    sys.exit(generating.generate(generating.How(**how)))
