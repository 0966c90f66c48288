"""Difference quotients on a dyadic ladder of steps: their noise, their extrapolation, the choice.

Arrays run over the rungs of one ladder, finest step first, each step twice the one before.
A rung outside the domain is nan, and so is everything made from it.
"""

import numpy as np
from numpy.typing import NDArray

Rungs = NDArray[np.float64]

EPS = 2.0**-52
COLUMNS = 8
SAFETY = 2.0


def scatter(f0: float, steps: Rungs, values: Rungs) -> Rungs:
    """Third divided difference on x, x + h, x + 2h, x + 4h, as the noise that would explain it."""
    h = np.array([np.zeros(len(steps) - 2), steps[:-2], steps[1:-1], steps[2:]])
    y = np.array([np.full(len(steps) - 2, f0), values[:-2], values[1:-1], values[2:]])
    h = h / steps[1:-1]
    weights = np.array(
        [1 / np.prod([h[i] - h[j] for j in range(4) if j != i], axis=0) for i in range(4)]
    )
    return np.abs((weights * y).sum(axis=0)) / np.linalg.norm(weights, axis=0)


def rounding(f0: float, values: Rungs) -> Rungs:
    """One unit in the last place of the larger of f(x) and f(x ± h), and never exactly nothing."""
    return EPS * np.fmax(np.abs(values), abs(f0)) + 5e-324


def flat_noise(*scatters: Rungs) -> float:
    """Three times the median scatter of the finest rungs: deaf to whatever lies farther out."""
    finest = np.concatenate([s[:8] for s in scatters])
    return 3 * float(np.nanmedian(finest)) if np.isfinite(finest).any() else 0.0


def onset(scatters: Rungs, floor: Rungs, noise: float) -> int | None:
    """First rung whose scatter leaps out of all finer ones; a smooth f grows eightfold at most."""
    before = np.concatenate(([0.0], np.fmax.accumulate(scatters)[:-1]))
    leaps = scatters > 32 * np.fmax(np.fmax(before, floor), noise)
    return int(np.argmax(leaps)) if leaps.any() else None


def plateaus(scatters: Rungs) -> Rungs:
    """Noise on six rungs from each one up; nan where the scatter still grows as a smooth f makes it."""
    six = np.lib.stride_tricks.sliding_window_view(scatters, 6)
    early, late = np.median(six[:, :3], axis=1), np.median(six[:, 3:], axis=1)
    return np.where(late <= 6 * early, 3 * np.median(six, axis=1), np.nan)


def noise_by_rung(f0: float, values: Rungs, flat: float) -> Rungs:
    """Flat noise near x, growing with |f| farther out as a relative error would (to 64 ulp)."""
    ulps = rounding(f0, values)
    relative = np.clip(flat / np.fmax.reduce(ulps[:4], initial=5e-324), 1.0, 64.0)
    return np.fmax(flat, relative * ulps)


def tail(move: Rungs, noise: Rungs, rate: Rungs) -> Rungs:
    """Bound on how far a sequence still has to go after its move on each rung.

    A sequence that shrinks its moves by the factor q has q/(1-q) of the last move left. The worst
    factor of the last two is taken, never better than `rate`, one half where the moves drown in
    noise. Nothing is promised to a sequence that does not shrink.
    """
    last, second, third = np.abs(move), np.abs(shifted(move)), np.abs(shifted(shifted(move)))
    factor = np.fmax(np.fmax(last / second, second / third), rate)
    factor = np.where(last <= noise, 0.5, factor)
    last = np.fmax(last, second * rate)
    return np.where(factor < 0.9, last * factor / (1 - np.fmin(factor, 0.9)), np.inf)


def tableau(steps: Rungs, quotients: Rungs, noise: Rungs, power: int) -> tuple[Rungs, Rungs]:
    """Neville's columns (column k has lost h^power ... h^(k power)) and their bars.

    An entry's bar is what its parent column had left to go, its own correction, and its noise.
    """
    columns, bars = [quotients], [np.full_like(quotients, np.inf)]
    value, amplified, coarsest = quotients, noise, steps
    for k in range(1, COLUMNS):
        coarsest = shifted(coarsest)
        weight = (coarsest / steps) ** power
        move, coarser_noise = value - shifted(value), shifted(amplified)
        left = tail(move, amplified + coarser_noise, 1 / weight)
        bars[-1] = left + amplified if k == 1 else bars[-1]
        value = value + move / (weight - 1)
        amplified = (weight * amplified + coarser_noise) / (weight - 1)
        columns.append(value)
        bars.append(left + np.abs(move) / (weight - 1) + amplified)
    return np.array(columns), np.array(bars)


def shifted(rungs: Rungs) -> Rungs:
    """Every rung's next coarser neighbour; the coarsest has none."""
    return np.append(rungs[1:], np.nan)


def settle(steps: Rungs, quotients: Rungs, noise: Rungs, power: int) -> tuple[float, float, int]:
    """Value, bar and rung of the smallest bar that no finer rung contradicts; (nan, inf, 0) if none.

    Far from x a table can converge beautifully to something else (|x| at 1e-9 has slope 0 for every
    step above 1e-9): being refuted from nearer by is the only sign of it.
    """
    values, bars = tableau(steps, quotients, noise, power)
    bars = SAFETY * np.where(np.isfinite(values) & np.isfinite(bars), bars, np.inf)
    best = bars.argmin(axis=0)[np.newaxis]
    bar = np.take_along_axis(bars, best, 0)[0]
    value = np.where(np.isfinite(bar), np.take_along_axis(values, best, 0)[0], 0.0)
    apart = np.abs(value[:, np.newaxis] - value) > bar[:, np.newaxis] + bar
    whole = bar
    bar = np.where(np.triu(apart, 1).any(axis=0), np.inf, bar)
    boldest, chosen = int(whole.argmin()), int(bar.argmin())
    gap = abs(float(value[chosen] - value[boldest]))
    if gap <= 1e-3 * abs(value[chosen]):
        bar[chosen] += gap
    if np.isinf(bar[chosen]):
        return np.nan, np.inf, 0
    return float(value[chosen]), float(bar[chosen]), chosen
