"""What the pages ask and judge is what `gradcheck grade` asks and judges of the same student."""

import pytest

from tests.support.batches import grade, lines, made
from tests.support.practising import served

OWN = """
title: Your own numbers
problems:
- id: wave
  title: A wave of {b}
  prompt: Differentiate {a} sin({b} x).
  inputs:
    x: 0.7
    a: {choose: [2, 3, 5, 7], requires_grad: false}
    b: {integers: [2, 9], requires_grad: false}
  program: a*sin(b*x)
- id: chain
  inputs: {x: 2.0}
  wrt: [z, x]
  program: |
    z = x**3
    z**2
"""
NAMES = ("ada", "bob", "cy")


def graded(tmp_path, answers):
    """The lines of `gradcheck grade` for the same answers of every student."""
    files = {f"answers/{name}.yaml": f"student: {name}\nanswers: {answers}\n" for name in NAMES}
    made(tmp_path, {"set.yaml": OWN, **files})
    return lines(grade(tmp_path / "set.yaml", tmp_path / "answers", "--json").stdout)


def as_student(client, name):
    client.post("/name", data={"name": name, "back": "/"})


def asked(client, problem, part, answer):
    given = {"problem": problem, "part": part, "answer": answer}
    return client.post("/api/check", json=given).json()


def test_every_student_has_numbers_of_their_own(tmp_path):
    """Those of `grade`; the title, the prompt, the values and the judgement are theirs."""
    found = graded(tmp_path, "{wave: 15 cos(3x)}")
    told = {each["student"]: each for each in found if each["problem"] == "wave"}
    assert len({str(each["variant"]) for each in told.values()}) > 1
    with served(text=OWN) as client:
        for name, line in told.items():
            as_student(client, name)
            a, b = line["variant"]["a"], line["variant"]["b"]
            page = client.get("/p/wave").text
            assert f"A wave of {b}</h1>" in page
            assert f"Differentiate {a} sin({b} x)." in page
            own = asked(client, "wave", "x", f"{a}*{b} cos({b}x)")
            assert (own["verdict"], own["variant"]) == ("right", line["variant"])
            other = asked(client, "wave", "x", "15 cos(3x)")
            assert (other["verdict"], other["witness"]) == (line["verdict"], line["witness"])
        assert "A wave of b<" in client.get("/").text


@pytest.mark.parametrize(("z", "follows"), [("3z", "z"), ("2z", None)])
def test_what_follows_from_a_wrong_part_is_right(tmp_path, z, follows):
    """As in `grade`, once the student has answered the part that it follows from."""
    found = graded(tmp_path, f"{{chain: {{z: {z}, x: 9 x^5}}}}")
    (line,) = (t for t in found if (t["student"], t["problem"], t["part"]) == ("ada", "chain", "x"))
    assert line["follows"] == follows
    with served(tmp_path, OWN) as client:
        as_student(client, "ada")
        assert asked(client, "chain", "x", "9 x^5")["verdict"] == "wrong", "it stands alone"
        asked(client, "chain", "z", z)
        own = asked(client, "chain", "x", "9 x^5")
    assert {key: own[key] for key in ("verdict", "follows")} == {
        key: line[key] for key in ("verdict", "follows")
    }
