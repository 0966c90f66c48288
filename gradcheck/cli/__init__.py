"""The commands, each in a module that is loaded when it is asked for."""

import atexit
import gc
import os

import click

from gradcheck.cli.group import Careful, open_streams

COLLECT_EVERY = 200_000
"""Objects between two collections, mypy's number: what is imported stays, and to search it took a
tenth of a `solve`; Python's own 700 are for programs that make less at once."""
EXAMPLES = """gradcheck solve problems/first-derivatives.yaml
gradcheck grade problems/first-derivatives.yaml answers.yaml
gradcheck check 'x**3 + 2*sin(x)' '3x^2 - 2cos x'"""
COMMANDS = {  # the module of each, and the first line of its help
    "solve": ("solve", "Ask three opinions for a gradient; say where they agree."),
    "check": ("check", "Judge one derivative without a file: right, or why not."),
    "serve": ("serve", "Practise in a browser: answers are understood, judged and diagnosed."),
    "grade": ("grade", "Judge and diagnose answers: right, or wrong with a witness and a name."),
    "mark": ("grade", "Give points by hand, which stand whatever is graded again."),
    "report": ("grade", "Render a graded batch again, from its ledger alone."),
    "lint": ("author", "Say what a problem could never reveal, and run its self-tests."),
    "variants": ("author", "Write each student's sheet, with numbers of their own."),
    "generate": ("author", "Write a set of practice problems, solved and with self-tests."),
    "ops": ("catalogues", "List the functions that have a derivative."),
    "mistakes": ("catalogues", "List the mistakes that can be named, with an example each."),
    "schema": ("catalogues", "Print the JSON Schema of problem files, for editors."),
    "help": ("catalogues", "Read about a topic; without one, list the topics."),
}


@click.group(
    cls=Careful,
    lazy=COMMANDS,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="gradcheck")
def main() -> None:
    """Check derivatives with three independent opinions, and name the mistakes."""
    open_streams()
    gc.set_threshold(COLLECT_EVERY)
    atexit.register(gc.freeze)  # a last search of what ends anyway took a fifth of a `solve`
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait cost a tenth of a second
