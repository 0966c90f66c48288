"""What a problem and its points could never reveal, and what they could never tell apart.

The mistakes are made once at the problem's own points and once at generic ones: what shows only
at the latter is hidden by the values, what shows at neither by the shapes or by the program.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.diagnosis.acts import Acts, Made, collect, fingerprint, invisible, width
from gradcheck.diagnosis.hypothesis import PREFERRED
from gradcheck.diagnosis.line import Span
from gradcheck.diagnosis.tables import equal
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.row import ALIKE, ALL_PASS, ONE_LONG, SYMMETRIC, VAGUE
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.tape import record
from gradcheck.values import Array, Value

ROWS = 5
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
        """The ids of the mistakes."""
        return tuple(sorted({row.id for row in self.mistakes}))


def blind(cases: Sequence[Case], families: Sequence[str] = ()) -> tuple[Finding, ...]:
    """What no answer to this problem, at these points, could show; with a cure where there is one.

    A mistake that no values and no shapes could show (the sign of a zero, the kept exponential) is
    not one, and is left out. `families` limits the catalogue; without it, calculus for numbers and
    backprop for tensors.
    """
    with np.errstate(all="ignore"):
        acts = collect(cases)
        generic = collect([_shaken(case, k) for k, case in enumerate(cases)])
        causes = _causes(cases)
        scalar = all(g.shape == () for g in acts.right[0].values())
        wanted = families or PREFERRED[scalar]
        hidden = _find_hidden(acts, generic, causes, wanted)
        alike = _alike(acts, generic, wanted)
    return (*hidden, *alike)


def _shaken(case: Case, seed: int) -> Case:
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


# -- invisible ---------------------------------------------------------------------------------


def _find_hidden(
    acts: Acts, generic: Acts, causes: Mapping[str, str], families: Sequence[str]
) -> Iterator[Finding]:
    groups: dict[tuple[str, Span, str], list[Mistake]] = defaultdict(list)
    for key, act in acts.found.items():
        if act.mistake.family in families and invisible(act.at, acts.right):
            cure = _cure(act, generic.found.get(key), generic, causes)
            if cure:
                groups[act.mistake.id, act.span, cure].append(act.mistake)
    for act in _only_elsewhere(acts, generic, families):
        known = [cure for name, cure in causes.items() if name in act.mistake.hidden_by]
        if known:
            groups[act.mistake.id, act.span, known[0]].append(act.mistake)
    for (_, span, cure), rows in groups.items():
        yield Finding("invisible", (rows[0],), span, cure, len(rows))


def _only_elsewhere(acts: Acts, generic: Acts, families: Sequence[str]) -> Iterator[Made]:
    """Acts that cannot even be made here, but are seen at generic values."""
    for key, act in generic.found.items():
        wanted = key not in acts.found and act.mistake.family in families
        if wanted and not invisible(act.at, generic.right):
            yield act


def _cure(act: Made, elsewhere: Made | None, generic: Acts, causes: Mapping[str, str]) -> str:
    """What would show the act: a known cause, other values, or nothing at all."""
    if _never_made(act):
        return ""
    constant = _constant_of_one(act)
    if constant:
        return constant
    known = [cure for name, cure in causes.items() if name in act.mistake.hidden_by]
    shows = elsewhere is not None and not invisible(elsewhere.at, generic.right)
    if known:
        return known[0]
    return "use other values: at these the mistake changes nothing" if shows else ""


def _never_made(act: Made) -> bool:
    return not any(np.all(np.isfinite(g)) for at in act.at for g in at.values())


def _constant_of_one(act: Made) -> str:
    """A cure for a constant of the text that cannot be seen to be missing."""
    c = act.texts.get("c") if act.rule is not None and act.span is not None else None
    if isinstance(c, str) and c in ("1", "1.0"):
        return "use a constant other than 1: a factor or exponent of 1 cannot be seen to be missing"
    return ""


def _causes(cases: Sequence[Case]) -> dict[str, str]:
    """What hides mistakes and can be read off a case, as rows name it, with its first cure."""
    found: dict[str, str] = {}
    for name, cure in (cause for case in cases for cause in _of_case(case)):
        found.setdefault(name, cure)
    return found


def _of_case(case: Case) -> Iterator[tuple[str, str]]:
    shapes = {name: np.shape(v) for name, v in case.inputs.items()}
    ones = sorted(name for name, shape in shapes.items() if 1 in shape)
    if ones:
        axes = ", ".join(f"{name} {shapes[name]}" for name in ones)
        yield ONE_LONG, f"use {ROWS} rows (or columns), not 1: {axes}"
    for name, v in case.floats().items():
        if v.ndim == 2 and v.shape[0] == v.shape[1] and v.size > 1 and equal(v, v.T):
            yield SYMMETRIC, f"use a matrix {name} that is not symmetric"
    if case.cotangent is not None and np.ptp(case.cotangent) == 0:
        yield ALIKE, "use a cotangent with entries of different size and sign, not all alike"
    if _all_pass(case):
        yield ALL_PASS, "let some arguments of relu be negative: here all of them pass"


def _all_pass(case: Case) -> bool:
    """Whether some relu's arguments are all positive."""
    tape = record(case)
    return tape is not None and any(
        node.op.name == "relu" and bool(np.all(tape.given[node].operands[0] > 0))
        for node in tape.nodes
    )


# -- alike -------------------------------------------------------------------------------------


def _alike(acts: Acts, generic: Acts, families: Sequence[str]) -> Iterator[Finding]:
    """Groups of visible acts with different ids and the same numbers in every part."""
    for group in _groups(acts, families):
        rows = {act.mistake.id: act.mistake for _, act in group}
        if len(rows) > 1:
            widest = max((act.span for _, act in group), key=width)
            cure = _two(group) or (OTHER_VALUES if _apart(group, generic) else "")
            yield Finding("alike", tuple(rows.values()), widest, cure, len(group))


def _groups(acts: Acts, families: Sequence[str]) -> list[list[tuple[Value, Made]]]:
    found: dict[Value, list[tuple[Value, Made]]] = defaultdict(list)
    for key, act in acts.found.items():
        named = act.mistake.family in families and act.mistake.rank < VAGUE and not act.everywhere
        if named and not _never_made(act) and not invisible(act.at, acts.right):
            found[fingerprint(act.at)].append((key, act))
    return list(found.values())


def _apart(group: Sequence[tuple[Value, Made]], generic: Acts) -> bool:
    """Whether other values tell the ids of the group apart."""
    prints: dict[str, set[Value]] = defaultdict(set)
    for key, act in group:
        if key in generic.found:
            prints[act.mistake.id].add(fingerprint(generic.found[key].at))
    return bool(prints) and not set.intersection(*prints.values())


def _two(group: Sequence[tuple[Value, Made]]) -> str:
    """An exponent of 2 makes coincidences: the coefficient that is missing is a factor of two."""
    ids = {act.mistake.id for _, act in group}
    constants = {act.texts.get("c") for _, act in group}
    if "2" in constants and "power-coefficient-missing" in ids:
        return "use an exponent other than 2"
    return ""
