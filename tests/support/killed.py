"""Runs of `gradcheck grade` as processes of their own, to be killed; a cluster on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.batches import calls

PATIENCE = 300  # seconds, for anything, on a busy machine


def command(
    room: Path,
    out: str,
    *more: str,
    given: Sequence[str] = ("set.yaml", "form.csv"),
    env: Mapping[str, str] | None = None,
) -> "subprocess.Popen[bytes]":
    """`gradcheck grade` of what is given in a room, as a process group of its own."""
    words = ["grade", *(str(room / name) for name in given), "-o", str(room / out), *more]
    return subprocess.Popen(
        [sys.executable, "-m", "gradcheck", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=env,
    )


def judged(directory: Path) -> int:
    """How many answers a ledger holds the judgement of, also while another process writes it."""
    try:
        return sum(calls(directory))
    except Exception:  # noqa: BLE001 - not there yet, or just being made
        return 0


def far_enough(process: "subprocess.Popen[bytes]", directory: Path, count: int) -> bool:
    return process.poll() is not None or judged(directory) >= count


def wait_until(condition: object) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


@contextmanager
def ended(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def started(
    module: str, *words: str, where: Path, env: Mapping[str, str] = os.environ
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=where,
        env={
            **env,
            "PYTHONPATH": os.pathsep.join([os.getcwd(), env.get("PYTHONPATH", "")]),
        },
    )


@contextmanager
def cluster(where: Path) -> Iterator[str]:
    file = where / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    with ended(started("distributed.cli.dask_scheduler", *words, where=where)):
        wait_until(lambda: file.is_file() and file.read_text().rstrip().endswith("}"))
        yield json.loads(file.read_text())["address"]


def worker(
    address: str, where: Path, env: Mapping[str, str] = os.environ, *, nanny: bool = False
) -> "subprocess.Popen[bytes]":
    """One worker of one thread; without a nanny, as a rule, that would start it again."""
    kept = ["--local-directory", str(where), "--nanny" if nanny else "--no-nanny"]
    words = [address, "--nthreads", "1", "--no-dashboard", *kept]
    return started("distributed.cli.dask_worker", *words, where=where, env=env)
