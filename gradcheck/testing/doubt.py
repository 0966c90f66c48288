"""Where floats alone speak: entries that one scan leaves open, or that a claim misses, seen again.

The bar of a scan fails once in a thousand (`tests/opinions/test_coverage.py`), and rounding that
falls badly makes it wide. Scans that have no step in common are misled each by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.opinions.floats.blackbox import looked_at
from gradcheck.opinions.limits import TIGHT
from gradcheck.opinions.opinion import Case, Estimate, estimate
from gradcheck.testing.claims import Judged
from gradcheck.verdict.consult import Verdict

TURNS = 5
KEPT = 3
"""Of them: two that rounding spoils may be dropped. The three that are left do not miss wholly by
themselves: of 914 slopes beside narrow bends their hull missed one, single scans two."""
WIDE = 1 / 16
"""Of the largest slope: no bar that is wider settles anything. A factor of two or a sign lost is at
least a half of an entry, which is seen in all that are an eighth of the largest or more."""
MOST = 32  # entries that are seen again: each costs a thousand samples
Place = tuple[str, tuple[int, ...]]


def lone(verdict: Verdict) -> bool:
    """Whether only differences speak, entry by entry, and nothing is unusual but that."""
    given = [opinion for opinion in verdict.opinions.values() if not opinion.abstains]
    return (
        [opinion.name for opinion in given] == ["differences"]
        and verdict.verdict == "undecided"
        and not (verdict.entries or given[0].directions)
    )


def level(verdict: Verdict) -> float:
    """The largest slope that is known."""
    known = [part.gradient for part in verdict.parts.values() if part.gradient is not None]
    return max((each.largest for each in known), default=0.0)


def open_to(verdict: Verdict, claimed: Mapping[str, Any]) -> list[Place]:
    """The entries with a wide bar or none, and a claim that is not just what was seen."""
    bar, found = TIGHT * level(verdict), list[Place]()
    for name, part in verdict.parts.items():
        known, claim = part.gradient, claimed.get(name)
        if known is None or claim is None or np.shape(claim) != known.shape:
            return []
        far = np.abs(np.asarray(claim, dtype=np.float64) - known.value) > bar
        wide = (known.error > bar) & (far | ~np.isfinite(known.error))
        found += [(name, tuple(map(int, index))) for index in np.argwhere(wide)]
    return found


def missed(judged: Sequence[Judged]) -> list[Place]:
    """The entries that a claim misses, by the most bars first; none where it is wrong by shape."""
    if any(part.shape for part in judged):
        return []
    off = [each for part in judged for each in part.off if each.interval is None]
    off.sort(key=lambda o: -abs(o.claimed - o.expected) / (o.error + o.tolerance or 1.0))
    return [(each.part, each.index) for each in off]


def seen_again(
    case: Case, verdict: Verdict, places: Iterable[Place], claimed: Mapping[str, Any] | None = None
) -> Verdict:
    """The verdict with these entries as several scans know them.

    Of a claim that misses them as before, one is enough: the others are left as they are.
    """
    parts = dict(verdict.parts)
    for name, index in list(places)[:MOST]:
        known = parts[name].gradient
        assert known is not None
        value, error = _by_turns(case, (name, index), known)
        values, errors = np.array(known.value), np.array(known.error)
        values[index], errors[index] = value, error
        parts[name] = replace(parts[name], gradient=estimate(values, errors))
        if claimed is not None and not abs(float(claimed[name][index]) - value) <= error:
            break
    mine = verdict.opinions["differences"]
    gradients = {name: part.gradient for name, part in parts.items() if part.gradient is not None}
    opinions = {**verdict.opinions, "differences": replace(mine, gradients=gradients)}
    return replace(verdict, parts=parts, opinions=opinions)


def _by_turns(case: Case, place: Place, known: Estimate) -> tuple[float, float]:
    """What holds the narrowest bars of several scans; what was known where few find a slope.

    To each is added what the values carry that only other entries show (see `entries.within`).
    """
    was = float(known.value[place[1]]), float(known.error[place[1]])
    scans = [looked_at(case, *place, turn).seen for turn in range(TURNS)]
    beside = max(0.0, was[1] - scans[0].error) if np.isfinite(was[1]) else 0.0
    smooth = sorted((s.error, s.value) for s in scans if s.kind == "smooth")[:KEPT]
    if len(smooth) < KEPT:
        return was
    low, high = min(v - bar for bar, v in smooth), max(v + bar for bar, v in smooth)
    return (low + high) / 2, (high - low) / 2 + beside
