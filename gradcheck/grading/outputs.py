"""An answer to what a program is asked at its end, read as what is due and compared with it."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.answers import Entries, Formula, Numbers, Plain, read_answer
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.formulas.values import floats, readings
from gradcheck.grading.key import Key, Spot
from gradcheck.language.kinds import FORMULAS
from gradcheck.training import Reference, Value
from gradcheck.training.comparison import Comparison, compared

PRINTED = re.compile(
    r"\s*tensor\((.*?)(?:,\s*(?:requires_grad|grad_fn|dtype|device)\s*=.*)?\)\s*", re.DOTALL
)
SIZE = re.compile(r"\s*(?:torch\.Size)?\(?\s*(\[?[\d,\s]*\]?)\s*\)?\s*")


@dataclass(frozen=True)
class _Read:
    """An answer as a value, the half unit of each typed digit, and how it is echoed."""

    value: Value
    half: Any
    understood: str


def judge_output(key: Key, reference: Reference, part: str, answer: Any) -> Comparison:
    """Judge an answer to one part; never raises on what a student typed."""
    due = reference.trace.values[part]
    try:
        read = _read(key, due, answer)
    except TextError as error:
        return Comparison("invalid", remarks=(str(error),))
    except GradcheckError as error:
        return Comparison("wrong", remarks=(f"the answer cannot be evaluated: {error}",))
    found = compared(read.value, due, reference.noise[part], read.half)
    found = replace(found, understood=read.understood)
    if found.verdict != "wrong":
        return found
    slack = float(np.max(read.half, initial=0.0)) if isinstance(read.value, np.ndarray) else 0.0
    return replace(found, diagnosis=reference.mistaken.explain(part, read.value, slack))


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
    found = read_answer(answer, names=key.problem.inputs, functions=FORMULAS.functions)
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
