"""Assertions for test suites: `assert_gradient` and `assert_vjp` on unmodified NumPy functions."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck import places
from gradcheck.claims import RTOL, Judged, judge
from gradcheck.diagnosis import Diagnosis, Prepared, explain, prepare
from gradcheck.numbers.ball import Ball
from gradcheck.opinions.opinion import Case
from gradcheck.report.assertion import message
from gradcheck.verdict import Verdict, consult

Array = np.ndarray[Any, Any]
Gradient = Callable[..., Any]
COTANGENTS = 3
SOUND = ("agree", "kink", "unstable-forward")


class GradientError(AssertionError):
    """A gradient is wrong, or could not be established; `result` holds the whole finding."""

    def __init__(self, text: str, result: "Result") -> None:
        """Keep the result beside the message."""
        super().__init__(text)
        self.result = result


@dataclass(frozen=True)
class Result:
    """What a check found: `ok`, the verdict at each point, the judged claims, the diagnoses."""

    ok: bool
    verdict: str
    verdicts: tuple[Verdict, ...]
    judged: tuple[Judged, ...]
    diagnoses: Mapping[str, Diagnosis]
    faults: tuple[str, ...]
    message: str

    def __bool__(self) -> bool:
        """Whether the check passed."""
        return self.ok


def check(
    f: Callable[..., Any],
    *args: Any,
    gradient: Any = None,
    wrt: int | Sequence[int] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    at: Sequence[Sequence[Any]] = (),
) -> Result:
    """Three opinions on f at `args` (and at the extra points `at`); a claimed gradient is judged.

    `f` maps floats or float64 arrays to a number or an array; `gradient` is an array or a tuple of
    arrays, one a differentiated argument, or a callable (same arguments) -> such arrays. For an
    array-valued f the gradient is that of `sum(c * f(...))`, c a random signed cotangent: use
    `assert_vjp` to judge a backward pass. `rtol` is a floor: the error bars decide.
    """
    points = [_point(f, args, wrt), *(_point(f, extra, wrt) for extra in at)]
    cases = [point.case(f, seed + k) for k, point in enumerate(points)]
    claims = [_claimed(gradient, point) for point in points] if gradient is not None else None
    faults = tuple(fault for point in points for fault in _impure(f, point))
    return _found(cases, claims, rtol, faults)


def assert_gradient(
    f: Callable[..., Any],
    *args: Any,
    gradient: Any = None,
    wrt: int | Sequence[int] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    at: Sequence[Sequence[Any]] = (),
) -> Result:
    """As `check`, but raises GradientError, whose message says what is wrong, where and by how much."""
    return _raised(check(f, *args, gradient=gradient, wrt=wrt, seed=seed, rtol=rtol, at=at))


def assert_vjp(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    *args: Any,
    wrt: int | Sequence[int] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
    at: Sequence[Sequence[Any]] = (),
) -> Result:
    """Judge `backward(cotangent, *args) -> one gradient per argument` against the three opinions.

    Several random signed cotangents of the shape of `forward(*args)`; strict shapes (PyTorch would
    silently sum a gradient that is too large); backward must be linear in the cotangent, repeatable,
    and leave its arguments alone. Raises GradientError.
    """
    rng = np.random.default_rng(seed)
    cases, claims = [], []
    faults: list[str] = []
    for point in [_point(forward, args, wrt), *(_point(forward, extra, wrt) for extra in at)]:
        faults += _impure(forward, point)
        shape = np.shape(forward(*point.floats()))
        for k in range(COTANGENTS):
            cotangent = _signed(rng, shape)
            cases.append(replace(point.case(forward, seed + k), cotangent=cotangent))
            claims.append(_pulled(backward, cotangent, point, faults))
        faults += _not_linear(backward, shape, point, rng)
    return _raised(_found(cases, claims, rtol, tuple(dict.fromkeys(faults))))


def _raised(result: Result) -> Result:
    if not result.ok:
        raise GradientError(result.message, result)
    return result


# -- points and cases ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Point:
    """The arguments of one call: which are differentiated, and what they are called."""

    args: tuple[Any, ...]
    names: tuple[str, ...]
    wrt: tuple[int, ...]

    def floats(self) -> list[Any]:
        """Fresh copies of the arguments, so that nothing the function does to them lasts."""
        return [np.array(a) if isinstance(a, np.ndarray) else a for a in self.args]

    def case(self, f: Callable[..., Any], seed: int) -> Case:
        """The question for the three opinions; the other arguments stay what they are."""
        labels = [self.names[i] for i in self.wrt]

        def function(kind: str, inputs: Mapping[str, Any]) -> Any:
            args = self.floats()
            for i, label in zip(self.wrt, labels, strict=True):
                value = inputs[label]
                args[i] = value[()] if kind == "float" else value
            return f(*args)

        inputs = {label: np.array(self.args[i], dtype=np.float64)
                  for i, label in zip(self.wrt, labels, strict=True)}  # fmt: skip
        shape = np.shape(f(*self.floats()))
        cotangent = _signed(np.random.default_rng(seed), shape) if shape else None
        return Case(function, inputs, tuple(labels), cotangent, seed, _here)


def _here() -> tuple[int, int] | None:
    place = places.here()
    if place is None:
        return None
    LAST_FILE[0] = place[0]
    return place[1], place[2]


LAST_FILE = [""]


def _point(f: Callable[..., Any], args: Sequence[Any], wrt: int | Sequence[int] | None) -> _Point:
    args = tuple(np.asarray(a) if isinstance(a, list) else a for a in args)
    chosen = (wrt,) if isinstance(wrt, int) else wrt
    positions = tuple(i for i, a in enumerate(args) if _differentiable(a)) if chosen is None else tuple(chosen)
    if not positions:
        raise TypeError("no argument holds floats: pass float64 arrays or floats, or name wrt=")
    return _Point(args, _names(f, len(args)), positions)


def _differentiable(value: Any) -> bool:
    return isinstance(value, float) or (
        isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f"
    )


def _names(f: Callable[..., Any], count: int) -> tuple[str, ...]:
    """The parameters' own names, or `argument 0` where there are none."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_POSITIONAL]
    return tuple(plain[i] if i < len(plain) else f"argument {i}" for i in range(count))


def _signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random weights of both signs, none near zero."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))


# -- claims --------------------------------------------------------------------------------------


def _claimed(gradient: Any, point: _Point) -> dict[str, Any]:
    came = gradient(*point.floats()) if callable(gradient) else gradient
    return _by_name(came, point)


def _by_name(came: Any, point: _Point) -> dict[str, Any]:
    """One gradient a differentiated argument, or one for all arguments in their order."""
    several = list(came) if isinstance(came, tuple | list) else [came]
    if isinstance(came, Mapping):
        return {point.names[i]: came.get(point.names[i]) for i in point.wrt}
    if len(several) == len(point.args) != len(point.wrt):
        several = [several[i] for i in point.wrt]
    if len(several) != len(point.wrt):
        raise TypeError(
            f"{len(several)} gradients came for {len(point.wrt)} differentiated arguments "
            f"({', '.join(point.names[i] for i in point.wrt)}); return one each, in their order"
        )
    return {point.names[i]: g for i, g in zip(point.wrt, several, strict=True)}


def _pulled(backward: Gradient, cotangent: Array, point: _Point, faults: list[str]) -> dict[str, Any]:
    args, sent = point.floats(), cotangent.copy()
    first = _by_name(backward(sent, *args), point)
    if not np.array_equal(sent, cotangent):
        faults.append("backward changed the cotangent it was given")
    if any(_differs(a, b) for a, b in zip(args, point.args, strict=True)):
        faults.append("backward changed its arguments in place")
    again = _by_name(backward(cotangent.copy(), *point.floats()), point)
    if any(_differs(first[name], again[name]) for name in first):
        faults.append("backward gives another result when it is called again")
    return first


def _not_linear(
    backward: Gradient, shape: tuple[int, ...], point: _Point, rng: np.random.Generator
) -> list[str]:
    """A VJP is linear in the cotangent; zero in, zero out."""
    zero = _by_name(backward(np.zeros(shape), *point.floats()), point)
    if any(g is not None and np.any(np.asarray(g) != 0) for g in zero.values()):
        return ["backward does not use its cotangent: a cotangent of zeros gives a gradient"]
    c = _signed(rng, shape)
    once, twice = (_by_name(backward(k * c, *point.floats()), point) for k in (1.0, -2.0))
    for name, g in once.items():
        if g is not None and not np.allclose(twice[name], -2.0 * np.asarray(g), rtol=1e-6):
            return [f"backward is not linear in the cotangent (argument {name})"]
    return []


def _impure(f: Callable[..., Any], point: _Point) -> list[str]:
    args = point.floats()
    first = f(*args)
    if any(_differs(a, b) for a, b in zip(args, point.args, strict=True)):
        return ["the function changes its arguments in place"]
    if _differs(first, f(*point.floats())):
        return ["the function gives another value when it is called again"]
    return []


def _differs(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray | float) and isinstance(b, np.ndarray | float):
        return not np.array_equal(a, b, equal_nan=True)
    return False


# -- findings ------------------------------------------------------------------------------------


def _found(
    cases: Sequence[Case],
    claims: Sequence[Mapping[str, Any]] | None,
    rtol: float,
    faults: tuple[str, ...],
) -> Result:
    verdicts = tuple(consult(case, write=k == 0) for k, case in enumerate(cases))
    judged: tuple[Judged, ...] = ()
    diagnoses: dict[str, Diagnosis] = {}
    if claims is not None:
        for verdict, claim in zip(verdicts, claims, strict=True):
            judged = judge(verdict, claim, rtol) if verdict.verdict in SOUND else ()
            if not all(part.right for part in judged):
                diagnoses = _diagnosed(cases, claims, judged)
                break
    worst = next((v for v in verdicts if v.verdict not in SOUND), verdicts[0])
    ok = not faults and worst.verdict in SOUND and all(part.right for part in judged)
    text = message(worst, judged, diagnoses, faults, _source())
    return Result(ok, worst.verdict, verdicts, judged, diagnoses, faults, text)


def _diagnosed(
    cases: Sequence[Case], claims: Sequence[Mapping[str, Any]], judged: Sequence[Judged]
) -> dict[str, Diagnosis]:
    prepared: Prepared = prepare(cases)
    return {
        part.part: explain(prepared, part.part, [_floats(claim[part.part]) for claim in claims])
        for part in judged
        if not part.right and part.part in claims[0]
    }


def _floats(claim: Any) -> Array | None:
    return None if claim is None else np.asarray(claim, dtype=np.float64)


def _source() -> str:
    return places.text_of(LAST_FILE[0]) if LAST_FILE[0] else ""


_ = Ball
