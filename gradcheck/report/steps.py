"""The chain rule written out, as `gradcheck solve --steps` shows it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from gradcheck.closed_forms.derive import PREFIX
from gradcheck.closed_forms.notation import Notation
from gradcheck.derivation import Stage, Steps, Twice, Walked
from gradcheck.opinions.opinion import Array
from gradcheck.report.figures import SHOWN_ENTRIES, plain
from gradcheck.report.gradients import folded, in_signs, legend, matrix


def steps_shown(derivation: Steps | Walked | Twice) -> RenderableType:
    """Formulas with their values, or arrays: forward node by node, back value by value."""
    if isinstance(derivation, Twice):
        return Group(steps_shown(derivation.first), Entries(derivation))
    if isinstance(derivation, Steps):
        return _derivation(derivation)
    if not derivation.chain:
        return _walked(derivation) if derivation.backward else _forward(derivation)
    return Group(_forward(derivation), Chain(derivation))


@dataclass(frozen=True)
class Chain:
    """The chain rule on arrays, from the value down: each gradient of those before it.

    In signs on a terminal, as NumPy's text in a pipe; the numbers below.
    """

    walked: Walked

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """A formula with its shape, and the numbers below it."""
        stages = self.walked.chain
        signs = in_signs(console)
        width = options.max_width
        taken = {stage.name for stage in (*stages, *self.walked.forward)}
        end = self.walked.end if self.walked.end != "value" or "L" in taken else "L"
        notation = Notation(self._axes(), self.walked.rows, end) if signs else None
        yield Text("the chain rule, from the value down", style="dim")
        for stage in stages:
            yield from self._stage(stage, notation, width)
        if notation is not None and notation.sizes:
            yield Text.assemble("  ", legend(notation))

    def _axes(self) -> dict[str, int]:
        """How many axes the names in the formulas have."""
        stages = (*self.walked.forward, *self.walked.chain)
        known = {stage.name: stage.value.ndim for stage in stages}
        axes = {PREFIX + name: count for name, count in known.items()}
        return {**dict(self.walked.axes), **known, **axes}

    def _stage(self, stage: Stage, notation: Notation | None, width: int) -> Iterator[Text]:
        if notation is None:
            end = f"d{self.walked.end}/d"
            text, name = stage.text.replace(PREFIX, end), f"{end}{stage.name}"
            shape = "x".join(map(str, stage.value.shape))
        else:
            text, name = notation.written(stage.text), notation.name(PREFIX + stage.name)
            shape = "×".join(map(str, stage.value.shape))
        value = stage.value
        yield from _line(name, shape, text, value, width, signs=notation is not None)


@dataclass(frozen=True)
class Entries:
    """Derivatives of every entry by named values, from the end to the inputs."""

    found: Twice

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """A formula with its shape, and the numbers below it."""
        if not self.found.entries:
            return
        signs = in_signs(console)
        notation = Notation(self.found.axes, self.found.rows) if signs else None
        yield Text("entry by entry, by each value before it", style="dim")
        for stage in self.found.entries:
            formula = notation is not None and "[" not in stage.name
            text = notation.written(stage.text) if notation and formula else stage.text
            name = stage.name if notation is None else _in_names(stage.name, notation)
            shape = ("×" if signs else "x").join(map(str, stage.value.shape))
            yield from _line(name, shape, text, stage.value, options.max_width, signs=signs)
        if notation is not None and notation.sizes:
            yield Text.assemble("  ", legend(notation))


def _in_names(label: str, notation: Notation) -> str:
    """`d(dL/dw)/dp` in signs."""
    return re.sub(r"d(?=[(\w])(\w*)", lambda m: "∂" + notation.name(m[1]) if m[1] else "∂", label)


def _line(
    name: str, shape: str, text: str, value: Array, width: int, *, signs: bool
) -> Iterator[Text]:
    """A formula after its name and shape, on as many lines as it takes, and its numbers."""
    head = Text.assemble("  ", (name, "bold"), f" ({shape})" if shape else "")
    if head.cell_len + len(text) + 3 <= width:
        yield head.append(f" = {text}")
    else:
        yield head
        yield from folded(f"= {text}", width)
    for line in matrix(value, width - 6, "…" if signs else "..."):
        yield Text(f"      {line}", style="dim")


def _derivation(derivation: Steps) -> Text:
    text = Text("the values, from the inputs up\n", style="dim")
    if derivation.left_out:
        text.append(f"  ... {derivation.left_out} steps before\n", style="dim")
    for step in derivation.forward:
        text.append(f"  {_equation(step.name, step.formula, step.value)}\n", style="not dim")
    if derivation.backward:
        text.append("the chain rule, from the value down\n", style="dim")
    for step in derivation.backward:
        text.append(f"  {_equation(step.name, step.formula, step.value)}\n", style="not dim")
    return text


def _forward(derivation: Walked) -> Text:
    text = Text("the values, from the inputs up", style="dim")
    for stage in derivation.forward:
        text.append(f"\n  {stage.name} = {stage.text}", style="not dim")
        text.append(f"  {_array(stage)}  {stage.node}", style="dim")
    return text


def _walked(derivation: Walked) -> Text:
    text = _forward(derivation).append("\n")
    text.append("the cotangents, from the value down\n", style="dim")
    for stage in derivation.backward:
        text.append(f"  {stage.name}", style="not dim")
        text.append(f"  {_array(stage)}  through {stage.node}\n", style="dim")
    return text


def _array(stage: Stage) -> str:
    """The shape, and the entries where they fit on a line."""
    value = stage.value
    if value.size > SHOWN_ENTRIES:
        return f"of shape {value.shape}"
    return np.array2string(value, precision=6, separator=", ").replace("\n", "")


def _equation(name: str, formula: str, value: float) -> str:
    shown = plain(value)
    return f"{name} = {formula}" if formula == shown else f"{name} = {formula} = {shown}"
