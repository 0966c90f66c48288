"""Every backward call of a program, judged by the three opinions.

The closed form and the differences never see the tape's own gradient: they are asked about what the
tape recorded on the way forward. What the engine added to the ledger must be what they find.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from gradcheck.opinions.opinion import Case
from gradcheck.opinions.symbolic import symbolic
from gradcheck.training.ledger import BackwardCall
from gradcheck.verdict.consult import Verdict
from gradcheck.verdict.passes import judge_pass


@dataclass(frozen=True, eq=False)
class Event:
    """A backward call, its question (None where none can be asked) and what the opinions say."""

    call: BackwardCall
    case: Case | None
    verdict: Verdict

    @property
    def label(self) -> str:
        """What the event is called, counted as a reader does."""
        return f"backward call {self.call.number + 1}"

    @property
    def names(self) -> tuple[str, ...]:
        """The leaves that it is differentiated by."""
        return () if self.case is None else self.case.wrt

    @cached_property
    def written(self) -> Verdict:
        """The verdict with the closed forms written out."""
        if self.case is None or "symbolic" not in self.verdict.opinions:
            return self.verdict
        closed = symbolic(self.case)
        return replace(self.verdict, opinions={**self.verdict.opinions, "symbolic": closed})


def judge_calls(calls: Iterable[BackwardCall]) -> tuple[Event, ...]:
    """The three opinions on each call."""
    judged = ((call, judge_pass(call, write=False)) for call in calls)
    return tuple(Event(call, found.case, found.verdict) for call, found in judged)
