"""What a worker does with its answers, here in this process."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from gradcheck.batch import work
from gradcheck.batch.collect import Rules
from gradcheck.batch.ledger import Ledger
from gradcheck.batch.roster import Roster
from gradcheck.batch.submissions import Submission
from gradcheck.batch.work import GIVEN_UP, OVER_BUDGET, TOO_LARGE, TOO_SLOW, Asking, Batch
from gradcheck.problem import load_text
from tests.support.batches import SET, calls, expect, grade, lines, made, outputs
from tests.support.sweeping import at_most

PATIENCE = 300  # seconds, for anything, on a busy machine


def command(
    room: Path, out: str, *more: str, env: Mapping[str, str] = os.environ
) -> "subprocess.Popen[bytes]":
    """`gradcheck grade` of what is given in a room, as a process group of its own."""
    given = (str(room / name) for name in ("set.yaml", "form.csv"))
    words = ["grade", *given, "-o", str(room / out), *more]
    return started("gradcheck", *words, where=room, env=env)


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
        env={**env, "PYTHONPATH": os.pathsep.join([os.getcwd(), env.get("PYTHONPATH", "")])},
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


def test_a_fault_of_ours_costs_one_answer(monkeypatch):
    def fails(ready, part, answer):
        if answer == "7x":
            raise RecursionError("too deep")
        return mark(ready, part, answer)

    mark = work.mark
    monkeypatch.setattr(work, "mark", fails)
    answers = [(k, "x", f'"{k}x"') for k in range(20)]
    found = list(work.judge_chunk(Asking(SET.encode(), "", "line"), answers))
    verdicts = [verdict for verdict, *_ in found]
    assert [k for k, verdict in enumerate(verdicts) if verdict == "needs-review"] == [7]
    assert len(verdicts) == 20
    assert "a fault of gradcheck itself: RecursionError: too deep" in found[7][-1]


# -- runs that are killed, workers that die, clusters whose workers come and go: the same bytes


STUDENTS = 80
POISON = Path(__file__).with_name("poison.txt").read_text()
SLOW = Path(__file__).with_name("slow.txt").read_text()


def poisoned(directory, code):
    """The environment of processes that begin with a code of ours."""
    made(directory, {"poison/sitecustomize.py": code})
    places = [str(directory / "poison"), os.environ.get("PYTHONPATH", ""), os.getcwd()]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A set, a table of answers no two of which are alike, and what an unbroken run makes of it."""
    directory = tmp_path_factory.mktemp("room")
    rows = [f"s{k},6x + {k % 3}*{k},{k}x,{k}" for k in range(STUDENTS)]
    made(directory, {"set.yaml": SET, "form.csv": "\n".join(["student,line,two.x,two.y", *rows])})
    go_on(directory, "whole")
    return directory


def go_on(directory, out, *how):
    """The command once more, in this process, to its end."""
    given = (directory / name for name in ("set.yaml", "form.csv"))
    expect(grade(*given, "-o", directory / out, *how), 0)


@pytest.mark.parametrize(
    ("jobs", "kills"), [("2", 1), *(pytest.param(n, 10, marks=pytest.mark.sweep) for n in "12")]
)
def test_a_killed_run_resumes_to_the_same_bytes(room, jobs, kills):
    """`kill -9` of the whole group, again and again: nothing judged twice, nothing lost."""
    out, dice = f"killed-{jobs}-{kills}", random.Random(jobs)
    for _ in range(kills):
        more = judged(room / out) + dice.randint(1, 90 if kills == 1 else at_most(60))
        with ended(command(room, out, "--jobs", jobs)) as process:
            wait_until(partial(far_enough, process, room / out, more))
    assert judged(room / out) > 0
    go_on(room, out, "--jobs", jobs)
    assert outputs(room / out) == outputs(room / "whole")
    assert calls(room / out) == [1] * len(calls(room / "whole"))


def test_ctrl_c_keeps_what_was_judged(room, tmp_path):
    """Exit code 130, and the same command goes on; answers take so long that it is in their midst.

    As at a terminal, the workers hear it too.
    """
    process = command(room, "stopped", "--jobs", "2", env=poisoned(tmp_path, SLOW))
    wait_until(lambda: judged(room / "stopped") > 0)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    go_on(room, "stopped")
    assert outputs(room / "stopped") == outputs(room / "whole")


@pytest.mark.parametrize("how", [
    signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.sweep)])  # fmt: skip
def test_a_run_that_is_stopped_at_its_pages_writes_them_all(room, how):
    """What was half written is gone, too."""
    out = room / f"pages-{how.name}"
    with ended(command(room, out.name, "--jobs", "2")) as process:
        wait_until(lambda: process.poll() is not None or len([*out.glob("students/*")]) > 9)
        if process.poll() is None:
            os.killpg(process.pid, how)
    (out / "students" / ".ada.html.new").write_text("<h1>Ad")
    go_on(room, out.name)
    assert outputs(out) == outputs(room / "whole")


def test_what_no_worker_survives_is_left_to_a_person(tmp_path):
    """Answers that kill their worker, compute without end, or eat memory; the batch ends."""
    survived(tmp_path, "--jobs", "2")


def told_by(directory, code, *how):
    """The lines of `grade --json` where its processes begin with a code of ours."""
    words = ["grade", str(directory / "set.yaml"), str(directory / "a.csv"), *how, "--json"]
    found = subprocess.run(
        [sys.executable, "-m", "gradcheck", *words],
        env=poisoned(directory, code), capture_output=True, text=True, timeout=PATIENCE, check=False
    )  # fmt: skip
    assert found.returncode == 3, found.stderr
    return lines(found.stdout)


def survived(directory, *how):
    """Grade such answers among others: each of them, and no other, is left, and it is said why."""
    bad = {"s7": "endless", "s17": "deadly", "s18": "huge", "s29": "endless"}
    names = [f"s{k}" for k in range(40)]
    rows = [f"{name},{bad.get(name, f'{k}x')}" for k, name in enumerate(names)]
    made(directory, {"set.yaml": SET, "a.csv": "\n".join(["student,line", *rows])})
    found = told_by(directory, POISON, *how)
    told = {t["student"]: t for t in found if t["problem"] == "line"}
    review = {name: told[name] for name in names if told[name]["verdict"] == "needs-review"}
    assert {name: line["answer"] for name, line in review.items()} == bad
    assert review["s17"]["remarks"] == [GIVEN_UP]
    assert review["s18"]["remarks"] == [TOO_LARGE]
    assert review["s7"]["remarks"] == [f"{TOO_SLOW}: more than 0.5 seconds of computing"]
    assert told["s6"]["verdict"] == "right"


def test_a_student_has_a_budget(tmp_path):
    """One whose answers take it all leaves the rest to a person; the others are judged."""
    ids = [f"p{k}" for k in range(6)]
    made(tmp_path, {
        "set.yaml": "problems:\n" + "".join(
            f"- {{id: {id}, inputs: {{x: 2.0}}, program: {k} * x**2}}\n"
            for k, id in enumerate(ids, 2)
        ),
        "a.csv": "\n".join([
            ",".join(["student", *ids]),
            ",".join(["eve", *["endless"] * 6]),
            ",".join(["ada", *(f"{2 * k}x" for k in range(2, 8))]),
        ]),
    })  # fmt: skip
    budget = "from gradcheck.batch import work\nwork.BUDGET = 1.2\nwork.SIZE = 1\n"
    told = told_by(tmp_path, POISON + budget)
    assert {t["verdict"] for t in told if t["student"] == "ada"} == {"right"}
    why = [t["remarks"][0] for t in told if t["student"] == "eve"]
    slow = [words for words in why if words.startswith(TOO_SLOW)]
    assert 3 <= len(slow) < 6, "after three times half a second, but for what was dealt before"
    assert [w for w in why if w not in slow] == [OVER_BUDGET] * (6 - len(slow))


# -- a real Dask scheduler and its workers on loopback ---------------------------------------------

dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs the extra `cluster`"
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A scheduler; every test brings its workers, and takes them away."""
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@dask
def test_a_cluster_gives_the_same_bytes(room, tmp_path, address):
    """A worker is killed, and the other goes on; the command is killed, and the next goes on.

    In its midst a third worker joins.
    """
    out = room / "cluster"
    run = partial(command, room, "cluster", "--scheduler", address)
    with ended(worker(address, tmp_path)) as first, ended(worker(address, tmp_path)):
        with ended(run()) as killed:
            wait_until(partial(far_enough, killed, out, 50))
            os.killpg(first.pid, signal.SIGKILL)
            wait_until(partial(far_enough, killed, out, judged(out) + 50))
            assert killed.poll() is None, "it ended before it was killed"
        with ended(run()) as last:
            wait_until(partial(far_enough, last, out, judged(out) + 50))
            with ended(worker(address, tmp_path)):
                assert last.wait(PATIENCE) == 0
    assert outputs(out) == outputs(room / "whole")
    assert set(calls(out)) == {1}


@dask
@pytest.mark.sweep
def test_a_cluster_has_the_same_limits(tmp_path, address):
    """Also under a nanny, whose workers are daemons, which have no processes of their own."""
    with ended(worker(address, tmp_path, poisoned(tmp_path, POISON), nanny=True)):
        survived(tmp_path, "--scheduler", address)


GIVEN = {"set.yaml": SET, "a.csv": "student,line\nada,6x\n"}


def test_no_scheduler_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("gradcheck.batch.pool.REPLY", "1s")
    words = [made(tmp_path, GIVEN) / name for name in GIVEN]
    found = expect(grade(*words, "--scheduler", "tcp://127.0.0.1:1"), 2)
    assert "127.0.0.1:1" in found.stderr or "gradcheck[cluster]" in found.stderr


def test_a_cluster_without_certificates_is_warned_of(tmp_path, monkeypatch):
    """With them they are handed to Dask, which insists on encryption."""
    given = {}

    def client(address, *, security, **more):
        given["security"] = security
        raise OSError("nobody")

    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", client)
    files = [tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")]
    made(tmp_path, GIVEN | {f.name: "" for f in files})
    words = [*(tmp_path / name for name in GIVEN), "--scheduler", "tls://127.0.0.1:1"]
    assert "whoever reaches this scheduler can run code" in grade(*words).stderr
    assert "whoever reaches" not in grade(*words, "--tls", *files).stderr
    security = given["security"]
    assert security.require_encryption
    told = [security.tls_ca_file, security.tls_client_cert, security.tls_client_key]
    assert told == list(map(str, files))


class Prompt:
    """An executor that has done everything before anybody looks."""

    room = 2

    def submit(self, task, *given, turn=None):
        future: Future = Future()
        found = task(*given)
        future.set_result(list(found) if task is work.judge_chunk else found)
        return future


def test_an_executor_may_be_faster_than_we_look(monkeypatch):
    """Whatever has come back when it is looked at, the rest of the queue is judged too."""
    monkeypatch.setattr("gradcheck.batch.work.SIZE", 1)
    ledger = Ledger(None)
    batch = Batch(ledger, Prompt())
    batch.prepare([load_text(SET.encode())])
    answers = [Submission(f"s{k}", {"line": f"{k}x"}) for k in range(7)]
    batch.collect(answers, Roster(), Rules())
    assert list(batch.judge())[-1].verdicts["wrong"] == 6
    assert not ledger.queue()
