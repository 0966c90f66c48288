"""Programs that call `backward` themselves: events, the ledger of `.grad`, and their mistakes."""

from gradcheck.training.asked import Value, same, shown
from gradcheck.training.events import Event, Judged, judged
from gradcheck.training.making import Diagnosing, diagnosing
from gradcheck.training.trace import Trace, is_training, point_of, trace

__all__ = [
    "Diagnosing",
    "Event",
    "Judged",
    "Trace",
    "Value",
    "diagnosing",
    "is_training",
    "judged",
    "point_of",
    "same",
    "shown",
    "trace",
]
