"""`gradcheck grade`: verdicts, exit codes, standard input."""

import json
from io import StringIO
from pathlib import Path

import yaml
from click.testing import CliRunner
from rich.console import Console

from gradcheck.batch.work import Progress
from gradcheck.cli import main
from gradcheck.cli.grade import follow
from tests.support.commands import SINE, run

JUDGED = yaml.safe_load(Path(__file__).with_name("judged.yaml").read_text())


def test_grade_judges(file):
    """Right in any form, wrong by the smallest term, invalid where it cannot be read."""
    class_ = [
        {"student": f"s{k:02}", "answers": {"cubic-plus-sine": {"x": answer}}}
        for k, answer in enumerate(JUDGED)
    ]
    answers = [file(json.dumps(each), f"{each['student']}.json") for each in class_]
    said = run("grade", file(SINE), *answers, "--json").stdout
    lines = [json.loads(line) for line in said.splitlines()]
    assert {line["answer"]: line["verdict"] for line in lines} == JUDGED
    for line in lines:
        assert line["score"] == (2.0 if line["verdict"] == "right" else 0.0)
        diagnosed = line["mistakes"] is not None
        assert diagnosed == (line["verdict"] == "wrong"), "only what is wrong is diagnosed"


def test_exit_codes_and_what_stands_in_the_way(file):
    """Under a threshold 1; one unreadable file is named and asks for review, the others count."""
    empty = file("student: ada\nanswers: {}\n", "ada.yaml")
    for low in ("1", "nan"):
        assert run("grade", file(SINE), empty, "--fail-under", low).exit_code == 1
    assert run("grade", file(SINE), empty).exit_code == 0
    good = file("student: ada\nanswers: {cubic-plus-sine: 3x^2 + 2cos x}\n", "ada.yaml")
    result = run("grade", file(SINE), file("answers: [", "bob.yaml"), good, "--json")
    assert (result.exit_code, "bob.yaml" in result.stderr) == (3, True)
    assert json.loads(result.stdout)["verdict"] == "right"


def test_answers_may_come_from_standard_input(file):
    """As YAML or JSON; who does not say who it is is named after it."""
    problems = file(SINE)
    given = json.dumps({"student": "ada", "answers": {"cubic-plus-sine": {"x": "3x^2 - 2cos x"}}})
    result = CliRunner().invoke(main, ["grade", problems, "-", "--json"], input=given)
    line = json.loads(result.stdout)
    assert (line["student"], line["verdict"]) == ("ada", "wrong")
    assert [m["id"] for m in line["mistakes"]] == ["sign-error"]


def test_how_far_it_is_is_shown_on_a_terminal_alone():
    """What is done, how fast, and how many of each verdict."""
    for terminal in (True, False):
        to = Console(file=StringIO(), force_terminal=terminal, width=100)
        follow([Progress(1, 2, {"right": 1}), Progress(2, 2, {"right": 2})], to, silent=False)
        shown = to.file.getvalue()
        assert ("judging" in shown, "2/2" in shown, "2 right" in shown) == (terminal,) * 3


def test_a_wrong_second_derivative_is_wrong(file):
    twice = "id: twice\ninputs: {x: [1.0, 2.0]}\nprogram: x[0]**2 * x[1]\norder: 2\n"
    found = run("grade", file(twice), file("answers: {twice: 2 + 0.1}\n", "ada.yaml"), "--json")
    assert json.loads(found.stdout)["verdict"] == "wrong", found.stdout
