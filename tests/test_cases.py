"""Functions of others' making through `solve`, `lint` and `check`, where their folder is there.

The folder `shared/cases` beside the repository holds antiderivatives of a table of integrals and
the classic test functions of optimisation, each with the slope that their authors give, and what
real students typed into a quiz. The data are no part of the repository.
"""

import ast
import cmath
import csv
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.trees import value

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"
IN_ONE_FILE = 20
CPU_SECONDS_EACH, MEGABYTES = 3, 500
OPEN = {"unstable-forward", "undecided"}  # with a reason: an opinion that says why it abstains

pytestmark = [
    pytest.mark.sweep,
    pytest.mark.skipif(not CASES.is_dir(), reason="shared/cases is not beside the repository"),
]


def _problem(case):
    wrt = case.get("wrt") or [case["variable"]]
    inputs = {
        name: value if name in wrt else {"value": value, "requires_grad": False}
        for name, value in case["at"].items()
    }
    return {"id": case["id"], "inputs": inputs, "wrt": wrt, "program": case["function"]}


def _read(name):
    path = CASES / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


ALL = _read("antiderivatives.jsonl") + _read("optimisation.jsonl")
FILES = [ALL[k : k + IN_ONE_FILE] for k in range(0, len(ALL), IN_ONE_FILE)]


def _run(*words, problems=1):
    seconds = 10 + CPU_SECONDS_EACH * problems

    def confine():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES << 20, MEGABYTES << 20))

    command = [sys.executable, "-m", "gradcheck", *words]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=confine, check=False)


@pytest.mark.parametrize("cases", FILES, ids=[cases[0]["id"] for cases in FILES])
def test_a_published_slope_is_agreed_on(cases, tmp_path):
    """`solve` gives the published numbers, `lint` ends, what is shown is right."""
    path = tmp_path / "cases.yaml"
    path.write_text(yaml.safe_dump({"problems": [_problem(case) for case in cases]}))
    solved = _run("solve", str(path), "--json", problems=len(cases))
    answers = {line["problem"]: line for line in map(json.loads, solved.stdout.splitlines())}
    refused = solved.stderr.count("has no finite value here")  # complex on the way
    assert len(answers) + refused == len(cases), solved.stderr[-500:]
    cases = [case for case in cases if case["id"] in answers]
    typed = []
    for case in cases:
        wrt = case.get("wrt") or [case["variable"]]
        slopes = case.get("gradient") or [case["derivative"]]
        for name, slope in zip(wrt, slopes, strict=True):
            part = answers[case["id"]]["parts"][name]
            if part["verdict"] in OPEN:
                reasons = [part[one].get("abstains") for one in ("symbolic", "differences")]
                assert part["verdict"] != "undecided" or any(reasons), case["id"]
                continue
            assert part["verdict"] == "agree", (case["id"], part)
            assert part["reverse"]["value"] == pytest.approx(slope, rel=1e-6, abs=1e-9), case["id"]
            typed.append((case, name, part["closed_form"]))
    if "variable" in cases[0]:  # of many inputs at once the linter looks for minutes
        linted = _run("lint", str(path), problems=4 * len(cases))
        assert linted.returncode in {0, 1}, linted.stderr[-500:]
    case, name, form = next(row for row in typed if row[2])
    at = [f"{one}={value}" for one, value in case["at"].items()]
    checked = _run("check", case["function"], form, "--wrt", name, *at, problems=2)
    assert checked.returncode == 0, checked.stdout


def _is_equal(typed, right):
    """Whether a typed answer is the right function; None where Python cannot tell."""
    variable = "theta" if "theta" in right else "t"
    try:
        trees = [ast.parse(text.strip().replace("^", "**"), mode="eval") for text in (typed, right)]
        pairs = [[value(tree, {variable: at}) for tree in trees] for at in (0.31, 0.77, 1.93)]
    except (SyntaxError, NameError, AssertionError, ArithmeticError, ValueError, TypeError):
        return None
    return all(cmath.isclose(one, other, rel_tol=1e-10, abs_tol=1e-10) for one, other in pairs)


def test_what_real_students_typed(tmp_path):
    """A class of one answer each: right where Python's own arithmetic has it equal, else wrong."""
    rows = _read("student_answers.jsonl")
    rights = sorted({row["right"] for row in rows})
    problems = [
        {"id": f"p{k}", "inputs": {"u": 1.3, "theta" if "theta" in right else "t": 0.7},
         "wrt": ["u"], "program": f"u*({right.replace('^', '**')})"}
        for k, right in enumerate(rights)
    ]  # fmt: skip
    (tmp_path / "quiz.yaml").write_text(yaml.safe_dump({"problems": problems}))
    with (tmp_path / "class.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["student", *(problem["id"] for problem in problems)])
        for k, row in enumerate(rows):
            cells = [""] * len(rights)
            cells[rights.index(row["right"])] = row["typed"]
            table.writerow([f"s{k:03}", *cells])
    names = [str(tmp_path / name) for name in ("quiz.yaml", "class.csv")]
    graded = _run("grade", *names, "--json", problems=100)
    lines = [json.loads(line) for line in graded.stdout.splitlines()]
    verdicts = {line["student"]: line["verdict"] for line in lines if line["verdict"] != "missing"}
    assert len(verdicts) == len(rows), graded.stderr[-500:]
    expected = {True: {"right"}, False: {"wrong"}}
    strange = [
        (row["typed"], row["right"], verdicts[f"s{k:03}"])
        for k, row in enumerate(rows)
        if verdicts[f"s{k:03}"]
        not in expected.get(_is_equal(row["typed"], row["right"]), {"wrong", "invalid", "right"})
    ]
    assert not strange
