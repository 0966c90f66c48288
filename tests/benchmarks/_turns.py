"""Contestants take turns, so that a busy machine slows them alike."""

import importlib
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

Run = Callable[[], Any]


def print_ratios(title: str, contestants: Mapping[str, Run | None], rounds: int = 20) -> None:
    """The least time of each, and the median over the rounds of its ratio to the first.

    Every round begins with another contestant, so that none always finds the same caches. A
    contestant that is not installed is None.
    """
    runs = {name: run for name, run in contestants.items() if run}
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = deque(runs)
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name in order:
            times[name].append(seconds(runs[name]))
        order.rotate()
    print(title)
    ours = next(iter(times.values()))
    for name, taken in times.items():
        ratio = statistics.median(t / o for t, o in zip(taken, ours, strict=True))
        print(f"  {name:<24}{1e3 * min(taken):>10.3f} ms{ratio:>9.3g} x")
    for name in contestants.keys() - runs.keys():
        print(f"  {name:<24}  not installed")


def seconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peer(module: str) -> Any:
    """A library that may or may not be here."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
