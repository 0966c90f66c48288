"""What a program is asked at its end: numbers, shapes, names, truth values, None, lists of them."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from gradcheck.diagnosis import Diagnosis
from gradcheck.diagnosis.tables import ABSOLUTE, RELATIVE
from gradcheck.engine.tape import Leaf, Node
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.problem.record import Point
from gradcheck.values import Array, Numbers

VISIBLE = 1e-6  # relative: an error bar beyond it excuses nothing
FIRM = 1e-8  # of the largest number: what a disturbance may change
WHOLE = "the answer"
ROUNDING = 1e-12  # relative, of a number that came out of a program
FACTOR = 4.0  # times the noise that was seen: what it may be
PRINTED = 1e11  # a number of more digits came out of a program, with its rounding error
WORDS = {bool: "a truth value", str: "a name", tuple: "a shape", list: "a list"}
Span = tuple[int, int]
Output = Array | bool | str | tuple[int, ...] | list[Numbers] | None


def as_value(value: Numbers) -> Output:
    """A value of a program as what is compared; numbers as an array."""
    value = unwrap(value) if isinstance(value, Tensor) else value
    if isinstance(value, Node | Leaf):
        return "AccumulateGrad" if isinstance(value, Leaf) else value.name()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, tuple | list):
        if isinstance(value, tuple) and {*map(type, value)} <= {int}:
            return tuple(value)
        found = [as_value(each) for each in value]
        return join_alike(found) if isinstance(value, list) else found
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return array.tolist()  # type: ignore[no-any-return]
    return array.astype(np.float64) if array.dtype.kind in "fiu" else str(value)


def join_alike(entries: list[Output]) -> Output:
    """Arrays of one shape as one; any other list as it is."""
    shapes = {getattr(entry, "shape", None) for entry in entries}
    return np.array(entries) if len(shapes) == 1 and None not in shapes else entries


class FlatOutput(NamedTuple):
    """All numbers of a value in a row, the largest of its array beside each; and its form.

    The form is the rest: how lists are nested, shapes, what is no number.
    """

    form: Hashable
    numbers: Array
    largest: Array


def flatten(value: Output) -> FlatOutput:
    if isinstance(value, list):
        inner = [FlatOutput(list, np.empty(0), np.empty(0)), *map(flatten, value)]
        forms, numbers, largest = zip(*inner, strict=True)
        return FlatOutput(forms, np.concatenate(numbers), np.concatenate(largest))
    if not isinstance(value, np.ndarray):
        return FlatOutput((type(value), value), np.empty(0), np.empty(0))
    size = np.max(np.abs(value), initial=0.0)
    return FlatOutput((np.ndarray, value.shape), np.ravel(value), np.full(value.size, size))


@np.errstate(invalid="ignore")
def is_same(a: Output, b: Output, slack: float = 0.0, visible: float = 0.0) -> bool:
    """Whether two values are the same but for rounding, or for a share of the largest number."""
    one, other = flatten(a), flatten(b)
    if one.form != other.form:
        return False
    room = RELATIVE * np.abs(other.numbers) + (ABSOLUTE + visible) * other.largest + slack
    return bool(np.all(np.abs(one.numbers - other.numbers) <= room))


def is_near(a: Output, b: Output) -> bool:
    """Whether two values are the same to the digits that anybody types."""
    return is_same(a, b, visible=VISIBLE)


def is_finite(value: Output) -> bool:
    return bool(np.all(np.isfinite(flatten(value).numbers)))


def spread(value: Output, others: Sequence[Output]) -> Array:
    """The largest deviation of others of the same form, number by number."""
    form, numbers, _ = flatten(value)
    alike = [other.numbers for other in map(flatten, others) if other.form == form]
    off = np.max([np.abs(each - numbers) for each in alike], axis=0, initial=0.0)
    found: Array = off + 4 * np.finfo(np.float64).eps * np.abs(numbers)
    return found


def is_printed(size: Numbers, half: Numbers) -> Numbers:
    """Whether a number has so many digits that a program must have printed it."""
    return size > half * PRINTED


def is_sure(lost: Array, value: Output) -> bool:
    """Whether what is lost is little beside the numbers."""
    return bool(np.all(lost <= FIRM * flatten(value).largest))


def list_entries(value: Output) -> Sequence[Output] | None:
    """Those of a list, or of an array with axes; None of anything else."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [np.asarray(each) for each in value]
    return value if isinstance(value, list) else None


def departs(a: Output, b: Output, slack: float = 0.0) -> int | None:
    """The first entry of a trace at which it is not the other one; None where none is told."""
    ours, theirs = list_entries(a), list_entries(b)
    if ours is None or theirs is None or len(ours) != len(theirs):
        return None
    pairs = zip(ours, theirs, strict=True)
    return next((k for k, (x, y) in enumerate(pairs) if not is_same(x, y, slack)), None)


# -- a value beside the one that is due ---------------------------------------------------------


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
    yours: Output,
    due: Output,
    noise: Array,
    half: Array,
    *,
    tolerance: float = 0.0,
    what: str = WHOLE,
) -> Comparison:
    """A value held against the one that is due.

    Number by number `noise` is what float64 loses, `half` is half a unit of each typed digit;
    `tolerance` is the share that may be rounded away. Of lists the first wrong entry decides.
    """
    if isinstance(due, np.ndarray) and isinstance(yours, np.ndarray):
        if yours.shape != due.shape:
            words = f"{what} has the shape {yours.shape}, {due.shape} is due"
            return Comparison("wrong", remarks=(words,), tags=("shape",))
        half = half.reshape(due.shape) if half.size == due.size else half
        return _compare_numbers(yours, due, noise.reshape(due.shape), half, tolerance)
    if not (isinstance(due, list) and isinstance(yours, list)):
        if type(yours) is type(due):
            return Comparison("right" if yours == due else "wrong")
        kind = "None" if due is None else WORDS.get(type(due), "a number or an array of numbers")
        words = f"{kind} is due"
        return Comparison("wrong", remarks=(words if what == WHOLE else f"{what}: {words}",))
    if len(yours) != len(due):
        words = f"{what} has {len(yours)} entries, {len(due)} are due"
        return Comparison("wrong", remarks=(words,), tags=("shape",))
    tags = dict[str, None]()
    each = zip(yours, due, _split(noise, due), _split(half, yours), strict=False)
    for k, pair in enumerate(each):
        found = compare_values(*pair, tolerance=tolerance, what=f"entry {k} of {what}")
        if found.verdict == "wrong":
            return replace(found, index=(k, *found.index))
        tags |= dict.fromkeys(found.tags)
    return Comparison("right", tags=tuple(tags))


def _split(row: Array, entries: list[Numbers]) -> list[Array]:
    """What belongs to the numbers of each of some entries."""
    return np.split(row, np.cumsum([flatten(entry).numbers.size for entry in entries])[:-1])


@np.errstate(invalid="ignore")
def _compare_numbers(
    yours: Array, due: Array, noise: Array, half: Numbers, tolerance: float
) -> Comparison:
    """Every number within half a unit of its last digit, or within what float64 loses.

    However noisy a program is, a millionth of its largest number is not noise.
    """
    off, size = np.abs(yours - due), np.abs(due)
    lost = np.minimum(FACTOR * noise + ROUNDING * size, VISIBLE * np.max(size, initial=0.0))
    typed = np.maximum(half * (1 + ROUNDING), lost)
    wrong = np.argwhere(~(off <= np.maximum(typed, tolerance * size)))
    if len(wrong):
        index = tuple(int(k) for k in wrong[0])
        mine, expected = float(yours[index]), float(due[index])
        return Comparison("wrong", yours=mine, expected=expected, index=index)
    shown = np.where(is_printed(np.abs(yours), half), typed, lost)
    return Comparison("right", tags=("rounded",) if np.any(off > shown) else ())
