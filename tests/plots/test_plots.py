"""Pictures of a verdict: what is drawn, held against textbooks, and the files that come of it."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.cli import main
from gradcheck.opinions.opinion import Case
from gradcheck.plots.curve_picture import floor_of
from gradcheck.plots.curves import Differences, differences_of
from gradcheck.plots.dot import dot_text, quoted
from gradcheck.plots.graphs import Edge, Graph, Vertex, graph_of
from gradcheck.plots.kink_picture import kink_svg
from gradcheck.plots.kinks import kink_of, kinked
from gradcheck.plots.labels import heading_lines, lines_of
from gradcheck.plots.layering import laid_out
from gradcheck.plots.names import distinct
from gradcheck.plots.trace_picture import spans_decades
from gradcheck.plots.traces import NothingToDraw, Trace, trace_of
from gradcheck.problem.draw import given_point
from gradcheck.problem.load import load_text
from gradcheck.problem.record import Problem
from gradcheck.training import prepared
from gradcheck.training.series import Series, series
from gradcheck.verdict.consult import Verdict, consult

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = """
id: chain
inputs: {w: 3.0, x: 2.0, b: 1.0}
program: |
  z = w * x
  y = z + b
  loss = y**2
  loss
"""
FIVE_STEPS = """
id: five-steps
inputs: {w: [1.0, -2.0]}
program: |
  for step in range(5):
      loss = (w**2).sum()
      loss.backward()
      record(norm=norm(w.grad))
      with no_grad():
          w -= 0.1 * w.grad
      w.grad = None
ask: {norms: recorded.norm}
"""


def problem(text: str) -> Problem:
    """The only problem of a text."""
    return load_text(text).problems[0]


def recorded(text: str) -> dict[str, Series]:
    """The recorded series of a problem, by name."""
    asked = prepared(problem(text))
    found = series(asked.problem, asked.point, asked.trace.together)
    return {each.name: each for each in found}


def traced(text: str, name: str) -> Trace:
    """The picture of one recorded series."""
    return trace_of("p", recorded(text)[name])


def solved(program: str, inputs: str) -> tuple[Case, Verdict]:
    """A program at its point, and the verdict there."""
    found = problem(f"id: p\ninputs: {inputs}\nprogram: {program}")
    case = found.case(given_point(found))
    return case, consult(case)


def differences(program: str, inputs: str, part: str = "x") -> Differences:
    """The picture of one part of a program."""
    return differences_of(*solved(program, inputs), part)


def graph(text: str) -> Graph:
    """The picture of a problem's tape."""
    found = problem(text)
    return graph_of(found.id, found.case(given_point(found)), found.program)


def run(*words: str) -> Result:
    """One command, its output kept apart."""
    return CliRunner().invoke(main, list(words), env={"COLUMNS": "120", "NO_COLOR": "1"})


@pytest.fixture
def file(tmp_path: Path):
    """Write a text into a file and give its path."""

    def write(text: str, name: str = "set.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


# -- recorded series -------------------------------------------------------------------------------


def test_five_steps_with_and_without_zero_grad():
    """W shrinks by 0.8 a step; uncleared, the sum of all gradients pulls it through zero."""
    found = recorded(FIVE_STEPS)["norm"]
    norms = [math.sqrt(20) * 0.8**k for k in range(5)]
    np.testing.assert_allclose(found.right, norms, rtol=1e-12)
    np.testing.assert_allclose(found.wrong, [4.472, 8.050, 10.018, 9.982, 7.950], atol=5e-4)
    assert found.mistake.id == "missing-zero-grad"
    assert found.parting == 1
    assert (found.variable, found.counter) == ("step", (0, 1, 2, 3, 4))


def test_steps_are_counted_as_the_program_counts():
    """The axis has what the loop variable was when `record` was called."""
    text = """
id: windows
inputs: {w: 1.0}
program: |
  for i in range(2, 8):
      (w**2).backward()
      if i % 3 == 1:
          record(grad=w.grad)
          w.grad = None
ask: {w: w.grad}
"""
    picture = traced(text, "grad")
    assert picture.across == "i, as the program counts"
    assert [panel.steps.tolist() for panel in picture.panels] == [[4, 7], [4, 7]]
    assert picture.parting == 7
    assert "parts at i = 7" in picture.panels[1].remarks[0]


def test_where_no_loop_counts_the_calls_are_counted():
    """Two calls in a row, and a loop that starts again, have no counter of their own."""
    text = """
id: twice
inputs: {w: 1.0}
program: |
  for epoch in range(2):
      for i in range(2):
          (w**2).backward()
          record(grad=w.grad)
  record(alone=w.grad)
  record(alone=w.grad)
ask: {w: w.grad}
"""
    assert [s.counter for s in recorded(text).values()] == [None, None]
    assert traced(text, "grad").panels[0].steps.tolist() == [0, 1, 2, 3]
    assert traced(text, "alone").across == "calls of record(), counted from 0"


def test_a_program_that_never_clears_gets_the_next_mistake():
    """Where there is nothing to clear, the first other mistake that changes the series is drawn."""
    text = FIVE_STEPS.replace("      w.grad = None\n", "")
    found = recorded(text)["norm"]
    assert found.mistake.id == "overwritten-grad"
    np.testing.assert_allclose(found.wrong, [math.sqrt(20) * 0.8**k for k in range(5)], rtol=1e-12)


def test_a_series_that_no_mistake_changes_is_drawn_alone():
    """The number of the step is the same in every run: one panel, and it says so."""
    text = FIVE_STEPS.replace("norm=norm(w.grad)", "norm=norm(w.grad), count=step*2.0")
    picture = traced(text, "count")
    assert len(picture.panels) == 1
    assert picture.parting is None
    assert "no mistake" in picture.panels[0].remarks[0]


@pytest.mark.parametrize(("entries", "labels"), [(2, ["v[0]", "v[1]"]), (7, [""])])
def test_few_entries_are_drawn_each_and_many_as_a_norm(entries, labels):
    """Six entries can be told apart; of more the 2-norm is drawn, and the axis says so."""
    text = f"""
id: vector
inputs: {{w: {[3.0] * entries}}}
program: |
  for step in range(3):
      (w**2).sum().backward()
      record(v=w.grad)
      w.grad = None
ask: {{w: w.grad}}
"""
    picture = traced(text, "v")
    lines = picture.panels[0].lines
    assert [line.label for line in lines] == labels
    if entries == 7:
        assert picture.up == "v: 2-norm of its 7 entries"
        np.testing.assert_allclose(lines[0].values, [6 * math.sqrt(7)] * 3)
    else:
        assert [line.values.tolist() for line in lines] == [[6, 6, 6], [6, 6, 6]]


@pytest.mark.parametrize(("factor", "expected"), [(0.3, True), (0.9, False)])
def test_a_loss_over_decades_has_a_logarithmic_axis(factor, expected):
    """0.3^2k falls by more than a hundred in five steps, 0.9^2k does not."""
    text = FIVE_STEPS.replace("norm=norm(w.grad)", f"loss={factor}**(2*step)")
    text = text.replace("recorded.norm", "recorded.loss")
    assert spans_decades(traced(text, "loss")) == expected


def test_what_is_no_number_is_not_drawn():
    """A series of truth values has no picture, and the reason is a clear one."""
    text = FIVE_STEPS.replace("norm=norm(w.grad)", "norm=norm(w.grad), flag=w.requires_grad")
    with pytest.raises(NothingToDraw, match="flag is not a number"):
        traced(text, "flag")


# -- errors against steps --------------------------------------------------------------------------


def test_the_v_of_a_cubic_plus_sine():
    """Truncation is f'''(2) h²/6; the best step is near the cube root of the rounding unit."""
    found = differences("x**3 + 2*sin(x)", "{x: 2.0}")
    (curve,) = found.curves
    assert curve.hand == "central"
    assert (curve.steps[0], curve.steps[-1]) == pytest.approx((2e-16, 2.0))
    best, least = curve.best
    assert abs(math.log10(best / np.finfo(float).eps ** (1 / 3))) < 2
    assert 0 <= least < 1e-9
    right = (curve.steps > 1e-4) & (curve.steps < 0.1)
    power, _ = np.polyfit(np.log(curve.steps[right]), np.log(curve.errors[right]), 1)
    assert power == pytest.approx(2, abs=0.01)
    truncation = (6 - 2 * math.cos(2)) / 6
    assert next(g.factor for g in found.guides if g.power == 2) == pytest.approx(
        truncation, rel=0.02
    )


def test_the_chosen_steps_and_the_bar_hold():
    """What scanned floats settle on is off by less than its bar, and better than any one step."""
    found = differences("x**3 + 2*sin(x)", "{x: 2.0}")
    fine, coarse = found.chosen.steps
    assert 8 * math.ulp(2.0) <= fine <= coarse <= 4.0
    assert found.chosen.error <= found.chosen.bar < found.curves[0].best[1]


def test_errors_are_those_of_exact_arithmetic():
    """The central difference of x**3 at h is off by exactly h**2."""
    (curve,) = differences("x**3", "{x: 1.0}").curves
    far = curve.steps > 0.01
    np.testing.assert_allclose(curve.errors[far], curve.steps[far] ** 2, rtol=1e-10)


def test_the_steepest_entry_is_drawn():
    """Of [0, 3, -5, 1] the third entry of 2x is the largest."""
    found = differences("sum(x**2)", "{x: [0.0, 3.0, -5.0, 1.0]}")
    assert (found.label, found.entries, found.slope) == ("x[2]", 4, -10)


def test_a_kink_is_drawn_from_both_sides():
    """At 1, |x - 1| + x² has the slopes 1 and 3; both quotients err by h."""
    found = differences("abs(x - 1) + x**2", "{x: 1.0}")
    assert [curve.hand for curve in found.curves] == ["left", "right"]
    for curve in found.curves:
        far = curve.steps > 1e-3
        np.testing.assert_allclose(curve.errors[far], curve.steps[far], rtol=1e-6)
    assert found.chosen is None


def test_a_kink_draws_the_function_and_a_tangent_to_each_side():
    """The first kink of a part is drawn, whichever entry is the steepest: relu at 0 of three."""
    case, verdict = solved("sum(3 * relu(x) - x**2)", "{x: [1.0, 0.0, -2.0]}")
    found = kink_of(case, verdict, "x")
    assert (found.label, found.at, found.left, found.right, found.chosen) == ("x[1]", 0, 0, 3, 0)
    np.testing.assert_allclose(
        found.values, 3 * np.maximum(found.steps, 0) - found.steps**2 + 3 - 1 - 4, atol=1e-12
    )
    drawn = kink_svg("set", found)
    assert "a kink at x[1] = 0" in drawn
    assert "slope to the right: 3" in drawn
    smooth = solved("sum(x**2)", "{x: [1.0]}")
    assert kinked(smooth[1], "x") is None


def test_an_end_of_the_domain_is_drawn_from_inside():
    """The quotients of x√x at 0 exist to the right only; they are √h, to the slope's own bar."""
    found = differences("x * sqrt(x)", "{x: 0.0}")
    (curve,) = found.curves
    assert curve.hand == "right"
    assert 0 < found.bar < 1e-9
    np.testing.assert_allclose(curve.errors, np.sqrt(curve.steps), rtol=1e-12, atol=found.bar)


@pytest.mark.parametrize(
    ("program", "at", "why"), [("floor(x)", 1.0, "jumps"), ("sqrt(x)", 0.0, "vertical")]
)
def test_where_there_is_no_slope_nothing_is_drawn(program, at, why):
    """A jump and a vertical tangent have no slope to be off from."""
    with pytest.raises(NothingToDraw, match=why):
        differences(program, f"{{x: {at}}}")


def test_no_error_at_all_is_drawn_below_every_other():
    """Central differences of a line at exact steps are exact; the floor lies under the rest."""
    found = differences("3*x + 1", "{x: 3.0}")
    errors = found.curves[0].errors
    assert (errors == 0).any()
    assert 0 < floor_of(found) < errors[errors > 0].min()


# -- graphs ----------------------------------------------------------------------------------------


TOKENS = re.compile(r'(\s+)|("(?:[^"\\]|\\.)*"|->|[A-Za-z_]\w*|[{}\[\];=,])')


def tokens(text: str) -> list[str]:
    """The words and signs of DOT; fails where the text has anything else."""
    found, at = [], 0
    while at < len(text):
        match = TOKENS.match(text, at)
        assert match, f"not DOT: {text[at : at + 40]!r}"
        at = match.end()
        found += [match[2]] if match[2] else []
    return found


def parsed(text: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The labels of all nodes and the ends of all edges, by the grammar of DOT."""
    words = tokens(text)
    assert words[0] == "digraph"
    assert (words[2], words[-1]) == ("{", "}")
    nodes, edges, statement = {}, [], []
    for word in words[3:-1]:
        if word != ";":
            statement.append(word)
            continue
        given = {
            key: value
            for key, sign, value in zip(statement, statement[1:], statement[2:], strict=False)
            if sign == "="
        }
        if statement[1:2] == ["->"]:
            edges.append((statement[0], statement[2]))
        elif statement[1] == "[" and statement[0] not in ("node", "edge"):
            assert statement[-1] == "]"
            nodes[statement[0]] = given["label"][1:-1]
        statement = []
    assert statement == []
    return nodes, edges


def test_the_chain_of_a_textbook():
    """(w x + b)² at 3, 2, 1: values 6, 7, 49; gradients 14, 14, 1; 28, 42, 14 at the leaves."""
    labels, _ = parsed(dot_text(graph(CHAIN)))
    assert sorted(labels.values()) == sorted(
        [
            r"w\nvalue 3\nw.grad 28",
            r"x\nvalue 2\nx.grad 42",
            r"b\nvalue 1\nb.grad 14",
            r"z = w * x\nMulBackward0\nvalue 6\ngradient 14",
            r"y = z + b\nAddBackward0\nvalue 7\ngradient 14",
            r"loss = y**2\nPowBackward0\nvalue 49\ngradient 1",
        ]
    )


def test_edges_have_the_local_derivatives():
    """dz/dw = x, dz/dx = w, dy/dz = dy/db = 1, dloss/dy = 2y."""
    found = graph(CHAIN)
    name = {vertex.key: vertex.name for vertex in found.vertices}
    factors = {(name[e.start], name[e.end]): e.factor for e in found.edges}
    assert factors == {
        ("w", "z"): 2,
        ("x", "z"): 3,
        ("z", "y"): 1,
        ("b", "y"): 1,
        ("y", "loss"): 14,
    }


def test_one_value_used_twice_has_two_edges():
    """X * x: both edges carry x, and their sum is 2x."""
    found = graph("id: p\ninputs: {x: 3.0}\nprogram: x * x")
    assert [edge.factor for edge in found.edges] == [3, 3]
    assert lines_of(found.vertices[0]) == ["value 3", "x.grad 6"]


@pytest.mark.parametrize(
    "program",
    [
        "((X @ W + b)**2).mean()",
        "torch.sum(torch.tanh(X @ W) * b) + (b * b).sum()",
        "torch.log(torch.sum(torch.exp(b))) - b[1]",
        "torch.sum(torch.softmax(X @ W, dim=1) * torch.relu(X @ W + b))",
    ],
)
def test_nodes_and_edges_are_those_of_pytorch(program):
    """Every grad_fn that PyTorch's next_functions lead to, by name, and every edge."""
    torch = pytest.importorskip("torch")
    values = {"W": [[0.5, -1.0], [1.0, 0.25]], "b": [0.1, -0.2]}
    given = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.3, 0.7]], dtype=torch.float64)
    scope = {n: torch.tensor(v, dtype=torch.float64, requires_grad=True) for n, v in values.items()}
    root = eval(program, {"torch": torch, "X": given, **scope}).grad_fn
    seen, stack, edges = {root}, [root], 0
    while stack:
        for step, _ in stack.pop().next_functions:
            edges += step is not None
            if step is not None and step not in seen:
                seen.add(step)
                stack.append(step)
    inputs = json.dumps(values | {"X": {"value": given.tolist(), "requires_grad": False}})
    found = graph(f"id: p\ninputs: {inputs}\nprogram: {program}")
    assert sorted(v.made_by for v in found.vertices) == sorted(
        s.name().split("::")[-1] for s in seen
    )
    assert len(found.edges) == edges
    labels, arrows = parsed(dot_text(found))
    assert (len(labels), len(arrows)) == (len(seen), edges)
    assert {end for arrow in arrows for end in arrow} <= set(labels)


def test_of_a_long_tape_the_end_is_drawn():
    """Of 240 nodes the last 60 and the leaf they use stay; who lacks an operand is dashed."""
    found = graph(
        "id: p\ninputs: {x: 0.3, w: 0.5}\nprogram: |\n"
        "  for k in range(80):\n      x = tanh(w * x + 0.1)\n  x\n"
    )
    assert sum(not vertex.leaf for vertex in found.vertices) == 60
    assert [vertex.name for vertex in found.vertices if vertex.leaf] == ["w"]
    assert found.left_out == 240 + 2 - 61
    assert [vertex.text for vertex in found.vertices if vertex.cut] == ["w * x"]
    text = dot_text(found)
    assert text.count("dashed") == 1 + text.count("a dashed frame")
    assert "Only the last 61 of 242 nodes are drawn" in text


def test_what_depends_on_nothing_has_no_graph():
    """A constant value has no tape."""
    with pytest.raises(NothingToDraw, match="depends on nothing"):
        graph("id: p\ninputs: {x: 1.0}\nprogram: 3.0 + 4.0")


@pytest.mark.parametrize("name", ['a "b"', "back\\slash", "{x} <y> | z;", "×1 → …", "->"])
def test_every_letter_survives_dot(name):
    """Quotation marks and backslashes are escaped; nothing else is special in a quoted string."""
    labels, _ = parsed(f'digraph "" {{ n [label={quoted([name])}]; }}')
    assert labels["n"].replace('\\"', '"').replace("\\\\", "\\") == name


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_graphviz_reads_the_text():
    """`dot` itself finds the six nodes and five edges of the chain."""
    text = dot_text(graph(CHAIN))
    done = subprocess.run(["dot", "-Tplain"], input=text.encode(), capture_output=True, check=True)
    words = [line.split()[0] for line in done.stdout.decode().splitlines()]
    assert (words.count("node"), words.count("edge")) == (6, 5)


def test_labels_fit_on_a_node():
    """Long formulas are broken into two lines and cut, large arrays say their shape."""
    found = graph(
        "id: p\ninputs: {x: {shape: [40, 50]}}\n"
        "program: sum(x * 1.2345 + x * 2.3456 + x * 3.4567 + x * 4.5678 + x * 5.6789)"
    )
    for vertex in found.vertices:
        assert len(heading_lines(vertex)) <= 2
        assert max(map(len, [*heading_lines(vertex), *lines_of(vertex)])) <= 28
    assert lines_of(found.vertices[0])[0].startswith("value (40×50) [")


@st.composite
def tapes(draw: st.DrawFn) -> Graph:
    """Graphs whose nodes use earlier ones, each of them used."""
    count = draw(st.integers(1, 25))
    edges = {(draw(st.integers(k + 1, count)), k) for k in range(count)}
    more = st.tuples(st.integers(0, count), st.integers(0, count))
    edges |= {(max(pair), min(pair)) for pair in draw(st.sets(more)) if pair[0] != pair[1]}
    vertices = tuple(Vertex(f"n{k}", False, "", "", "", None, None) for k in range(count + 1))
    return Graph("", vertices, tuple(Edge(f"n{start}", f"n{end}") for end, start in sorted(edges)))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(tapes())
def test_layers_go_down_and_nothing_overlaps(found):
    """Every edge goes to a lower layer; in a layer everybody has room."""
    widths = {v.key: 30.0 + 10.0 * (k % 5) for k, v in enumerate(found.vertices)}
    layout = laid_out(found, widths, lane=6.0, gap=12.0, page=300.0)
    for edge in found.edges:
        assert layout.layer[edge.start] < layout.layer[edge.end]
    for layer in layout.layers:
        rooms = [widths.get(p, 6.0) if isinstance(p, str) else 6.0 for p in layer]
        spans = [
            (layout.across[p] - w / 2, layout.across[p] + w / 2)
            for p, w in zip(layer, rooms, strict=True)
        ]
        assert all(b - a >= 12.0 - 1e-9 for (_, a), (b, _) in pairwise(spans))
        assert spans[0][0] >= -1e-9
        assert spans[-1][1] <= layout.width + 1e-9
        nodes = [widths[p] + 12.0 for p in layer if isinstance(p, str)]
        assert sum(nodes) <= 300.0
    assert {p for layer in layout.layers for p in layer if isinstance(p, str)} == set(widths)


# -- files -----------------------------------------------------------------------------------------


def test_names_of_files_are_safe_and_never_alike():
    """Brackets and blanks become underscores; W and w would be one file on some disks."""
    names = ["W", "w", "W[0]", "W 0 ", "model.weight", "../up", "", "w-2", "x" * 300]
    found = distinct(names)
    assert found[:5] == ["W", "w-2", "W_0_", "W_0_-2", "model.weight"]
    assert len({name.casefold() for name in found}) == len(names)
    assert not any("/" in name or len(name) > 90 for name in found)


def test_solve_draws_every_kind(file, tmp_path):
    """One file a kind, all well-formed, with a title, a readable size and no date."""
    out = tmp_path / "new" / "pictures"
    result = run("solve", file(FIVE_STEPS), "--plot", str(out))
    assert result.exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "five-steps-differences-w.svg",
        "five-steps-graph.dot",
        "five-steps-graph.svg",
        "five-steps-trace-norm.svg",
        "index.html",
    ]
    page = (out / "index.html").read_text()
    assert re.findall(r'img src="([^"]+)"', page) == [
        p.name for p in sorted(out.glob("*.svg"), key=lambda p: page.index(p.name))
    ]
    assert len(re.findall("<img", page)) == 3
    assert f"5 files written to {out}" in result.stdout
    for path in out.glob("*.svg"):
        root = ET.parse(path).getroot()
        assert "five-steps" in root.findtext(f"{SVG}title", "")
        assert float(root.get("width", "").removesuffix("pt")) <= 600
        assert "date" not in path.read_text()
        assert {"step h", "norm", "AccumulateGrad", "w"} & {t.text for t in root.iter(f"{SVG}text")}


def test_pictures_are_the_same_bytes_every_time(file, tmp_path):
    """Two processes with different hash seeds write the same files."""
    for seed in ("1", "2"):
        options = ["--plot", str(tmp_path / seed)]
        subprocess.run(
            [sys.executable, "-m", "gradcheck", "solve", file(FIVE_STEPS), *options],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / seed).iterdir()} for seed in "12")
    assert one == two
    assert len(one) == 5


def test_without_matplotlib_there_is_dot_and_a_hint(file, tmp_path, monkeypatch):
    """The text of a graph needs no extras; the hint is said once, and nothing fails."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    text = f"problems:\n  -{CHAIN.replace(chr(10), chr(10) + '    ')}"
    text += f"\n  -{CHAIN.replace('id: chain', 'id: other').replace(chr(10), chr(10) + '    ')}"
    result = run("solve", file(text), "--plot", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "chain-graph.dot",
        "other-graph.dot",
    ]
    assert result.stdout.count("install gradcheck[plot] for pictures") == 1


@pytest.mark.parametrize("place", ["set.yaml", "set.yaml/below"])
def test_a_directory_that_cannot_be_is_said_and_nothing_else(file, tmp_path, place):
    """A file in the way: a message, exit code 2, no traceback, and nothing was solved."""
    result = run("solve", file(CHAIN), "--plot", str(tmp_path / place))
    assert result.exit_code == 2
    assert "set.yaml" in result.stderr
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)


def test_a_file_in_the_way_of_a_picture_is_said(file, tmp_path):
    """Where a picture's own name is a directory, the message names it."""
    (tmp_path / "out" / "chain-graph.dot").mkdir(parents=True)
    result = run("solve", file(CHAIN), "--plot", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "chain-graph.dot: Is a directory - name a directory" in result.stderr


def test_json_stays_alone_on_standard_output(file, tmp_path):
    """What is said of files goes to standard error."""
    result = run("solve", file(CHAIN), "--json", "--plot", str(tmp_path / "out"))
    assert json.loads(result.stdout)["problem"] == "chain"
    assert "files written to" in result.stderr


def test_what_is_not_drawn_is_said(file, tmp_path):
    """A jump has a graph, no V curve, and a line that says why."""
    text = "id: jump\ninputs: {x: 1.0}\nprogram: floor(x)\n"
    result = run("solve", file(text), "--plot", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert "jump: no picture of differences-x: the value jumps by 1" in result.stdout
    assert not list((tmp_path / "out").glob("*differences*"))


def test_a_program_that_never_goes_back_has_no_graph(file, tmp_path):
    """What is asked may be read without any backward call; that too is said."""
    text = "id: asked\ninputs: {x: 1.0}\nprogram: y = 2 * x\nask: {leaf: x.is_leaf}\n"
    result = run("solve", file(text), "--plot", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert "asked: no picture of graph: no backward call" in result.stdout


def test_the_same_id_in_two_files_gives_two_pictures(file, tmp_path):
    """Sets may share an id; the later one's files get a number."""
    first, second = file(CHAIN, "a.yaml"), file(CHAIN, "b.yaml")
    run("solve", first, second, "--plot", str(tmp_path / "out"))
    names = {p.name for p in (tmp_path / "out").glob("*.dot")}
    assert names == {"chain-graph.dot", "chain-2-graph.dot"}


def test_solve_help_has_the_option():
    """`--plot DIR` is told by `--help`."""
    assert "--plot DIR" in run("solve", "--help").output
