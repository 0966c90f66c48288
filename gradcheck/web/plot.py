"""What the template draws of a function, its derivative and an answer: ticks, paths and words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Curve = Sequence[Sequence[float | None]]

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 46, WIDTH - 12, 10, HEIGHT - 26
TICKS = 5
TRIMMED = 0.04  # of a curve's highest and lowest values may leave the picture


def plot(part: str, curves: Mapping[str, Any], yours: Curve | None) -> dict[str, Any]:
    """The picture, with places in its own units; nothing where there is no value."""
    lines = {"f": curves["f"], "slope": curves["slope"]} | ({"yours": yours} if yours else {})
    low, high = _find_range(lines)
    left, right = (float(curves["f"][k][0]) for k in (0, -1))

    def across(x: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (x - left) / (right - left), 1)

    def up(y: float) -> float:
        return round(TOP + (BOTTOM - TOP) * (high - y) / (high - low), 1)

    def stretches(points: Curve) -> Iterator[str]:
        """A path for every stretch on which there are values; far outside it is cut."""
        stretch: list[str] = []
        for x, y in [*points, (None, None)]:
            if x is not None and y is not None and 2 * low - high < y < 2 * high - low:
                stretch.append(f"{across(x)} {up(y)}")
                continue
            if len(stretch) > 1:
                yield f"M{' L'.join(stretch)}"
            stretch = []

    names = {0.0: f"{part} = 0"}
    return {
        "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP,
        "bottom": BOTTOM, "here": across(curves["at"]), "words": _describe(part, lines),
        "rows": [("grid" if y else "zero", up(y), f"{y:g}") for y in ticks(low, high)],
        "columns": [
            ("grid" if x else "zero", across(x), names.get(x, f"{x:g}")) for x in ticks(left, right)
        ],
        "curves": [(kind, path) for kind, line in lines.items() for path in stretches(line)],
    } if high > low else {}  # fmt: skip


def ticks(low: float, high: float) -> list[float]:
    """A few round numbers between two."""
    step = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= TICKS)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _find_range(lines: Mapping[str, Curve]) -> tuple[float, float]:
    """What is seen of the other axis: the bulk of the function and its derivative, and zero.

    An answer may widen it to three times that, no more.
    """
    bulk = [0.0, *_bulk(lines["f"]), *_bulk(lines["slope"])]
    low, high = min(bulk), max(bulk)
    reach = (high - low) or 1.0
    own = _bulk(lines.get("yours", ()))
    low, high = max(min([low, *own]), low - reach), min(max([high, *own]), high + reach)
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _bulk(points: Curve) -> list[float]:
    """The lowest and the highest value but for a few on either side."""
    found = sorted(y for _, y in points if y is not None)
    cut = int(TRIMMED * len(found))
    return [found[cut], found[-1 - cut]] if found else []


def _describe(part: str, lines: Mapping[str, Curve]) -> str:
    said = f"The function, its derivative by {part}"
    if "yours" not in lines:
        return f"{said}."
    pairs = ((a[1], b[1]) for a, b in zip(lines["slope"], lines["yours"], strict=True))
    both = ((a, b) for a, b in pairs if a is not None and b is not None)
    near = (abs(a - b) <= 1e-6 * (1 + abs(a)) for a, b in both)
    same = "lies on" if all(near) else "differs from"
    return f"{said}, and your answer: your answer {same} the derivative."
