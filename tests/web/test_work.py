"""Workers with limits: what runs away is ended and told so, and nobody else waits."""

import asyncio
import contextlib
import gc
import os
import signal
import warnings
from multiprocessing import resource_tracker

import pytest

from gradcheck.batch.ledger import pack_answer
from gradcheck.batch.pool import work_on_item
from gradcheck.web import work
from gradcheck.web.work import Busy, Places, Queue, QueueLimits, RanAway, Sender
from tests.support.practising import RIGHT, WRONG, course

CUBIC = "id: cubic\ninputs: {x: 2.0}\nprogram: x**3 + 2*sin(x)\n"
COURSE = course(CUBIC)
ASKING = COURSE.askings["cubic"]
FAST = QueueLimits(quick=0.3, slow=0.5, memory=256 * 2**20)


def loop():
    with work_on_item():
        pow(3, 10**9)


def eat():
    with work_on_item():
        return "x" * 10**12


def die():
    with work_on_item():
        os.abort()


def in_queue(limits, run, workers=1):
    async def whole():
        queue = Queue(COURSE.askings, processes=workers, limits=limits)
        await queue.start()
        try:
            return await asyncio.wait_for(run(queue), 60)
        finally:
            await queue.stop()

    return asyncio.run(whole())


async def judged(queue, answer, sender="ada"):
    """The verdict on an answer to the cubic."""
    who = Sender(sender, sender)
    return (await queue.ask(who, work.judge, ASKING, "x", pack_answer(answer)))[0]


async def outcome(waiting):
    """What comes of a question, or the name of what it raises."""
    try:
        return await waiting
    except (Busy, RanAway) as error:
        return type(error).__name__


def kill(queue):
    for process in (each for pool, _ in queue.lanes for each in pool.processes if each):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.child.pid, signal.SIGKILL)


def test_what_runs_away_is_ended_and_replaced():
    """Beside it others are answered; it is not tried a third time."""

    async def tried(queue, task):
        away = asyncio.ensure_future(outcome(queue.ask(Sender(f"eve {task}"), task)))
        others = [await judged(queue, f"{k}x", f"ada {task}") for k in range(5)]
        return others, await away, await outcome(queue.ask(Sender(f"bob {task}"), task))

    async def run(queue):
        return [await tried(queue, task) for task in (loop, eat, die)]

    assert in_queue(FAST, run) == [(["wrong"] * 5, "RanAway", "RanAway")] * 3


@pytest.mark.parametrize(
    ("limits", "senders", "asked", "busy", "ada"),
    [
        (QueueLimits(waiting=8, each=8), ["a", "b", "c", "d"], 20, 11, "Busy"),  # it is full
        (QueueLimits(each=10), ["eve"], 40, 29, "wrong"),  # one sender does not fill it
    ],
)
def test_the_queue_has_a_bound(limits, senders, asked, busy, ada):
    """Nor is anybody's first question behind all of another's."""

    async def run(queue):
        await judged(queue, RIGHT)
        order = []

        async def ask(k, sender):
            order.append((sender, await outcome(judged(queue, f"{k}x", sender))))

        others = (ask(k, senders[k % len(senders)]) for k in range(asked))
        await asyncio.gather(*others, ask(99, "ada"))
        return order

    found = in_queue(limits, run)
    said = [said for sender, said in found if sender != "ada"]
    assert set(said) == {"wrong", "Busy"}
    assert said.count("Busy") >= busy
    assert dict(found)["ada"] == ada
    answered = [sender for sender, said in found if said == "wrong"]
    assert ada == "Busy" or answered.index("ada") <= 3


def test_many_names_of_one_address_do_not_fill_the_queue():
    """A name costs nothing: an address has a bound of its own, and others still get in."""
    places = Places(40, 10)
    with contextlib.ExitStack() as inside:
        for k in range(20):
            inside.enter_context(places.take(Sender("10.0.0.1", f"name {k}")))
        with pytest.raises(Busy), places.take(Sender("10.0.0.1", "name 20")):
            pass
        inside.enter_context(places.take(Sender("10.0.0.2", "ada")))
    with places.take(Sender("10.0.0.1", "again")):
        assert places.taken.total() == 3


def test_who_asks_before_a_problem_is_prepared_waits_within_the_bound_too():
    async def run(queue):
        asked = [asyncio.ensure_future(outcome(judged(queue, f"{k}x", f"s{k}"))) for k in range(9)]
        for _ in range(5):
            await asyncio.sleep(0)
        refused = [each.result() for each in asked if each.done()]
        assert not queue.nursery.known, "nothing is prepared yet"
        await asyncio.gather(*asked)
        return refused

    assert in_queue(QueueLimits(waiting=4), run) == ["Busy"] * 5


def test_killed_workers_are_replaced():
    async def run(queue):
        found = [await judged(queue, RIGHT)]
        for answer in (RIGHT, WRONG, "3x^2 + ("):
            kill(queue)
            await asyncio.sleep(0.1)
            found.append(await judged(queue, answer))
        return found

    assert in_queue(FAST, run, workers=2) == ["right", "right", "wrong", "invalid"]


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
@pytest.mark.sampled(4)
@pytest.mark.usefixtures("cold")
def test_stopped_at_any_moment_nothing_stays_open(rounds):
    """Also while workers are being forked, and sockets are being opened."""

    async def whole():
        queue = Queue(COURSE.askings, processes=3, limits=FAST)
        await queue.start()
        for _ in range(rounds):
            await asyncio.sleep(0)
        await queue.stop()

    resource_tracker.ensure_running()  # by the first process that comes so far, and it stays
    asyncio.run(whole())
    before = set(os.listdir("/proc/self/fd"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(whole())
        gc.collect()
    assert not said
    assert set(os.listdir("/proc/self/fd")) <= before
