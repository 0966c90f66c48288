"""From the fields of a form to an answer: a text, or a grid of cells as nested lists."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

CELLS = 48  # entries of the largest grid


def cell(index: Sequence[int]) -> str:
    """The name of a grid's field."""
    return "-".join(["cell", *map(str, index)])


def has_grid(shape: Sequence[int]) -> bool:
    """Whether an answer of a shape may be typed entry by entry."""
    size = 1
    for length in shape:
        size *= length
    return len(shape) in (1, 2) and 0 < size <= CELLS


def answer_of(form: Mapping[str, Any], shape: Sequence[int]) -> Any:
    """What was answered: the formula; the grid where that is empty; None where nothing was typed.

    The last line ends of a text field are no part of an answer.
    """
    text = str(form.get("answer", "")).replace("\r\n", "\n")
    if text.strip() or not has_grid(shape):
        return text if text.strip() else None
    return _cells(form, shape, ()) if any(_typed(form)) else None


def _typed(form: Mapping[str, Any]) -> Iterator[str]:
    """What stands in the cells of a grid, but for empty ones."""
    for name, value in form.items():
        if name.startswith("cell-") and str(value).strip():
            yield str(value)


def _cells(form: Mapping[str, Any], shape: Sequence[int], place: tuple[int, ...]) -> Any:
    if not shape:
        return str(form.get(cell(place), "")).strip()
    return [_cells(form, shape[1:], (*place, k)) for k in range(shape[0])]
