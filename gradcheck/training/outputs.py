"""What a program is asked at its end: numbers, shapes, names, truth values, None, lists of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.diagnosis import Diagnosis
from gradcheck.diagnosis.tables import equal
from gradcheck.engine.tape import Leaf, Node
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.problem.record import Point
from gradcheck.values import Array, Numbers

VISIBLE = 1e-6
FIRM = 1e-8  # of the largest number: what a disturbance may change
WHOLE = "the answer"
ROUNDING = 1e-12
FACTOR = 4.0
Span = tuple[int, int]
Output = Array | bool | str | tuple[int, ...] | list[Numbers] | None


def snapshot(value: Numbers) -> Numbers:
    """A copy of what a program holds now, tensors as arrays."""
    if isinstance(value, Tensor | np.ndarray):
        return np.array(bare(value))
    return type(value)(map(snapshot, value)) if type(value) in (tuple, list) else value


def as_value(value: Numbers) -> Output:
    """A value of a program as what is compared; numbers as an array."""
    value = bare(value) if isinstance(value, Tensor) else value
    if isinstance(value, Node | Leaf):
        return "AccumulateGrad" if isinstance(value, Leaf) else value.name()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, tuple | list):
        whole = all(isinstance(each, int) and not isinstance(each, bool) for each in value)
        if isinstance(value, tuple) and whole:
            return tuple(value)
        found = [as_value(each) for each in value]
        shapes = {each.shape if isinstance(each, np.ndarray) else None for each in found}
        joined = isinstance(value, list) and len(shapes) == 1 and None not in shapes
        return np.array(found) if joined else found
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return array.tolist()  # type: ignore[no-any-return]
    return array.astype(np.float64) if array.dtype.kind in "fiu" else str(value)


def leaves(*values: Output) -> Iterator[tuple[Output, ...]]:
    """Values side by side, down to what is no list; lists of other lengths are not entered."""
    sizes = {len(value) if isinstance(value, list) else None for value in values}
    if None in sizes or len(sizes) > 1:
        yield values
    else:
        for entries in zip(*values, strict=True):
            yield from leaves(*entries)


def same(a: Output, b: Output, slack: float = 0.0) -> bool:
    """Whether two values of a program are the same but for rounding."""
    return all(_same(x, y, slack) for x, y in leaves(a, b))


def _same(a: Output, b: Output, slack: float) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return equal(a, b, slack)
    return type(a) is type(b) and not isinstance(a, np.ndarray | list) and a == b


def near(a: Output, b: Output) -> bool:
    """Whether two values are the same to the digits that anybody types."""
    return all(_same(x, y, VISIBLE * _size(y)) for x, y in leaves(a, b))


def _size(value: Output) -> float:
    return float(np.max(np.abs(value), initial=0.0)) if isinstance(value, np.ndarray) else 0.0


def finite(value: Output) -> bool:
    arrays = (each for (each,) in leaves(value) if isinstance(each, np.ndarray))
    return all(bool(np.all(np.isfinite(each))) for each in arrays)


def firm(lost: Numbers, value: Output) -> bool:
    """Whether what is lost is little beside the numbers."""

    def little(x: Numbers, y: Output) -> bool:
        if isinstance(y, np.ndarray):
            return bool(np.all(x <= FIRM * _size(y)))
        return not isinstance(y, list)

    return all(little(x, y) for x, y in leaves(lost, value))


def alike(a: Output, b: Output) -> bool:
    """The same kind of value: arrays of one shape, lists of one length, else the very same."""
    return all(
        x.shape == y.shape
        if isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
        else same(x, y)
        for x, y in leaves(a, b)
    )


def entries(value: Output) -> Sequence[Output] | None:
    """Those of a list, or of an array with axes; None of anything else."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [np.asarray(each) for each in value]
    return value if isinstance(value, list) else None


def departs(a: Output, b: Output, slack: float = 0.0) -> int | None:
    """The first entry of a trace at which it is not the other one; None where none is told."""
    ours, theirs = entries(a), entries(b)
    if ours is None or theirs is None or len(ours) != len(theirs):
        return None
    pairs = zip(ours, theirs, strict=True)
    return next((k for k, (x, y) in enumerate(pairs) if not same(x, y, slack)), None)


def to_json(value: Numbers) -> Numbers:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [to_json(each) for each in value] if isinstance(value, list | tuple) else value


def kind_of(value: Output) -> str:
    """What is due, in a word."""
    if value is None:
        return "None"
    names = {bool: "a truth value", str: "a name", tuple: "a shape", list: "a list"}
    return names.get(type(value), "a number or an array of numbers")


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
    yours: Output, due: Output, noise: Numbers, half: Numbers = 0.0, what: str = WHOLE
) -> Comparison:
    """A value held against the one that is due; `half` is half a unit of each typed digit.

    Of lists of mixed kinds the first entry that is wrong decides.
    """
    if isinstance(due, np.ndarray) and isinstance(yours, np.ndarray):
        return _compare_numbers(yours, due, noise, half, what)
    if not (isinstance(due, list) and isinstance(yours, list)):
        if type(yours) is type(due):
            return Comparison("right" if yours == due else "wrong")
        words = f"{kind_of(due)} is due"
        return Comparison("wrong", remarks=(words if what == WHOLE else f"{what}: {words}",))
    if len(yours) != len(due):
        words = f"{what} has {len(yours)} entries, {len(due)} are due"
        return Comparison("wrong", remarks=(words,), tags=("shape",))
    for k, (mine, expected) in enumerate(zip(yours, due, strict=True)):
        lost = noise[k] if isinstance(noise, list) and k < len(noise) else 0.0
        found = compare_values(mine, expected, lost, 0.0, f"entry {k} of {what}")
        if found.verdict == "wrong":
            return replace(found, index=(k, *found.index))
    return Comparison("right")


def _compare_numbers(
    yours: Numbers, due: Numbers, noise: Numbers, half: Numbers, what: str
) -> Comparison:
    """Every number within half a unit of its last digit, or within what float64 loses.

    However noisy a program is, a millionth of its largest number is not noise.
    """
    if yours.shape != due.shape:
        words = f"{what} has the shape {yours.shape}, {due.shape} is due"
        return Comparison("wrong", remarks=(words,), tags=("shape",))
    with np.errstate(invalid="ignore"):
        off = np.abs(yours - due)
        lost = np.minimum(FACTOR * np.asarray(noise) + ROUNDING * np.abs(due), VISIBLE * _size(due))
        wrong = np.argwhere(~(off <= np.maximum(half * (1 + ROUNDING), lost)))
    if len(wrong):
        index = tuple(int(k) for k in wrong[0])
        mine, expected = float(yours[index]), float(due[index])
        return Comparison("wrong", yours=mine, expected=expected, index=index)
    return Comparison("right", tags=("rounded",) if np.any(off > lost) else ())
