"""A class at the pages: 200 students at once on loopback, alone and beside a flood of hostile ones.

Every student has a name, a connection of their own, and gives ten answers out of the sets' own
right and wrong ones, with a pause for thought before each (`--think`, seconds on average; 0 for as
fast as the server replies). Told are errors, the median and the 99th percentile of the replies, how
many attempts are in the ledger, and the memory of server and workers before and after.
"""

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from gradcheck.problem import load

STUDENTS, ANSWERS, FLOOD = 200, 10, 20
SETS = sorted((Path(__file__).parents[2] / "problems").glob("*.yaml"))
HOSTILE = [
    "9**9**9**9", "(" * 900, "-" * 1_900, "x**" * 300 + "x", "+".join(["x"] * 400), "1e9999999999",
    "sin(" * 60 + "x" + ")" * 60, "exp(exp(exp(exp(exp(x)))))", "x^(10^300)", "(x+1)**999",
    "9" * 1_900, "gamma(10**9)", "__import__('os').system('x')", "((((x^2+1)^9+1)^9+1)^9+1)^9",
    "tan(1/x)*" * 60 + "1", "log(log(log(log(x))))", "|" * 200, "e^(e^(e^(e^(e^x))))",
]  # fmt: skip


def main() -> None:
    """Serve the shipped sets, and let the class loose on them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--think", type=float, default=2.0)
    think = parser.parse_args().think
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "gradcheck", "serve", *map(str, SETS)]
        command += ["-o", directory, "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout
        port = int(server.stdout.readline().split("/")[2].split(":")[1])
        try:
            asyncio.run(_measure(port, server.pid, think))
        finally:
            server.terminate()
            server.wait()
        with closing(sqlite3.connect(Path(directory) / "results.sqlite")) as db:
            kept = db.execute("SELECT COUNT(*) FROM attempts").fetchone()[0]
        print(f"attempts in the ledger: {kept}")


async def _measure(port: int, pid: int, think: float) -> None:
    """The class twice: alone, then beside the flood."""
    while b"still being prepared" in (await _Connection(port).get("/"))[1]:
        await asyncio.sleep(0.5)
    before = _memory(pid)
    for round_, hostile in enumerate((False, True)):
        flood = [asyncio.create_task(_flood(port, k)) for k in range(FLOOD * hostile)]
        started = time.monotonic()
        students = (_student(port, f"{round_} student {k}", think) for k in range(STUDENTS))
        told = [each for own in await asyncio.gather(*students) for each in own]
        seconds = time.monotonic() - started
        for each in flood:
            each.cancel()
        sent = sum(
            r for r in await asyncio.gather(*flood, return_exceptions=True) if type(r) is int
        )
        _tell(told, seconds, sent if hostile else None)
        print(f"  memory {before} MB before, {_memory(pid)} MB now")


def _tell(told: list[tuple[int, float]], seconds: float, sent: int | None) -> None:
    times = sorted(1000 * each for _, each in told)
    faults = sum(status != 200 for status, _ in told)
    beside = "alone" if sent is None else f"beside {sent} hostile answers"
    print(f"{len(told)} answers of {STUDENTS} students in {seconds:.1f} s, {beside}")
    median, late = statistics.median(times), times[int(0.99 * len(times))]
    print(
        f"  {faults} errors, median {median:.0f} ms, p99 {late:.0f} ms, longest {times[-1]:.0f} ms"
    )


async def _student(port: int, name: str, think: float) -> list[tuple[int, float]]:
    """Ten answers: the status and the seconds of each."""
    chance = random.Random(name)
    line = _Connection(port)
    await line.name(name)
    told = []
    for problem, part, answer in chance.sample(list(_answers()), ANSWERS):
        await asyncio.sleep(chance.expovariate(1 / think) if think else 0)
        asked = {"problem": problem, "part": part, "answer": answer}
        started = time.perf_counter()
        status, _ = await line.post("/api/check", asked)
        told.append((status, time.perf_counter() - started))
    return told


async def _flood(port: int, k: int) -> int:
    """Hostile answers without a pause, half of them under names of their own; how many."""
    chance, sent = random.Random(k), 0
    line = _Connection(port)
    if k % 2:
        await line.name(f"eve {k}")
    try:
        while True:
            text = f"{chance.choice(HOSTILE)}+{chance.randrange(10**6)}"
            await line.post(
                "/api/check", {"problem": "cubic-plus-sine", "part": "x", "answer": text}
            )
            sent += 1
    except asyncio.CancelledError:
        return sent


def _answers() -> Iterator[tuple[str, str, Any]]:
    """All answers of the sets' self-tests."""
    if not ANSWERS_KNOWN:
        for problem in (p for file in SETS for p in load(file).problems):
            for given in (*problem.right, *(answer for answer, _ in problem.wrong)):
                ANSWERS_KNOWN.extend((problem.id, part, each) for part, each in given.items())
    yield from ANSWERS_KNOWN


ANSWERS_KNOWN: list[tuple[str, str, Any]] = []


class _Connection:
    """One connection that stays open, as a browser's does."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie = port, ""
        self.streams: Any = None

    async def name(self, name: str) -> None:
        """Get the cookie of a name."""
        form = f"name={name.replace(' ', '+')}&back=/".encode()
        _, _, head = await self._asked("POST", "/name", form, "application/x-www-form-urlencoded")
        self.cookie = head.split("set-cookie: ")[1].split(";")[0]

    async def get(self, path: str) -> tuple[int, bytes]:
        """A page."""
        status, body, _ = await self._asked("GET", path, b"", "text/plain")
        return status, body

    async def post(self, path: str, asked: Any) -> tuple[int, bytes]:
        """JSON."""
        status, body, _ = await self._asked(
            "POST", path, json.dumps(asked).encode(), "application/json"
        )
        return status, body

    async def _asked(
        self, method: str, path: str, body: bytes, kind: str
    ) -> tuple[int, bytes, str]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\ncookie: {self.cookie}\r\n"
        )
        head += f"content-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            told = (await reader.readuntil(b"\r\n\r\n")).decode()
        except (OSError, EOFError):  # it was closed while nobody spoke: once more, on a new one
            self.streams = None
            return await self._asked(method, path, body, kind)
        size = int(told.lower().split("content-length: ")[1].split("\r\n")[0])
        return int(told.split()[1]), await reader.readexactly(size), told


def _memory(pid: int) -> int:
    """Megabytes of the server and all below it, shared pages divided (PSS)."""
    return sum(map(_pss, _tree(pid))) // 1024


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _tree(int(child))


def _pss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
