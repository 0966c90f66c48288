"""Reading and judging: answers a second, and beside sympy.simplify on the same answers."""

import gc
from collections.abc import Callable

import sympy

from gradcheck.batch.pool import COLLECT_EVERY
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, make_key
from gradcheck.problem import load_text
from tests.benchmarks._turns import print_ratios, seconds
from tests.support.pairs import Pair, X, pairs

COUNT, SHORT = 200, 60  # SymPy often takes minutes for what is longer than 60 characters


def main() -> None:
    """Microseconds to read, distinct answers a second with their diagnosis, and the ratio."""
    sample = [pair for pair in pairs(COUNT, seed=11) if len(pair.answer) <= SHORT]
    keys = {pair.program: prepared(pair) for pair in sample}
    gc.collect()  # what making the keys left behind is no answer's
    gc.set_threshold(COLLECT_EVERY)  # as a worker of `grade` has it
    took = seconds(lambda: [read(keys[pair.program], pair) for pair in sample])
    print(f"reading: {1e6 * took / len(sample):.0f} us an answer")
    for diagnose in (True, False):
        took = seconds(lambda d=diagnose: [verdict(keys, pair, diagnose=d) for pair in sample])
        words = "with diagnosis" if diagnose else "judging alone"
        print(f"{words}: {len(sample) / took:.0f} distinct answers a second")
    wrong = sum((verdict(keys, pair) == "right") != pair.right for pair in sample)
    print(f"misjudged: {wrong} of {len(sample)}")
    some = sample[:40]
    peers: dict[str, Callable[[], object]] = {
        "gradcheck": lambda: [verdict(keys, pair) for pair in some],
        "sympy.simplify": lambda: [simplified(pair) for pair in some],
    }
    print_ratios(f"{len(some)} answers", peers, rounds=3)


def prepared(pair: Pair) -> Key:
    text = f"id: t\ninputs: {{x: {pair.start}}}\nprogram: {pair.program}\n"
    ready = make_key(load_text(text).problems[0])
    for answer in (pair.reference, "x + 1e-39"):  # what a key learns once
        judge(ready, ready.problem.parts[0], answer)
    return ready


def read(ready: Key, pair: Pair) -> object:
    return ready.read(ready.problem.parts[0], pair.answer)


def verdict(keys: dict[str, Key], pair: Pair, *, diagnose: bool = False) -> str:
    ready = keys[pair.program]
    return judge(ready, ready.problem.parts[0], pair.answer, diagnose=diagnose).verdict


def simplified(pair: Pair) -> bool:
    """Whether SymPy simplifies the difference to zero; the texts are our own."""
    names = {"x": X, "e": sympy.E}
    truth = sympy.diff(sympy.sympify(pair.program, locals=names), X)
    return bool(sympy.simplify(sympy.sympify(pair.answer, locals=names) - truth) == 0)
