"""The judge's speed, beside Math-Verify and sympy.simplify on the same answers in the same run.

Everything is counted: reading the answer, comparing it, finding the witness. No answer comes twice.
The contestants take turns, answer by answer, so that a busy machine slows them alike. A peer that
is not installed is left out. Math-Verify gets LaTeX, its own tongue, and both peers the
derivative, found and read beforehand.
"""

import importlib
import logging
import statistics
import time
from collections.abc import Callable
from typing import Any

import sympy

from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, key
from gradcheck.problem import load_text
from tests.support.pairs import Pair, X, pairs

COUNT = 200
SEED = 11
LONG = 60  # characters: beyond it peers often run into their time limits
Judge = Callable[[Pair], bool]


def main() -> None:
    """Print answers per second, ratios and mistakes, for short answers and for all."""
    logging.disable(logging.CRITICAL)
    sample = list(pairs(COUNT, seed=SEED))
    contestants = {"gradcheck": gradcheck(sample), **peers(sample)}
    seconds, mistakes = measured(contestants, sample)
    short = [n for n, pair in enumerate(sample) if len(pair.answer) <= LONG]
    told(f"{len(short)} answers of at most {LONG} characters", seconds, mistakes, short)
    told(f"all {len(sample)} answers", seconds, mistakes, list(range(len(sample))))


def told(
    title: str, seconds: dict[str, list[float]], mistakes: dict[str, list[bool]], of: list[int]
) -> None:
    """One table: the mean and the median of an answer, and how they compare with ours."""
    print(f"{title}\n  {'':<16}{'mean':>10}{'ratio':>9}{'median':>12}{'ratio':>9}{'misjudged':>12}")
    ours = [seconds["gradcheck"][n] for n in of]
    for name, times in seconds.items():
        theirs = [times[n] for n in of]
        mean, median = statistics.fmean(theirs), statistics.median(theirs)
        ratios = mean / statistics.fmean(ours), median / statistics.median(ours)
        wrong = sum(mistakes[name][n] for n in of)
        print(
            f"  {name:<16}{1e3 * mean:>7.2f} ms{ratios[0]:>8.1f}x"
            f"{1e3 * median:>9.2f} ms{ratios[1]:>8.1f}x{wrong:>12}"
        )


def measured(
    contestants: dict[str, Judge], sample: list[Pair]
) -> tuple[dict[str, list[float]], dict[str, list[bool]]]:
    """Seconds for each answer, and whether it was misjudged; each contestant in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    mistakes: dict[str, list[bool]] = {name: [] for name in contestants}
    for pair in sample:
        for name, says in contestants.items():
            start = time.process_time()
            verdict = says(pair)
            seconds[name].append(time.process_time() - start)
            mistakes[name].append(verdict != pair.right)
    return seconds, mistakes


def gradcheck(sample: list[Pair]) -> Judge:
    """Our judge; the problems are prepared beforehand, as a batch does once."""
    keys: dict[str, Key] = {}
    for pair in sample:
        if pair.program not in keys:
            text = f"id: t\ninputs: {{x: {pair.start}}}\nprogram: {pair.program}\n"
            ready = keys[pair.program] = key(load_text(text).problems[0])
            judge(ready, ready.problem.parts[0], "x + 1e-39", diagnose=False)

    def says(pair: Pair) -> bool:
        ready = keys[pair.program]
        found = judge(ready, ready.problem.parts[0], pair.answer, diagnose=False)
        return found.verdict == "right"

    return says


def peers(sample: list[Pair]) -> dict[str, Judge]:
    """The other checkers that are installed."""
    found: dict[str, Judge] = {"sympy.simplify": simplified(sample)}
    verifier = module("math_verify")
    if verifier is not None:
        found["Math-Verify"] = verified(verifier, sample)
    return found


def module(name: str) -> Any:
    """A module that may or may not be here."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def verified(verifier: Any, sample: list[Pair]) -> Judge:
    """Math-Verify's verdict on the LaTeX of an answer; references are read beforehand."""
    read = {pair.reference: verifier.parse(f"${pair.reference}$") for pair in sample}
    return lambda pair: bool(
        verifier.verify(read[pair.reference], verifier.parse(f"${pair.latex}$"))
    )


def simplified(sample: list[Pair]) -> Judge:
    """Whether SymPy simplifies the difference to zero; the texts are our own."""
    names = {"x": X, "e": sympy.E}
    known = {p.program: sympy.diff(sympy.sympify(p.program, locals=names), X) for p in sample}

    def says(pair: Pair) -> bool:
        answer = sympy.sympify(pair.answer, locals=names)
        return bool(sympy.simplify(answer - known[pair.program]) == 0)

    return says
