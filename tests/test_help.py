"""The README and the pages of `gradcheck help`: every example in them is run."""

import json
import re

import click
import pytest

from gradcheck.cli import main
from gradcheck.help import SECTIONS, TOPICS, read_page
from gradcheck.problem import load_text
from tests.support.commands import run
from tests.support.grading import self_test
from tests.support.readme import HELP, README, rendered

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def test_every_page_is_a_topic():
    assert {file.stem for file in HELP.glob("*.md")} == {"index", *TOPICS}


PAGES = {"README": README} | {topic: HELP / f"{topic}.md" for topic in TOPICS}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_examples_are_current(page):
    """Commands print what the page shows, problems pass their own tests, Python runs."""
    text = page.read_text()
    assert rendered(text) == text
    for kind, block in BLOCK.findall(text):
        if kind == "python":
            made: dict[str, object] = {}
            exec(compile(block, page.name, "exec"), made)
            for test in (each for name, each in made.items() if name.startswith("test_")):
                test()
        if kind == "yaml" and "program:" in block:
            assert self_test(load_text(block)) == []


def test_lists_are_read_off_the_tables():
    assert "`arctan`, " in read_page("language", main)
    assert "`missing-zero-grad`, " in read_page("marking", main)
    assert "## grade" in read_page("commands", main)
    assert "| `wrt` | inputs" in read_page("problems", main)
    assert "- `assert_vjp`: " in read_page("api", main)
    assert not any("<!--" in read_page(topic, main) for topic in TOPICS)


def test_help_prints_a_page_or_says_which_there_are():
    """Without a topic the commands; of an unknown one the topics."""
    assert "# Answers" in run("help", "answers").output
    listed = run("help").output
    assert "Commands:" in listed
    assert all(title in listed for title in SECTIONS)
    assert f"  {'answers':16}Answers\n" in listed
    assert "lessons" in run("help", "nothing").output


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "-e", "abs(x) + x**2", "x=0"],
        ["solve", "-e", "sum(W @ x)", "W=2x2", "x=2x1"],
        ["solve", "-e", "abs(x)", "x=1"],
        ["check", "x**2", "3x"],
        ["check", "x**2*sin(x)", "2x sin x"],
    ],
)
def test_every_key_of_json_is_told(words):
    """Keys of lines, of parts and of mistakes stand on the page for other programs."""
    line = json.loads(run(*words, "--json").stdout)
    parts = line.get("parts", {}).values()
    keys = {*line, *(key for part in parts for key in part)}
    keys |= {key for mistake in line.get("mistakes") or () for key in mistake}
    page = (HELP / "json.md").read_text()
    assert [key for key in sorted(keys) if not re.search(rf"[`.\"]{key}[`\"]", page)] == []


def test_every_command_that_a_page_names_is_one():
    """Options that went, commands that were renamed: a page that still tells them is seen."""
    texts = "\n".join(file.read_text() for file in (README, *HELP.glob("*.md")))
    blocks = "\n".join(block for kind, block in BLOCK.findall(texts) if kind == "text")
    named = re.findall(r"(?:`|\$ )gradcheck ([a-z]+)((?: [^`\n]*)?)", texts)
    named += re.findall(r"^gradcheck ([a-z]+)((?: .*)?)$", blocks, re.MULTILINE)
    assert len(named) > 60
    for name, rest in named:
        command = main.get_command(click.Context(main), name)
        assert command is not None, name
        known = {text for p in command.params for text in (*p.opts, *p.secondary_opts)}
        used = set(re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", rest)) - {"--help", "-h"}
        assert used <= known, (name, rest)
