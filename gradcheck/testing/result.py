"""What a check gives back: for a program its records, for a person a few lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.opinions.opinion import Array, Case
from gradcheck.opinions.symbolic import symbolic
from gradcheck.report.figures import bar, nested_text, plain
from gradcheck.testing.judging import Judged
from gradcheck.testing.message import message
from gradcheck.testing.repair import Repair
from gradcheck.verdict.consult import Verdict

if TYPE_CHECKING:  # imported where a claim is wrong: a suite that passes needs none of it
    from gradcheck.diagnosis import Diagnosis

LONGEST = 100  # characters of a closed form that is shown
QUOTE = "'"
FEW = 6  # entries of a gradient that are shown


@dataclass(frozen=True, repr=False)
class Result:
    """What a check found; true where it passed.

    Attributes
    ----------
    ok : bool
        Whether the claim holds, or, without a claim, the opinions agree.
    verdict : str
        `agree`, `kink` and so on, of the worst point.
    verdicts : tuple of Verdict
        One for each point and cotangent.
    judged : tuple of Judged
        The claims, argument by argument.
    message : str
        What `GradientError` says.
    notes : tuple of str
        What a reader should know besides.
    """

    ok: bool
    verdict: str
    verdicts: tuple[Verdict, ...]
    judged: tuple[Judged, ...]
    diagnoses: Mapping[str, "Diagnosis"]
    faults: tuple[str, ...]
    worst: Verdict
    source: str
    notes: tuple[str, ...]
    case: Case
    repair: Repair | None = None
    name: str = ""  # of the mistake, where the numbers alone say it

    def __bool__(self) -> bool:
        """Whether the check passed."""
        return self.ok

    @cached_property
    def message(self) -> str:
        """What is wrong, where and by how much, and what this check could not have seen."""
        told, source = (self.judged, self.diagnoses, self.faults), self.source
        return message(
            self.worst, *told, source, notes=self.notes, repair=self.repair, name=self.name
        )

    @property
    def gradient(self) -> Any:
        """The gradient that the opinions give at the first point, as float64.

        One array; by several arguments a tuple of them; None where no opinion has one.
        """
        return _alone([_value(self.verdicts[0], name) for name in self.verdicts[0].parts])

    @property
    def closed_form(self) -> Any:
        """The closed form at the first point: a text, nested lists of them for an array, or None.

        By several arguments a tuple.
        """
        return _alone([nested_text(self._closed.get(name)) for name in self.case.wrt])

    @cached_property
    def _closed(self) -> Mapping[str, Any]:
        """The closed forms, which no check needs: written out when they are asked for."""
        return symbolic(self.case).closed

    def __repr__(self) -> str:
        """A few lines: the verdict, each gradient with its error bar, what is wrong."""
        first = self.verdicts[0]
        lines = [self.verdict]
        if self.judged and not self.ok and self.verdict in ("agree", "kink", "unstable-forward"):
            lines = [f"{self.verdict}: the opinions agree, the gradient given does not"]
        for name, part in first.parts.items():
            if part.interval is not None:
                lines.append(f"  d/d{name} in [{', '.join(map(plain, part.interval))}]")
                continue
            if part.gradient is not None:
                value, error = part.gradient.value, float(np.max(part.gradient.error, initial=0.0))
                lines.append(f"  d/d{name} = {_shown(value)}  {bar(error)}")
            form = nested_text(self._closed.get(name)) if self.case.size() <= FEW else None
            if form is not None and len(str(form)) <= LONGEST:
                lines.append(f"  d/d{name} = {str(form).replace(QUOTE, '')}")
        return "\n".join([*lines, *([self.message] if self.message else ())])


def _value(verdict: Verdict, name: str) -> Array | None:
    found = verdict.parts[name].gradient
    return None if found is None else np.array(found.value, dtype=np.float64)[()]


def _alone(found: list[Any]) -> Any:
    return found[0] if len(found) == 1 else tuple(found)


def _shown(value: Array) -> str:
    if np.size(value) > FEW:
        return f"an array of shape {np.shape(value)}"
    return np.array2string(np.asarray(value), separator=", ").replace("\n", "")
