"""How many wrong answers are named, and how much is said of answers that no mistake gave.

`python -m tests.benchmarks diagnosis [FUNCTIONS] [SEED]`: 500 functions take about a minute.
"""

import sys

from tests.support.heldout import accused, held_out, table
from tests.support.nets import summary


def main() -> None:
    """Print the table, and what was missed most often."""
    count, seed = (int(word) for word in (*sys.argv[1:], *("500", "1")[len(sys.argv) - 1 :]))
    one, two, right = held_out(seed, count)
    print(table(one, two, right, accused(seed + 50, count)))
    print(summary())
    for name, missed in one.missed.most_common(10):
        print(f"{missed:5}  not named: {name}")
