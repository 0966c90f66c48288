"""Programs that call `backward` themselves: events, the ledger of `.grad`, and their mistakes."""

from gradcheck.training.events import Event, Judged
from gradcheck.training.outputs import Value, kind_of, shown
from gradcheck.training.preparing import Reference, prepared
from gradcheck.training.trace import Trace, is_training, trace

__all__ = [
    "Event",
    "Judged",
    "Reference",
    "Trace",
    "Value",
    "is_training",
    "kind_of",
    "prepared",
    "shown",
    "trace",
]
