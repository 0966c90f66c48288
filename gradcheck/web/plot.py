"""The plot of a function, its derivative and an answer, as SVG in the page's own colours."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

Curve = Sequence[Sequence[float | None]]

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 26
WINDOW = (
    f'x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}" '
    f'viewBox="{LEFT} {TOP} {WIDTH - LEFT - RIGHT} {HEIGHT - TOP - BOTTOM}"'
)
TICKS = 5
TRIMMED = 0.04  # of a curve's highest and lowest values may leave the picture
KINDS = ("f", "slope", "yours")


def plot(part: str, curves: Mapping[str, Any], yours: Curve | None) -> str:
    """The picture as an `svg` element."""
    lines = {"f": curves["f"], "slope": curves["slope"]} | ({"yours": yours} if yours else {})
    low, high = _range(lines)
    if high <= low:
        return ""
    frame = _Frame(curves["f"][0][0], curves["f"][-1][0], low, high)
    body = [*frame.grid(part, curves["at"])]
    drawn = (line for kind in KINDS if kind in lines for line in frame.curve(kind, lines[kind]))
    body.append(f"<svg {WINDOW}>{''.join(drawn)}</svg>")  # what leaves the window is cut off
    words = escape(_words(part, lines), quote=True)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
    return f'<svg class="plot" {size} role="img" aria-label="{words}">{"".join(body)}</svg>'


class _Frame:
    """From numbers to places in the picture."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self.left, self.right, self.low, self.high = left, right, low, high

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.left) / (self.right - self.left)

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.high - value) / (self.high - self.low)

    def grid(self, part: str, at: float) -> Iterator[str]:
        """Lines at round numbers, their labels, and the given point."""
        for value in ticks(self.low, self.high):
            y = self.y(value)
            kind = "zero" if value == 0 else "grid"
            yield f'<path class="{kind}" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
            yield f'<text x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{value:g}</text>'
        for value in ticks(self.left, self.right):
            x, y = self.x(value), HEIGHT - BOTTOM + 16
            kind, label = ("grid", "") if value else ("zero", f"{escape(part)} = ")
            yield f'<path class="{kind}" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
            yield f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{label}{value:g}</text>'
        yield f'<path class="here" d="M{self.x(at):.1f} {TOP}V{HEIGHT - BOTTOM}"/>'

    def curve(self, kind: str, points: Curve) -> Iterator[str]:
        """A line for every stretch on which there are values; far outside it is cut."""
        reach = self.high - self.low
        stretch: list[str] = []
        for x, y in [*points, (None, None)]:
            if x is not None and y is not None and self.low - reach < y < self.high + reach:
                stretch.append(f"{self.x(x):.1f} {self.y(y):.1f}")
                continue
            if len(stretch) > 1:
                yield f'<path class="{kind}" d="M{" L".join(stretch)}"/>'
            stretch = []


def ticks(low: float, high: float) -> list[float]:
    """A few round numbers between two."""
    step = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= TICKS)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _range(lines: Mapping[str, Curve]) -> tuple[float, float]:
    """What is seen of the other axis: the bulk of the function and its derivative, and zero.

    An answer may widen it to three times that, no more.
    """
    low, high = 0.0, 0.0
    for kind in ("f", "slope"):
        bulk = _bulk(lines[kind])
        low, high = min([low, *bulk]), max([high, *bulk])
    reach = (high - low) or 1.0
    own = _bulk(lines.get("yours", ()))
    low, high = max(min([low, *own]), low - reach), min(max([high, *own]), high + reach)
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _bulk(points: Curve) -> list[float]:
    """The lowest and the highest value but for a few on either side."""
    found = sorted(y for _, y in points if y is not None)
    cut = int(TRIMMED * len(found))
    return [found[cut], found[-1 - cut]] if found else []


def _words(part: str, lines: Mapping[str, Curve]) -> str:
    said = f"The function, its derivative by {part}"
    if "yours" not in lines:
        return f"{said}."
    pairs = ((a[1], b[1]) for a, b in zip(lines["slope"], lines["yours"], strict=True))
    both = ((a, b) for a, b in pairs if a is not None and b is not None)
    near = (abs(a - b) <= 1e-6 * (1 + abs(a)) for a, b in both)
    same = "lies on" if all(near) else "differs from"
    return f"{said}, and your answer: your answer {same} the derivative."
