"""Programs that call `backward` themselves: events, the ledger of `.grad`, and their mistakes."""

from gradcheck.training.outputs import Value, kind_of, shown
from gradcheck.training.preparing import Reference, prepared
from gradcheck.training.trace import trace

__all__ = [
    "Reference",
    "Value",
    "kind_of",
    "prepared",
    "shown",
    "trace",
]
