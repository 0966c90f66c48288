"""Commands run as a user runs them, and a set to run them on."""

from click.testing import CliRunner, Result

from gradcheck.cli import main
from tests.support.sets import set_of

CHAIN = set_of("chain")
SINE = set_of("sine")


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"COLUMNS": "120", "NO_COLOR": "1"})
