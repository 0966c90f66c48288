"""JSON in, JSON out, as the contract has it."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.practising import WRONG

JSON = {"content-type": "application/json"}


def checked(client, **asked):
    return client.post("/api/check", json=asked)


def test_check_gives_a_line_of_grade(client):
    said = checked(client, problem="cubic", part="x", answer=WRONG).json()
    keys = "student problem part answer understood verdict score points certainty witness"
    assert {*keys.split(), "mistakes"} <= set(said)
    assert said["verdict"] == "wrong"
    assert (said["mistakes"][0]["id"], said["mistakes"][0]["text"]) == ("sign-error", "2*sin(x)")


ASKED = yaml.safe_load(Path(__file__).with_name("app.yaml").read_text())


@pytest.mark.parametrize(("asked", "verdict"), ASKED["checked"])
def test_answers_of_every_kind(client, asked, verdict):
    assert checked(client, **asked).json()["verdict"] == verdict


@pytest.mark.parametrize(("asked", "said"), ASKED["understood"])
def test_understand(client, asked, said):
    found = client.post("/api/understand", json=asked).json()
    assert found.items() >= said.items()
    assert "foo" not in str(asked["answer"]) or "foo" in found["complaint"]
    assert "cos" not in str(asked["answer"]) or found["mathml"].startswith("<math")


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
        (r'{"problem": "cubic", "answer": "\ud800"}', JSON, 400),
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
