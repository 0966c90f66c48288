"""Which mistakes a student has made, and which have gone."""

import json
import re

import pytest

from gradcheck.practice import next_problem
from gradcheck.web.practice import ORDER, Attempt, find_made
from tests.support.batches import grade, lines, made, report
from tests.support.practising import RIGHT, WRONG, as_student, served
from tests.support.sets import set_of

SHOWS = {"other": ["sign-error", "term-lost"]}


def attempt(problem, verdict, *mistakes, certainty="unique"):
    told = {"answer": "", "mistakes": [{"id": id} for id in mistakes], "certainty": certainty}
    return Attempt(problem, "x", verdict, json.dumps(told), "")


SIGN, LOST = attempt("p", "wrong", "sign-error"), attempt("p", "wrong", "term-lost")
TORN = attempt("p", "wrong", "sign-error", "term-lost", certainty="torn")
CONSISTENT = attempt("p", "wrong", "sign-error", certainty="torn")
UNNAMED = attempt("p", "wrong", certainty="unnamed")
MENDED, OTHER = attempt("p", "right"), attempt("other", "right")


@pytest.mark.parametrize(
    ("history", "states"),
    [
        ([], {}),
        ([TORN, CONSISTENT, UNNAMED, MENDED], {}),
        ([SIGN], {"sign-error": "open"}),
        ([SIGN, LOST], {"sign-error": "open", "term-lost": "open"}),
        ([SIGN, MENDED], {"sign-error": "corrected"}),
        ([SIGN, MENDED, SIGN], {"sign-error": "open"}),
        ([SIGN, OTHER], {"sign-error": "gone"}),
        ([OTHER, SIGN], {"sign-error": "open"}),
        ([SIGN, attempt("blind", "right")], {"sign-error": "open"}),
        ([SIGN, attempt("next.sign-error.7", "right")], {"sign-error": "gone"}),
        ([SIGN, attempt("next.term-lost.7", "right")], {"sign-error": "open"}),
        ([LOST, OTHER, SIGN], {"sign-error": "open", "term-lost": "gone"}),
    ],
)
def test_a_mistake_has_gone_where_it_would_have_shown(history, states):
    found = find_made("ada", history, SHOWS)
    assert {each.id: each.state for each in found} == states
    order = [ORDER.index(each.state) for each in found]
    assert order == sorted(order)


def test_the_page_tells_what_is_left_and_what_has_gone(tmp_path):
    """Made, corrected, and shown no more in the problem that the page offers."""
    with served(tmp_path) as client:
        assert "Type your name above" in client.get("/mistakes").text
        as_student(client, "ada")
        assert "No mistake of yours" in client.get("/mistakes").text
        for answer, state in ((WRONG, "not yet corrected"), (RIGHT, "not yet tried elsewhere")):
            client.post("/p/cubic", data={"part": "x", "level": "0", "answer": answer})
            page = client.get("/mistakes").text
            assert "Sign error" in page
            assert state in page
        seed = int(re.search(r'href="/p/next\.sign-error\.(\d+)"', page)[1])
        [right] = next_problem("sign-error", seed).problems[0].right
        [(part, answer)] = right.items()
        client.post(f"/p/next.sign-error.{seed}", data={"part": part, "answer": answer})
        page = client.get("/mistakes").text
        assert '<li class="gone">' in page
        assert "next.sign-error" not in page
    assert report(tmp_path).exit_code == 0, "a problem that was made is in the ledger"
    assert len(list(tmp_path.glob("students/*.html"))) == 1


def test_no_more_is_told_than_the_server_may(tmp_path, reticent):
    assert "Sign error" in tried(reticent)
    with served(tmp_path, feedback="verdict") as client:
        assert "No mistake is named" in tried(client)


def tried(client):
    """The page of mistakes, which never says all, after a wrong answer of ada's."""
    as_student(client, "ada")
    client.post("/p/cubic", data={"part": "x", "level": "3", "answer": WRONG})
    page = client.get("/mistakes").text
    assert "the wrong way round" not in page
    return page


# -- what the pages ask and judge is what `gradcheck grade` asks and judges of the same student


OWN = set_of("own-numbers")
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
