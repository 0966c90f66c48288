"""How a value compares with the one that is due, kind by kind.

Arrays of numbers agree within half a unit of each typed digit, or within what float64 loses; truth
values, None, shapes and names of nodes are compared for what they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.diagnosis import Diagnosis
from gradcheck.problem.record import Point
from gradcheck.training import Output, kind_of
from gradcheck.values import Numbers

WHOLE = "the answer"
ROUNDING = 1e-12
FACTOR = 4.0
Span = tuple[int, int]


@dataclass(frozen=True)
class Comparison:
    """How an answer compares: its verdict, what was understood, and where it is off.

    `point` is where, if not at the given point. Of an answer that is a program, `places` says in
    which stretch of its text each mistake was made.
    """

    verdict: str
    understood: str = ""
    remarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    yours: float | None = None
    expected: float | None = None
    index: tuple[int, ...] = ()
    diagnosis: Diagnosis | None = None
    point: Point | None = None
    places: Mapping[str, Span] = field(default_factory=dict)


def compare_values(
    yours: Output, due: Output, noise: Numbers, half: Numbers = 0.0, what: str = WHOLE
) -> Comparison:
    """A value held against the one that is due; `half` is half a unit of each typed digit."""
    if isinstance(due, np.ndarray) and isinstance(yours, np.ndarray):
        return _numerically(yours, due, noise, half, what)
    if isinstance(due, list) and isinstance(yours, list):
        return _entry_by_entry(yours, due, noise, what)
    if type(yours) is type(due):
        return Comparison("right" if yours == due else "wrong")
    words = f"{kind_of(due)} is due"
    return Comparison("wrong", remarks=(words if what == WHOLE else f"{what}: {words}",))


def _numerically(
    yours: Numbers, due: Numbers, noise: Numbers, half: Numbers, what: str
) -> Comparison:
    """Every number within half a unit of its last digit, or within what float64 loses."""
    if yours.shape != due.shape:
        words = f"{what} has the shape {yours.shape}, {due.shape} is due"
        return Comparison("wrong", remarks=(words,), tags=("shape",))
    with np.errstate(invalid="ignore"):
        off = np.abs(yours - due)
        lost = np.minimum(FACTOR * np.asarray(noise) + ROUNDING * np.abs(due), _doubtful(due))
        wrong = np.argwhere(~(off <= np.maximum(half * (1 + ROUNDING), lost)))
    if len(wrong):
        index = tuple(int(k) for k in wrong[0])
        mine, expected = float(yours[index]), float(due[index])
        return Comparison("wrong", yours=mine, expected=expected, index=index)
    return Comparison("right", tags=("rounded",) if np.any(off > lost) else ())


def _doubtful(due: Numbers) -> Numbers:
    """However noisy a program is, a millionth of its largest number is not noise."""
    return 1e-6 * np.max(np.abs(due), initial=0.0)


def _entry_by_entry(
    yours: list[Numbers], due: list[Numbers], noise: Numbers, what: str
) -> Comparison:
    """Lists of mixed kinds: the first entry that is wrong decides."""
    if len(yours) != len(due):
        words = f"{what} has {len(yours)} entries, {len(due)} are due"
        return Comparison("wrong", remarks=(words,), tags=("shape",))
    for k, found in enumerate(_each(yours, due, noise, what)):
        if found.verdict == "wrong":
            return replace(found, index=(k, *found.index))
    return Comparison("right")


def _each(
    yours: list[Numbers], due: list[Numbers], noise: Numbers, what: str
) -> Iterator[Comparison]:
    for k, (mine, expected) in enumerate(zip(yours, due, strict=True)):
        lost = noise[k] if isinstance(noise, list) and k < len(noise) else 0.0
        yield compare_values(mine, expected, lost, 0.0, f"entry {k} of {what}")
