"""The pages as forms send them: what is shown of a problem, of an answer, and how much of it."""

import re

import pytest

from tests.support.practising import RIGHT, WRONG, served

OWN = "3x^2 <mark>- 2cos x</mark>"  # the place in what was typed
OFFERED, DONE = "show me how it is done", "Put together"
SET = ['<h2 id="set-1">Practice</h2>', 'href="/p/vector"', "<mi>x</mi>"]  # the title's mathematics
GIVEN = ["<strong>by hand</strong>", "<mfrac>", "<li>first</li>", "x**3 + 2*sin(x)",
         "<mi>x</mi><mo>=</mo><mn>2</mn>", 'class="graph"']  # fmt: skip
GRID = {"part": "w", "answer": "", "cell-0": "6", "cell-1": "16"}
WRITTEN = {"part": "x.grad", "answer": "y = x**2\r\ny.backward()\r\n"}

# a path, what a form sends there, what the page tells, and what it does not
SHOWN = {
    "the sets and their problems": ("/", {}, SET, []),
    "everything that is given": ("/p/cubic", {}, GIVEN, ["x.grad"]),
    "that it is wrong": (
        "/p/cubic",
        {"answer": WRONG},
        ["Not right"],
        ["Sign error", ": yours", "<mark>", "the wrong way round", OFFERED],
    ),
    "the kind of mistake": (
        "/p/cubic",
        {"answer": WRONG, "level": "1"},
        ["Sign error", ": yours"],
        ["<mark>", "the wrong way round"],
    ),
    "its place": (
        "/p/cubic",
        {"answer": WRONG, "level": "2"},
        ["Sign error", "<mark>2*sin(x)</mark>", OWN],
        ["the wrong way round"],
    ),
    "the words": (
        "/p/cubic",
        {"answer": WRONG, "level": "3"},
        ["Sign error", "<mark>2*sin(x)</mark>", "the wrong way round", OFFERED],
        [],
    ),
    "how it is done, once no hint is left": (
        "/p/cubic",
        {"answer": WRONG, "level": "solution"},
        ["a power: the exponent comes down, and is one less", DONE],
        [OFFERED],
    ),
    "a slip in what was typed, which has no place in the program": (
        "/p/cubic",
        {"answer": "3x^2 + 2cos 2x", "level": "2"},
        ["3x^2 + 2cos <mark>2</mark>x"],
        [],
    ),
    "a right answer, with the gradients in the graph": (
        "/p/cubic",
        {"answer": RIGHT, "level": "solution"},
        ["Right", "x.grad 11.17", "your answer lies on the derivative"],
        [DONE],
    ),
    "a caret": ("/p/cubic", {"answer": "3x^2 + foo(x)"}, ["Not understood", "       ^^^"], []),
    "that nothing was typed": ("/p/cubic", {"answer": "  "}, ["Nothing was typed"], []),
    "a strange level": ("/p/cubic", {"answer": WRONG, "level": "³"}, ["Not right"], []),
    "a right grid": ("/p/vector", GRID, ["Right"], []),
    "a wrong grid": ("/p/vector", GRID | {"cell-1": "8"}, ["Not right", 'value="8"'], []),
    "a formula before the grid": (
        "/p/vector", GRID | {"answer": "2c*w", "cell-0": "1"}, ["Right"], []
    ),
    "one of two parts": ("/p/two", {"part": "y", "answer": "x^2"}, ["Right"], []),
    "what is read at the end": ("/p/backward", {"part": "x.grad", "answer": "16"}, ["Right"], []),
    "a program": ("/p/write", WRITTEN, ["Right"], []),
    "no program that is the answer": ("/p/write", {}, [], ["y.backward()"]),
    "none to who wrote another": (
        "/p/write",
        {"part": "x.grad", "level": "3", "answer": "y = x**3"},
        [],
        ["y.backward()"],
    ),
}  # fmt: skip


def posted(client, path="/p/cubic", **fields):
    return client.post(path, data={"part": "x", "level": "0", **fields})


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_tells(client, name):
    path, fields, told, kept = SHOWN[name]
    page = (posted(client, path, **fields) if fields else client.get(path)).text
    assert [words for words in told if words not in page] == []
    assert [words for words in kept if words in page] == []


@pytest.mark.parametrize("level", ["3", "solution"])
def test_no_hint_says_more_than_the_server_may_tell(reticent, level):
    page = posted(reticent, answer=WRONG, level=level).text
    assert "Sign error" in page
    assert not re.search(f"<mark>|{OFFERED}|{DONE}", page)


@pytest.mark.parametrize(
    "path",
    ["/p/nothing", "/nothing", "/static/../app.py", "/static/x", "/p/next.nothing.1",
     "/p/next.sign-error.99999", "/p/next.sign-error.x"],
)  # fmt: skip
def test_what_is_not_there(client, path):
    assert client.get(path).status_code == 404
    assert posted(client, part="z", answer="1").status_code == 404


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            {"f": "x^3 + 2sin x", "answer": WRONG},
            ["Not right", "Sign error", "<mark>2*sin(x)</mark>", OWN,
             "your answer differs from the derivative"],
        ),
        ({"f": "x^3 +"}, ["Not understood"]),
        ({"f": "a x^2"}, ["several variables: a, x"]),
        ({"f": "a x^2", "wrt": "x", "answer": "2a x"}, ["Right"]),
        ({"f": "a x^2", "wrt": "x", "at": "a = 2; x = 3", "answer": "2a x"}, ["Right"]),
        ({"f": "a x^2", "wrt": "q", "answer": "2a x"}, ["is not an input"]),
        ({"f": "x^2"}, ["Now type your derivative"]),
        ({"f": "x^2", "at": "x = "}, ["Not understood"]),
    ],
)  # fmt: skip
def test_a_function_of_ones_own(client, asked, told):
    page = client.get("/free", params=asked).text
    assert [words for words in told if words not in page] == []


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
    assert "Not right" in posted(client, link, level="3", answer="0").text
    said = client.post("/api/check", json={"problem": link[3:], "answer": "0"}).json()
    assert (said["problem"], said["verdict"]) == (link[3:], "wrong")


LESSONS = """
problems:
- {id: twice, inputs: {x: [1.0, 2.0], A: {value: [[1, 2], [3, 4]], requires_grad: false}},
   program: x @ A @ x, order: 2}
- {id: wave, inputs: {x: 0.9}, program: sin(x**2)}
- {id: layer, inputs: {w: [1.0, 2.0]}, program: sum(w**2)}
"""


def test_the_graph_is_that_of_the_run():
    """PyTorch's names of nodes stand where arrays do; of numbers alone values and formulas."""
    with served(text=LESSONS) as client:
        assert "The second derivative by <code>x</code>" in client.get("/p/twice").text
        page = posted(client, "/p/twice", part="x.x", answer="A + A^T").text
        assert "DotBackward0" in page
        assert "UnsqueezeBackward0" not in page
        page = client.get("/p/wave").text
        assert "sin(x**2)" in page
        assert "Backward0" not in page
        assert "PowBackward0" in client.get("/p/layer").text
