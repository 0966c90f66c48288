"""What strangers type stays text: in every field, on every page, in every report."""

import json
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from tests.support.batches import report
from tests.support.practising import served

CORPUS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "{{ 7 * 7 }}{% print(1) %}${7*7}",
    "javascript:alert(1)",
    "x' OR '1'='1'; DROP TABLE answers; --",
    "<math><mtext></math><img src=x onerror=alert(1)>",
    "`<img src=x onerror=alert(1)>` $<script>alert(1)</script>$",
    "__import__('os').system('echo PWNED')",
    "().__class__.__base__.__subclasses__()",
    "f\"{print('PWNED')}\"",
    "\\text{<img src=x onerror=alert(1)>}",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "x\u202e\u0000\u200b",
]
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
