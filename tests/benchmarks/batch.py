"""A course of 5,000 students and 20 problems: answers a second, workers, memory, a second run.

Answers are made from the self-tests of the shipped sets: 60 % are distinct (a term that vanishes
is added, or spaces), the others are those that everybody types; about two in three are right.
Files are what students hand in: one YAML a student. Everything counts: reading them, judging and
diagnosing, the ledger, the gradebook and all pages. Sections are `rates`, `memory` and `kills`
(which ends 1,000 students' run again and again); `--students 500` is a tenth of the course.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import yaml

from gradcheck.problem import Problem, load
from tests.support.batches import calls, outputs
from tests.support.killed import cluster, command, ended, judged, worker

STUDENTS = 5_000
KILLED = 1_000  # students of the runs that are killed
KILLS = 10
GIVEN = ("set.json", "all")
PROBLEMS = 20
DISTINCT = 0.6
RIGHT = 0.65
LOOK = 0.2  # seconds between looks at the memory
SETS = ("chain-rule", "first-derivatives", "products-and-quotients", "trigonometry-and-inverses")
SHIPPED = Path(__file__).parents[2] / "problems"


def main() -> None:
    """The sections that are named, with so many students; all of them where none is."""
    words = argparse.ArgumentParser(prog="python -m tests.benchmarks batch")
    words.add_argument("sections", nargs="*", default=list(SECTIONS))
    words.add_argument("--students", type=int, default=STUDENTS)
    chosen = words.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for name in chosen.sections:
            room = Path(directory) / name
            room.mkdir()
            SECTIONS[name](room, problems(room), chosen.students)


def rates(room: Path, chosen: list[Problem], students: int) -> None:
    """With one process, with two, and once more."""
    write(room / "all", chosen, students)
    one = graded(room, "all", 1)
    two = graded(room, "all", 2)
    again = graded(room, "all", 2, fresh=False)
    told(students * len(chosen), distinct(room / "out-all-1"), one, two)
    print(f"  speed-up {one.wall / two.wall:.2f}; a second run judges nothing: {again.wall:.1f} s")


def memory(room: Path, chosen: list[Problem], students: int) -> None:
    """The peaks of the processes, workers included, against those for a tenth of the students."""
    write(room / "all", chosen, students)
    write(room / "tenth", chosen, students // 10)
    for jobs in (1, 2):
        small, large = graded(room, "tenth", jobs).peaks, graded(room, "all", jobs).peaks
        for name, of in (("largest process", max), ("all together", sum)):
            words = f"{of(large):.0f} MB, for a tenth {of(small):.0f} MB"
            print(f"  peak memory, {jobs} jobs, {name}: {words} ({of(large) / of(small):.2f}x)")


def kills(room: Path, chosen: list[Problem], students: int) -> None:
    """Ten `kill -9` of the whole process group at random moments: in process, with two, on Dask."""
    students = min(students, KILLED)
    write(room / "all", chosen, students)
    assert command(room, "whole", given=GIVEN).wait() == 0
    whole = outputs(room / "whole")
    with cluster(room) as address, ended(worker(address, room)), ended(worker(address, room)):
        for how in (("--jobs", "1"), ("--jobs", "2"), ("--scheduler", address)):
            out = f"out{how[0]}{how[1][0]}"
            moments = [killed(room, out, how, seed) for seed in range(KILLS)]
            assert command(room, out, *how, given=GIVEN).wait() == 0
            same, twice = outputs(room / out) == whole, sum(n != 1 for n in calls(room / out))
            words = f"{students * len(chosen):,} answers, killed at {moments} judged"
            print(f"  {' '.join(how)}: {words}: same bytes {same}, judged twice {twice}")


def killed(room: Path, out: str, how: Sequence[str], seed: int) -> int:
    """Kill a run after some seconds, or further answers; how many are judged then."""
    dice = random.Random(seed)
    end = time.monotonic() + dice.uniform(0.5, 8.0)
    further = judged(room / out) + dice.randint(1, 1_000)
    late = dice.random() < 0.7
    with ended(command(room, out, *how, given=GIVEN)) as run:
        while run.poll() is None and (judged(room / out) < further if late else True):
            if not late and time.monotonic() > end:
                break
            time.sleep(0.05)
    return judged(room / out)


SECTIONS = {"rates": rates, "memory": memory, "kills": kills}


class Run(NamedTuple):
    """What a run took: seconds, seconds of work, and the peaks of its processes in megabytes.

    The work is that of the process and of the children that it waits for: not of the fork server's.
    """

    wall: float
    cpu: float
    peaks: Sequence[float]


def told(answers: int, different: int, one: Run, two: Run) -> None:
    """The speeds; by CPU where other work on the machine stretches the seconds."""
    print(f"{answers:,} answers, {different:,} distinct, on {os.cpu_count()} cores")
    for name, run, jobs in (("1 process  ", one, 1), ("2 processes", two, 2)):
        rates = (
            f"{answers / run.wall:,.0f} answers/s, {different / run.wall / jobs:,.0f} distinct/s"
        )
        print(f"  {name} {run.wall:7.1f} s  {rates} a process")
    print(f"  1 process used {one.cpu:.1f} s of CPU: {different / one.cpu:,.0f} distinct/s of CPU")


def problems(room: Path) -> list[Problem]:
    """The first problems with one number to differentiate by, as one set in the room."""
    found, entries = [], []
    for name in SETS:
        path = SHIPPED / f"{name}.yaml"
        raw = {each["id"]: each for each in yaml.safe_load(path.read_text())["problems"]}
        for problem in load(path).problems:
            if len(problem.parts) == 1 and problem.right and problem.wrong:
                found.append(problem)
                entries.append(raw[problem.id])
    (room / "set.json").write_text(json.dumps({"problems": entries[:PROBLEMS]}))
    return found[:PROBLEMS]


def write(directory: Path, chosen: list[Problem], students: int) -> None:
    """A file a student."""
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
    if dice.random() >= DISTINCT:
        return text
    return f"({text})" + dice.choice(
        (f"*{number + 2}/{number + 2}", f" + 0*{number}", f" - {number}*0")
    )


def graded(room: Path, name: str, jobs: int, *, fresh: bool = True) -> Run:
    """Grade a directory of the room."""
    out = room / f"out-{name}-{jobs}"
    if fresh:
        shutil.rmtree(out, ignore_errors=True)
    words = ["grade", str(room / "set.json"), str(room / name), "-o", str(out), "--jobs", str(jobs)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "gradcheck", *words], **quiet)
    ended, peaks = 0, dict[int, float]()
    while not ended:
        peaks |= peaks_below(process.pid)
        time.sleep(LOOK)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    took = time.perf_counter() - start
    if status:
        raise SystemExit(f"gradcheck grade ended with {os.waitstatus_to_exitcode(status)}")
    peaks[process.pid] = peak(usage)
    return Run(took, usage.ru_utime + usage.ru_stime, [*peaks.values()])


def peaks_below(root: int) -> dict[int, float]:
    """Megabytes of each process that a process started, or that those did; on Linux."""
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it has ended meanwhile
            told = dict(line.split(":", 1) for line in path.read_text().splitlines())
            parents[int(path.parent.name)] = int(told["PPid"])
            found[int(path.parent.name)] = int(told.get("VmHWM", "0 kB").split()[0]) / 1e3
    family = {root}
    while more := {p for p, parent in parents.items() if parent in family} - family:
        family |= more
    return {p: found[p] for p in family - {root}}


def peak(usage: "resource.struct_rusage") -> float:
    """Megabytes of the largest process: Linux counts kilobytes, macOS bytes."""
    return usage.ru_maxrss / (1e3 if sys.platform != "darwin" else 1e6)


def distinct(out: Path) -> int:
    """How many different answers there were."""
    lines = (json.loads(line) for line in (out / "results.jsonl").open())
    return len({(line["problem"], line["answer"]) for line in lines})
