"""A process within limits: what it is told, and what is told when it is lost."""

import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gradcheck.batch.workers import Limits, Nursery, Worker, WorkerLost, item

SHORT = Limits(seconds=0.3, memory=1 << 27)


def doubled(values: list[int]) -> list[int]:
    """An ordinary task."""
    return [2 * value for value in values]


def endless(at: int) -> Iterator[int]:
    """Big numbers in C, which nothing in Python interrupts, during one item of several."""
    for k in range(at + 1):
        with item():
            3 ** (10**9 if k == at else 2)
        yield k


def waiting() -> None:
    """An item that computes nothing, and never ends."""
    with item():
        threading.Event().wait()


def hungry() -> int:
    """An item that wants a gigabyte."""
    with item():
        return len(b"x" * (1 << 30))


def hungry_outside() -> int:
    """A task that wants a gigabyte, and is not within an item; nor is it after one."""
    with item():
        pass
    return len(b"x" * 1000)


def dying(inside: bool) -> Iterator[str]:
    """A process that dies after an item, or in the midst of the next."""
    with item():
        pass
    yield "first"
    if not inside:
        os.kill(os.getpid(), 9)
    with item():
        os.kill(os.getpid(), 9)


def slow_in_all() -> int:
    """Many items, none of which is too slow."""
    for _ in range(3):
        with item():
            end = time.process_time() + 0.15
            while time.process_time() < end:
                pass
    return 3


def failing() -> None:
    """A fault of ours."""
    raise LookupError("no such part")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """What workers are forked from."""
    with closing(Nursery()) as found:
        yield found


@pytest.fixture(scope="module", params=["forked", "alone"])
def beside(request, nursery) -> Iterator[Worker]:
    """A worker that is used again after every loss; also as it is where nothing can be forked."""
    with closing(Worker(nursery if request.param == "forked" else None, SHORT)) as found:
        yield found


def test_a_task_comes_back(beside):
    """Its result, again and again from the same process."""
    assert beside.ask(doubled, [1, 2]) == [2, 4]
    first = beside.process.pid
    assert beside.ask(os.getpid) == first != os.getpid()


@pytest.mark.parametrize(
    ("task", "given", "done", "says"),
    [
        (endless, 2, [0, 1], r"more than 0\.3 seconds of computing"),
        (dying, True, ["first"], "its process ended with -9"),
        (dying, False, ["first"], "its process ended with -9"),
    ],
)
def test_a_lost_process_tells_where(beside, task, given, done, says):
    """What it had done, whether in the midst of an item, and why; the next task finds another."""
    with pytest.raises(WorkerLost, match=says) as found:
        beside.ask(task, given)
    lost = pickle.loads(pickle.dumps(found.value))  # as a cluster hands it on
    assert (lost.done, lost.inside, lost.overtime) == (done, bool(given), task is endless)
    assert beside.ask(doubled, [3]) == [6]


def test_what_waits_is_given_up_by_the_clock(monkeypatch, nursery):
    """Not by computing, of which there is none."""
    monkeypatch.setattr("gradcheck.batch.workers.LOOK", 0.02)
    monkeypatch.setattr("gradcheck.batch.workers.WAITING", 0.1)
    beside = Worker(nursery, Limits(seconds=0.05))
    with pytest.raises(WorkerLost, match=r"0\.05 seconds") as found:
        beside.ask(waiting)
    assert (found.value.inside, found.value.overtime) == (True, True)
    beside.close()


def test_memory_is_bounded_within_items(beside):
    """A MemoryError, which costs the task alone; the process goes on."""
    with pytest.raises(RuntimeError, match="MemoryError"):
        beside.ask(hungry)
    assert beside.ask(hungry_outside) == 1000


def test_time_is_counted_by_item(beside):
    """Three items of half the time each."""
    assert beside.ask(slow_in_all) == 3


def test_a_fault_is_told_by_its_name(beside):
    """As a RuntimeError: an exception of any class may not travel."""
    with pytest.raises(RuntimeError, match="LookupError: no such part"):
        beside.ask(failing)


class Evil:
    """What a stranger's code would like the parent to load."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """A command."""
        return os.system, ("touch taken-over",)


def test_what_comes_back_is_json(beside):
    """Nothing that a process sends is ever executed here: what is no JSON is a fault."""
    with pytest.raises(RuntimeError, match="not JSON serializable"):
        beside.ask(Evil)


def written(path: str) -> None:
    """A file, by whoever takes over a worker."""
    with Path(path).open("w") as file:
        file.write("x" * 10_000)


def test_a_worker_writes_no_file(beside, tmp_path):
    path = tmp_path / "taken-over"
    with pytest.raises(RuntimeError, match="OSError"):
        beside.ask(written, str(path))
    assert not path.exists() or path.stat().st_size == 0


def reached(port: int) -> None:
    """The network, by the same."""
    socket.create_connection(("127.0.0.1", port), 5).close()


def test_a_worker_has_no_network_where_the_system_can_forbid_it(beside):
    words = ["unshare", "--user", "--net", "true"]
    if not shutil.which("unshare") or subprocess.run(words, check=False).returncode:
        pytest.skip("this system forbids namespaces")
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(RuntimeError):
        beside.ask(reached, server.getsockname()[1])


def test_a_program_from_standard_input_has_workers():
    """They do not run it again."""
    program = (
        "from contextlib import closing; import os\n"
        "from gradcheck.batch.workers import Nursery, Worker\n"
        "with closing(Nursery()) as nursery, closing(Worker(nursery)) as worker:\n"
        "    print(worker.ask(os.getpid) != os.getpid())"
    )
    words = [sys.executable, "-"]
    found = subprocess.run(words, input=program, capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"


def test_outside_of_workers_nothing_is_limited():
    """An item in this process is no more than its body."""
    with item():
        assert doubled([1]) == [2]


def test_a_worker_is_an_executor(nursery):
    """Tasks in their order; the one after a loss has another process; the end does not wait."""
    with closing(Worker(nursery, SHORT)) as worker:
        found = [worker.submit(*task) for task in ((doubled, [1]), (endless, 0), (doubled, [2]))]
        assert found[0].result() == [2]
        assert isinstance(found[1].exception(), WorkerLost)
        assert found[2].result() == [4]
    worker = Worker(nursery, SHORT)
    stuck = worker.submit(waiting)
    worker.submit(doubled, [1])
    assert worker.submit(doubled, [1]).cancel()
    while worker.process is None:
        time.sleep(0.01)
    worker.close()
    assert isinstance(stuck.exception(), WorkerLost)


KNOWN: list[int] = []


def learned(number: int) -> list[int]:
    """What a process knows from now on."""
    KNOWN.append(number)
    return KNOWN


def test_workers_of_a_nursery_know_what_it_has_prepared():
    """Each for itself from then on, and another one in the place of one that was killed."""
    with closing(Nursery()) as nursery:
        assert nursery.ask(learned, 1) == [1]
        with closing(Worker(nursery, SHORT)) as one, closing(Worker(nursery, SHORT)) as two:
            assert (one.ask(learned, 2), two.ask(learned, 3)) == ([1, 2], [1, 3])
            for task, given in ((endless, 1), (dying, True), (dying, False)):
                with pytest.raises(WorkerLost) as found:
                    one.ask(task, given)
                assert found.value.overtime is (task is endless)
            assert (one.ask(learned, 4), two.ask(learned, 5)) == ([1, 4], [1, 3, 5])
            os.kill(nursery.process.pid, 9)
            assert two.ask(learned, 6) == [1, 3, 5, 6], "it goes on without the nursery"
            for ended in (two.process, nursery.process):
                os.kill(ended.pid, 9)
            with pytest.raises(WorkerLost):
                two.ask(learned, 7)
            assert two.ask(learned, 8) == [8], "and another nursery takes the place"


def test_a_worker_is_ended_while_it_starts():
    """Whoever asked is told; the process, which imports for a second, does not outlive it."""
    worker = Worker(None, SHORT)
    asked = worker.submit(waiting)
    while not (worker.starting.locked() or worker.process):
        time.sleep(0.001)
    worker.close()
    assert isinstance(asked.exception(), RuntimeError)
    assert not worker.process or not worker.process.is_alive()
