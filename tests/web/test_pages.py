"""The pages as forms send them: what is shown of a problem, of an answer, and how much of it."""

import re

import pytest

from tests.support.practising import RIGHT, WRONG, served

OWN = "3x^2 <mark>- 2cos x</mark>"  # the place in what was typed


def posted(client, problem="cubic", **fields):
    """The page after a form."""
    return client.post(f"/p/{problem}", data={"part": "x", "level": "0", **fields})


def test_the_sets_and_their_problems(client):
    page = client.get("/").text
    assert '<h2 id="set-1">Practice</h2>' in page
    assert 'href="/p/vector"' in page
    assert "<mi>x</mi>" in page  # the title's mathematics


def test_a_problem_says_everything_that_is_given(client):
    page = client.get("/p/cubic").text
    assert "<strong>by hand</strong>" in page
    assert "<mfrac>" in page
    assert "<li>first</li>" in page
    assert "x**3 + 2*sin(x)" in page
    assert "<mi>x</mi><mo>=</mo><mn>2</mn>" in page
    assert 'class="graph"' in page
    assert "x.grad" not in page


@pytest.mark.parametrize(
    ("level", "told", "kept"),
    [
        (0, ["Not right"], ["Sign error", ": yours", "<mark>", "the wrong way round"]),
        (1, ["Sign error", ": yours"], ["<mark>", "the wrong way round"]),
        (2, ["Sign error", "<mark>2*sin(x)</mark>", OWN], ["the wrong way round"]),
        (3, ["Sign error", "<mark>2*sin(x)</mark>", "the wrong way round"], []),
    ],
)
def test_hints_come_level_by_level(client, level, told, kept):
    page = posted(client, answer=WRONG, level=str(level)).text
    assert [words for words in told if words not in page] == []
    assert [words for words in kept if words in page] == []


def test_a_slip_is_underlined_in_what_was_typed(client):
    """It has no place in the program."""
    page = posted(client, answer="3x^2 + 2cos 2x", level="2").text
    assert "3x^2 + 2cos <mark>2</mark>x" in page


def test_no_hint_says_more_than_the_server_may_tell(reticent):
    page = posted(reticent, answer=WRONG, level="3").text
    assert "Sign error" in page
    assert "<mark>" not in page


def test_who_gives_up_is_shown_how_it_is_done(client, reticent):
    """Rule by rule, once no hint is left; not where the course tells less, nor beside `right`."""
    offered = "show me how it is done"
    assert offered not in posted(client, answer=WRONG).text
    assert offered in posted(client, answer=WRONG, level="3").text
    page = posted(client, answer=WRONG, level="solution").text
    assert "a power: the exponent comes down, and is one less" in page
    assert "Put together" in page
    assert offered not in page
    for who, answer in ((reticent, WRONG), (client, RIGHT)):
        assert "Put together" not in posted(who, answer=answer, level="solution").text


def test_a_right_answer_brings_the_gradients_into_the_graph(client):
    page = posted(client, answer=RIGHT).text
    assert "Right" in page
    assert "x.grad 11.17" in page
    assert "your answer lies on the derivative" in page


def test_an_unreadable_answer_has_a_caret(client):
    page = posted(client, answer="3x^2 + foo(x)").text
    assert "Not understood" in page
    assert "       ^^^" in page


def test_nothing_typed_is_no_attempt(client):
    assert "Nothing was typed" in posted(client, answer="  ").text


def test_a_grid_is_an_answer(client):
    cells = {"part": "w", "level": "0", "answer": "", "cell-0": "6", "cell-1": "16"}
    assert "Right" in client.post("/p/vector", data=cells).text
    cells["cell-1"] = "8"
    page = client.post("/p/vector", data=cells).text
    assert "Not right" in page
    assert 'value="8"' in page


def test_a_formula_goes_before_the_grid(client):
    cells = {"part": "w", "level": "0", "answer": "2c*w", "cell-0": "1", "cell-1": "1"}
    assert "Right" in client.post("/p/vector", data=cells).text


@pytest.mark.parametrize(
    ("problem", "part", "answer"),
    [
        ("two", "y", "x^2"),
        ("backward", "x.grad", "16"),
        ("write", "x.grad", "y = x**2\r\ny.backward()\r\n"),
    ],
)
def test_other_kinds_of_answers(client, problem, part, answer):
    page = client.post(f"/p/{problem}", data={"part": part, "level": "0", "answer": answer}).text
    assert "Right" in page


@pytest.mark.parametrize("path", ["/p/nothing", "/nothing", "/static/../app.py", "/static/x"])
def test_what_is_not_there(client, path):
    assert client.get(path).status_code == 404


def test_a_strange_part_or_level_is_no_fault_of_ours(client):
    assert client.post("/p/cubic", data={"part": "z", "answer": "1"}).status_code == 404
    assert "Not right" in posted(client, answer=WRONG, level="³").text


def test_a_function_of_ones_own(client):
    page = client.get("/free", params={"f": "x^3 + 2sin x", "answer": WRONG}).text
    assert "Not right" in page
    assert "Sign error" in page
    assert "<mark>2*sin(x)</mark>" in page
    assert OWN in page
    assert "your answer differs from the derivative" in page


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"f": "x^3 +"}, "Not understood"),
        ({"f": "a x^2"}, "several variables: a, x"),
        ({"f": "a x^2", "wrt": "x", "answer": "2a x"}, "Right"),
        ({"f": "a x^2", "wrt": "x", "at": "a = 2; x = 3", "answer": "2a x"}, "Right"),
        ({"f": "a x^2", "wrt": "q", "answer": "2a x"}, "is not an input"),
        ({"f": "x^2"}, "Now type your derivative"),
        ({"f": "x^2", "at": "x = "}, "Not understood"),
    ],
)
def test_what_a_typed_function_needs(client, asked, words):
    assert words in client.get("/free", params=asked).text


def test_a_program_that_is_the_answer_is_shown_to_who_wrote_one(client):
    """Of a part that asks for a program, the problem's own program is a right answer."""
    assert "y.backward()" not in client.get("/p/write").text
    wrong = {"part": "x.grad", "level": "3", "answer": "y = x**3"}
    assert "y.backward()" not in client.post("/p/write", data=wrong).text


def test_the_next_problem_would_show_the_mistake(client):
    """The page links to a problem that is made for it, the same for everybody who asks."""
    page = posted(client, answer=WRONG, level="1").text
    link = re.search(r'href="(/p/next\.sign-error\.\d+)"', page)[1]
    made = client.get(link)
    assert made.status_code == 200
    assert "The derivative by" in made.text
    assert client.get(link).text == made.text
    number = int(link.rpartition(".")[2])
    assert f'href="/p/next.sign-error.{(number + 1) % 10_000}"' in made.text
    wrong = {"part": "x", "level": "3", "answer": "0"}
    assert "Not right" in client.post(link, data=wrong).text
    said = client.post("/api/check", json={"problem": link[3:], "answer": "0"}).json()
    assert said["problem"] == link[3:]
    assert said["verdict"] == "wrong"


@pytest.mark.parametrize("id", ["next.nothing.1", "next.sign-error.99999", "next.sign-error.x"])
def test_no_problem_is_made_for_what_is_no_mistake(client, id):
    assert client.get(f"/p/{id}").status_code == 404


def test_a_second_derivative_is_asked_and_shown_as_one():
    """What is asked has its name, and the graph is that of the run."""
    text = (
        "problems:\n  - id: twice\n    inputs: {x: [1.0, 2.0], "
        "A: {value: [[1, 2], [3, 4]], requires_grad: false}}\n"
        "    program: x @ A @ x\n    order: 2\n"
    )
    with served(text=text) as client:
        assert "The second derivative by <code>x</code>" in client.get("/p/twice").text
        sent = {"part": "x.x", "level": "0", "answer": "A + A^T"}
        page = client.post("/p/twice", data=sent).text
        assert "DotBackward0" in page
        assert "UnsqueezeBackward0" not in page


def test_a_lesson_of_calculus_has_no_names_of_nodes():
    """Numbers alone: values and formulas stand in the graph, PyTorch's names where arrays do."""
    text = (
        "problems:\n  - id: wave\n    inputs: {x: 0.9}\n    program: sin(x**2)\n"
        "  - id: layer\n    inputs: {w: [1.0, 2.0]}\n    program: sum(w**2)\n"
    )
    with served(text=text) as client:
        page = client.get("/p/wave").text
        assert "sin(x**2)" in page
        assert "Backward0" not in page
        assert "PowBackward0" in client.get("/p/layer").text
