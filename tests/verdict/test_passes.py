"""A pass back that somebody called, judged on what was recorded: what came must be the gradient."""

from dataclasses import replace

import numpy as np
import pytest

from gradcheck import tensor
from gradcheck.engine.recording import watching
from gradcheck.engine.tensor import unwrap
from gradcheck.opinions.tape import Observer
from gradcheck.verdict import passes
from gradcheck.verdict.passes import BackwardPass, JudgedPass, judge_pass


def recorded(size, times=1.0):
    """The pass back of a sum of sines, in which so many times the gradient came to the leaf."""
    observer, kept = Observer(), []

    def walked(roots, landed):
        records = tuple((observer.record(step), unwrap(g)) for step, g in roots)
        arrived = {step: times * np.asarray(unwrap(g)) for step, g in landed.items()}
        kept.append(BackwardPass(1, records, arrived, dict.fromkeys(arrived, "x")))

    x = tensor(np.linspace(0.1, 2.0, size), requires_grad=True)
    with watching(observer.observe, None, walked):
        (x.sin() * x).sum().backward()
    return kept[0]


@pytest.mark.parametrize(
    ("times", "verdict"), [(1.0, "agree"), (1 + 1e-12, "agree"), (1.001, "dissent"), (2, "dissent")]
)
@pytest.mark.parametrize("size", [3, 3_000], ids=["exact numbers", "floats alone"])
def test_what_came_to_a_leaf_must_be_the_gradient(size, times, verdict):
    """Exact numbers are asked where they take no more than a second."""
    found = judge_pass(recorded(size, times))
    assert found.verdict.verdict == verdict
    assert (verdict == "agree") == (found.verdict.notes[-1:] != (OFF,))
    silent = {name: said.abstains for name, said in found.verdict.opinions.items()}
    assert [name for name, why in silent.items() if why] == (["symbolic"] if size > 3 else [])
    assert silent["symbolic"] == (passes.TOO_LONG if size > 3 else "")


OFF = "what came to x is not this gradient"


def test_what_takes_too_long_is_not_judged(monkeypatch):
    monkeypatch.setattr(passes.limits, "MOST_WORK", 5)
    found = judge_pass(recorded(3))
    assert (found.verdict.verdict, found.case) == ("undecided", None)
    assert found.written is found.verdict
    assert found.verdict.notes == ("more than 5 operations: not judged",)


def test_closed_forms_are_written_out_where_they_are_asked_for():
    found = judge_pass(recorded(2), write=False)
    assert not found.verdict.opinions["symbolic"].closed
    forms = found.written.opinions["symbolic"].closed["x"]
    assert str(forms[0]) == "x[0]*cos(x[0]) + sin(x[0])"
    alone = JudgedPass(found.call, found.case, replace(found.verdict, opinions={}))
    assert alone.written is alone.verdict
