"""A course of `--students` and 20 problems: answers a second, two workers, memory, a second run.

Answers are made from the self-tests of the shipped sets: 60 % are distinct, two in three right.
Everything counts: reading the files, judging, diagnosing, the ledger, the gradebook, all pages.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from gradcheck.problem import Problem, load
from tests.support.shipped import FOLDER

SETS = ("chain-rule", "first-derivatives", "products-and-quotients", "trigonometry-and-inverses")
PROBLEMS, DISTINCT, RIGHT = 20, 0.6, 0.65


def main() -> None:
    """One process, two, a second run; the peak of the largest process, and for a tenth."""
    words = argparse.ArgumentParser(prog="python -m tests.benchmarks batch")
    words.add_argument("--students", type=int, default=5_000)
    students = words.parse_args().students
    with tempfile.TemporaryDirectory() as directory:
        room = Path(directory)
        chosen = choose(room)
        write(room / "tenth", chosen, students // 10)
        write(room / "all", chosen, students)
        grade(room, "tenth", 1)
        small = peak()
        one = grade(room, "all", 1)
        print(f"peak memory {peak():.0f} MB, for a tenth of the class {small:.0f} MB")
        two, again = grade(room, "all", 2), grade(room, "all", 2)
        lines = map(json.loads, (room / "out-all-1/results.jsonl").open())
        distinct = len({(line["problem"], line["answer"]) for line in lines})
        print(f"{students * PROBLEMS:,} answers, {distinct:,} distinct")
        print(f"one process {one:.1f} s: {distinct / one:,.0f} distinct/s")
        print(f"two {two:.1f} s: speed-up {one / two:.2f}; a second run takes {again:.1f} s")


def choose(room: Path) -> list[Problem]:
    """The first problems with one number to differentiate by, as one set in the room."""
    chosen, entries = [], []
    for name in SETS:
        path = FOLDER / f"{name}.yaml"
        raw = {each["id"]: each for each in yaml.safe_load(path.read_text())["problems"]}
        for problem in load(path).problems:
            if len(problem.parts) == 1 and problem.right and problem.wrong:
                chosen.append(problem)
                entries.append(raw[problem.id])
    (room / "set.json").write_text(json.dumps({"problems": entries[:PROBLEMS]}))
    return chosen[:PROBLEMS]


def write(directory: Path, chosen: list[Problem], students: int) -> None:
    dice = random.Random(0)
    directory.mkdir()
    for number in range(students):
        answers = {problem.id: answer(problem, dice, number) for problem in chosen}
        text = f"student: s{number:06}\nanswers: {json.dumps(answers)}\n"
        (directory / f"s{number:06}.yaml").write_text(text)


def answer(problem: Problem, dice: random.Random, number: int) -> str:
    """What a student types; often nobody else does."""
    part = problem.parts[0].name
    right = [str(given[part]) for given in problem.right]
    wrong = [str(given[part]) for given, _ in problem.wrong if part in given]
    text = dice.choice(right if dice.random() < RIGHT else wrong)
    n = number + 2
    return text if dice.random() >= DISTINCT else f"({text}){dice.choice((f'*{n}/{n}', f'+0*{n}'))}"


def grade(room: Path, name: str, jobs: int) -> float:
    words = ["grade", room / "set.json", room / name, "-o", room / f"out-{name}-{jobs}"]
    start = time.perf_counter()
    command = [sys.executable, "-m", "gradcheck", *map(str, words), "--jobs", str(jobs)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def peak() -> float:
    """Megabytes of the largest process so far that has ended: Linux counts kilobytes."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
