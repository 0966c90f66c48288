"""The chain rule written out, as `gradcheck solve --steps` shows it."""

import numpy as np
from rich.text import Text

from gradcheck.derivation import Stage, Steps, Walked
from gradcheck.report.figures import plain

SHOWN_ENTRIES = 6


def steps_text(derivation: Steps | Walked) -> Text:
    """Formulas with their values, or arrays node by node."""
    return _derivation(derivation) if isinstance(derivation, Steps) else _walked(derivation)


def _derivation(derivation: Steps) -> Text:
    text = Text("the values, from the inputs up\n", style="dim")
    if derivation.left_out:
        text.append(f"  ... {derivation.left_out} steps before\n", style="dim")
    for step in derivation.forward:
        text.append(f"  {_equation(step.name, step.formula, step.value)}\n", style="not dim")
    text.append("the chain rule, from the value down\n", style="dim")
    for step in derivation.backward:
        text.append(f"  {_equation(step.name, step.formula, step.value)}\n", style="not dim")
    return text


def _walked(derivation: Walked) -> Text:
    text = Text("the values, from the inputs up\n", style="dim")
    for stage in derivation.forward:
        text.append(f"  {stage.name} = {stage.text}", style="not dim")
        text.append(f"  {_array(stage)}  {stage.node}\n", style="dim")
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
