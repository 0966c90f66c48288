"""`solve --plot DIR`: the files that come of it, and what is said."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from gradcheck.plots import tell_apart
from tests.support.commands import CHAIN, run
from tests.support.plotting import FIVE_STEPS, SVG

SQUARE = "id: square\ninputs: {x: 2.0}\nprogram: x**2\n"


def test_names_of_files_are_safe_and_never_alike():
    """Brackets and blanks become underscores; W and w would be one file on some disks."""
    names = ["W", "w", "W[0]", "W 0 ", "model.weight", "../up", "", "w-2", "x" * 300]
    found = tell_apart(names)
    assert found[:5] == ["W", "w-2", "W_0_", "W_0_-2", "model.weight"]
    assert len({name.casefold() for name in found}) == len(names)
    assert not any("/" in name or len(name) > 90 for name in found)


def test_solve_draws_every_kind(file, tmp_path):
    """One file a kind, all well-formed, with a title, a readable size and no date."""
    out = tmp_path / "new" / "pictures"
    result = run("solve", file(FIVE_STEPS), "--plot", str(out))
    assert result.exit_code == 0
    kinds = ("differences-w.svg", "graph.dot", "graph.svg", "trace-norm.svg")
    assert [path.name for path in sorted(out.iterdir())] == [f"five-steps-{kind}" for kind in kinds]
    assert f"files written to {out}: 4" in result.stdout
    for path in out.glob("*.svg"):
        root = ET.parse(path).getroot()
        assert "five-steps" in root.findtext(f"{SVG}title", "")
        assert float(root.get("width", "").removesuffix("pt")) <= 600
        assert "date" not in path.read_text()
        assert {"step h", "norm", "AccumulateGrad", "w"} & {t.text for t in root.iter(f"{SVG}text")}


def test_pictures_are_the_same_bytes_every_time(file, tmp_path):
    """Another process, with a hash seed of its own, writes the same files as this one."""
    words = ["solve", file(FIVE_STEPS), "--plot"]
    run(*words, str(tmp_path / "here"))
    seeded = {**os.environ, "PYTHONHASHSEED": "random"}
    command = [sys.executable, "-m", "gradcheck", *words, str(tmp_path / "there")]
    subprocess.run(command, env=seeded, check=True, capture_output=True)
    one, two = (
        {p.name: p.read_bytes() for p in (tmp_path / place).iterdir()}
        for place in ("here", "there")
    )
    assert one == two
    assert len(one) == 4


def test_without_matplotlib_there_are_graphs_and_a_hint(file, tmp_path, monkeypatch):
    """A graph needs no extras; the hint is said once, and nothing fails."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    pair = [CHAIN, CHAIN.replace("id: chain", "id: other")]
    text = "problems:\n" + "".join(f"- {each.replace(chr(10), chr(10) + '  ')}\n" for each in pair)
    result = run("solve", file(text), "--plot", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert " ".join(sorted(p.name for p in (tmp_path / "out").iterdir())) == (
        "chain-graph.dot chain-graph.svg other-graph.dot other-graph.svg"
    )
    assert result.stdout.count("install gradcheck[plot] for curves") == 1


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("set.yaml", "set.yaml"),
        ("set.yaml/below", "set.yaml"),
        ("out", "chain-graph.dot: Is a directory - name a directory"),
    ],
)
def test_what_is_in_the_way_is_said(file, tmp_path, place, words):
    """A message that names it, exit code 2, no traceback; where there is no folder, no solving."""
    (tmp_path / "out" / "chain-graph.dot").mkdir(parents=True)
    result = run("solve", file(CHAIN), "--plot", str(tmp_path / place))
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == "" or place == "out"
    assert isinstance(result.exception, SystemExit)


def test_json_stays_alone_on_standard_output(file, tmp_path):
    """What is said of files goes to standard error."""
    result = run("solve", file(SQUARE), "--json", "--plot", str(tmp_path / "out"))
    assert json.loads(result.stdout)["problem"] == "square"
    assert "files written to" in result.stderr


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("floor(x)", "no picture of differences-x: the value jumps by 1"),
        ("y = 2 * x\nask: {leaf: x.is_leaf}", "no picture of graph: no backward call"),
    ],
)
def test_what_is_not_drawn_is_said(file, tmp_path, program, words):
    """A jump has a graph, and no V curve; a program may never go back."""
    text = f"id: one\ninputs: {{x: 1.0}}\nprogram: {program}\n"
    result = run("solve", file(text), "--plot", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert f"one: {words}" in result.stdout
    assert not list((tmp_path / "out").glob("*differences*" if "floor" in program else "*graph*"))


def test_the_same_id_in_two_files_gives_two_pictures(file, tmp_path):
    first, second = file(SQUARE, "a.yaml"), file(SQUARE, "b.yaml")
    run("solve", first, second, "--plot", str(tmp_path / "out"))
    names = {p.name for p in (tmp_path / "out").glob("*.dot")}
    assert names == {"square-graph.dot", "square-2-graph.dot"}
