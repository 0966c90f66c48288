"""Notebooks, in an IPython shell of their own: magics, and how objects are shown."""

from xml.etree import ElementTree

import numpy as np
import pytest

from gradcheck import check, grad, tensor
from gradcheck.diagnosis import explain
from gradcheck.grading.key import key
from gradcheck.grading.variants import variant_for
from gradcheck.notebook.magic import NotebookPractice
from gradcheck.problem import load
from gradcheck.problem.question import question
from tests.support.shipped import FOLDER

interactive = pytest.importorskip("IPython.core.interactiveshell")
CHAIN = FOLDER / "chain-rule.yaml"
HOSTILE = """
id: hostile
title: <b>bold</b>
prompt: <script>alert(1)</script>
inputs: {x: 0.7}
program: sin(x**2)
"""


@pytest.fixture(scope="module")
def shell():
    """A shell with the extension."""
    found = interactive.InteractiveShell.instance()
    found.run_line_magic("load_ext", "gradcheck")
    yield found
    interactive.InteractiveShell.clear_instance()


def shown(shell, thing, mime):
    """What a notebook would show of it."""
    return shell.display_formatter.format(thing)[0].get(mime)


def well_formed(html):
    """The HTML as a tree: every element is closed, every text escaped."""
    plain = html.replace("&#8290;", "").replace("&#8289;", "").replace("&ensp;", "")
    return ElementTree.fromstring(f"<div>{plain}</div>")


def cell(shell, name, text):
    """`%%gradcheck NAME` over a cell."""
    return shell.run_cell_magic("gradcheck", name, text)


def test_a_tensor_is_shown_with_its_gradient(shell):
    """The leaf has a grad, the value a grad_fn."""
    x = tensor([[1.0, 2.5], [3.0, 4e-9]], requires_grad=True)
    y = (x**2).sum()
    y.backward()
    html = shown(shell, x, "text/html")
    assert "tensor([[2." in "".join(well_formed(html).itertext())
    rows = [e.text for e in well_formed(shown(shell, y, "text/html")).iter("code")]
    assert rows == ["tensor(16.2500, grad_fn=<SumBackward0>)", "SumBackward0"]
    assert grad(tensor(2.0, requires_grad=True) ** 2, x, allow_unused=True) == (None,)


def test_a_check_is_shown_with_its_closed_form(shell):
    """The result, and the verdict in it."""
    result = check(lambda x: x**3 + np.sin(x), 0.5)
    html = shown(shell, result, "text/html")
    assert "passed" in "".join(well_formed(html).itertext())
    assert "<msup>" in html
    assert "agree" in shown(shell, result.verdicts[0], "text/html")


def test_a_diagnosis_is_shown_in_words(shell):
    """2x cos(x^2) with the inner derivative lost."""
    ready = key(question("sin(x**2)", ["x=0.9"]))
    at = [np.cos(float(p["x"].item()) ** 2) for p in ready.points[:4]]
    found = explain(ready.mistaken, "x", [np.asarray(value) for value in at])
    text = "".join(well_formed(shown(shell, found, "text/html")).itertext())
    assert "missing-inner-derivative" in text
    assert "unique" in text


def test_a_cell_is_judged_as_on_the_page(shell):
    """Right, wrong with the place marked in the program, and unreadable."""
    listed = shell.run_line_magic("gradcheck", str(CHAIN))
    assert "sine-of-square" in listed._repr_html_()
    assert repr(cell(shell, "sine-of-square", "2x cos(x^2)")) == "right"
    wrong = cell(shell, "sine-of-square", "cos(x^2)\n")
    assert repr(wrong) == "wrong: missing-inner-derivative"
    tree = well_formed(wrong._repr_html_())
    assert [mark.text for mark in tree.iter("mark")] == ["sin(x**2)", "cos(x^2)"]
    assert "the derivative of the inside is missing" in "".join(tree.itertext())
    assert repr(cell(shell, "sine-of-square.x", "2x cos(")) == "invalid"


def test_a_problem_is_asked(shell):
    """The prompt, the program, the graph as SVG."""
    shell.run_line_magic("gradcheck", str(CHAIN))
    tree = well_formed(shell.run_line_magic("gradcheck", "sine-of-square")._repr_html_())
    assert len(list(tree.iter("svg"))) == 1
    assert "Name the outer" in "".join(tree.itertext())


def test_whatever_is_typed_stays_text(shell, tmp_path):
    """In titles, prompts, answers and names."""
    file = tmp_path / "hostile.yaml"
    file.write_text(HOSTILE)
    pages = [
        shell.run_line_magic("gradcheck", str(file)),
        shell.run_line_magic("gradcheck", "hostile"),
        cell(shell, "hostile", "<script>alert(2)</script>"),
        cell(shell, "<img src=x onerror=alert(3)>", "x"),
    ]
    for page in pages:
        tree = well_formed(page._repr_html_())
        assert not any(list(tree.iter(name)) for name in ("script", "img", "a"))
    assert "<script>alert(2)" in "".join(well_formed(pages[2]._repr_html_()).itertext())


def test_complaints_say_what_to_do(shell, tmp_path):
    """No file, no such file, no such problem; no traceback."""
    assert "opens a set" in repr(shell.run_line_magic("gradcheck", ""))
    assert "No such file" in repr(shell.run_line_magic("gradcheck", str(tmp_path / "none.yaml")))
    assert "no problem is called `sine`" in repr(cell(shell, "sine", "x"))


def test_a_student_has_variants(shell):
    """`--student` gives the numbers that `gradcheck grade` finds for that name."""
    file = CHAIN.with_name("variants.yaml")
    [wave] = (problem for problem in load(file).problems if problem.id == "own-wave")
    for name in ("ada", "bob"):
        shell.run_line_magic("gradcheck", f"{file} --student {name}")
        own = variant_for(wave, name).variant
        assert f"x = 0.7, a = {own['a']}, b = {own['b']}" in repr(
            shell.run_line_magic("gradcheck", "own-wave")
        )
        assert repr(cell(shell, "own-wave", f"{own['a']}*{own['b']}cos({own['b']}x)")) == "right"


def test_a_cell_is_marked_as_grade_marks_it(tmp_path):
    """Lines of working are read, and what follows from a wrong part is right."""
    file = tmp_path / "set.yaml"
    file.write_text("""
problems:
- {id: square, inputs: {x: 2.0}, program: (x**2 + 1)**2}
- {id: chain, inputs: {x: 2.0}, wrt: [z, x], program: "z = x**3\\nz**2"}
""")
    practice = NotebookPractice(None)
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
