"""Notebooks, in an IPython shell of their own: magics, and how objects are shown."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from gradcheck import check, tensor
from gradcheck.diagnosis import explain
from gradcheck.grading.key import find_variant, make_key
from gradcheck.notebook import NotebookPractice
from gradcheck.problem import load
from gradcheck.problem.load import make_question
from tests.support.sets import set_of
from tests.support.shipped import FOLDER

interactive = pytest.importorskip("IPython.core.interactiveshell")
CHAIN = FOLDER / "chain-rule.yaml"
HOSTILE = set_of("hostile-words")


@pytest.fixture(scope="module")
def shell():
    found = interactive.InteractiveShell.instance()
    found.run_line_magic("load_ext", "gradcheck")
    yield found
    interactive.InteractiveShell.clear_instance()


def shown(shell, thing):
    """The HTML that a notebook shows, as a tree: every element is closed, every text escaped."""
    found = shell.display_formatter.format(thing)[0]["text/html"]
    plain = re.sub("&#8290;|&#8289;|&ensp;", "", found)
    return ElementTree.fromstring(f"<div>{plain}</div>")


def text_of(tree):
    return "".join(tree.itertext())


def magic(shell, words):
    return shell.run_line_magic("gradcheck", words)


def cell(shell, name, text):
    return shell.run_cell_magic("gradcheck", name, text)


def test_a_tensor_is_shown_with_its_gradient(shell):
    x = tensor([[1.0, 2.5], [3.0, 4e-9]], requires_grad=True)
    y = (x**2).sum()
    y.backward()
    assert "tensor([[2." in text_of(shown(shell, x))
    rows = [e.text for e in shown(shell, y).iter("code")]
    assert rows == ["tensor(16.2500, grad_fn=<SumBackward0>)", "SumBackward0"]


def test_a_check_is_shown_with_its_closed_form(shell):
    result = check(lambda x: x**3 + np.sin(x), 0.5)
    page = shown(shell, result)
    assert "passed" in text_of(page)
    assert list(page.iter("msup"))
    assert "agreed/dx1.62758" in text_of(shown(shell, result.verdicts[0]))
    several = check(lambda x, y: x @ x * y, np.ones(3), 0.5)
    assert "passed" in text_of(shown(shell, several))


def test_a_diagnosis_is_shown_in_words(shell):
    """2x cos(x^2) with the inner derivative lost."""
    ready = make_key(make_question("sin(x**2)", ["x=0.9"]))
    at = [np.asarray(np.cos(float(p["x"].item()) ** 2)) for p in ready.points[:4]]
    text = text_of(shown(shell, explain(ready.mistaken, "x", at)))
    assert "missing-inner-derivative" in text
    assert "unique" in text


def test_a_cell_is_judged_as_on_the_page(shell):
    """Right, wrong with the place marked in the program, and unreadable; a problem is asked."""
    assert "sine-of-square" in text_of(shown(shell, magic(shell, str(CHAIN))))
    assert repr(cell(shell, "sine-of-square", "2x cos(x^2)")) == "right"
    wrong = cell(shell, "sine-of-square", "cos(x^2)\n")
    assert repr(wrong) == "wrong: missing-inner-derivative"
    page = shown(shell, wrong)
    assert [mark.text for mark in page.iter("mark")] == ["sin(x**2)", "cos(x^2)"]
    assert "the derivative of the inside is missing" in text_of(page)
    assert repr(cell(shell, "sine-of-square.x", "2x cos(")) == "invalid"
    asked = shown(shell, magic(shell, "sine-of-square"))
    assert len(list(asked.iter("svg"))) == 1
    assert "Name the outer" in text_of(asked)


def test_whatever_is_typed_stays_text(shell, tmp_path):
    file = tmp_path / "hostile.yaml"
    file.write_text(HOSTILE)
    typed = [("hostile", "<script>alert(2)</script>"), ("<img src=x onerror=alert(3)>", "x")]
    pages = [magic(shell, str(file)), magic(shell, "hostile"), *(cell(shell, *t) for t in typed)]
    trees = [shown(shell, page) for page in pages]
    assert not any(list(tree.iter(name)) for tree in trees for name in ("script", "img", "a"))
    assert "<script>alert(2)" in text_of(trees[2])


def test_complaints_say_what_to_do(shell, tmp_path):
    assert "opens a set" in repr(magic(shell, ""))
    assert "and no problem is called so" in repr(magic(shell, str(tmp_path / "none.yaml")))
    assert "No closing quotation" in repr(magic(shell, "Ada's.yaml"))
    assert "no problem is called `sine`" in repr(cell(shell, "sine", "x"))


def test_a_student_has_variants(shell):
    """`--student` gives the numbers that `gradcheck grade` finds for that name."""
    file = CHAIN.with_name("variants.yaml")
    [wave] = (problem for problem in load(file).problems if problem.id == "own-wave")
    for name in ("ada", "bob"):
        magic(shell, f"--student {name} {file}")
        own = find_variant(wave, name).variant
        a, b = own["a"], own["b"]
        assert f"x = 0.7, a = {a}, b = {b}" in repr(magic(shell, "own-wave"))
        assert repr(cell(shell, "own-wave", f"{a}*{b}cos({b}x)")) == "right"


def test_a_cell_is_marked_as_grade_marks_it(tmp_path):
    """Lines of working are read, and what follows from a wrong part is right."""
    file = tmp_path / "set.yaml"
    file.write_text("""
problems:
- {id: square, inputs: {x: 2.0}, program: (x**2 + 1)**2}
- {id: chain, inputs: {x: 2.0}, wrt: [z, x], program: "z = x**3\\nz**2"}
""")
    practice = NotebookPractice()
    practice.open(str(file))
    told = [
        ("square", "2(x^2+1)*2x\n4x(x^2+1)", "right"),
        ("square", "2(x^2+1)*2x = 4x(x^2+2)", "wrong"),
        ("chain.x", "9x^5", "wrong"),
        ("chain.z", "3z", "wrong"),
        ("chain.x", "9x^5", "right"),
        ("chain.z", "2z", "right"),
        ("chain.x", "9x^5", "wrong"),
    ]
    for name, answer, verdict in told:
        assert repr(practice.answer(name, answer)).partition(":")[0] == verdict, (name, answer)
