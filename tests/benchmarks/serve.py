"""A class at the pages: 200 students on loopback, alone and beside a flood of hostile answers."""

import asyncio
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

import httpx2 as httpx

from gradcheck.problem import load
from tests.support.shipped import FOLDER

STUDENTS, ANSWERS, FLOOD, THINK = 200, 10, 20, 2.0  # THINK: seconds before an answer, on average
SETS = sorted(FOLDER.glob("*.yaml"))
HOSTILE = ["9**9**9**9", "(" * 900, "-" * 1_900, "x**" * 300 + "x", "(x+1)**999", "|" * 200,
           "sin(" * 60 + "x" + ")" * 60, "exp(exp(exp(exp(exp(x)))))", "gamma(10**9)"]  # fmt: skip


def main() -> None:
    """Serve the shipped sets, and let the class loose on them."""
    answers = [(p.id, part, text) for file in SETS for p in load(file).problems
               for given in (*p.right, *(wrong for wrong, _ in p.wrong))
               for part, text in given.items()]  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "gradcheck", "serve", *SETS, "-o", directory, "--port=0"]
        server = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
        assert server.stdout
        try:
            asyncio.run(attend("http://" + server.stdout.readline().split("/")[2], answers))
        finally:
            server.terminate()
            server.wait()


async def attend(url: str, answers: list[Any]) -> None:
    """The class twice: alone, then beside the flood."""
    for flooded in (False, True):
        flood = [asyncio.create_task(send_flood(url, k)) for k in range(FLOOD * flooded)]
        students = (send(url, f"{flooded} student {k}", answers) for k in range(STUDENTS))
        replies = [reply for own in await asyncio.gather(*students) for reply in own]
        for task in flood:
            task.cancel()
        times = sorted(1e3 * taken for _, taken in replies)
        errors = sum(status != 200 for status, _ in replies)
        late = f"median {statistics.median(times):.0f}, p99 {times[int(0.99 * len(times))]:.0f} ms"
        print(f"{len(replies)} answers{' beside a flood' * flooded}: {errors} errors, {late}")


async def send(url: str, name: str, answers: list[Any]) -> list[tuple[int, float]]:
    """Ten answers of one student: the status and the seconds of each."""
    dice, replies = random.Random(name), []
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        await client.post("/name", data={"name": name, "back": "/"})
        for problem, part, answer in dice.sample(answers, ANSWERS):
            await asyncio.sleep(dice.expovariate(1 / THINK))
            start = time.perf_counter()
            asked = {"problem": problem, "part": part, "answer": answer}
            replies.append(((await client.post("/api/check", json=asked)).status_code,
                            time.perf_counter() - start))  # fmt: skip
    return replies


async def send_flood(url: str, k: int) -> None:
    """Hostile answers without a pause."""
    dice = random.Random(k)
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        with suppress(httpx.HTTPError):
            while True:
                text = f"{dice.choice(HOSTILE)}+{dice.randrange(10**6)}"
                asked = {"problem": "cubic-plus-sine", "part": "x", "answer": text}
                await client.post("/api/check", json=asked)
