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
WAVE = "15 cos(3x)"
ANSWERS = {"ada": ("3z", "z"), "bob": ("2z", None), "cy": ("z^2", None)}
"""What each answers to z, and what of theirs `9 x^5` follows from then."""


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    directory = tmp_path_factory.mktemp("graded")
    files = {
        f"answers/{name}.yaml": f"student: {name}\nanswers:\n  wave: {WAVE}\n"
        f"  chain: {{z: {z}, x: 9 x^5}}\n"
        for name, (z, _) in ANSWERS.items()
    }
    made(directory, {"set.yaml": OWN, **files})
    found = lines(grade(directory / "set.yaml", directory / "answers", "--json").stdout)
    return {(each["student"], each["problem"], each["part"]): each for each in found}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(tmp_path_factory.mktemp("served"), OWN) as found:
        yield found


def as_student(client, name):
    client.post("/name", data={"name": name, "back": "/"})


def asked(client, problem, part, answer):
    given = {"problem": problem, "part": part, "answer": answer}
    return client.post("/api/check", json=given).json()


def test_every_student_has_numbers_of_their_own(graded, client):
    """Those of `grade`; the title, the prompt, the values and the judgement are theirs."""
    told = {name: graded[name, "wave", "x"] for name in ANSWERS}
    assert len({str(each["variant"]) for each in told.values()}) > 1
    for name, line in told.items():
        as_student(client, name)
        a, b = line["variant"]["a"], line["variant"]["b"]
        page = client.get("/p/wave").text
        assert f"A wave of {b}</h1>" in page
        assert f"Differentiate {a} sin({b} x)." in page
        own = asked(client, "wave", "x", f"{a}*{b} cos({b}x)")
        assert (own["verdict"], own["variant"]) == ("right", line["variant"])
        other = asked(client, "wave", "x", WAVE)
        assert (other["verdict"], other["witness"]) == (line["verdict"], line["witness"])
    assert "A wave of b<" in client.get("/").text


@pytest.mark.parametrize("name", ["ada", "bob"])
def test_what_follows_from_a_wrong_part_is_right(graded, client, name):
    """As in `grade`, once the student has answered the part that it follows from."""
    z, follows = ANSWERS[name]
    line = graded[name, "chain", "x"]
    assert line["follows"] == follows
    as_student(client, name)
    assert asked(client, "chain", "x", "9 x^5")["verdict"] == "wrong", "it stands alone"
    asked(client, "chain", "z", z)
    own = asked(client, "chain", "x", "9 x^5")
    assert (own["verdict"], own["follows"]) == (line["verdict"], line["follows"])
