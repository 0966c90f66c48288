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
    found = work.judged(Chunk(Asking(SET.encode(), "", "line"), answers))
    assert [each.number for each in found] == list(range(20))
    (left,) = (each for each in found if each.verdict == "needs-review")
    assert left.number == 7
    assert "a fault of gradcheck itself: RecursionError: too deep" in left.line
