"""The commands. Everything heavy is imported inside a command, so that --help answers at once."""

import atexit
import gc
import os

import click

from gradcheck.cli.authors import generate, lint, variants
from gradcheck.cli.catalogues import help_, mistakes, ops, schema
from gradcheck.cli.graders import grade, mark, report
from gradcheck.cli.group import Careful
from gradcheck.cli.students import check, serve, solve

YOUNG = 200_000
"""Objects between two collections, mypy's number: what is imported stays, and to search it took a
tenth of a `solve`; Python's own 700 are for programs that make less at once."""
EXAMPLES = """gradcheck solve problems/first-derivatives.yaml
gradcheck grade problems/first-derivatives.yaml answers.yaml
gradcheck check 'x**3 + 2*sin(x)' '3x^2 - 2cos x'"""
STUDENTS, GRADERS = (solve, check, serve), (grade, mark, report)
AUTHORS, CATALOGUES = (lint, variants, generate), (ops, mistakes, schema, help_)


@click.group(
    cls=Careful,
    commands=[*STUDENTS, *GRADERS, *AUTHORS, *CATALOGUES],
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="gradcheck")
def main() -> None:
    """Check derivatives with three independent opinions, and name the mistakes."""
    gc.set_threshold(YOUNG)
    atexit.register(gc.freeze)  # a last search of what ends anyway took a fifth of a `solve`
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait cost a tenth of a second
