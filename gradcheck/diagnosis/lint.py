"""What a problem and its points could never reveal, and what they could never tell apart.

The mistakes are made once at the problem's own points and once at generic ones: what shows only
at the latter is hidden by the values, what shows at neither by the shapes or by the program.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.diagnosis.explain import PREFERRED
from gradcheck.diagnosis.line import Made, Span, measure_width
from gradcheck.diagnosis.preparing import Prepared, collect, fingerprint, is_invisible
from gradcheck.diagnosis.tables import is_equal
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.row import ALIKE, ALL_PASS, ONE_LONG, SYMMETRIC, VAGUE
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.tape import record
from gradcheck.values import Array, Value

ROWS = 5
NOTHING_CHANGES = "use other values: at these the mistake changes nothing"
ONE = "use a constant other than 1: a factor or exponent of 1 cannot be seen to be missing"
OTHER_EXPONENT = "use an exponent other than 2"
OTHER_VALUES = "use other values: at these the mistakes give the same numbers"


@dataclass(frozen=True)
class Finding:
    """Mistakes that cannot be seen (`kind` "invisible"), or not be told apart ("alike").

    `cure` says what to change; it is empty where no choice of values would help. `count` is the
    number of sites; `why` the fact of mathematics behind it, where there is one.
    """

    kind: str
    mistakes: tuple[Mistake, ...]
    span: Span
    cure: str = ""
    count: int = 1
    why: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(sorted({row.id for row in self.mistakes}))


def find_blind(cases: Sequence[Case], families: Sequence[str] = ()) -> tuple[Finding, ...]:
    """What no answer to this problem, at these points, could show; with a cure where there is one.

    A mistake that no values and no shapes could show (the sign of a zero, the kept exponential) is
    not one, and is left out. `families` limits the catalogue; without it, calculus for numbers and
    backprop for tensors.
    """
    with np.errstate(all="ignore"):
        acts = collect(cases)
        generic = collect([_shake(case, k) for k, case in enumerate(cases)])
        causes: dict[str, str] = {}
        for name, cure in (cause for case in cases for cause in _find_causes(case)):
            causes.setdefault(name, cure)
        wanted = families or PREFERRED[acts.scalar]
        hidden = _find_hidden(acts, generic, causes, wanted)
        alike = _find_alike(acts, generic, wanted)
    return (*hidden, *alike)


def _shake(case: Case, seed: int) -> Case:
    """The same problem at a point drawn near its own: no value is special that could be another.

    Labels stay, and what is added to values of the program's own, which is always zero.
    """
    rng = np.random.default_rng(seed)
    inputs = {
        name: v
        if name in case.zeros or (name not in case.wrt and _is_label(v))
        else v * (1 + 0.3 * rng.uniform(-1, 1, v.shape)) + 0.1 * rng.uniform(-1, 1, v.shape)
        for name, v in case.floats().items()
    }
    cotangent = None if case.cotangent is None else rng.normal(size=np.shape(case.cotangent))
    return replace(case, inputs=inputs, cotangent=cotangent)


def _is_label(value: Array) -> bool:
    """Whether an array says which class, or on which side: a mask, one row of zeros and a one."""
    return value.ndim > 0 and bool(np.isin(value, (-1, 0, 1)).all())


def _find_hidden(
    acts: Prepared, generic: Prepared, causes: Mapping[str, str], families: Sequence[str]
) -> Iterator[Finding]:
    """Acts that cannot be seen here, or not even made, and what would show them."""
    groups: dict[tuple[str, Span, str], list[Mistake]] = defaultdict(list)
    for key, act in (acts.acts | {**generic.acts, **acts.acts}).items():
        if act.mistake.family not in families:
            continue
        other = generic.acts.get(key)
        shows = other is not None and not is_invisible(other.at, generic.right)
        cure = next((c for name, c in causes.items() if name in act.mistake.hidden_by), "")
        hidden = shows
        if key in acts.acts:
            hidden = is_invisible(act.at, acts.right) and not _is_never_made(act)
            cure = _find_constant_of_one(act) or cure or (NOTHING_CHANGES if shows else "")
        if hidden and cure:
            groups[act.mistake.id, act.span, cure].append(act.mistake)
    for (_, span, cure), rows in groups.items():
        yield Finding("invisible", (rows[0],), span, cure, len(rows))


def _is_never_made(act: Made) -> bool:
    return not any(np.all(np.isfinite(g)) for at in act.at for g in at.values())


def _find_constant_of_one(act: Made) -> str:
    """A cure for a constant that nobody sees to be missing; but the 1 of 1/x, and of x/1."""
    if act.place is None or act.span is None or act.place.op == "divide":
        return ""
    return ONE if act.texts.get("c") in ("1", "1.0") else ""


def _find_causes(case: Case) -> Iterator[tuple[str, str]]:
    shapes = {name: np.shape(v) for name, v in case.inputs.items()}
    ones = sorted(name for name, shape in shapes.items() if 1 in shape)
    if ones:
        axes = ", ".join(f"{name} {shapes[name]}" for name in ones)
        yield ONE_LONG, f"use {ROWS} rows (or columns), not 1: {axes}"
    for name, v in case.floats().items():
        if v.ndim == 2 and v.shape[0] == v.shape[1] and v.size > 1 and is_equal(v, v.T):
            yield SYMMETRIC, f"use a matrix {name} that is not symmetric"
    if case.cotangent is not None and np.ptp(case.cotangent) == 0:
        yield ALIKE, "use a cotangent with entries of different size and sign, not all alike"
    tape = record(case)
    given = [tape.given[n] for n in tape.nodes if n.op.name == "relu"] if tape is not None else []
    if any(np.all(each.operands[0] > 0) for each in given):
        yield ALL_PASS, "let some arguments of relu be negative: here all of them pass"


def _find_alike(acts: Prepared, generic: Prepared, families: Sequence[str]) -> Iterator[Finding]:
    groups: dict[Value, dict[Value, Made]] = defaultdict(dict)
    for key, act in acts.acts.items():
        named = act.mistake.family in families and act.mistake.rank < VAGUE and not act.everywhere
        if named and not _is_never_made(act) and not is_invisible(act.at, acts.right):
            groups[fingerprint(act.at)][key] = act
    for group in groups.values():
        rows = {act.mistake.id: act.mistake for act in group.values()}
        if len(rows) > 1:
            widest = max((act.span for act in group.values()), key=measure_width)
            cure = OTHER_VALUES if _tells_apart(group, generic) else ""
            constants = {act.texts.get("c") for act in group.values()}
            if "2" in constants and "power-coefficient-missing" in rows:
                cure = OTHER_EXPONENT  # of 2 the coefficient that is missing is a factor of two
            yield Finding("alike", tuple(rows.values()), widest, cure, len(group))


def _tells_apart(group: Mapping[Value, Made], generic: Prepared) -> bool:
    prints: dict[str, set[Value]] = defaultdict(set)
    for key, act in group.items():
        if key in generic.acts:
            prints[act.mistake.id].add(fingerprint(generic.acts[key].at))
    return bool(prints) and not set.intersection(*prints.values())
