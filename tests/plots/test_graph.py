"""Tapes as graphs: held against textbooks and PyTorch, and laid out so that nothing overlaps."""

import json
import re
import shutil
import subprocess
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.plots.graph import (
    Graph,
    GraphEdge,
    NothingToDraw,
    Vertex,
    heading_lines,
    lay_out,
    list_lines,
    quote,
    render_graph_file,
    write_dot,
)
from tests.support.commands import CHAIN
from tests.support.plotting import graph

QUOTED = r'"((?:[^"\\]|\\.)*)"'
ATTRIBUTES = rf"\[(\w+={QUOTED}(, )?)*\]"
LINE = re.compile(rf'  (label={QUOTED}|labelloc="t"|node {ATTRIBUTES}|edge {ATTRIBUTES}'
                  rf"|\w+ {ATTRIBUTES}|\w+ -> \w+( {ATTRIBUTES})?);")  # fmt: skip


def parsed(text):
    """The labels of all nodes and the ends of all edges; fails where the text has anything else."""
    first, *lines, last = text.splitlines()
    assert re.fullmatch(rf"digraph {QUOTED} {{", first)
    assert last == "}"
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    nodes = re.findall(rf"^  (?!node |edge )(\w+) \[label={QUOTED}", text, re.MULTILINE)
    return dict(nodes), re.findall(r"^  (\w+) -> (\w+)", text, re.MULTILINE)


def test_the_chain_of_a_textbook():
    """(w x + b)² at 3, 2, 1: values 6, 7, 49; gradients 14, 14, 1; 28, 42, 14 at the leaves."""
    labels, _ = parsed(write_dot(graph(CHAIN)))
    assert set(labels.values()) == {
        r"w\nvalue 3\nw.grad 28", r"x\nvalue 2\nx.grad 42", r"b\nvalue 1\nb.grad 14",
        r"z = w * x\nMulBackward0\nvalue 6\ngradient 14",
        r"y = z + b\nAddBackward0\nvalue 7\ngradient 14",
        r"loss = y**2\nPowBackward0\nvalue 49\ngradient 1",
    }  # fmt: skip


def test_edges_have_the_local_derivatives():
    """dz/dw = x, dz/dx = w, dy/dz = dy/db = 1, dloss/dy = 2y; of x * x both edges carry x."""
    found = graph(CHAIN)
    name = {vertex.key: vertex.name for vertex in found.vertices}
    assert {f"{name[e.start]} {name[e.end]}": e.factor for e in found.edges} == {
        "w z": 2, "x z": 3, "z y": 1, "b y": 1, "y loss": 14,
    }  # fmt: skip
    found = graph("id: p\ninputs: {x: 3.0}\nprogram: x * x")
    assert [edge.factor for edge in found.edges] == [3, 3]
    assert list_lines(found, found.vertices[0]) == ["value 3", "x.grad 6"]


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
    names = sorted(s.name().split("::")[-1] for s in seen)
    assert sorted(v.made_by for v in found.vertices) == names
    assert len(found.edges) == edges
    labels, arrows = parsed(write_dot(found))
    assert (len(labels), len(arrows)) == (len(seen), edges)
    assert {end for arrow in arrows for end in arrow} <= set(labels)


def test_of_a_long_tape_the_end_is_drawn():
    """Of 240 nodes the last 60 and the leaf they use stay, that is said; a constant has none."""
    found = graph(
        "id: p\ninputs: {x: 0.3, w: 0.5}\nprogram: |\n"
        "  for k in range(80):\n      x = tanh(w * x + 0.1)\n  x\n"
    )
    assert sum(not vertex.leaf for vertex in found.vertices) == 60
    assert [vertex.name for vertex in found.vertices if vertex.leaf] == ["w"]
    assert found.left_out == 240 + 2 - 61
    assert "Only the last 61 of 242 nodes are drawn" in write_dot(found)
    with pytest.raises(NothingToDraw, match="depends on nothing"):
        graph("id: p\ninputs: {x: 1.0}\nprogram: 3.0 + 4.0")


@pytest.mark.parametrize("name", ['a "b"', "back\\slash", "{x} <y> | z;", "×1 → …", "->"])
def test_every_letter_survives_dot(name):
    """Quotation marks and backslashes are escaped; nothing else is special in a quoted string."""
    labels, _ = parsed(f'digraph "" {{\n  n [label={quote([name])}];\n}}')
    assert labels["n"].replace('\\"', '"').replace("\\\\", "\\") == name


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_graphviz_reads_the_text():
    """`dot` itself finds the six nodes and five edges of the chain."""
    text = write_dot(graph(CHAIN))
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
        assert max(map(len, [*heading_lines(vertex), *list_lines(found, vertex)])) <= 28
    assert list_lines(found, found.vertices[0])[0].startswith("value (40×50) [")


@st.composite
def tapes(draw):
    """Graphs whose nodes use earlier ones, each of them used."""
    count = draw(st.integers(1, 25))
    edges = {(draw(st.integers(k + 1, count)), k) for k in range(count)}
    more = st.tuples(st.integers(0, count), st.integers(0, count))
    edges |= {(max(pair), min(pair)) for pair in draw(st.sets(more)) if pair[0] != pair[1]}
    vertices = tuple(Vertex(f"n{k}", False) for k in range(count + 1))
    return Graph(
        "", vertices, tuple(GraphEdge(f"n{start}", f"n{end}") for end, start in sorted(edges))
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(tapes())
def test_layers_go_down_and_nothing_overlaps(found):
    """Every edge goes to a lower layer; in a layer everybody has room."""
    widths = {v.key: 30.0 + 10.0 * (k % 5) for k, v in enumerate(found.vertices)}
    layout = lay_out(found, widths, page=300.0)
    for edge in found.edges:
        assert layout.level[edge.start] < layout.level[edge.end]
    for places in layout.levels:
        spans = [
            (layout.across[p] - layout.widths[p] / 2, layout.across[p] + layout.widths[p] / 2)
            for p in places
        ]
        assert all(b - a >= 12.0 - 1e-9 for (_, a), (b, _) in pairwise(spans))
        assert spans[0][0] >= -1e-9
        assert spans[-1][1] <= layout.width + 1e-9
        nodes = [widths[p] + 12.0 for p in places if isinstance(p, str)]
        assert sum(nodes) <= 300.0
    assert {p for places in layout.levels for p in places if isinstance(p, str)} == set(widths)


def test_the_picture_has_every_box_and_arrow():
    """Six boxes, five arrows with their factors, on a page that is wide enough."""
    drawn = render_graph_file(graph(CHAIN))
    assert drawn.count("<rect") == 6
    assert drawn.count('class="tip"') == drawn.count('class="factor"') == 5
    assert "loss = y**2" in drawn
