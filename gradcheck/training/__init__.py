"""Programs that call `backward` themselves: events, the ledger of `.grad`, and their mistakes."""

from gradcheck.training.outputs import Output, kind_of, to_json
from gradcheck.training.preparing import Reference, run_and_judge
from gradcheck.training.trace import trace

__all__ = ["Output", "Reference", "kind_of", "run_and_judge", "to_json", "trace"]
