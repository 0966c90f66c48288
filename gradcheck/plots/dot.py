"""A graph as text in the DOT language of Graphviz."""

from collections.abc import Iterator, Sequence

from gradcheck.plots.graphs import Graph, Vertex
from gradcheck.plots.labels import factor_of, heading_lines, lines_of, remarks_of

STYLES = {True: "filled", False: "rounded,filled"}
COLOURS = {True: "#fdebd0", False: "#e3eef7"}


def dot_text(graph: Graph) -> str:
    """The whole text."""
    return "".join(f"{line}\n" for line in _lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    yield f"digraph {quoted([graph.heading])} {{"
    yield f"  label={quoted([graph.heading, *remarks_of(graph)])};"
    yield '  labelloc="t";'
    yield '  node [shape="box", fontname="monospace", fontsize="11"];'
    yield '  edge [fontname="monospace", fontsize="10"];'
    for vertex in graph.vertices:
        yield f"  {vertex.key} [{_attributes(vertex, vertex is graph.vertices[-1])}];"
    for edge in graph.edges:
        label = f" [label={quoted([factor_of(edge)])}]" if factor_of(edge) else ""
        yield f"  {edge.start} -> {edge.end}{label};"
    yield "}"


def _attributes(vertex: Vertex, last: bool) -> str:
    style = STYLES[vertex.leaf] + (",dashed" if vertex.cut else "")
    found = {
        "label": quoted([*heading_lines(vertex), *lines_of(vertex)]),
        "style": quoted([style]),
        "fillcolor": quoted([COLOURS[vertex.leaf]]),
    }
    if last:
        found["penwidth"] = quoted(["2"])
    return ", ".join(f"{name}={value}" for name, value in found.items())


def quoted(lines: Sequence[str]) -> str:
    """A quoted string of DOT: one label of several lines."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
