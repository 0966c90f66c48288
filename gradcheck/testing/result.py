"""What a check gives back: its records, and for a person argument, entry, numbers, mistake, fix."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.engine import advice
from gradcheck.errors import underline
from gradcheck.opinions.limits import EPSILON, WIDE
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.symbolic import symbolic
from gradcheck.report.figures import format_bar, format_index, nest_text, plain
from gradcheck.testing.call import RANDOM
from gradcheck.testing.foreign import PLAIN
from gradcheck.testing.judging import SOUND, Judged, find_level
from gradcheck.values import Params, Value
from gradcheck.verdict.consult import Verdict

if TYPE_CHECKING:  # imported where a claim is wrong: a suite that passes needs none of it
    from gradcheck.diagnosis import Diagnosis, Hypothesis
    from gradcheck.testing.repair import SourceRepair

UNREADABLE = re.compile(r".{101}|\d{12}")  # a closed form too long, or of numbers that were drawn
FEW = 6  # entries of a gradient that are shown
SHOWN = 3  # entries of one argument; the largest first
LINES = 20
WIDTH, WIDEST = 60, 80  # columns, and those of the first line
DIGITS = 17  # that tell any two floats apart
PASSED = {
    "agree": "the opinions agree",
    "kink": "the point is a kink: any slope of its interval counts as right",
    "unstable-forward": "the function itself loses digits in floats here; its gradient is right",
    "undecided": "only one opinion could be formed; the gradient given agrees with it",
}
OPEN = (
    "its values as plain floats say no more; give rtol= if that is rounding, pass arguments at "
    "which fewer digits cancel, or write it in NumPy alone, that exact numbers can pass through it"
)
STEPS = (
    "note: the function does not change with {name} here (it takes steps, or uses another array?): "
    "a straight-through estimator is no gradient of it; check the smooth function it stands for"
)
ALONE = "only one opinion could be formed, from plain floats: none agrees with it"
HELP = (
    "hand in the gradient that is to be judged, or write it in NumPy alone, that exact numbers can "
    "pass through it"
)
LOST = "right as far as {floats} can show: the formula loses digits here"
OF_FORMULAS = ("wrong-variable", "denominator-not-squared")
QUOTED = re.compile("`[^`]+`")
TENSORS = "|".join(map(re.escape, (advice.NO_ARRAY, advice.NO_NUMPY, advice.NO_FLOAT)))
IN_FLOATS = "compiled code, float() and `math` take plain floats, without a gradient"
FAILED = {
    "undecided": "no gradient could be established",
    "jump": "the function jumps at this point: it has no gradient there",
    "undefined": "the function has no finite slope at this point",
    "dissent": "gradcheck's own opinions differ: this is a fault of gradcheck, please report it",
}


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

    Examples
    --------
    >>> result = check(abs, 0.0)
    >>> result.ok, result.verdict
    (True, 'kink')
    """

    ok: bool
    verdict: str
    verdicts: tuple[Verdict, ...]
    judged: tuple[Judged, ...]
    faults: tuple[str, ...]
    worst: Verdict
    notes: tuple[str, ...]
    case: Case
    diagnoses: Mapping[str, "Diagnosis"] = field(default_factory=dict)
    source: str = ""  # in which a diagnosis points
    repair: "SourceRepair | None" = None
    name: str = ""  # of the mistake, where the numbers alone say it

    def __bool__(self) -> bool:
        return self.ok

    @cached_property
    def message(self) -> str:
        return _write_message(self)

    @property
    def gradient(self) -> Value:
        """The gradient that the opinions give at the first point, as float64.

        One array; by several arguments a tuple of them; None where no opinion has one.
        """
        known = [part.gradient for part in self.verdicts[0].parts.values()]
        found = [None if g is None else np.array(g.value, dtype=np.float64)[()] for g in known]
        return _take_alone(found)

    @property
    def closed_form(self) -> Value:
        """The closed form at the first point: a text, nested lists of them for an array, or None.

        By several arguments a tuple.
        """
        return _take_alone([nest_text(self._closed.get(name)) for name in self.case.wrt])

    @cached_property
    def _closed(self) -> Params:
        """The closed forms, which no check needs: written out when they are asked for."""
        return symbolic(self.case).closed

    def __repr__(self) -> str:
        refused = self.judged and not self.ok and self.verdict in SOUND
        more = ": the opinions agree, the gradient given does not" if refused else ""
        lines = [self.verdict + more]
        for name, part in self.verdicts[0].parts.items():
            if part.interval is not None:
                lines.append(f"  d/d{name} in [{', '.join(map(plain, part.interval))}]")
                continue
            if part.gradient is not None:
                value = part.gradient.value
                text = f"an array of shape {value.shape}"
                if value.size <= FEW:
                    text = np.array2string(value, separator=", ").replace("\n", "")
                lines.append(f"  d/d{name} = {text}  {format_bar(part.gradient.widest)}")
            form = nest_text(self._closed.get(name)) if self.case.size() <= FEW else None
            if form is not None and not UNREADABLE.search(str(form)):
                lines.append(f"  d/d{name} = " + str(form).replace("'", ""))
        return "\n".join([*lines, *([self.message] if self.message else ())])


def _take_alone(found: list[Value]) -> Value:
    return found[0] if len(found) == 1 else tuple(found)


# -- the message ---------------------------------------------------------------------------------


def _write_message(found: Result) -> str:
    """What the check found, the likeliest cause first, and what it could not have seen.

    The first line is what pytest's summary shows: argument, entry, numbers, mistake.
    """
    verdict, faults = found.worst, found.faults
    wrong = [part for part in found.judged if not part.right]
    ends = _wrap(*_list_unseen(verdict, found.judged), *(f"note: {note}" for note in found.notes))
    ends += _wrap(*(STEPS.format(name=part.part) for part in wrong if part.flat and part.off))
    if wrong:
        blocks = _explain(found, wrong)
    elif verdict.verdict in FAILED and not found.judged:
        blocks = list(_describe_failure(verdict, faults))
    elif faults:
        blocks = [faults[0], *_wrap(*faults[1:])]
    else:
        return "\n".join([PASSED.get(verdict.verdict, ""), *ends])
    kept = blocks[: max(LINES - len(ends), LINES // 2)]
    kept[:1] = _wrap(kept[0], indent="", width=WIDEST)
    return "\n".join([*kept, *ends[: LINES - len(kept)]])


def _wrap(*texts: str, indent: str = "  ", width: int = WIDTH) -> list[str]:
    """Sentences in narrow lines, the further ones indented more; code below them as it is."""
    lines, further = [], indent + "  "
    for text in texts:
        plain, *code = re.sub(rf"(\w+Error: )?({TENSORS})", IN_FLOATS, text).split("\n")
        lines += textwrap.wrap(
            plain, width, initial_indent=indent, subsequent_indent=further,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        lines += [further + line for line in code]
    return lines


def _explain(found: Result, wrong: Sequence[Judged]) -> list[str]:
    """Numbers and name, the fix, what backward does besides, the entries, the mistake in words.

    A guess is the one mistake that gives just this, in none where several do, or a pair of them, or
    what only a formula is said to have; a repair is proof.
    """
    every = [d for part in wrong if (d := found.diagnoses.get(part.part)) is not None]
    alone = [h for d in every for h in d.hypotheses if len(h.ids) == 1]
    alone = [h for h in alone if h.ids[0] not in OF_FORMULAS]
    guess, repair = alone[0] if len({h.ids for h in alone}) == 1 else None, found.repair
    if guess is not None and repair is not None and repair.name not in guess.ids:
        guess = None
    name = found.name or (guess.ids[0] if guess else repair.name if repair else "")
    blocks = [_choose_first(wrong[0], name), *(repair.lines if repair else ())]
    blocks += _wrap(*found.faults)
    for part in wrong[1:] if wrong[0].shape else wrong:  # of a shape the first line says all
        blocks += _list_entries(part)
    blocks += _wrap(OPEN) if any(part.undecided for part in wrong) else []
    blocks += _describe_guess(guess, found.source) if guess is not None else []
    return blocks + _wrap(*dict.fromkeys(r for d in every for r in d.remarks))


def _choose_first(part: Judged, name: str) -> str:
    said = f": {name}" if name else ""
    if not part.off:
        return f"d/d{part.part} {part.shape}{said}"
    off = part.off[0]
    place = f"d/d{off.part or part.part}{format_index(off.index)}"
    if off.interval is not None:
        low, high = off.interval
        return f"{place} is {off.claimed:.6g}, outside the kink's interval [{low:g}, {high:g}]"
    claimed, expected = _write_apart(off.claimed, off.expected)
    if part.undecided:
        return f"{place} is {claimed} or {expected}: floats alone cannot tell"
    return f"{place} is {claimed}, should be {expected}{said}"


def _write_apart(one: float, other: float) -> tuple[str, str]:
    pairs = ((f"{one:.{digits}g}", f"{other:.{digits}g}") for digits in range(4, DIGITS + 1))
    apart = (
        pair for before, pair in pairwise(pairs) if before[0] != before[1] and pair[0] != pair[1]
    )
    return next(apart, (repr(one), repr(other)))


def _describe_guess(guess: "Hypothesis", source: str) -> Iterator[str]:
    from gradcheck.diagnosis import write_words  # noqa: PLC0415

    words = write_words(guess, source)
    named = QUOTED.findall(words)
    if len(set(named)) < len(named):  # all of it happens in one call of another file
        return
    yield from _wrap(f"{guess.ids[0]}: {words}")
    if guess.span is not None and source:  # of what was typed at a prompt there is none
        lines = underline(source, (guess.span[-2], guess.span[-1]), "    ")
        start = max(4, lines[-1].find("~") - WIDTH // 2) if max(map(len, lines)) > WIDTH else 4
        yield from ("    " + line[start : start + WIDTH - 4] for line in lines)


def _list_entries(part: Judged) -> Iterator[str]:
    """The entries that are out, the farthest first, in columns."""
    if part.shape:
        yield from _wrap(f"d/d{part.part} {part.shape}")
        return
    count = int(np.count_nonzero(part.out))
    said = f"{count} entries are" if count > 1 else "one entry is"
    yield f"  d/d{part.part}: {said} out{'; the largest:' if count > SHOWN else ':'}"
    smooth = [off for off in part.off if off.interval is None]
    lines: list[str] = []
    for digits in (9, 7, 5) if smooth else ():  # of an entry with many indices fewer
        rows: list[tuple[str, ...]] = [("entry", "claimed", "expected", "tolerance")]
        for off in smooth[:SHOWN]:
            bar = max(off.error, EPSILON * abs(off.expected))  # no float64 says more
            expected = f"{off.expected:.{digits}g} ± {bar:.0e}"
            name = format_index(off.index) or off.part
            rows.append((name, f"{off.claimed:.{digits}g}", expected, f"{off.tolerance:.0e}"))
        lines = [f"  {line}" for line in align(rows)]
        if max(map(len, lines)) <= WIDTH:
            break
    yield from lines
    kinks = ((off, off.interval) for off in part.off if off.interval is not None)
    for off, (low, high) in islice(kinks, SHOWN):
        entry = off.part + format_index(off.index)
        yield f"    {entry} is {off.claimed:.9g}, not in [{low:g}, {high:g}]"


def align(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()


# -- where no gradient is known ------------------------------------------------------------------


def _describe_failure(verdict: Verdict, faults: Sequence[str]) -> Iterator[str]:
    """Why there is no gradient to judge by, whom the pattern blames, and what helps.

    A backward of the user's own is no fault of ours. Where differences, alone, leave no entry open,
    what is missing is somebody who agrees.
    """
    suspect, wide = next(iter(verdict.suspects), None), WIDE * find_level(verdict)
    given = [opinion.name for opinion in verdict.opinions.values() if not opinion.abstains]
    floats = verdict.verdict == "undecided" and given == ["differences"]
    known = [part.gradient for part in verdict.parts.values()]
    lone = floats and not verdict.entries
    lone = lone and all(g is not None and bool(np.all(g.error <= wide)) for g in known)
    first, *more = faults or [ALONE if lone else FAILED[verdict.verdict]]
    if not faults and verdict.verdict == "dissent" and suspect is not None and suspect.users:
        first = f"{suspect.op}.backward is wrong: {suspect.detail}"
    yield from (first, *_wrap(*more), f"  verdict: {verdict.verdict}")
    for entry in [e for e in verdict.entries if e.verdict == verdict.verdict][:SHOWN]:
        place = (entry.part or "value") + format_index(entry.index)
        yield from _wrap(f"{place}: {entry.why}", indent="    ")
    if suspect is not None and not suspect.users:
        yield f"    first op whose own rule is off: {suspect.op}, cell {suspect.cell}"
    for name, opinion in verdict.opinions.items():
        noted = any(opinion.abstains in note for note in verdict.notes)
        if opinion.abstains and not (noted or opinion.abstains.endswith(PLAIN)):
            yield from _wrap(f"{name} abstains: {opinion.abstains}", indent="    ")
    if floats and RANDOM not in faults:
        yield from _wrap(HELP if lone else OPEN)


def _list_unseen(verdict: Verdict, judged: Sequence[Judged]) -> Iterator[str]:
    for part in judged:
        if part.sensitivity and part.right:
            least = f"{part.sensitivity:.1g}"
            yield f"d/d{part.part}: an entry off by less than {least} would not have been seen"
        if part.remark:
            yield f"d/d{part.part}: {part.remark}"
        if part.lossy:
            yield f"d/d{part.part}: {LOST.format(floats=part.lossy)}"
    widest = max((part.sensitivity for part in judged if not part.right), default=0.0)
    if widest:
        yield f"not seen: entries off by less than {widest:.1g}, and faults at other points"
    for note in verdict.notes:
        if note and PLAIN not in note:  # another library's: its own note says so
            yield f"note: {note}"
