"""JSON in, JSON out, as the contract has it."""

import json

import pytest

from tests.support.practising import RIGHT, WRONG

JSON = {"content-type": "application/json"}


def checked(client, **asked):
    return client.post("/api/check", json=asked)


def test_check_gives_a_line_of_grade(client):
    said = checked(client, problem="cubic", part="x", answer=WRONG).json()
    assert {
        "student", "problem", "part", "answer", "understood", "verdict", "score", "points",
        "mistakes", "certainty", "witness",
    } <= set(said)  # fmt: skip
    assert said["verdict"] == "wrong"
    assert said["mistakes"][0]["id"] == "sign-error"
    assert said["mistakes"][0]["text"] == "2*sin(x)"


@pytest.mark.parametrize(
    ("problem", "part", "answer", "verdict"),
    [
        ("cubic", "", RIGHT, "right"),
        ("cubic", "x", 11.2, "right"),
        ("cubic", "x", "3x^2 + (", "invalid"),
        ("cubic", "x", None, "missing"),
        ("vector", "w", [6, 16], "right"),
        ("vector", "w", [6.0, 16.01], "wrong"),
        ("vector", "w", ["2*3*1", "16"], "right"),
        ("cubic", "x", {"a": 1}, "invalid"),
        ("cubic", "x", True, "wrong"),
    ],
)
def test_answers_of_every_kind(client, problem, part, answer, verdict):
    assert checked(client, problem=problem, part=part, answer=answer).json()["verdict"] == verdict


def test_understand(client):
    def understood(answer, problem="cubic", **more):
        asked = {"problem": problem, "answer": answer, **more}
        return client.post("/api/understand", json=asked).json()

    said = understood("2x cos(x^2)")
    assert said["understood"] == "2*x*cos(x**2)"
    assert said["mathml"].startswith("<math")
    said = understood("2x + foo(x)")
    assert said["column"] == 6
    assert "foo" in said["complaint"]
    assert understood([6, "w"], "vector")["understood"] == "[6, w]"
    assert understood("16", "backward")["understood"] == "16"
    assert understood("y = x**2\n  y", "write")["line"] == 2
    own = {"expression": "x^3 + t", "answer": "3x^2 + foo", "wrt": "x"}
    assert client.post("/api/understand", json=own).json()["column"] == 8
    assert client.post("/api/understand", json=own | {"answer": ""}).json()["understood"] == (
        "x**3 + t"
    )


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("{}", JSON, 404),
        ('{"expression": "x", "given": 5, "problem": 1}', JSON, 400),
        ('{"expression": "x", "given": [5], "problem": 1}', JSON, 400),
        ('{"problem": "none", "answer": "1"}', JSON, 404),
        ('{"problem": "two", "answer": "1"}', JSON, 404),
        ('{"problem": 3, "answer": "1"}', JSON, 400),
        ("[]", JSON, 400),
        ("{", JSON, 400),
        ("[" * 30_000, JSON, 400),
        (json.dumps({"problem": "cubic", "answer": eval("[" * 40 + "]" * 40)}), JSON, 400),
        ('{"problem": "cubic", "answer": "1"}', {"content-type": "text/plain"}, 415),
    ],
)
def test_what_is_refused(client, body, headers, status):
    for path in ("/api/check", "/api/understand"):
        if path == "/api/understand" and '"two"' in body:
            continue  # the first part is read
        reply = client.post(path, content=body, headers=headers)
        assert reply.status_code == status
        assert reply.json()["error"]
