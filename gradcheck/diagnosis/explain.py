"""Keep the mistakes that reproduce an answer at every point; say one, several, or none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.diagnosis.making import Made, Prepared, close
from gradcheck.mistakes import Mistake
from gradcheck.opinions.opinion import Array


@dataclass(frozen=True)
class Hypothesis:
    """One mistake that would give just this answer, and where in the program it was made."""

    mistake: Mistake
    span: tuple[int, int] | None
    everywhere: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """`unique` (one mistake fits), `torn` (several: all are said), or `unnamed`."""

    certainty: str
    hypotheses: tuple[Hypothesis, ...] = ()
    remarks: tuple[str, ...] = ()


def explain(prepared: Prepared, part: str, answer: Sequence[Array | None]) -> Diagnosis:
    """Name what gives this answer to one part, from its values at the prepared points.

    `answer[k]` is the answer at point k, or None where it is not known (a number typed for one
    point says nothing of the others). A right answer must not come here.
    """
    fitting = [made for made in prepared.made if _fits(made, part, answer)]
    single = [made for made in fitting if not made.everywhere] or fitting
    merged = _merged(single)
    if not merged:
        return Diagnosis("unnamed", remarks=_remarks(prepared, part, answer))
    return Diagnosis("unique" if len({h.mistake.id for h in merged}) == 1 else "torn", merged)


def _fits(made: Made, part: str, answer: Sequence[Array | None]) -> bool:
    known = [(a, g[part]) for a, g in zip(answer, made.at, strict=True) if a is not None]
    return bool(known) and all(close(a, g) for a, g in known)


def _merged(fitting: Sequence[Made]) -> tuple[Hypothesis, ...]:
    """One hypothesis a mistake id, commonest first; several sites of one id keep the first."""
    found: dict[str, Hypothesis] = {}
    for made in sorted(fitting, key=lambda m: -m.mistake.common):
        found.setdefault(made.mistake.id, Hypothesis(made.mistake, made.span, made.everywhere))
    return tuple(found.values())


def _remarks(prepared: Prepared, part: str, answer: Sequence[Array | None]) -> tuple[str, ...]:
    """What can be said without guessing: shape, constant ratio, which entries."""
    known = [(a, g[part]) for a, g in zip(answer, prepared.right, strict=True) if a is not None]
    if not known:
        return ()
    given, right = known[0]
    if np.shape(given) != np.shape(right):
        return (f"the gradient has the shape {np.shape(right)}, the answer {np.shape(given)}",)
    found = []
    ratios = np.concatenate([np.ravel(a / r) for a, r in known if np.all(r != 0)] or [np.array([])])
    if ratios.size and np.allclose(ratios, ratios[0], rtol=1e-9):
        found.append(f"the answer is {ratios[0]:.6g} times the gradient")
    off = [
        index for index in np.ndindex(right.shape) if not close(given[index], right[index])
    ]
    if right.ndim and len(off) < right.size:
        found.append(f"only the entries {', '.join(str(list(i)) for i in off[:6])} are off")
    return tuple(found)
