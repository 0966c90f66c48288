"""Where floats alone speak: claims that are too far off to pass and too near to be called wrong."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradcheck.opinions.floats.entries import looked_at
from gradcheck.opinions.opinion import Case
from gradcheck.testing.claims import Judged, Off
from gradcheck.verdict.consult import Verdict

BARS = 16  # of differences of floats, of which one in a thousand does not hold
BESIDE = (2.0**-20, -(2.0**-20), 2.0**-19)  # of the entry: so near that a slope stays what it is
FEW = 4  # entries that are off: more are not looked at again


def doubtful(case: Case, verdict: Verdict, judged: Sequence[Judged]) -> bool:
    """Whether a claim is off by a few bars of floats that nothing else confirms.

    Or by as much as the slopes differ that are measured beside the point: bars that neighbours
    break hold nowhere near.
    """
    given = [opinion.name for opinion in verdict.opinions.values() if not opinion.abstains]
    off = [each for part in judged for each in part.off]
    if given != ["differences"] or not off or any(part.shape or part.together for part in judged):
        return False
    far = [each for each in off if abs(each.claimed - each.expected) > BARS * each.error]
    return len(far) <= FEW and all(_scattered(case, each) for each in far)


def _scattered(case: Case, off: Off) -> bool:
    """Whether the slope beside the point strays from the one at it as far as the claim does."""
    still = np.asarray(case.inputs[off.part], dtype=np.float64)
    strayed = []
    for step in BESIDE:
        moved = still.copy()
        moved[off.index] += step * abs(moved[off.index])
        there = replace(case, inputs={**case.inputs, off.part: moved})
        strayed.append(abs(looked_at(there, off.part, off.index).seen.value - off.expected))
    widest = max(strayed)
    return not widest < abs(off.claimed - off.expected) / BARS and not widest < BARS * off.error


def left_open(verdict: Verdict, judged: Sequence[Judged]) -> Verdict:
    """The verdict with the entry of the claim that is farthest off: neither right nor wrong."""
    off = max((o for part in judged for o in part.off), key=lambda o: abs(o.claimed - o.expected))
    place = f"{off.part}[{', '.join(map(str, off.index))}]" if off.index else off.part
    words = (
        f"{place} is claimed to be {off.claimed:.6g}; the differences say {off.expected:.6g} ± "
        f"{off.error:.1g}: too far off to pass, too near to be called wrong"
    )
    return replace(verdict, verdict="undecided", notes=(words, *verdict.notes))
