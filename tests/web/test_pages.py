"""The pages as forms send them: what is shown of a problem, of an answer, and how much of it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from tests.support.batches import report
from tests.support.practising import WRONG, served
from tests.support.sets import set_of

OWN = "3x^2 <mark>- 2cos x</mark>"  # the place in what was typed
SHOWN = yaml.safe_load(Path(__file__).with_name("pages.yaml").read_text())


def posted(client, path="/p/cubic", **fields):
    return client.post(path, data={"part": "x", "level": "0", **fields})


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_tells(client, name):
    path, sent = SHOWN[name]["path"], SHOWN[name].get("sent")
    page = (posted(client, path, **sent) if sent else client.get(path)).text
    assert [words for words in SHOWN[name].get("told", ()) if words not in page] == []
    assert [words for words in SHOWN[name].get("kept", ()) if words in page] == []


@pytest.mark.parametrize("level", ["3", "solution"])
def test_no_hint_says_more_than_the_server_may_tell(reticent, level):
    page = posted(reticent, answer=WRONG, level=level).text
    assert "Sign error" in page
    assert not re.search("<mark>|show me how it is done|Put together", page)


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


LESSONS = set_of("lessons")


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


# -- what strangers type stays text: in every field, on every page, in every report ----------------


CORPUS = yaml.safe_load(Path(__file__).with_name("injection.yaml").read_text())
TAGS = """
a b bdi body button caption code details div em figcaption figure form h1 h2 h3 head header html
input label li link main mark meta nav ol p path polygon pre progress rect script section span
strong style summary svg table td text textarea title tr ul line g math mfrac mi mn mo mrow
mspace msqrt msub msubsup msup mtable mtd mtext mtr article dd dl dt h4 th tbody thead
"""
OURS = frozenset(TAGS.split())
PLACES = ("/", "#", "../", "students/", "data:,")


class _Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.strange: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        ours = tag in OURS and not any(name.startswith("on") for name in given)
        if tag == "script":
            ours = set(given) == {"src", "defer"} and given["src"].startswith("/static/")
        for name in ("href", "src", "action", "formaction"):
            ours = ours and given.get(name, "/").startswith(PLACES)
        if not ours:
            self.strange.append(f"{tag} {given}")


def strange(page):
    found = _Elements()
    found.feed(page)
    return found.strange + (["49"] if ">49<" in page else [])


@pytest.mark.parametrize("text", CORPUS)
def test_every_field_of_every_form(client, text):
    cells = {"part": "w", "level": "3", "answer": "", "cell-0": text, "cell-1": "1", text: text}
    forms = [("cubic", {"part": "x", "level": level, "answer": text}) for level in ("0", "3", text)]
    forms += [("vector", cells), ("write", {"part": "x.grad", "answer": text})]
    forms += [("cubic", {"part": text, "answer": "1"})]
    pages = [client.post(f"/p/{problem}", data=form) for problem, form in forms]
    asked = [{"f": "x^2", "answer": "2x", field: text} for field in ("f", "answer", "wrt", "at")]
    pages += [client.get("/free", params=each) for each in asked]
    pages += [client.get(f"/p/{quote(text, safe='')}")]
    assert [page.url for page in pages if strange(page.text)] == []


@pytest.mark.parametrize("field", ["problem", "part", "answer"])
@pytest.mark.parametrize("path", ["/api/check", "/api/understand"])
def test_every_field_of_json(client, path, field):
    for text in CORPUS:
        asked = {"problem": "cubic", "part": "x", "answer": "1", field: text}
        reply = client.post(path, json=asked)
        assert reply.status_code in (200, 404)
        assert reply.headers["content-type"] == "application/json"
        assert strange(json.loads(reply.text).get("mathml") or "") == []


def test_names_and_prompts_and_the_report(tmp_path):
    """A name is text on the pages, in the ledger, and in what `gradcheck report` makes of it."""
    one = "{{id: p{1}, title: {0}, prompt: {0}, inputs: {{x: 2.0}}, program: x**2}}"
    problems = (one.format(json.dumps(evil), k) for k, evil in enumerate(CORPUS[:9]))
    text = f"title: {json.dumps(CORPUS[0])}\nproblems: [{', '.join(problems)}]"
    with served(tmp_path, text) as client:
        for k, evil in enumerate(CORPUS[:9]):
            client.post("/name", data={"name": evil, "back": "/"})
            form = {"part": "x", "level": "3", "answer": evil}
            assert strange(client.get("/").text) == []
            assert strange(client.post(f"/p/p{k}", data=form).text) == []
    assert report(tmp_path).exit_code == 0
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(CORPUS[:9])
    assert [page for page in pages if strange(page.read_text())] == []
