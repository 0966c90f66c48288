"""Who somebody is: of a course only who knows the code that goes with the name."""

import csv
import stat

import pytest

from gradcheck.batch.roster import NoName, read_roster
from gradcheck.web.requests import CODES, admit, hand_out
from tests.support.practising import RIGHT, attempted, served

ROSTER = "student,name,email,code\nada,Ada Lovelace,ada@example.org,\nbob,Bob,,rosebud\n"


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text(ROSTER)
    return hand_out(read_roster(path), tmp_path)


def code_of(directory, student):
    with (directory / CODES).open(newline="") as file:
        return {row["student"]: row["code"] for row in csv.DictReader(file)}[student]


def test_codes_are_kept_for_nobody_else(roster, tmp_path):
    """The same ones the next time; a given one stays; the file is its owner's alone."""
    made = code_of(tmp_path, "ada")
    assert len(made) == 8
    assert code_of(tmp_path, "bob") == "rosebud"
    assert hand_out(read_roster(tmp_path / "roster.csv"), tmp_path).codes["ada"] == made
    assert stat.S_IMODE((tmp_path / CODES).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["ada", "ADA", " ada ", "Ada@example.org"])
def test_any_name_of_the_roster_with_its_code(roster, tmp_path, name):
    assert admit(roster, name, f" {code_of(tmp_path, 'ada').lower()} ") == "ada"


@pytest.mark.parametrize(
    ("name", "code"), [("ada", ""), ("ada", "rosebud"), ("eve", ""), ("eve", "rosebud"), ("", "")]
)
def test_nobody_is_somebody_else(roster, name, code):
    """Not with no code, not with another's, and not by a name that is not on the roster."""
    with pytest.raises(NoName):
        admit(roster, name, code)


def test_answers_are_kept_under_a_name_with_its_code(roster, tmp_path):
    """A name alone is refused, and so is a cookie from before there were codes."""
    with served(tmp_path) as client:
        client.post("/name", data={"name": "bob"})
        stolen = client.cookies["gradcheck_name"]
    with served(tmp_path, roster=roster) as client:
        assert 'name="code"' in client.get("/").text
        client.cookies.set("gradcheck_name", stolen)
        assert "You are <b>" not in client.get("/").text
        refused = client.post("/name", data={"name": "ada", "code": "guess"})
        assert refused.status_code == 400
        assert "do not belong together" in refused.text
        client.post("/p/cubic", data={"part": "x", "answer": RIGHT})
        client.post("/name", data={"name": "ada", "code": code_of(tmp_path, "ada")})
        client.post("/p/cubic", data={"part": "x", "answer": RIGHT})
    assert [(who, verdict) for who, _, _, verdict in attempted(tmp_path)] == [("ada", "right")]
