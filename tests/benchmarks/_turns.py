"""Contestants take turns, so that a busy machine slows them alike.

A turn lasts TURN seconds or one run: right behind another the first run of 1 ms would be
one that fills the processor's caches.
"""

import importlib
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

TURN = 0.1
Run = Callable[[], Any]


def print_ratios(title: str, contestants: Mapping[str, Run | None], rounds: int = 20) -> None:
    """The least time a run of each, and the median over the rounds of its ratio to the first.

    Every round begins with another contestant, so that none always finds the same caches. A
    contestant that is not installed is None.
    """
    runs = {name: run for name, run in contestants.items() if run}
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = deque(runs)
    for run in runs.values():
        run()
    counts = {name: max(1, round(TURN / seconds(run))) for name, run in runs.items()}
    for _ in range(rounds):
        for name in order:
            times[name].append(seconds(runs[name], counts[name]))
        order.rotate()
    print(title)
    ours = next(iter(times.values()))
    for name, taken in times.items():
        ratio = statistics.median(t / o for t, o in zip(taken, ours, strict=True))
        print(f"  {name:<24}{1e3 * min(taken):>10.3f} ms{ratio:>9.3g} x")
    for name in contestants.keys() - runs.keys():
        print(f"  {name:<24}  not installed")


def seconds(run: Run, count: int = 1) -> float:
    """The time of a run, of so many."""
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def peer(module: str) -> Any:
    """A library that may or may not be here."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
