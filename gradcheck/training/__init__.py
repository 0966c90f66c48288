"""Programs that call `backward` themselves: events, the ledger of `.grad`, and their mistakes."""

from gradcheck.training.outputs import Output
from gradcheck.training.preparing import Reference, run_and_judge

__all__ = ["Output", "Reference", "run_and_judge"]
