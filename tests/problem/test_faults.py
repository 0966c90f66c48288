"""Bad problem files: one clear message with line and column, exit code 2, and no traceback."""

import copy
import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.cli import main
from gradcheck.errors import TextError
from gradcheck.problem import load_text
from gradcheck.problem.model import InputModel, ProblemModel, SetModel

HEAD = "id: p\ninputs: {x: 2.0}\n"

CASES = {
    "unknown key": (HEAD + "program: x\nanswer: 3\n", "4:1", "`answer` is not a key here"),
    "missing key": ("id: p\ninputs: {x: 2.0}\n", "1:1", "`program` is missing"),
    "another's word": (HEAD + "program: x\nsolution: [x]\n", "4:1", "`right:` is its name here"),
    "another's word for what is missing": (
        "id: p\ninputs: {x: 2.0}\nfunction: x**2\n",
        "3:1",
        "`program:` is its name here",
    ),
    "a list of what is asked": (HEAD + "program: x\nask: [x]\n", "4:6", "stands in `wrt: [w]`"),
    "no mistake": (HEAD + "program: x\nwrong: [{answer: 2}]\n", "4:9", "or `mistake: unnamed`"),
    "no answer": (HEAD + "program: x\nright: [~]\n", "4:9", "write {x: ...}"),
    "wrong type": ("id: p\ninputs: 5\nprogram: x\n", "2:9", "inputs"),
    "bad id": ("id: a b\ninputs: {x: 2.0}\nprogram: x\n", "1:5", "id"),
    "unknown name": (HEAD + "program: x + y\n", "3:14", "`y` is not known here"),
    "did you mean": (HEAD + "program: sni(x)\n", "3:10", "did you mean `sin`"),
    "syntax": (HEAD + "program: x + * 2\n", "3:14", "not readable as Python"),
    "import": (HEAD + "program: __import__('os')\n", "3:10", "`__import__`"),
    "attribute": (HEAD + "program: x.__class__\n", "3:", "__class__"),
    "subclasses": (HEAD + "program: ().__class__.__base__.__subclasses__()\n", "3:", "__"),
    "open": (HEAD + "program: open('/etc/hostname')\n", "3:", "open"),
    "ragged": ("id: p\ninputs: {x: [[1, 2], [3]]}\nprogram: sum(x)\n", "2:", "equal lengths"),
    "shapes": (
        "id: p\ninputs: {a: [1.0, 2.0], b: [1.0, 2.0, 3.0]}\nprogram: sum(a * b)\n",
        "3:14",
        "shapes",
    ),
    "log of a negative": (
        "id: p\ninputs: {x: -2.0}\nprogram: log(x)\n",
        "3:10",
        "log has no finite value",
    ),
    "endless": (HEAD + "program: |\n  while x > 0:\n      y = x\n  y\n", "4:", "steps"),
    "tower": (HEAD + "program: x**10**10\n", "3:", ""),
    "alias bomb": (
        "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n",
        "1:",
        "",
    ),
    "ten megabytes": ("id: p\n# " + "x" * 10_000_000, "1:1", "10,000,008 bytes"),
    "tag": ("id: !!python/object/apply:os.system [ls]\n", "1:", "tag"),
    "twice": (HEAD + "program: x\nprogram: x\n", "4:1", "program"),
    "no cotangent": ("id: p\ninputs: {x: [1.0, 2.0]}\nprogram: x**2\n", "", "cotangent"),
    "not an input": (HEAD + "program: x**2\nwrt: [z]\n", "4:", "`z` is not an input"),
    "a cotangent of another shape": (
        "id: p\ninputs: {x: [1.0, 2.0, 3.0]}\nprogram: x**2\ncotangent: [1, 2]\n",
        "1:1",
        "the cotangent has the shape (2,), the value (3,)",
    ),
    "a cotangent of a number": (
        "id: p\ninputs: {x: [1.0, 2.0]}\nprogram: sum(x)\ncotangent: [1, 2]\n",
        "1:1",
        "the cotangent has the shape (2,), the value ()",
    ),
    "a name that is Python's": (
        "id: p\ninputs: {True: 2.0}\nprogram: True**2\n",
        "2:10",
        "`True` is not a name",
    ),
    "nothing differentiated": (HEAD + "program: x\nwrt: []\n", "4:6", "no input"),
    "differentiated twice": (HEAD + "program: x\nwrt: [x, x]\n", "4:10", "stands here twice"),
    "an input written in place": (
        HEAD + "program: |\n  x += 1\n  x\n",
        "4:3",
        "give the result a name of its own",
    ),
    "nothing of an input": (
        "id: p\ninputs: {x: {}}\nprogram: x\n",
        "2:13",
        "one of `shape`, `value`, `choose`",
    ),
    "no value of an input": ("id: p\ninputs: {x: }\nprogram: 1\n", "2:13", "nested lists of"),
    "half an axis": (
        "id: p\ninputs: {x: {shape: [2.5]}}\nprogram: sum(x)\n",
        "2:22",
        "a whole number was expected",
    ),
    "a key misspelled": ("id: p\nimputs: {x: 2.0}\nprogram: x\n", "2:1", "did you mean `inputs`"),
    "a number in quotes": (
        "id: p\ninputs: {x: '2.0'}\nprogram: x\n",
        "2:13",
        "a number was expected, a text came - write it without quotes",
    ),
    "an id that is a number": (
        HEAD.replace("p", "1", 1) + "program: x\n",
        "1:5",
        "write `id: '1'`",
    ),
    "a value of several entries": (
        "id: p\ninputs: {x: [1.0, 2.0]}\nprogram: |\n  y = 3*x\n  y**2\n",
        "5:3",
        "add `cotangent:` with a number for each entry, or end with `(...).sum()`",
    ),
    "a mistake misspelled": (
        HEAD + "program: x**2\nwrong: [{answer: {x: -2*x}, mistake: sign-eror}]\n",
        "4:38",
        "did you mean `sign-error`?",
    ),
    "credit for a mistake misspelled": (
        "credit: {sign-eror: 0.5}\nproblems:\n  - {id: p, inputs: {x: 2.0}, program: x**2}\n",
        "1:10",
        "did you mean `sign-error`?",
    ),
    "an answer to no part": (HEAD + "program: x\nright: [{z: 1}]\n", "4:10", "`z` is not a part"),
    "an array that no machine holds": (
        "id: p\ninputs: {X: {shape: [100000, 100000]}}\nprogram: sum(X)\n",
        "2:21",
        "10,000,000,000 entries are too many",
    ),
    "shapes of what is drawn": (
        "id: p\ninputs: {a: {shape: [2]}, b: {shape: [3]}}\nprogram: sum(a * b)\n",
        "3:14",
        "shapes",
    ),
    "half a JSON": (
        '{"id": "p", "inputs": {"x": 2.0}, "program": "x**2"',
        "1:52",
        "close the bracket",
    ),
    "a text for a value": (HEAD + "program: \"f'{x}'\"\n", "3:11", "an f-string - leave texts out"),
    "a mapping for a value": (HEAD + 'program: "{1: x}"\n', "3:11", "a dict - write a list"),
    "several entries of what is drawn": (
        "id: p\ninputs: {x: {shape: [3]}}\nprogram: x*2\n",
        "3:10",
        "which sum of its entries is meant?",
    ),
    "brackets that multiply": (
        HEAD + "program: (x+1)(x-1)\n",
        "3:11",
        "write `*` between factors",
    ),
    "a left side that is called": (
        HEAD + "program: f(x) = x**2\n",
        "3:10",
        "write the right side alone",
    ),
    "empty": ("", "", ""),
    "problems as a mapping": ("problems: {a: 1}\n", "1:11", "`problems`: a list was expected"),
    "no problems": ("problems: []\n", "1:11", "an empty list came - write at least one"),
    "a key of elsewhere": (
        HEAD + "program: x\nread: x\n",
        "4:1",
        "`read` is not a key here -",
    ),
    "two numbers out of three": (
        "id: p\ninputs: {a: {integers: [2]}, x: 1.0}\nprogram: a*x\n",
        "2:24",
        "`integers`: one entry more was expected",
    ),
    "a truth that is none": (
        "id: p\ninputs: {x: {value: 1.0, requires_grad: 3}}\nprogram: x\n",
        "2:41",
        "`requires_grad`: true or false was expected",
    ),
    "too far": (HEAD + "program: x\npoints: -1\n", "4:9", "a number not below 0 was expected"),
    "a third order": (HEAD + "program: x\norder: 3\n", "4:8", "`order`: 1 or 2 was expected"),
    "half a question": (
        HEAD + "program: x\nask: {a: {form: program}}\n",
        "4:10",
        "`read` is missing",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_file(name, tmp_path):
    """The message names the place, says what is wrong, and the exit code is 2."""
    text, place, phrase = CASES[name]
    file = tmp_path / "set.yaml"
    file.write_text(text)
    result = CliRunner().invoke(main, ["solve", str(file)], env={"COLUMNS": "300"})
    said = result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in said
    assert phrase in said
    assert result.exit_code == 2
    assert f"set.yaml:{place}" in said


@pytest.mark.parametrize(
    "text",
    [
        "id: p\nimputs: {x: 2.0}\nprogram: x\n",
        "id: p\ninputs: {2x: 2.0}\nprogram: x**2\n",
    ],
)
def test_one_fault_is_told_once(tmp_path, text):
    """A misspelled key is not missing too; a program is not blamed for an input's bad name."""
    file = tmp_path / "set.yaml"
    file.write_text(text)
    said = CliRunner().invoke(main, ["solve", str(file)]).output
    assert said.count("set.yaml:") == 1


def test_all_faults_of_a_file_are_told_at_once(tmp_path):
    """Three faults in two problems come out together, each at its line."""
    file = tmp_path / "set.yaml"
    file.write_text(
        "problems:\n"
        "  - {id: a, inputs: {x: 1.5}, program: x + y}\n"
        "  - {id: b, inputs: {x: 1.5}, program: foo(x) + z}\n"
    )
    said = CliRunner().invoke(main, ["solve", str(file)]).output
    assert all(f"set.yaml:{line}:" in said for line in (2, 3))
    assert all(f"`{name}`" in said for name in ("y", "foo", "z"))


BROKEN = [None, True, 2.5, "x", "1/0", "x.backward()", [], [[1], [2, 3]], {}, {"a": 1}, 10**30]
BROKEN += ["\n", "for", [None], {"shape": [10**9]}, {"integers": [5, 2]}, {"choose": []}]
WHOLE = {"problems": [{"id": "p", "inputs": {"x": 2.0, "A": {"shape": [2, 2]}}, "program": "x"}]}
KEYS = sorted({*SetModel.model_fields, *ProblemModel.model_fields, *InputModel.model_fields})


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.sampled_from(["set", "problem", "input"]), st.sampled_from(KEYS), st.sampled_from(BROKEN))
def test_every_complaint_has_its_place_and_a_cure(where, key, value):
    """Any key with anything behind it, in the set, in a problem or in an input."""
    file = copy.deepcopy(WHOLE)
    problem = file["problems"][0]
    {"set": file, "problem": problem, "input": problem["inputs"]["A"]}[where][key] = value
    complaints = ()
    try:
        load_text(json.dumps(file), "set.yaml")
    except TextError as error:
        complaints = error.complaints
    assert all(each.line and each.column and each.cure for each in complaints)
    assert not any(" should " in each.message for each in complaints)
