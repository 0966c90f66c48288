"""What a worker does with its answers, here in this process."""

from gradcheck.batch import work
from gradcheck.batch.work import Asking, Chunk
from tests.support.batches import SET


def test_a_fault_of_ours_costs_one_answer(monkeypatch):
    """The answer that stumbles, and no other, is left to a person."""

    def fails(ready, part, answer):
        if answer == "7x":
            raise RecursionError("too deep")
        return mark(ready, part, answer)

    mark = work.mark
    monkeypatch.setattr(work, "mark", fails)
    answers = [(k, "x", f'"{k}x"') for k in range(20)]
    found = list(work.judge_chunk(Chunk(Asking(SET.encode(), "", "line"), answers)))
    verdicts = [verdict for verdict, *_ in found]
    assert [k for k, verdict in enumerate(verdicts) if verdict == "needs-review"] == [7]
    assert len(verdicts) == 20
    assert "a fault of gradcheck itself: RecursionError: too deep" in found[7][2]
