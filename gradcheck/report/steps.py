"""The chain rule written out: as `gradcheck solve --steps` shows it, and for a student's page.

A ledger keeps what is told of a problem; its function is differentiated anew from that.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from gradcheck.errors import GradcheckError
from gradcheck.numbers.closed import spell
from gradcheck.problem import Problem
from gradcheck.problem.draw import draw_given_point
from gradcheck.problem.load import make_question
from gradcheck.report.figures import SHOWN_ENTRIES, format_value, plain
from gradcheck.report.tables import is_in_signs, list_entries, put_behind, write_legend
from gradcheck.texts.forms import write_formulas
from gradcheck.texts.notation import PREFIX, Notation
from gradcheck.texts.rewriting import find_shortest
from gradcheck.texts.steps import ChainStep, Steps, derive
from gradcheck.verdict.consult import consult


def render_steps(steps: Steps) -> RenderableType:
    """Formulas with their values, or arrays: forward node by node, back value by value."""
    if not steps.of_arrays:
        return _show_numbers(steps)
    shown = _show_arrays(steps)
    return Group(shown, ChainRule(steps)) if any(s.text for s in steps.backward) else shown


@dataclass(frozen=True)
class ChainRule:
    """The chain rule on arrays, from the value down: each gradient of those before it.

    In signs on a terminal, as NumPy's text in a pipe; the numbers below.
    """

    steps: Steps

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        signs = is_in_signs(console)
        taken = {step.name for step in (*self.steps.backward, *self.steps.forward)}
        end = self.steps.end if self.steps.end != "value" or "L" in taken else "L"
        notation = Notation(self.steps.axes, self.steps.sizes, end) if signs else None
        yield Text(DOWN.format("chain rule"), style="dim")
        for step in self.steps.backward:
            if step.text:
                yield from self._step(step, notation, options.max_width)
        if notation is not None and notation.sizes:
            yield Text.assemble("  ", write_legend(notation))

    def _step(
        self, step: ChainStep, notation: Notation | None, width: int
    ) -> Iterator[RenderableType]:
        if notation is None:
            end = f"d{self.steps.end}/d"
            text, name = step.text.replace(PREFIX, end), f"{end}{step.name}"
            shape = "x".join(map(str, step.value.shape))
        else:
            text, name = notation.write(step.text), notation.name(PREFIX + step.name)
            shape = "×".join(map(str, step.value.shape))
        head = Text.assemble("  ", (name, "bold"), f" ({shape})" if shape else "")
        yield from put_behind(head, f" = {text}", width)
        for line in list_entries(step.value, width - 6):
            yield Text(f"      {line}", style="dim")


UP, DOWN = "the values, from the inputs up", "the {}, from the value down"


def _show_numbers(steps: Steps) -> Text:
    text = Text(f"{UP}\n", style="dim")
    if steps.left_out:
        text.append(f"  ... {steps.left_out} steps before\n", style="dim")
    for title, found in (("", steps.forward), (DOWN.format("chain rule"), steps.backward)):
        if title and found:
            text.append(f"{title}\n", style="dim")
        for step in found:
            text.append(f"  {_equate(step.name, step.text, float(step.value))}\n", style="not dim")
    return text


def _show_arrays(steps: Steps) -> Text:
    """The values, and, where no rule is written out, the cotangents that came through a node."""
    text = Text(UP, style="dim")
    for step in steps.forward:
        text.append(f"\n  {step.name} = {step.text}", style="not dim")
        text.append(f"  {_format_array(step)}  {step.node}", style="dim")
    if steps.backward and not any(step.text for step in steps.backward):
        text.append(f"\n{DOWN.format('cotangents')}\n", style="dim")
        for step in steps.backward:
            text.append(f"  d{steps.end}/d{step.name}", style="not dim")
            text.append(f"  {_format_array(step)}  through {step.node}\n", style="dim")
    return text


def _format_array(step: ChainStep) -> str:
    """The shape, and the entries where they fit on a line."""
    value = step.value
    if value.size > SHOWN_ENTRIES:
        return f"of shape {value.shape}"
    return np.array2string(value, precision=6, separator=", ").replace("\n", "")


def _equate(name: str, formula: str, value: float) -> str:
    shown = plain(value + 0.0)  # no minus before zero
    return f"{name} = {formula}" if formula == shown else f"{name} = {formula} = {shown}"


# -- on a student's page ---------------------------------------------------------------------------


KEPT = 1_000
FAULTS = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)
Line = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Solution:
    """Formulas by part; the chain rule from the inputs up, and from the value down."""

    forms: Sequence[tuple[str, str]]
    forward: Sequence[Line] = ()
    backward: Sequence[Line] = ()


def solve_again(about: Mapping[str, Any], variant: Mapping[str, Any]) -> Solution | None:
    """The solution with a student's own numbers; None where a formula does not say it."""
    if not about.get("solvable"):
        return None
    given = [f"{name}={json.dumps(value)}" for name, value in variant.items()]
    own = [each for each in about["given"] if each.partition("=")[0] not in variant]
    parts = tuple(part["name"] for part in about["parts"])
    return _make_solution(about["program"], (*own, *given), parts)


@lru_cache(maxsize=KEPT)
def _make_solution(program: str, given: Sequence[str], parts: Sequence[str]) -> Solution | None:
    try:
        asked = _ask(program, given, parts)
        if any(entry.shape for entry in asked.inputs.values()):
            return _solve_arrays(asked)
        names = [each.partition("=")[0] for each in given]
        whole = _ask(program, given, (*parts, *names))  # what is differentiated stands as a letter
        return _solve_numbers(whole, parts) or _solve_numbers(asked, parts)
    except FAULTS:
        return None


def _ask(program: str, given: Sequence[str], parts: Sequence[str]) -> Problem:
    """The question for the gradient by inputs, and by values that the program makes."""
    from gradcheck.problem.section import find_shapes, with_made  # noqa: PLC0415 - Pydantic is slow

    names = {each.partition("=")[0] for each in given}
    found = make_question(program, given, [part for part in parts if part in names])
    if made := [part for part in parts if part not in names]:
        shapes = find_shapes(found)
        found = replace(found, wrt=tuple(dict.fromkeys(parts)))
        found = with_made(found, {name: shapes[name] for name in made})
    return found


def _solve_arrays(problem: Problem) -> Solution | None:
    point = draw_given_point(problem)
    verdict = consult(problem.case(point), write=False)
    if verdict.verdict != "agree":
        return None
    texts = write_formulas(problem, point, verdict.opinions["reverse"].gradients).texts
    return Solution([(name, texts[name]) for name in problem.wrt if name in texts])


def _solve_numbers(problem: Problem, parts: Sequence[str]) -> Solution | None:
    point = draw_given_point(problem)
    verdict = consult(problem.case(point))
    closed = verdict.opinions["symbolic"].closed
    if verdict.verdict != "agree" or any(closed.get(part) is None for part in parts):
        return None
    steps = derive(replace(problem, wrt=tuple(parts)), point)
    return Solution(
        [(part, spell(find_shortest(np.asarray(closed[part]).item()))) for part in parts],
        [(step.name, step.text, format_value(step.value)) for step in steps.forward],
        [(step.name, step.text, format_value(step.value)) for step in steps.backward],
    )
