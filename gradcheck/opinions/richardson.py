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


def scatter(f0: float, values: Rungs) -> Rungs:
    """Third difference of f on x + {0, h, 2h, 4h}, scaled to the noise that would explain it."""
    weights = np.array([-1 / 8, 1 / 3, -1 / 4, 1 / 24])
    third = weights[0] * f0 + weights[1] * values[:-2] + weights[2] * values[1:-1]
    return np.abs(third + weights[3] * values[2:]) / float(np.linalg.norm(weights))


def rounding(f0: float, values: Rungs) -> Rungs:
    """One unit in the last place of the larger of f(x) and f(x ± h), and never exactly nothing."""
    return EPS * np.fmax(np.abs(values), abs(f0)) + 5e-324


def flat_noise(scatters: Rungs) -> float:
    """Largest scatter on the finest rungs, up to the rung where it starts to grow."""
    noise = float(np.fmax.reduce(scatters[:4], initial=0.0))
    for level in scatters[4:12]:
        if not level <= 4 * noise:
            break
        noise = max(noise, float(level))
    return noise


def onset(scatters: Rungs, floor: Rungs, noise: float) -> int | None:
    """First rung whose scatter leaps out of all finer ones; a smooth f grows eightfold at most."""
    before = np.concatenate(([0.0], np.fmax.accumulate(scatters)[:-1]))
    leaps = scatters > 32 * np.fmax(np.fmax(before, floor), noise)
    return int(np.argmax(leaps)) if leaps.any() else None


def noise_by_rung(f0: float, values: Rungs, flat: float) -> Rungs:
    """Flat noise near x, growing with |f| farther out as a relative error would (to 64 ulp)."""
    ulps = rounding(f0, values)
    relative = np.clip(flat / np.fmax.reduce(ulps[:4], initial=5e-324), 1.0, 64.0)
    return np.fmax(flat, relative * ulps)


def tail(fine: Rungs, coarse: Rungs, noise: Rungs, rate: float) -> Rungs:
    """Bound on what a sequence still has to go after its last observed move.

    A sequence that shrinks its moves by the factor q has q/(1-q) of the last move left. The factor
    is observed, never better than `rate`, and not asked where the move drowns in noise. Nothing is
    promised to a sequence that does not shrink.
    """
    move = np.fmax(np.abs(fine), np.abs(coarse) * rate)
    factor = np.fmax(np.abs(fine) / np.abs(coarse), rate)
    factor = np.where(np.abs(fine) <= noise, rate, factor)
    return np.where(factor < 0.9, move * factor / (1 - np.fmin(factor, 0.9)), np.inf)


def tableau(quotients: Rungs, noise: Rungs, ratio: float) -> tuple[Rungs, Rungs]:
    """Richardson's columns 0, 1, ... and a bar for every entry; column k removes h^k (or h^2k)."""
    columns, bars = [], []
    value, amplified = quotients, noise
    for k in range(1, min(COLUMNS, len(quotients) - 2) + 1):
        weight = ratio**k
        move = np.append(value[:-1] - value[1:], np.nan)
        previous = np.append(move[1:], np.nan)
        heard = amplified + np.append(amplified[1:], np.nan)
        left = tail(move, previous, heard, 1 / weight)
        columns.append(value)
        bars.append(left + amplified)
        value = value + move / (weight - 1)
        amplified = (weight * amplified + np.append(amplified[1:], np.nan)) / (weight - 1)
        columns.append(value)
        bars.append(left + np.abs(move) / (weight - 1) + amplified)
    return np.array(columns), np.array(bars)


def settle(quotients: Rungs, noise: Rungs, ratio: float) -> tuple[float, float]:
    """The entry with the smallest bar that no finer rung contradicts; (nan, inf) if there is none.

    Far from x a table can converge beautifully to something else (|x| at 1e-9 has slope 0 for every
    step above 1e-9): being refuted from nearer by is the only sign of it.
    """
    values, bars = tableau(quotients, noise, ratio)
    bars = SAFETY * np.where(np.isfinite(values) & np.isfinite(bars), bars, np.inf)
    best = bars.argmin(axis=0)[np.newaxis]
    value = np.take_along_axis(values, best, 0)[0]
    bar = np.take_along_axis(bars, best, 0)[0]
    value = np.where(np.isfinite(bar), value, 0.0)
    apart = np.abs(value[:, np.newaxis] - value) > bar[:, np.newaxis] + bar
    refuted = np.triu(apart, 1).any(axis=0)
    bar = np.where(refuted, np.inf, bar)
    chosen = int(bar.argmin())
    return (float(value[chosen]), float(bar[chosen])) if np.isfinite(bar[chosen]) else NOWHERE


NOWHERE = (float("nan"), float("inf"))
