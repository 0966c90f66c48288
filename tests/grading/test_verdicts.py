"""What is said of answers, each on its own: a table of problems with right and wrong ones."""

import json
from pathlib import Path

import pytest
import yaml

from gradcheck.grading.marking import mark
from tests.support.grading import keyed

TABLE = yaml.safe_load(Path(__file__).with_name("verdicts.yaml").read_text())
TAGS = {"rounded": "right", "one-point": "right", "narrower": "wrong", "shape": "wrong"}
VERDICTS = ("right", "wrong", "invalid", "missing", "needs-review")


def rows():
    """A problem's text, the part that is answered, an answer, and what is said of it."""
    for entry in TABLE:
        said = {k: v for k, v in entry.items() if k in (*VERDICTS, *TAGS) or " " in k}
        asked = {k: v for k, v in entry.items() if k not in (*said, "part", "x") and v is not None}
        asked = {"id": "t", "inputs": {"x": entry.get("x", 1.5)}, **asked}
        for expected, answers in said.items():
            for answer in answers:
                yield json.dumps(asked), entry.get("part", ""), answer, expected


ROWS = list(rows())


@pytest.mark.parametrize(
    ("problem", "part", "answer", "expected"), ROWS, ids=[f"{r[2]}: {r[3]}" for r in ROWS]
)
def test_what_is_said(problem, part, answer, expected):
    """A verdict alone stands for an answer without tags."""
    ready = keyed(problem)
    asked = ready.problem.part(part) if part else ready.problem.parts[0]
    assert asked is not None
    found = mark(ready, asked, answer)
    if expected.startswith("named "):
        assert found.diagnosis is not None
        assert expected.split(" ", 1)[1] in {h.mistake.id for h in found.diagnosis.hypotheses}
    elif expected.startswith("says "):
        assert found.verdict in ("wrong", "invalid")
        assert any(expected.split(" ", 1)[1] in remark for remark in found.remarks)
    elif expected in TAGS:
        assert (found.verdict, expected in found.tags) == (TAGS[expected], True)
    else:
        assert (found.verdict, found.tags) == (expected, ())
