"""An answer to what a program is asked at its end, judged by its kind.

Numbers and arrays of numbers are compared within their last typed digit, or within what float64
loses; truth values, None, shapes and names of nodes for what they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.answers import Entries, Formula, Numbers, Plain, read_answer
from gradcheck.diagnosis import Diagnosis
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.values import floats, readings
from gradcheck.kinds import ALIASES, FORMULAS
from gradcheck.reference import Key, Spot
from gradcheck.training import Asked, Value, kind_of

FUNCTIONS = FORMULAS.functions | frozenset(ALIASES)
PRINTED = re.compile(
    r"\s*tensor\((.*?)(?:,\s*(?:requires_grad|grad_fn|dtype|device)\s*=.*)?\)\s*", re.DOTALL
)
SIZE = re.compile(r"\s*(?:torch\.Size)?\(?\s*(\[?[\d,\s]*\]?)\s*\)?\s*")
ROUNDING = 1e-12
FACTOR = 4.0


@dataclass(frozen=True)
class Found:
    """How an answer compares: its verdict, what was understood, and where it is off."""

    verdict: str
    understood: str = ""
    remarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    yours: float | None = None
    expected: float | None = None
    index: tuple[int, ...] = ()
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True)
class _Read:
    """An answer as a value, the half unit of each typed digit, and how it is echoed."""

    value: Value
    half: Any
    understood: str


def judge_asked(key: Key, asked: Asked, part: str, answer: Any) -> Found:
    """Judge an answer to one part; never raises on what a student typed."""
    due = asked.trace.values[part]
    try:
        read = _read(key, due, answer)
    except TextError as error:
        return Found("invalid", remarks=(str(error),))
    except GradcheckError as error:
        return Found("wrong", remarks=(f"the answer cannot be evaluated: {error}",))
    found = _compared(read, due, asked.noise[part])
    if found.verdict != "wrong":
        return found
    slack = float(np.max(read.half, initial=0.0)) if isinstance(read.value, np.ndarray) else 0.0
    return replace(found, diagnosis=asked.mistaken.explain(part, read.value, slack))


# -- reading -------------------------------------------------------------------------------------


def _read(key: Key, due: Value, answer: Any) -> _Read:
    """An answer as what it is, given what is due: `(2, 3)` is a shape where a shape is due."""
    if isinstance(due, tuple) and (shape := _shape(answer)) is not None:
        return _Read(shape, 0.0, str(shape))
    if isinstance(answer, list) and isinstance(due, list):
        pieces = [_read(key, d, a) for d, a in zip(due, answer, strict=False)]
        pieces += [_read(key, None, a) for a in answer[len(due) :]]
        return _Read([p.value for p in pieces], 0.0, ", ".join(p.understood for p in pieces))
    if isinstance(answer, str) and (printed := PRINTED.fullmatch(answer)):
        answer = printed[1]
    found = read_answer(answer, names=key.problem.inputs, functions=FUNCTIONS)
    if isinstance(found, Plain):
        value = found.value
        return _Read(value if isinstance(value, bool | str) else None, 0.0, str(value))
    return _numbers(key, found)


def _shape(answer: Any) -> tuple[int, ...] | None:
    """`[2, 3]`, `(2, 3)`, `torch.Size([2, 3])`, `2`; None where it is no shape."""
    if isinstance(answer, str) and (size := SIZE.fullmatch(answer)):
        answer = [int(each) for each in re.findall(r"\d+", size[1])]
    if isinstance(answer, int) and not isinstance(answer, bool):
        answer = [answer]
    whole = isinstance(answer, list | tuple) and all(type(each) is int for each in answer)
    return tuple(answer) if whole else None


def _numbers(key: Key, found: Formula | Numbers | Entries) -> _Read:
    """Numbers, or formulas at the given point."""
    ready = readings(key.problem, found)
    values = floats(ready.at(Spot(key.problem, key.points[0])))
    if values is None:
        raise GradcheckError("it has no finite value")
    half = [0.0 if h is None else float(h) for h in np.asarray(ready.half_units).flat]
    shaped = np.array(half).reshape(np.shape(ready.half_units))
    echoed = found.understood if isinstance(found, Formula) else str(values.tolist())
    return _Read(values, np.broadcast_to(shaped, values.shape), echoed)


# -- comparing -----------------------------------------------------------------------------------


def _compared(read: _Read, due: Value, noise: Any) -> Found:
    yours = read.value
    if isinstance(due, np.ndarray) and isinstance(yours, np.ndarray):
        return _numerically(read, yours, due, noise)
    if isinstance(due, list) and isinstance(yours, list):
        return _entry_by_entry(read, yours, due, noise)
    if type(yours) is type(due):
        return Found("right" if yours == due else "wrong", read.understood)
    return Found("wrong", read.understood, (f"{kind_of(due)} is due",))


def _numerically(read: _Read, yours: Any, due: Any, noise: Any) -> Found:
    """Every number within half a unit of its last digit, or within what float64 loses."""
    if yours.shape != due.shape:
        words = f"the answer has the shape {yours.shape}, {due.shape} is due"
        return Found("wrong", read.understood, (words,), ("shape",))
    off = np.abs(yours - due)
    lost = np.minimum(FACTOR * np.asarray(noise) + ROUNDING * np.abs(due), _doubtful(due))
    wrong = np.argwhere(off > np.maximum(read.half * (1 + ROUNDING), lost))
    if len(wrong):
        index = tuple(int(k) for k in wrong[0])
        mine, expected = float(yours[index]), float(due[index])
        return Found("wrong", read.understood, (), (), mine, expected, index)
    return Found("right", read.understood, tags=("rounded",) if np.any(off > lost) else ())


def _doubtful(due: Any) -> Any:
    """However noisy a program is, a millionth of its largest number is not noise."""
    return 1e-6 * np.max(np.abs(due), initial=0.0)


def _entry_by_entry(read: _Read, yours: list[Any], due: list[Any], noise: Any) -> Found:
    """Lists of mixed kinds: the first entry that is wrong decides."""
    if len(yours) != len(due):
        words = f"the answer has {len(yours)} entries, {len(due)} are due"
        return Found("wrong", read.understood, (words,), ("shape",))
    for k, found in enumerate(_each(yours, due, noise)):
        if found.verdict == "wrong":
            return replace(found, understood=read.understood, index=(k, *found.index))
    return Found("right", read.understood)


def _each(yours: list[Any], due: list[Any], noise: Any) -> Iterator[Found]:
    for k, (mine, expected) in enumerate(zip(yours, due, strict=True)):
        lost = noise[k] if isinstance(noise, list) else 0.0
        yield _compared(_Read(mine, 0.0, ""), expected, lost)
