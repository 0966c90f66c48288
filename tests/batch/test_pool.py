"""A process within limits: what it is told, and what is told when it is lost."""

import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from gradcheck.batch.pool import Limits, Nursery, Pool, WorkerLost, work_on_item

pytestmark = pytest.mark.usefixtures("cold")
SHORT = Limits(seconds=0.3, memory=1 << 27)


def doubled(values):
    return [2 * value for value in values]


def endless(at):
    """Big numbers in C, which nothing in Python interrupts, during one item of several."""
    for k in range(at + 1):
        with work_on_item():
            3 ** (10**9 if k == at else 2)
        yield k


def waiting():
    with work_on_item():
        threading.Event().wait()


def hungry(size):
    with work_on_item():
        return len(b"x" * size)


def dying(inside):
    """A process that dies after an item, or in the midst of the next."""
    with work_on_item():
        pass
    yield "first"
    if not inside:
        os.kill(os.getpid(), 9)
    with work_on_item():
        os.kill(os.getpid(), 9)


def slow_in_all():
    for _ in range(3):
        with work_on_item():
            end = time.process_time() + 0.15
            while time.process_time() < end:
                pass
    return 3


def failing():
    raise LookupError("no such part")


class Evil:
    """What a stranger's code would like the parent to load."""

    def __reduce__(self):
        return os.system, ("touch taken-over",)


def write(path):
    with Path(path).open("w") as file:
        file.write("x" * 10_000)


def reach(port):
    socket.create_connection(("127.0.0.1", port), 5).close()


KNOWN: list[int] = []


def learn(number):
    KNOWN.append(number)
    return KNOWN


@pytest.fixture(scope="module")
def nursery():
    with closing(Nursery()) as found:
        yield found


@pytest.fixture(scope="module", params=["forked", "alone"])
def beside(request, nursery):
    """A worker that is used again after every loss; also as it is where nothing can be forked."""
    with closing(Pool(1, SHORT, nursery if request.param == "forked" else None)) as found:
        yield found


def ask(pool, *task):
    return pool.submit(*task).result()


def test_a_task_comes_back(beside):
    """Again and again from the same process; what limits there are is counted by item."""
    assert ask(beside, doubled, [1, 2]) == [2, 4]
    first = ask(beside, os.getpid)
    assert ask(beside, slow_in_all) == 3, "three items of half the time each"
    assert ask(beside, os.getpid) == first != os.getpid()
    with work_on_item():  # in this process an item is no more than its body
        assert doubled([1]) == [2]


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
        ask(beside, task, given)
    lost = pickle.loads(pickle.dumps(found.value))  # as a cluster hands it on
    assert (lost.done, lost.inside, bool(lost.overtime)) == (done, bool(given), task is endless)
    assert ask(beside, doubled, [3]) == [6]


def test_what_waits_is_given_up_by_the_clock(monkeypatch, nursery):
    monkeypatch.setattr("gradcheck.batch.pool.LOOK", 0.02)
    monkeypatch.setattr("gradcheck.batch.pool.WAITING", 0.1)
    with (
        closing(Pool(1, Limits(seconds=0.05), nursery)) as beside,
        pytest.raises(WorkerLost, match=r"0\.05 seconds") as found,
    ):
        ask(beside, waiting)
    assert (found.value.inside, found.value.overtime) == (True, 0.05)


@pytest.mark.parametrize(
    ("task", "given", "says"),
    [
        (hungry, (1 << 30,), "MemoryError"),
        (failing, (), "LookupError: no such part"),  # an exception of any class may not travel
        (Evil, (), "not JSON serializable"),  # nothing that a process sends is executed here
        (write, ("taken-over",), "OSError"),
    ],
)
def test_a_fault_costs_the_task_alone(beside, tmp_path, task, given, says):
    path = tmp_path / "taken-over"
    with pytest.raises(RuntimeError, match=says):
        ask(beside, task, *((str(path),) if task is write else given))
    assert not path.exists() or path.stat().st_size == 0
    assert ask(beside, hungry, 1000) == 1000


def test_a_worker_has_no_network_where_the_system_can_forbid_it(beside):
    words = ["unshare", "--user", "--net", "true"]
    if not shutil.which("unshare") or subprocess.run(words, check=False).returncode:
        pytest.skip("this system forbids namespaces")
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(RuntimeError):
        ask(beside, reach, server.getsockname()[1])


def test_a_program_from_standard_input_has_workers():
    program = (
        "from contextlib import closing; import os\n"
        "from gradcheck.batch.pool import Nursery, Pool\n"
        "with closing(Nursery()) as nursery, closing(Pool(1, None, nursery)) as pool:\n"
        "    print(pool.submit(os.getpid).result() != os.getpid())"
    )
    words = [sys.executable, "-"]
    found = subprocess.run(words, input=program, capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"


def test_a_pool_is_an_executor(nursery):
    """Tasks in their order; the one after a loss has another process; the end does not wait."""
    with closing(Pool(1, SHORT, nursery)) as pool:
        found = [pool.submit(*task) for task in ((doubled, [1]), (endless, 0), (doubled, [2]))]
        assert found[0].result() == [2]
        assert isinstance(found[1].exception(), WorkerLost)
        assert found[2].result() == [4]
    pool = Pool(1, SHORT, nursery)
    stuck = pool.submit(waiting)
    pool.submit(doubled, [1])
    assert pool.submit(doubled, [1]).cancel()
    while not stuck.running() or not pool.processes[0]:
        time.sleep(0.01)
    pool.close()
    assert isinstance(stuck.exception(), RuntimeError)


def test_workers_of_a_nursery_know_what_it_has_learned():
    """Each for itself from then on, and another one in the place of one that was killed."""
    with closing(Nursery()) as nursery:
        assert nursery.learn("one", learn, 1).result() == [1]
        with closing(Pool(1, SHORT, nursery)) as one, closing(Pool(1, SHORT, nursery)) as two:
            assert (ask(one, learn, 2), ask(two, learn, 3)) == ([1, 2], [1, 3])
            for task, given in ((endless, 1), (dying, True), (dying, False)):
                with pytest.raises(WorkerLost) as found:
                    ask(one, task, given)
                assert bool(found.value.overtime) is (task is endless)
            assert (ask(one, learn, 4), ask(two, learn, 5)) == ([1, 4], [1, 3, 5])
            assert nursery.learn("two", learn, 6).result() == [1, 6]
            assert two.submit(learn, 7, lesson="one").result() == [1, 3, 5, 7]
            assert two.submit(learn, 8, lesson="two").result() == [1, 6, 8]
            os.kill(ask(nursery, os.getpid), 9)
            assert ask(two, learn, 9) == [1, 6, 8, 9], "it goes on without the nursery"
            os.kill(ask(two, os.getpid), 9)
            ask(nursery, os.getpid)
            while nursery.known != {"one", "two"}:
                time.sleep(0.01)
            assert {*ask(two, learn, 10)} == {1, 6, 10}, "another nursery has learned it again"


def test_a_worker_is_ended_while_it_starts():
    """Whoever asked is told; the process, which imports for a second, does not outlive it."""
    pool = Pool(1, SHORT, None)
    asked = pool.submit(waiting)
    while not asked.running():
        time.sleep(0.001)
    pool.close()
    assert isinstance(asked.exception(), RuntimeError)
    assert not pool.processes[0] or not pool.processes[0].child.is_alive()
