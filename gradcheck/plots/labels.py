"""What stands on a node of a graph, line by line, and on an edge."""

import math
import textwrap

from gradcheck.plots.graphs import Edge, Graph, Numbers, Vertex

WIDEST = 28
MOST_LINES = 2
DIGITS = 4
IN_ARRAYS = 3


def number(value: float, digits: int = DIGITS) -> str:
    """A number in a few significant digits, zero without a sign."""
    return f"{value + 0.0:.{digits}g}"


def heading_lines(vertex: Vertex) -> list[str]:
    """The variable and its formula, broken and cut to fit."""
    formula = f"{vertex.name} = {vertex.text}" if vertex.name and vertex.text else ""
    words = formula or vertex.name or vertex.text or "?"
    lines = textwrap.wrap(words, WIDEST)[: MOST_LINES + 1]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1][: WIDEST - 2] + " …"]
    return lines


def lines_of(vertex: Vertex) -> list[str]:
    """All lines under the heading: PyTorch's name, the value, the gradient unless it is hidden."""
    gradient = f"{vertex.name or 'leaf'}.grad" if vertex.leaf else "gradient"
    found = [] if vertex.leaf else [vertex.made_by]
    found += shown("value", vertex.value)
    if vertex.hidden:
        return found
    return found + shown(gradient, vertex.gradient)


def shown(name: str, held: Numbers | None) -> list[str]:
    """`value 3`; `value (2×3) [1, 0.5, …]` with as many entries as there is room for."""
    if held is None:
        return [f"{name} none"]
    if not held.shape:
        return [f"{name} {number(held.first[0])}"]
    size = math.prod(held.shape)
    head = f"{name} ({'×'.join(map(str, held.shape))})"
    entries = [number(entry, IN_ARRAYS) for entry in held.first]
    for count in range(len(entries), 0, -1):
        more = ", …" if count < size else ""
        line = f"{head} [{', '.join(entries[:count])}{more}]"
        if len(line) <= WIDEST:
            return [line]
    return [head[:WIDEST]]


def factor_of(edge: Edge) -> str:
    """`×2`: the gradient is multiplied by the local derivative on its way back."""
    return "" if edge.factor is None else f"×{number(edge.factor)}"


def remarks_of(graph: Graph) -> list[str]:
    """How the picture is to be read."""
    hidden = all(vertex.hidden for vertex in graph.vertices)
    found = ["Values go down." if hidden else "Values go down, gradients go up."]
    if any(edge.factor is not None for edge in graph.edges):
        found = ["Values go down; gradients go up, times the local derivative."]
    if graph.left_out:
        kept = len(graph.vertices)
        found.append(f"Only the last {kept} of {kept + graph.left_out} nodes are drawn; "
                     "a dashed frame has operands that are not.")  # fmt: skip
    return found
