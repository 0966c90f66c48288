"""The nursery of workers, with tasks that run away: no answer that is known does it for long."""

import os
import sys

from gradcheck.web import nursery
from gradcheck.web.work import Work


class Hostile(Work):
    """Work that never ends, eats memory, or kills its worker."""

    def loop(self) -> None:
        """Computes in C, where no signal handler of Python runs."""
        pow(3, 10**9)

    def eat(self) -> str:
        """Takes all memory there is."""
        return "x" * 10**12

    def die(self) -> None:
        """Ends its process."""
        os.abort()


if __name__ == "__main__":
    nursery.Work = Hostile
    nursery.main(int(sys.argv[1]))
